#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/load_plan.h"
#include "targets/targets.h"

namespace pex::daemon {

/// Which cgroups are counted now, and for each other one why it is not.
class CgroupExplanation {
 public:
  struct Line {
    std::string_view state;   ///< counted, left out, not selected, not counted
    std::string labels = {};  ///< of its series, each with a space before it
    std::string reason = {};  ///< empty if it is counted
  };

  /// `planned` outlives it. `mount` is the root of the hierarchy, `left_out` the paths that
  /// TargetTracker leaves out.
  CgroupExplanation(const plan::LoadedPlan& planned, std::string mount,
                    const collect::TargetSet& targets, const std::vector<std::string>& left_out);

  /// Those that are counted or left out, by path.
  const std::map<std::string, Line>& selected() const { return selected_; }

  /// Nothing if there is no such cgroup.
  std::optional<Line> of(const std::string& path) const;

 private:
  Line why_not(const std::string& path) const;

  const plan::LoadedPlan& planned_;
  std::string mount_;
  std::map<std::string, Line> selected_;
};

/// The path below `mount` of one that somebody wrote: also with the mount before it, without the
/// first slash, or with '//', '.' and '..'. A path above the root begins with "/..".
std::string path_below(const std::string& mount, const std::string& written);

}  // namespace pex::daemon
