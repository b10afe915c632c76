#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cgroup/hierarchy.h"

namespace pex::cgroup {

/// CPU time of the tasks of the cgroup at `path` and below since it was created, in microseconds:
/// "usage_usec" of cpu.stat (Linux, Documentation/admin-guide/cgroup-v2.rst), which every cgroup of
/// version 2 has; of its root, "" here, user and system time, as usage_usec of the root has the
/// time that a hypervisor took, before Linux 6.15 (kernel/cgroup/rstat.c); for version 1
/// cpuacct.usage of the same path, where cpuacct is mounted. Nothing if the kernel does not provide
/// it.
std::optional<std::uint64_t> cpu_use(const Hierarchy& hierarchy, const std::string& path);

}  // namespace pex::cgroup
