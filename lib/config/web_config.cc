#include "config/web_config.h"

#include <algorithm>
#include <filesystem>
#include <span>

#include "base/text.h"
#include "config/web_tls.h"
#include "config/web_users.h"
#include "yaml/file.h"
#include "yaml/go_duration.h"
#include "yaml/keys.h"
#include "yaml/numbers.h"
#include "yaml/value.h"

namespace pex::config {
namespace {

using namespace std::chrono_literals;

constexpr yaml::FileKind kFile = {"web configuration", ProgramTerm::kWebConfigFile};
constexpr yaml::DurationRange kInterval = {0s, 1h};
constexpr yaml::NumberRange kBurst = {0, 1'000'000};
constexpr std::size_t kMaxHeaderBytes = 4096;

/// One of the headers that may be set, which are those of the exporter toolkit.
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

/// What a line of HTTP carries without doubt (RFC 9110, 5.5).
bool is_printable_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return ' ' <= c && c <= '~'; });
}

bool refuse_header_word(const yaml::Value& value, const std::string& text, const HeaderEntry& row) {
  const std::vector<std::string> words(row.words.begin(), row.words.end());
  if (words.empty() || std::find(words.begin(), words.end(), text) != words.end()) return false;
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : " or ") + word;
  refuse_word(value, text, "a value of this header", words, "write " + all);
  return true;
}

void read_header(const yaml::Value& value, const HeaderEntry& row, WebConfig& config) {
  const std::optional<std::string> text = value.text({"a header's value", "write it on one line"});
  if (!text || refuse_header_word(value, *text, row)) return;
  const std::string_view inner = trim(*text);
  if (!is_printable_ascii(inner) || inner.size() > kMaxHeaderBytes) {
    return value.refuse("a value that is not ASCII, or longer than 4096 bytes",
                        "write a shorter one in ASCII");
  }
  if (!inner.empty()) config.headers.emplace_back(row.name, inner);  // blank: unset
}

void read_headers(const yaml::Value& value, WebConfig& config) {
  std::vector<std::string> names;
  for (const HeaderEntry& row : kHeaders) names.emplace_back(row.name);
  const std::optional<yaml::Value::Entries> entries = value.entries(names);
  if (!entries) return;
  for (const HeaderEntry& row : kHeaders) {
    for (const auto& [name, header] : *entries) {
      if (name == row.name) read_header(header, row, config);
    }
  }
}

constexpr yaml::Key<WebConfig> kHttpKeys[] = {
    {"http2",
     [](const yaml::Value& value, WebConfig& config) {
       if (!read_flag(value).value_or(false)) return;
       config.remarks.push_back(remark(value, "only HTTP/1.1 is served here"));
     }},
    {"headers", read_headers},
};

/// The two keys, of which neither means anything alone.
struct RateDraft {
  WebRateLimit limit = {};
  std::optional<yaml::Value> interval = {};
  std::optional<yaml::Value> burst = {};
};

constexpr yaml::Key<RateDraft> kRateKeys[] = {
    {"interval",
     [](const yaml::Value& value, RateDraft& draft) {
       draft.interval = value;
       yaml::assign(draft.limit.interval, read_go_duration(value, kInterval));
     }},
    {"burst",
     [](const yaml::Value& value, RateDraft& draft) {
       draft.burst = value;
       // After a mistake any number will do: it is told already.
       draft.limit.burst = static_cast<unsigned>(read_number(value, kBurst).value_or(1));
     }},
};

void read_rate_limit(const yaml::Value& value, WebConfig& config) {
  RateDraft draft;
  read_map<RateDraft>(value, kRateKeys, draft);
  if (!value.is_map()) return;
  if (draft.limit.interval == 0s) {
    if (!draft.interval)
      config.remarks.push_back(remark(value, "without an interval, nothing is limited"));
    return;
  }
  if (draft.limit.burst == 0) {
    return draft.burst.value_or(value).refuse("a burst of 0 lets no request through",
                                              "write 'burst: 1' or more");
  }
  config.rate_limit = draft.limit;
}

/// What is read, and where files are that have no whole path.
struct WebDraft {
  WebConfig& config;
  std::string directory;
};

// What they mean is told in docs/web-configuration.md alone.
constexpr yaml::Key<WebDraft> kWebKeys[] = {
    {"tls_server_config",
     [](const yaml::Value& value, WebDraft& draft) {
       draft.config.tls = read_tls(value, draft.directory, draft.config.remarks);
     },
     {.inner = list_tls_keys}},
    {"http_server_config",
     [](const yaml::Value& value, WebDraft& draft) {
       read_map<WebConfig>(value, kHttpKeys, draft.config);
     },
     {.inner =
          [](const std::string& map, std::vector<yaml::KeyReference>& all) {
            list_keys<WebConfig>(kHttpKeys, map, all);
          }}},
    {"basic_auth_users",
     [](const yaml::Value& value, WebDraft& draft) { read_users(value, draft.config.users); }},
    {"rate_limit",
     [](const yaml::Value& value, WebDraft& draft) { read_rate_limit(value, draft.config); },
     {.inner =
          [](const std::string& map, std::vector<yaml::KeyReference>& all) {
            list_keys<RateDraft>(kRateKeys, map, all);
          }}},
    {"allow_downgrade",
     [](const yaml::Value& value, WebDraft& draft) {
       yaml::assign(draft.config.allow_downgrade, read_flag(value));
     }},
};

void read_web_config(const yaml::Node& root, const std::string& name, WebConfig& config,
                     yaml::Mistakes& mistakes) {
  if (root.kind == yaml::Node::Kind::kNothing) return;  // it may be empty
  const yaml::Value value(root, {name, 0, 0, {}}, mistakes);
  WebDraft draft{config, std::filesystem::path(name).parent_path()};
  // Any value of it may be a password or a key that has slipped to a wrong place.
  read_map<WebDraft>(value.unshown(), kWebKeys, draft);
}

}  // namespace

LoadedWebConfig load_web_config_file(const std::string& path) {
  const Result<std::string> text = read_yaml_file(path, kFile);
  if (text) return load_web_config_text(*text, path);
  return {{}, {text.error()}};
}

LoadedWebConfig load_web_config_text(std::string_view text, const std::string& name) {
  LoadedWebConfig loaded;
  yaml::Mistakes mistakes;
  if (const std::optional<yaml::Node> root = read_tree(text, name, kFile, mistakes)) {
    read_web_config(*root, name, loaded.config, mistakes);
  }
  loaded.mistakes = std::move(mistakes).all();
  return loaded;
}

std::vector<yaml::KeyReference> web_configuration_keys() {
  std::vector<yaml::KeyReference> keys;
  list_keys<WebDraft>(kWebKeys, "", keys);
  return keys;
}

}  // namespace pex::config
