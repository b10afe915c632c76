#pragma once

#include <chrono>

namespace pex {

/// The time since the machine started, also while it was suspended (CLOCK_BOOTTIME,
/// clock_gettime(2)). Setting the date does not change it: what is kept is a time of this clock,
/// and it becomes a date when it is shown.
struct BootClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;

  static time_point now();
};

/// When the machine started, by the date as it is set now. The same at each call, so that a date
/// which is published stays the same, until the date is set to another one: by more than half a
/// second. May be called by any thread.
std::chrono::system_clock::time_point boot_date();

inline std::chrono::system_clock::time_point date_of(BootClock::time_point time) {
  return boot_date() + time.time_since_epoch();
}
inline BootClock::time_point boot_time_of(std::chrono::system_clock::time_point date) {
  return BootClock::time_point{date - boot_date()};
}

}  // namespace pex
