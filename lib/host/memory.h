#pragma once

#include <cstdint>
#include <optional>

#include "host/roots.h"

namespace pex::host {

/// Bytes of memory of the machine (proc_meminfo(5), "MemTotal"); nothing if it cannot be read.
std::optional<std::uint64_t> total_memory(const HostRoots& roots);

/// Bytes that this process may use: the lowest memory.max of its cgroup and those above it that it
/// can see, or in version 1 memory.limit_in_bytes of its own (cgroups(7)). Nothing without a limit.
std::optional<std::uint64_t> memory_limit(const HostRoots& roots);

}  // namespace pex::host
