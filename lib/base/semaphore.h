#pragma once

#include <semaphore.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>

#ifdef PEX_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace pex {

/// As system calls take it; 0 for a time that has passed.
inline timespec timespec_of(std::chrono::nanoseconds time) {
  time = std::max(time, std::chrono::nanoseconds{0});
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  return {seconds.count(), (time - seconds).count()};
}

/// Wakes sleeping threads: sem_overview(7), which takes no lock. If a real-time task preempts a
/// thread while it posts, no other thread is delayed. std::binary_semaphore of g++ 12 yields
/// several times before each sleep, which is eight more system calls in a poll of two CPUs.
class Semaphore {
 public:
  Semaphore() { ::sem_init(&semaphore_, 0, 0); }
  ~Semaphore() { ::sem_destroy(&semaphore_); }
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;

  /// Lets one wait() return, now or later.
  void post() { ::sem_post(&semaphore_); }

  void wait() {
    while (::sem_wait(&semaphore_) != 0 && errno == EINTR) {
    }
  }

  /// Takes a post that has arrived, without waiting for one. False if there is none.
  bool take() {
    int failed = 0;
    do {
      failed = ::sem_trywait(&semaphore_);
    } while (failed != 0 && errno == EINTR);
    return failed == 0;
  }

  /// False if no post arrived by `deadline`.
  bool wait_until(std::chrono::steady_clock::time_point deadline) {
    const timespec at = timespec_of(deadline.time_since_epoch());
    int failed = 0;
    do {
      failed = ::sem_clockwait(&semaphore_, CLOCK_MONOTONIC, &at);
    } while (failed != 0 && errno == EINTR);
#ifdef PEX_THREAD_SANITIZER
    if (failed == 0) __tsan_acquire(&semaphore_);  // it knows sem_wait(3), but not sem_clockwait(3)
#endif
    return failed == 0;
  }

 private:
  sem_t semaphore_;
};

}  // namespace pex
