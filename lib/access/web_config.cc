#include "access/web_config.h"

#include <algorithm>
#include <filesystem>
#include <span>

#include "access/web_tls.h"
#include "access/web_users.h"
#include "base/text.h"
#include "yaml/file.h"
#include "yaml/keys.h"
#include "yaml/numbers.h"
#include "yaml/value.h"

namespace pex::access {
namespace {

using namespace std::chrono_literals;

constexpr yaml::FileKind kFile = {"web configuration", ProgramTerm::kWebConfigFile};
constexpr yaml::DurationRange kInterval = {0s, 1h};
constexpr yaml::NumberRange kBurst = {0, 1'000'000};
constexpr std::size_t kMaxHeaderBytes = 4096;

/// A header that may be set: those of the exporter-toolkit.
struct HeaderEntry {
  std::string_view name;
  std::span<const std::string_view> words = {};  ///< empty: any text
};
constexpr std::string_view kContentTypeOptions[] = {"nosniff"};
constexpr std::string_view kFrameOptions[] = {"deny", "sameorigin"};
constexpr HeaderEntry kHeaders[] = {
    {"Content-Security-Policy"},
    {"X-Frame-Options", kFrameOptions},
    {"X-Content-Type-Options", kContentTypeOptions},
    {"X-XSS-Protection"},
    {"Strict-Transport-Security"},
};

/// The characters that are safe in a field value (RFC 9110, 5.5).
bool is_printable_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return ' ' <= c && c <= '~'; });
}

bool refuse_header_word(const yaml::Value& value, const std::string& text,
                        const HeaderEntry& header) {
  const std::vector<std::string> words(header.words.begin(), header.words.end());
  if (words.empty() || std::find(words.begin(), words.end(), text) != words.end()) return false;
  refuse_word(value, text, "a value of this header", words, "write " + join(words, " or "));
  return true;
}

void read_header(const yaml::Value& value, const HeaderEntry& header, AccessSettings& access) {
  const std::optional<std::string> text = value.text({"a header's value", "write it on one line"});
  if (!text || refuse_header_word(value, *text, header)) return;
  const std::string_view inner = trim(*text);
  if (!is_printable_ascii(inner) || inner.size() > kMaxHeaderBytes) {
    return value.refuse("a value that is not ASCII, or longer than 4096 bytes",
                        "write a shorter one in ASCII");
  }
  if (!inner.empty()) access.headers.emplace_back(header.name, inner);  // blank: not set
}

void read_headers(const yaml::Value& value, AccessSettings& access) {
  std::vector<std::string> names;
  for (const HeaderEntry& header : kHeaders) names.emplace_back(header.name);
  const std::optional<yaml::Value::Entries> entries = value.entries(names);
  if (!entries) return;
  for (const HeaderEntry& header : kHeaders) {
    for (const auto& [name, text] : entries->known) {
      if (name == header.name) read_header(text, header, access);
    }
  }
}

constexpr yaml::Key<AccessSettings> kHttpKeys[] = {
    {"http2",
     [](const yaml::Value& value, AccessSettings&) {
       if (read_flag(value).value_or(false)) value.warn("only HTTP/1.1 is served here");
     }},
    {"headers", read_headers},
};

/// The two keys; neither is valid alone.
struct ParsedRateLimit {
  std::chrono::nanoseconds interval{};
  std::uint64_t burst = 0;
  bool has_interval = false;
  std::optional<yaml::Value> burst_at = {};
};

constexpr yaml::Key<ParsedRateLimit> kRateKeys[] = {
    {"interval",
     [](const yaml::Value& value, ParsedRateLimit& parsed) {
       parsed.has_interval = true;
       yaml::assign(parsed.interval, read_duration(value, kInterval));
     }},
    {"burst",
     [](const yaml::Value& value, ParsedRateLimit& parsed) {
       parsed.burst_at = value;
       // after an error any number will do
       parsed.burst = read_number(value, kBurst).value_or(1);
     }},
};

void read_rate_limit(const yaml::Value& value, AccessSettings& access) {
  ParsedRateLimit parsed;
  if (!yaml::read_map<ParsedRateLimit>(value, kRateKeys, parsed, yaml::Blank::kDefault)) return;
  if (parsed.interval == 0s) {
    if (!parsed.has_interval) value.warn("without an interval, nothing is limited");
    return;
  }
  if (parsed.burst == 0) {
    parsed.burst_at.value_or(value).warn("a burst of 0 answers every request with 429");
  }
  access.rate_limit = {parsed.interval, static_cast<unsigned>(parsed.burst)};
}

/// The configuration that is read, and the directory of relative paths.
struct ParsedWeb {
  WebConfig& config;
  std::string directory;
};

// Their meaning is documented in docs/web-configuration.md only.
constexpr yaml::Key<ParsedWeb> kWebKeys[] = {
    {"tls_server_config",
     [](const yaml::Value& value, ParsedWeb& parsed) {
       parsed.config.access.tls = read_tls(value, parsed.directory);
     }},
    {"http_server_config",
     [](const yaml::Value& value, ParsedWeb& parsed) {
       yaml::read_map<AccessSettings>(value, kHttpKeys, parsed.config.access,
                                      yaml::Blank::kDefault);
     }},
    {"basic_auth_users", [](const yaml::Value& value,
                            ParsedWeb& parsed) { read_users(value, parsed.config.access.users); }},
    {"rate_limit", [](const yaml::Value& value,
                      ParsedWeb& parsed) { read_rate_limit(value, parsed.config.access); }},
    {"allow_downgrade",
     [](const yaml::Value& value, ParsedWeb& parsed) {
       yaml::assign(parsed.config.allow_downgrade, read_flag(value));
     }},
};

void read_web_config(const yaml::Node& root, const std::string& name, LoadedWebConfig& loaded) {
  if (root.kind == yaml::Node::Kind::kNothing) return;  // may be empty
  const yaml::Value value(root, {name, 0, 0, {}}, loaded.diagnostics);
  ParsedWeb parsed{loaded.config, std::filesystem::path(name).parent_path()};
  // Any value may be a misplaced password or key.
  yaml::read_map<ParsedWeb>(value.redacted(), kWebKeys, parsed, yaml::Blank::kDefault);
}

}  // namespace

Result<LoadedWebConfig> load_web_config_file(const std::string& path) {
  const Result<std::string> text = yaml::read_file(path, kFile);
  if (!text) return text.error();
  return load_web_config_text(*text, path);
}

LoadedWebConfig load_web_config_text(std::string_view text, const std::string& name) {
  LoadedWebConfig loaded;
  const std::optional<yaml::Node> root = yaml::read_tree(text, name, kFile, loaded.diagnostics);
  if (root) read_web_config(*root, name, loaded);
  return loaded;
}

}  // namespace pex::access
