#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace pex {

/// A duration as Go's time.ParseDuration and so Prometheus' tools read it, without a sign: "250ms",
/// "1m30s", "1.5h", "0". Its units are ns, us (also with a micro sign), ms, s, m and h. Nothing
/// otherwise, and nothing when it does not fit into 64 bits of nanoseconds.
std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text);

/// As parse_duration reads it, in the largest unit that keeps it whole: 90s, 2m, 250ms.
std::string format_duration(std::chrono::nanoseconds duration);

}  // namespace pex
