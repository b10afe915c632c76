#pragma once

#include "base/result.h"
#include "cgroup/hierarchy.h"
#include "cgroup/tree.h"
#include "collect/budget.h"
#include "host/roots.h"
#include "perf/perf_kernel.h"

namespace pex::plan {

/// Asks the kernel whether events can be counted in the cgroups of `tree`: the one who names it
/// with --path.cgroupfs may have named a directory that is no cgroup, or a hierarchy that does not
/// carry perf_event. Fails with what it is and what is expected. What the kernel refuses for
/// another reason says nothing about the tree, and is no failure.
Result<> check_tree(const cgroup::Hierarchy& tree, const host::HostRoots& roots,
                    perf::PerfKernel& kernel, int cpu);

/// How much of a tree is followed: as many directories as the configuration says, and half of the
/// inotify watches that a user may have, as other programs of the same user watch files as well.
cgroup::Tree::Limits tree_limits(const collect::Budget& budget, const host::HostRoots& roots);

}  // namespace pex::plan
