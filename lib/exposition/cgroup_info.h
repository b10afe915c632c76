#pragma once

#include <string>
#include <vector>

#include "collect/targets.h"

namespace pex::exposition {

/// perf_cgroup_info: all that is known of each cgroup, as labels of a sample that is always 1, to
/// be joined with its counts (prometheus.io/docs/practices/naming, "info" metrics).
class CgroupInfo {
 public:
  CgroupInfo() = default;
  explicit CgroupInfo(const std::vector<collect::CgroupTarget>& cgroups);

  /// Appends to `text`.
  void write(std::string& text) const;

 private:
  std::vector<std::string> labels_;  ///< escaped, of each cgroup
};

}  // namespace pex::exposition
