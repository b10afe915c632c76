#include "exposition/labels.h"

#include "base/utf8.h"

namespace pex::exposition {

std::string escape_label(std::string_view value) {
  std::string escaped;
  for (const char each : as_label_value(value)) {
    if (each == '\n') {
      escaped += "\\n";
      continue;
    }
    if (each == '\\' || each == '"') escaped += '\\';
    escaped += each;
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

}  // namespace pex::exposition
