#include "cgroup/label_rules.h"

#include <map>

namespace pex::cgroup {
namespace {

bool is_group(std::string_view reference) {
  return reference.size() == 2 && reference[1] >= '0' && reference[1] <= '9';
}

Error no_such_group(std::string_view reference, std::size_t groups) {
  const std::string known = groups == 0   ? "no groups"
                            : groups == 1 ? "one group"
                                          : std::to_string(groups) + " groups";
  return Error{0, "contains " + std::string(reference) + ", and its pattern has " + known,
               "add a group in parentheses to the pattern, which must start with re:"};
}

}  // namespace

Result<Template> Template::parse(std::string_view text, std::size_t groups) {
  Template made;
  made.pieces_.emplace_back();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') {
      made.pieces_.back().text += text[i];
      continue;
    }
    const std::string_view reference = text.substr(i++, 2);
    if (reference == "$$") {
      made.pieces_.back().text += '$';
    } else if (!is_group(reference)) {
      return Error{0, "contains a '$' without a meaning",
                   "write $1 to $9 for a group, $0 for the whole path, $$ for a dollar"};
    } else if (const std::size_t group = reference[1] - '0'; group > groups) {
      return no_such_group(reference, groups);
    } else {
      made.pieces_.back().group = group;
      made.pieces_.emplace_back();
    }
  }
  return made;
}

std::string Template::fill(const std::vector<std::string>& captured) const {
  std::string filled;
  for (const Piece& piece : pieces_) {
    filled += piece.text;
    if (piece.group) filled += captured[*piece.group];
  }
  return filled;
}

std::vector<Label> LabelRules::labels_of(std::string_view path) const {
  std::map<std::string, std::string> labels;
  for (const Rule& rule : rules_) {
    const std::optional<std::vector<std::string>> captured = rule.match.capture(path);
    if (!captured) continue;
    for (const Setting& setting : rule.set) {
      std::string value = setting.value.fill(*captured);
      if (!value.empty()) labels.try_emplace(setting.label, std::move(value));
    }
  }
  return {labels.begin(), labels.end()};
}

}  // namespace pex::cgroup
