#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "yaml/numbers.h"
#include "yaml/value.h"

namespace pex::yaml {

/// A duration as Go's time.ParseDuration reads it, without its signs: "1m30s", "1.5h", "100us", and
/// "0". Its units are ns, us (also with a micro sign), ms, s, m and h. Nothing otherwise, and
/// nothing when it does not fit into 64 bits of nanoseconds.
std::optional<std::chrono::nanoseconds> parse_go_duration(std::string_view text);

/// The same from a file, within bounds.
std::optional<std::chrono::nanoseconds> read_go_duration(const Value& value,
                                                         const DurationRange& range);

}  // namespace pex::yaml
