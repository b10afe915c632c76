#include "yaml/mistakes.h"

#include <algorithm>
#include <utility>

namespace pex::yaml {

Error mistake(const Position& position, const std::string& what, const Remedy& remedy) {
  std::string said = position.file + ":";
  if (position.line > 0) {
    said += std::to_string(position.line) + ":" + std::to_string(position.column) + ":";
  }
  if (!position.key.empty()) said += " " + position.key + ":";
  return Error{0, said + " " + what, remedy};
}

void Mistakes::add(const Position& at, const std::string& what, const Remedy& remedy) {
  if (list_.size() < kMost) {
    list_.push_back({at, mistake(at, what, remedy)});
  } else {
    ++more_;
  }
}

std::vector<Error> Mistakes::all() && {
  std::stable_sort(list_.begin(), list_.end(), [](const Found& a, const Found& b) {
    return std::pair(a.at.line, a.at.column) < std::pair(b.at.line, b.at.column);
  });
  std::vector<Error> errors;
  for (Found& found : list_) errors.push_back(std::move(found.error));
  if (more_ > 0) {
    errors.push_back(mistake({list_.front().at.file, 0, 0, {}},
                             "and " + std::to_string(more_) + " more mistakes",
                             "correct those above first"));
  }
  return errors;
}

}  // namespace pex::yaml
