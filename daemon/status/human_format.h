#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace pex::daemon {

/// Numbers as a person reads them, whatever the locale, and without any character that HTML would
/// take for its own. Not for programs.

/// Three digits, and a prefix of the SI from 1000 on: "0", "0.004", "1.35", "24.1", "3.21 G".
/// Something that would be rounded to nothing is "under 0.001".
std::string figure(double value);

/// Every digit, in groups of three: "65 536", with a narrow space that does not break.
std::string count_text(std::uint64_t number);

/// "63.2 %". Only all is "100 %", and only nothing is "0 %"; next to it is "under 0.1 %".
std::string percent(double ratio);

/// In one or two units: "640 µs", "3.21 ms", "1.25 s", "42 s", "4 min 5 s", "3 h 4 min", "9 d 6 h".
std::string duration_text(std::chrono::nanoseconds duration);

/// How long ago something was or how long it has been so, in whole seconds: "under 1 s", "42 s", "3
/// h 4 min".
std::string age_text(std::chrono::nanoseconds age);

/// "2026-01-31T09:05:07Z", as <time> wants it.
std::string iso_time(std::chrono::system_clock::time_point time);

/// "2026-01-31 09:05:07 UTC"
std::string utc_time(std::chrono::system_clock::time_point time);

}  // namespace pex::daemon
