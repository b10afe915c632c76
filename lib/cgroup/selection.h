#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cgroup/pattern.h"

namespace pex::cgroup {

/// Whether a path is selected, and why.
struct Verdict {
  enum class Reason { kIncluded, kNotIncluded, kExcluded, kHelper };
  Reason reason = Reason::kNotIncluded;
  const Pattern* pattern = nullptr;  ///< that decided; null for kNotIncluded

  bool is_selected() const { return reason == Reason::kIncluded; }
};

/// Why it is not selected: "no pattern of cgroups.include matches it"; empty if it is.
std::string describe(const Verdict& verdict);

/// Which cgroups are selected. The patterns of `exclude` are tried first, then those of `include`;
/// the first that matches decides. A path that no pattern matches is not selected.
struct Selection {
  std::vector<Pattern> include;
  std::vector<Pattern> exclude;
  bool helpers = false;  ///< also those that only serve a container (path_info.h, is_helper)
  /// Of the matching ones only the innermost: one with another match below it is not selected.
  /// Applied by Discovery, which knows all of them.
  bool leaves = true;

  /// Everything except `leaves`. The pattern is one of this selection.
  Verdict judge(std::string_view path) const;
  bool matches(std::string_view path) const { return judge(path).is_selected(); }

  /// False if nothing below `path` can be selected: a walk can skip it.
  bool may_match_below(std::string_view path) const;

  bool operator==(const Selection&) const = default;
};

}  // namespace pex::cgroup
