#pragma once

#include <chrono>
#include <string>

namespace pex::daemon {

/// A duration in one or two units for people, independent of the locale: "640 µs", "3.21 ms", "1.25
/// s", "42 s", "4 min 5 s", "3 h 4 min", "9 d 6 h". Not for programs.
std::string duration_text(std::chrono::nanoseconds duration);

}  // namespace pex::daemon
