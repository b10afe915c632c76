#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>

namespace pex::bench {

/// Counts the system calls of all threads of a process but its first, by ptrace(2): exact, and
/// needs nothing mounted or installed. The count is in memory shared with the traced process, which
/// so can look at it without a system call. Traced threads are many times slower.
class SyscallCounter {
 public:
  /// In the process that will trace; the traced one is forked from it later.
  SyscallCounter();
  ~SyscallCounter();
  SyscallCounter(const SyscallCounter&) = delete;
  SyscallCounter& operator=(const SyscallCounter&) = delete;

  /// Starts a tracer as a child of the caller and waits until it has all threads. False when
  /// tracing is not allowed.
  bool start(pid_t process);
  void stop();

  std::uint64_t count() const { return shared_->calls; }

 private:
  struct Shared {
    std::atomic<std::uint64_t> calls;
    std::atomic<int> state;  ///< 0 attaching, 1 tracing, -1 refused
  };
  [[noreturn]] void trace(pid_t process);

  Shared* shared_;
  pid_t tracer_ = -1;
};

}  // namespace pex::bench
