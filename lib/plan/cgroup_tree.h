#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "cgroup/hierarchy.h"
#include "cgroup/tree.h"
#include "host/roots.h"
#include "perf/perf_kernel.h"
#include "plan/load_plan.h"
#include "targets/budget.h"

namespace pex::plan {

/// The cgroup tree of a plan.
struct CgroupTree {
  std::optional<cgroup::Hierarchy> hierarchy;  ///< none: no cgroup is counted
  /// Why there is none, unless no group is for cgroups. Else the patterns of the operator that
  /// matched no cgroup: the default ones are for every kind of machine. None of them if there are
  /// more cgroups than limits.max_cgroup_directories.
  std::vector<Error> warnings;
};

/// Fails if the machine cannot be read. Does not check with the kernel: the tree may be a copy of
/// another machine's.
Result<CgroupTree> find_cgroup_tree(const LoadedPlan& planned, const host::HostRoots& roots);

/// The same, checked with the kernel. Fails if the kernel cannot count in the tree and
/// HostRoots::cgroupfs names the directory. For one that was found in the mount table, that is a
/// warning, as CPUs can be counted.
Result<CgroupTree> find_counted_tree(const LoadedPlan& planned, const host::HostRoots& roots,
                                     perf::PerfKernel& kernel);

/// Checks with the kernel whether events can be counted in the cgroups of `tree`:
/// HostRoots::cgroupfs may name a directory that is not a cgroup, or a hierarchy that lacks the
/// perf_event controller. Fails with what it is and what is expected. A refusal for another reason
/// is not about the tree, and no failure.
Result<> check_tree(const cgroup::Hierarchy& tree, const host::HostRoots& roots,
                    perf::PerfKernel& kernel, int cpu);

/// The limits for a tree: the configured number of directories, and half of the inotify watches
/// that a user may have, as other programs of the same user watch files as well.
cgroup::Tree::Limits tree_limits(const collect::Budget& budget, const host::HostRoots& roots);

}  // namespace pex::plan
