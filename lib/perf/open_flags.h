#pragma once

#include <span>

#include "perf/abi.h"

namespace pex::perf {

/// The flags of perf_event_open(2), for EventTarget::flags.
///
/// Example:
///   EventTarget second;  // of an event that writes into the ring of another one, `first_fd`
///   second.flags = kOpenFdNoGroup | kOpenFdOutput;
///   second.group_fd = first_fd;
enum OpenFlag : unsigned long {
  kOpenFdNoGroup = 1UL << 0,  ///< no member of group_fd, which only names a ring
  kOpenFdOutput = 1UL << 1,   ///< records go to the ring of group_fd
  kOpenPidCgroup = 1UL << 2,  ///< pid is the descriptor of a cgroup's directory
  kOpenFdCloexec = 1UL << 3,  ///< PerfKernel always sets it
};

/// All of them.
std::span<const AbiEntry> open_flags();

}  // namespace pex::perf
