#include "cgroup/selection.h"

#include <algorithm>

#include "cgroup/path_info.h"

namespace pex::cgroup {
namespace {

bool any_matches(const std::vector<Pattern>& patterns, std::string_view path) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [path](const Pattern& pattern) { return pattern.matches(path); });
}

}  // namespace

bool Selection::matches(std::string_view path) const {
  return !any_matches(exclude, path) && any_matches(include, path) &&
         (helpers || !parse_path(path).is_helper);
}

bool Selection::may_match_below(std::string_view path) const {
  const bool all_excluded =
      std::any_of(exclude.begin(), exclude.end(),
                  [path](const Pattern& pattern) { return pattern.matches_all_below(path); });
  return !all_excluded &&
         std::any_of(include.begin(), include.end(),
                     [path](const Pattern& pattern) { return pattern.may_match_below(path); });
}

}  // namespace pex::cgroup
