#pragma once

#include <cstdint>
#include <string>

#include "cgroup/hierarchy.h"

namespace pex::cgroup {

/// CPU time that the tasks of the cgroup at `path` and below have used since it was made, in
/// microseconds: "usage_usec" of cpu.stat (Linux, Documentation/admin-guide/cgroup-v2.rst), which
/// every cgroup of version 2 has; of version 1 cpuacct.usage, of the same path where cpuacct is
/// mounted. 0 when the kernel does not tell.
std::uint64_t cpu_use(const Hierarchy& hierarchy, const std::string& path);

}  // namespace pex::cgroup
