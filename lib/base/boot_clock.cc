#include "base/boot_clock.h"

#include <time.h>

#include <atomic>

namespace pex {

using std::chrono::nanoseconds;
using std::chrono::system_clock;

BootClock::time_point BootClock::now() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return time_point{std::chrono::seconds{now.tv_sec} + nanoseconds{now.tv_nsec}};
}

system_clock::time_point boot_date() {
  constexpr std::chrono::milliseconds kStep{500};
  static std::atomic<system_clock::time_point> known = system_clock::time_point{};
  const auto seen = system_clock::now() - BootClock::now().time_since_epoch();
  if (std::chrono::abs(seen - known.load()) > kStep) known = seen;
  return known;
}

}  // namespace pex
