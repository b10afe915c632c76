#pragma once

#include <chrono>
#include <ctime>

namespace pex::test {

/// What this thread has used of the CPUs: a bound of it holds on a busy machine as well.
inline std::chrono::nanoseconds thread_cpu_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
}

}  // namespace pex::test
