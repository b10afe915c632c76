#pragma once

#include <chrono>
#include <cstdint>

#include "base/result.h"
#include "base/unique_fd.h"
#include "host/roots.h"

namespace pex::host {

/// A descriptor of a process that is readable once it has ended, close-on-exec (pidfd_open(2)).
/// Empty if there is no such process, if `pid` is a thread that does not lead one, and before Linux
/// 5.3.
UniqueFd watch_process(int pid);

/// Whether a process or thread of this number exists; true also for one that has ended and that its
/// parent has not waited for.
bool process_exists(int pid);

/// Whether a process belongs to the user of this one: not root's, nor one that has become another
/// user's, or has rights of its file.
bool is_of_this_user(int pid);

/// The user and system time of a process, of all its threads and of those that have ended, rounded
/// down by less than kCpuTimeRounding (proc_pid_stat(5), utime and stime). `pid` may be one of its
/// threads. Fails with the errno of reading the file: ENOENT or ESRCH for no such process; EINVAL
/// if it is something else.
Result<std::chrono::nanoseconds> cpu_time(const HostRoots& roots, int pid);
inline constexpr std::chrono::milliseconds kCpuTimeRounding{20};  // two ticks of 10 ms

}  // namespace pex::host
