#include "exposition/labels.h"

#include <algorithm>
#include <cstdint>

#include "base/utf8.h"

namespace pex::exposition {
namespace {

/// C0, DEL and C1, which terminals interpret.
bool is_control(std::uint32_t code) { return code < 0x20 || (code >= 0x7f && code < 0xa0); }

/// As as_utf8() does with a byte that is not part of a character.
void append_hex(std::string_view bytes, std::string& text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const char each : bytes) {
    const auto byte = static_cast<unsigned char>(each);
    ((text += "\uFFFD") += kDigits[byte >> 4U]) += kDigits[byte & 0xFU];
  }
}

void append_escaped(std::string_view character, std::uint32_t code, std::string& text) {
  if (code == '\n') {
    text += "\\n";
  } else if (is_control(code)) {
    append_hex(character, text);
  } else {
    if (code == '\\' || code == '"') text += '\\';
    text += character;
  }
}

}  // namespace

std::string escape_label(std::string_view value) {
  std::string escaped;
  const std::string text = as_utf8(value);
  for (std::string_view rest = text; !rest.empty();) {
    const Character next = first_character(rest);
    append_escaped(rest.substr(0, next.bytes), next.code, escaped);
    rest.remove_prefix(next.bytes);
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

std::vector<std::pair<std::string, std::string>> split_labels(std::string_view labels) {
  std::vector<std::pair<std::string, std::string>> split;
  while (!labels.empty()) {
    constexpr std::string_view kOpening = "=\"";
    const std::size_t name_ends = labels.find(kOpening);
    std::string& value = split.emplace_back(labels.substr(0, name_ends), "").second;
    std::size_t at = name_ends + kOpening.size();
    for (; labels[at] != '"'; ++at) {
      const bool is_escaped = labels[at] == '\\';
      at += is_escaped ? 1 : 0;
      value += is_escaped && labels[at] == 'n' ? '\n' : labels[at];
    }
    labels.remove_prefix(std::min(at + 2, labels.size()));  // the quote, and a comma
  }
  return split;
}

std::string labels_of_event(const events::EventIdentity& event) {
  std::string labels;
  for (const auto& [name, value] : event.labels) labels = join_labels({labels, label(name, value)});
  return labels;
}

}  // namespace pex::exposition
