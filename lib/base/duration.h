#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace pex {

/// Parses a duration in the format of Go's time.ParseDuration, and so of Prometheus' tools, without
/// a sign: "250ms", "1m30s", "1.5h", "0". The units are ns, us (also with a micro sign), ms, s, m
/// and h. Nothing for any other text, and if the value does not fit into 64 bits of nanoseconds.
std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text);

inline double seconds_of(std::chrono::duration<double> time) { return time.count(); }

/// The inverse of parse_duration, in the largest unit that keeps it whole: 90s, 2m, 250ms.
std::string format_duration(std::chrono::nanoseconds duration);

/// A part of what was measured, to three digits, and in the smallest unit in which the whole has at
/// most four: "41.2 ms" of "1000 ms".
std::string format_part(std::chrono::nanoseconds part, std::chrono::nanoseconds whole);

}  // namespace pex
