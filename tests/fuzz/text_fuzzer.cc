#include <boost/json.hpp>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/duration.h"
#include "base/utf8.h"
#include "cgroup/log_links.h"
#include "cgroup/systemd_escape.h"
#include "daemon/log/journal.h"
#include "daemon/log/logging.h"
#include "exposition/labels.h"
#include "fuzz/fuzzing.h"
#include "http/address.h"

namespace {

using pex::fuzz::is_one_line;
using pex::fuzz::require;

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = pex::first_character(text).bytes;
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

void check_terminal(std::string_view text) {
  const std::string shown = pex::printable(text);
  require(is_utf8(shown) && is_one_line(shown));
  require(pex::printable(shown).size() == shown.size() || shown.find("\xef\xbf\xbd") != shown.npos);
}

/// What U+FFFD and two hexadecimal digits stand for is a byte again.
std::string bytes_of(std::string_view shown) {
  constexpr std::string_view kReplacement = "\uFFFD";
  std::string bytes;
  while (!shown.empty()) {
    const bool is_replaced = shown.starts_with(kReplacement);
    unsigned char byte = static_cast<unsigned char>(shown.front());
    if (is_replaced) {
      const char* const digits = shown.data() + kReplacement.size();
      require(shown.size() >= kReplacement.size() + 2 &&
              std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2);
    }
    bytes += static_cast<char>(byte);
    shown.remove_prefix(is_replaced ? kReplacement.size() + 2 : 1);
  }
  return bytes;
}

void check_label(std::string_view text) {
  const std::string label = pex::exposition::label("name", text);
  require(is_utf8(label) && is_one_line(label));
  const auto split = pex::exposition::split_labels(pex::exposition::join_labels({label, label}));
  require(split.size() == 2 && split[0] == split[1]);
  require(split[0].first == "name" && bytes_of(split[0].second) == text);
}

void check_log(std::string_view text) {
  using pex::daemon::LogFormat;
  using pex::daemon::LogLevel;
  const pex::daemon::LogFields fields{{"path", std::string(text)}, {"n", "1"}};
  require(is_one_line(format_line(LogFormat::kLogfmt, LogLevel::kInfo, text, fields)));
  const std::string members = format_line(LogFormat::kJson, LogLevel::kWarn, text, fields);
  require(is_one_line(members) && is_utf8(members));
  boost::system::error_code failed;
  const boost::json::value parsed = boost::json::parse("{" + members + "}", failed);
  require(!failed && parsed.as_object().size() == 4);
  require(parsed.at("msg") == parsed.at("path"));
  for (const std::string& field : pex::daemon::journal_fields(LogLevel::kInfo, text, fields)) {
    require(is_one_line(field) && is_utf8(field));
  }
}

bool is_dns_label_or_name(std::string_view text) {
  return !text.empty() &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-.") == text.npos;
}

void check_names(std::string_view text) {
  const std::string decoded = pex::cgroup::systemd_unescape(text);
  require(decoded.size() <= text.size());
  const auto link = pex::cgroup::parse_log_link(text);
  if (!link) return;
  require(link->container_id.size() == 64);
  for (const auto* name : {&link->names.pod, &link->names.namespace_, &link->names.container}) {
    require(is_dns_label_or_name(*name));
  }
  const auto& names = link->names;
  require(text == names.pod + "_" + names.namespace_ + "_" + names.container + "-" +
                      link->container_id + ".log");
}

void check_values(std::string_view text) {
  if (const auto duration = pex::parse_duration(text)) {
    require(duration->count() >= 0);
    require(pex::parse_duration(pex::format_duration(*duration)) == duration);
  }
  const auto address = pex::http::parse_address(text);
  require(!address || address->host.size() < text.size());
}

}  // namespace

/// Any bytes stand in a label, a line of the log and a terminal as one value of UTF-8, and are
/// parsed as the name of a log, of a unit, a duration or an address, or not.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = pex::fuzz::text_of(data, size);

  check_terminal(text);
  check_label(text);
  check_log(text);
  check_names(text);
  check_values(text);
  return 0;
}
