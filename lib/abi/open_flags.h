#pragma once

#include <linux/perf_event.h>

namespace pex::perf {

/// The flags of perf_event_open(2), for EventTarget::flags.
///
/// Example:
///   EventTarget second;  // of an event that writes into the ring of another one, `first_fd`
///   second.flags = kOpenFdNoGroup | kOpenFdOutput;
///   second.group_fd = first_fd;
enum OpenFlag : unsigned long {
  kOpenFdNoGroup = PERF_FLAG_FD_NO_GROUP,  ///< no member of group_fd, which only names a ring
  kOpenFdOutput = PERF_FLAG_FD_OUTPUT,     ///< records go to the ring of group_fd
  kOpenPidCgroup = PERF_FLAG_PID_CGROUP,   ///< pid is the descriptor of a cgroup's directory
  kOpenFdCloexec = PERF_FLAG_FD_CLOEXEC,   ///< PerfKernel always sets it
};

}  // namespace pex::perf
