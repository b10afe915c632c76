#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "cgroup/hierarchy.h"
#include "cgroup/tree.h"
#include "collect/budget.h"
#include "host/roots.h"
#include "perf/perf_kernel.h"
#include "plan/load_plan.h"

namespace pex::plan {

/// Where the cgroups of a plan are counted.
struct CgroupTree {
  std::optional<cgroup::Hierarchy> hierarchy;  ///< none: no cgroup is counted
  std::vector<Error> warnings;  ///< why there is none, unless the plan counts no cgroups
};

/// Fails when the machine cannot be read. Does not ask whether the kernel counts there: it may be a
/// copy of another machine's tree.
Result<CgroupTree> find_cgroup_tree(const LoadedPlan& planned, const host::HostRoots& roots);

/// The same, where the kernel counts. Fails where it does not and HostRoots::cgroupfs names the
/// directory. With one that was found in the mount table, that is a warning, as CPUs can be
/// counted.
Result<CgroupTree> find_counted_tree(const LoadedPlan& planned, const host::HostRoots& roots,
                                     perf::PerfKernel& kernel);

/// Asks the kernel whether events can be counted in the cgroups of `tree`: HostRoots::cgroupfs may
/// name a directory that is no cgroup, or a hierarchy that does not carry perf_event. Fails with
/// what it is and what is expected. What the kernel refuses for another reason says nothing about
/// the tree, and is no failure.
Result<> check_tree(const cgroup::Hierarchy& tree, const host::HostRoots& roots,
                    perf::PerfKernel& kernel, int cpu);

/// How much of a tree is followed: as many directories as the configuration allows, and half of the
/// inotify watches that a user may have, as other programs of the same user watch files as well.
cgroup::Tree::Limits tree_limits(const collect::Budget& budget, const host::HostRoots& roots);

}  // namespace pex::plan
