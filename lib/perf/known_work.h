#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace pex::perf {

/// Bounds of a number of events.
struct Bounds {
  std::uint64_t least = 0;
  std::uint64_t most = 0;

  bool contain(std::uint64_t number) const { return least <= number && number <= most; }
};

/// Work of the calling thread, with a known number of events.
struct KnownWork {
  int cpu = 0;                   ///< where it is done: the thread moves there first, and stays
  std::uint64_t iterations = 0;  ///< of a loop; several times as many if it waits for `busy_cpu`
  std::size_t pages = 0;         ///< of new memory, each a page fault
  std::size_t sleeps = 0;        ///< each a context switch
  std::chrono::nanoseconds sleep = std::chrono::microseconds{20};
  int other_cpu = -1;  ///< the thread moves there and back, if it may run there
  int busy_cpu = -1;   ///< another thread does as many iterations there meanwhile
};

/// The numbers of events in the thread, and on its CPU.
struct WorkDone {
  Bounds instructions;  ///< in user mode, as are
  Bounds branches;
  std::uint64_t faults = 0;  ///< as the kernel reports, with those of others, as are
  Bounds switches;           ///< at most: with those on the other CPU
  std::uint64_t migrations = 0;
  std::chrono::nanoseconds cpu_time{};     ///< of the thread, on this CPU
  std::chrono::nanoseconds thread_time{};  ///< the same since the thread began
};

/// CPU time of the calling thread since it began.
std::chrono::nanoseconds thread_time();

/// Nothing if the thread may not run on the CPU, if there is no memory or no second thread, or if a
/// seccomp profile forbids getrusage(2).
std::optional<WorkDone> do_known_work(const KnownWork& work);

}  // namespace pex::perf
