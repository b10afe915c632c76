#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pex::events {

/// Which bits a term fills, lowest bits of the value first ("config1:0-7,32-35";
/// Documentation/ABI/testing/sysfs-bus-event_source-devices-format).
struct FormatField {
  struct BitRange {
    unsigned first = 0;
    unsigned last = 0;  ///< inclusive; 63 at most
    bool operator==(const BitRange&) const = default;
  };
  unsigned word = 0;  ///< 0: config, 1: config1, 2: config2, 3: config3
  std::vector<BitRange> ranges;

  /// Bits of all ranges.
  unsigned width() const;
  /// `value` spread over the ranges; its bits beyond width() are lost.
  std::uint64_t spread(std::uint64_t value) const;

  bool operator==(const FormatField&) const = default;
};

/// Fails with EINVAL on what is not of that form, and on ranges that share a bit.
Result<FormatField> parse_format(std::string_view text);

}  // namespace pex::events
