#include "cgroup/selection.h"

#include <algorithm>

#include "cgroup/path_info.h"

namespace pex::cgroup {
namespace {

/// Null if none matches.
const Pattern* first_match(const std::vector<Pattern>& patterns, std::string_view path) {
  const auto found = std::find_if(patterns.begin(), patterns.end(),
                                  [path](const Pattern& pattern) { return pattern.matches(path); });
  return found == patterns.end() ? nullptr : &*found;
}

}  // namespace

std::string describe(const Verdict& verdict) {
  switch (verdict.reason) {
    case Verdict::Reason::kIncluded:
      break;
    case Verdict::Reason::kNotIncluded:
      return "no pattern of cgroups.include matches it";
    case Verdict::Reason::kExcluded:
      return "cgroups.exclude has '" + verdict.pattern->text() + "'";
    case Verdict::Reason::kHelper:
      return "it only serves a container; 'helpers: true' selects it";
  }
  return {};
}

Verdict Selection::judge(std::string_view path) const {
  using Reason = Verdict::Reason;
  if (const Pattern* const excluded = first_match(exclude, path)) {
    return {Reason::kExcluded, excluded};
  }
  const Pattern* const included = first_match(include, path);
  if (included == nullptr) return {};
  const bool is_refused = !helpers && parse_path(path).is_helper;
  return {is_refused ? Reason::kHelper : Reason::kIncluded, included};
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
