#pragma once

#include <string>

#include "base/scope.h"
#include "config/config.h"
#include "targets/counting_plan.h"

namespace pex::plan {

/// The kernel groups that count a configured group.
struct PlannedGroup {
  std::string name;  ///< as configured, as are the next three
  bool cpu_scope = false;
  bool cgroup_scope = false;
  config::Estimator estimator = config::Estimator::kAuto;
  collect::ScopePlan counted;  ///< groups and columns of either scope

  bool is_in(Scope scope) const { return scope == Scope::kCpu ? cpu_scope : cgroup_scope; }
  int scopes() const { return (cpu_scope ? 1 : 0) + (cgroup_scope ? 1 : 0); }
};

}  // namespace pex::plan
