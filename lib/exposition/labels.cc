#include "exposition/labels.h"

namespace pex::exposition {
namespace {

/// Length of the UTF-8 sequence at the start of `text`; 0 when there is none (RFC 3629).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF5   ? 0
                             : first >= 0xF0 ? 4
                             : first >= 0xE0 ? 3
                             : first >= 0xC2 ? 2
                                             : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool surrogate = first == 0xED && byte(1) > 0x9F;
  const bool beyond = first == 0xF4 && byte(1) > 0x8F;
  return overlong || surrogate || beyond ? 0 : length;
}

}  // namespace

std::string escape_label(std::string_view value) {
  static constexpr std::string_view kReplacement = "\uFFFD";
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::string escaped;
  escaped.reserve(value.size());
  const auto append_byte = [&escaped](unsigned char byte) {
    ((escaped += kReplacement) += kHex[byte >> 4]) += kHex[byte & 0xF];
  };
  while (!value.empty()) {
    const std::size_t length = utf8_length(value);
    const std::string_view character = value.substr(0, length);
    if (length == 0 || character == kReplacement) {
      append_byte(static_cast<unsigned char>(value.front()));
      value.remove_prefix(1);
      continue;
    }
    if (character == "\n") {
      escaped += "\\n";
    } else {
      if (character == "\\" || character == "\"") escaped += '\\';
      escaped += character;
    }
    value.remove_prefix(length);
  }
  return escaped;
}

std::string label(std::string_view name, std::string_view value) {
  return std::string(name) + "=\"" + escape_label(value) + "\"";
}

std::string join_labels(std::initializer_list<std::string_view> labels) {
  std::string joined;
  for (const std::string_view each : labels) {
    if (!joined.empty() && !each.empty()) joined += ',';
    joined += each;
  }
  return joined;
}

std::string labels_of_event(const perf::EventIdentity& event) {
  std::string labels;
  for (const auto& [name, value] : event.labels) labels = join_labels({labels, label(name, value)});
  return labels;
}

}  // namespace pex::exposition
