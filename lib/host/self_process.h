#pragma once

#include <pthread.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/boot_clock.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace pex::host {

/// What the kernel reports about this process. Always from /proc, regardless of HostRoots, which
/// describe the host.
struct SelfProcess {
  double cpu_seconds = 0;  ///< user and system time of all threads
  BootClock::time_point started;
  std::optional<std::uint64_t> open_fds = {};  ///< as reported_open_fds()
  std::uint64_t max_fds = 0;                   ///< soft limit
  std::uint64_t resident_bytes = 0;
};

/// Holds /proc/self/statm open from the start, so that the number of descriptors does not change
/// with the first reading. Not for use on both sides of a fork.
class SelfProcessReader {
 public:
  SelfProcessReader();

  Result<SelfProcess> read();

 private:
  Result<UniqueFd> statm_;
};

/// How long a thread was ready to run and had no CPU, as others had it: the second number of its
/// schedstat (Documentation/scheduler/sched-stats.rst). Created and used by that thread.
class ThreadWait {
 public:
  /// Since the thread began; 0 if the kernel does not report it.
  std::chrono::nanoseconds read();

 private:
  std::optional<Result<UniqueFd>> file_;
};

/// The number of open descriptors, as reported by the kernel: nothing before Linux 6.2.
std::optional<std::uint64_t> reported_open_fds();

/// The same by listing them, at 1.5 us each: too slow for an event loop.
std::optional<std::uint64_t> list_open_fds();

/// A path to what this process has open, whatever has become of the path that it was opened by.
std::string path_of_open_file(int descriptor);

/// The cgroup of a process in the tree of version 1 with `controller`, or with "" in that of
/// version 2, as a path below its root (cgroups(7), "/proc/pid/cgroup"). In a container with a
/// cgroup namespace, "/" is the container.
std::optional<std::string> cgroup_of(std::string_view cgroups, std::string_view controller);

/// The same with version 1's perf_event controller if there is one, else in version 2.
std::optional<std::string> perf_cgroup_of(std::string_view cgroups);

/// The cgroup of this process; nothing if /proc does not show it.
std::optional<std::string> self_perf_cgroup();

/// Whether its file gave this process rights that its user does not have: a capability (AT_SECURE,
/// getauxval(3)). Then files of that user are not those of an administrator.
bool has_rights_by_its_file();

/// Binds the calling thread to one CPU; false if it may not run there: it is not in the cpuset, or
/// not among the CPUs of the main thread (CPUAffinity=, taskset(1)).
bool bind_thread_to(int cpu);

/// Lets another thread of this process run wherever the calling one may, except on `cpu`: the
/// kernel moves it away even if a real-time task leaves it no time there. False if no CPU remains.
bool move_thread_off(pthread_t thread, int cpu);

/// Blocks the signals of the calling thread: another thread handles them. Not those of its own
/// faults, which would end the process without a word.
void block_signals();

/// For a thread that could not be started (EAGAIN): the limit of tasks, unless that of the address
/// space is set, which the stack of a thread needs.
Remedy thread_remedy();

/// Raises the soft limit of open files to the hard one, which any process may; returns the
/// resulting limit.
std::uint64_t raise_open_file_limit();

}  // namespace pex::host
