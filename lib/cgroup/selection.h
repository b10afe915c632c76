#pragma once

#include <string_view>
#include <vector>

#include "cgroup/pattern.h"

namespace pex::cgroup {

/// Which cgroups are wanted. The patterns of `exclude` are tried first, then those of `include`;
/// the first that matches decides. What none matches is not wanted.
struct Selection {
  std::vector<Pattern> include;
  std::vector<Pattern> exclude;
  bool helpers = false;  ///< also those that only serve a container (path_info.h, is_helper)
  /// Of those that match only the innermost: one below which another matches is not wanted. Applied
  /// by Discovery, which sees all of them.
  bool leaves = true;

  /// Everything but `leaves`.
  bool matches(std::string_view path) const;

  /// False when nothing below `path` can be wanted: whether a walk has to go on there.
  bool may_match_below(std::string_view path) const;

  bool operator==(const Selection&) const = default;
};

}  // namespace pex::cgroup
