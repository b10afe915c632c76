#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pex::events {

/// The words of perf_event_attr that terms set, as formats name them.
inline constexpr std::array<std::string_view, 4> kConfigWords = {"config", "config1", "config2",
                                                                 "config3"};

/// The bits that a term sets, lowest bits of the value first ("config1:0-7,32-35";
/// Documentation/ABI/testing/sysfs-bus-event_source-devices-format).
struct FormatField {
  struct BitRange {
    unsigned first = 0;
    unsigned last = 0;  ///< inclusive; 63 at most
    bool operator==(const BitRange&) const = default;
  };
  unsigned word = 0;  ///< index into kConfigWords
  std::vector<BitRange> ranges;

  /// The number of bits in all ranges.
  unsigned width() const;
  /// `value` distributed over the ranges; its bits beyond width() are lost.
  std::uint64_t spread(std::uint64_t value) const;

  bool operator==(const FormatField&) const = default;
};

/// Fails with EINVAL on any other form, and on overlapping ranges.
Result<FormatField> parse_format(std::string_view text);

}  // namespace pex::events
