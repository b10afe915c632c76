#pragma once

#include <semaphore.h>

#include <cerrno>
#include <chrono>
#include <ctime>

namespace pex {

/// Wakes one sleeping thread. A semaphore of POSIX, as it takes no lock: a thread that a real-time
/// task keeps off its CPU while it opens a gate holds up nobody else. And std::binary_semaphore of
/// g++ 12 yields several times before each sleep: eight more system calls in a poll of two CPUs.
class Gate {
 public:
  Gate() { ::sem_init(&opened_, 0, 0); }
  ~Gate() { ::sem_destroy(&opened_); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void open() { ::sem_post(&opened_); }

  /// Waits until it is open, and closes it behind the caller. Opened twice, it lets two calls pass.
  void pass() {
    while (::sem_wait(&opened_) != 0 && errno == EINTR) {
    }
  }

  /// The same, and false when it is still closed at `deadline`.
  bool pass_until(std::chrono::steady_clock::time_point deadline) {
    using std::chrono::nanoseconds;
    using std::chrono::seconds;
    const nanoseconds time = deadline.time_since_epoch();
    const timespec at{std::chrono::duration_cast<seconds>(time).count(),
                      (time % seconds{1}).count()};
    int failed = 0;
    do {
      failed = ::sem_clockwait(&opened_, CLOCK_MONOTONIC, &at);
    } while (failed != 0 && errno == EINTR);
    return failed == 0;
  }

 private:
  sem_t opened_;
};

}  // namespace pex
