#pragma once

#include <chrono>

namespace pex::daemon {

/// A moment by both clocks: the wall clock for the date, the steady one for durations. A step of
/// the wall clock changes no duration.
struct Moment {
  std::chrono::system_clock::time_point at;
  std::chrono::steady_clock::time_point steady;

  static Moment now() {
    return {std::chrono::system_clock::now(), std::chrono::steady_clock::now()};
  }
};

}  // namespace pex::daemon
