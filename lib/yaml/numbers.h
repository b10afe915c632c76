#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "yaml/value.h"

namespace pex::yaml {

// Numbers within bounds, inclusive.

struct NumberRange {
  std::uint64_t min;
  std::uint64_t max;
};
/// Plain decimal digits. Refuses what YAML would interpret in another way (010, 0x10, 1e3). `word`
/// is one that the key takes as well, for the remedy; empty: none.
std::optional<std::uint64_t> read_number(const Value& value, const NumberRange& range,
                                         std::string_view word = {});

struct DecimalRange {
  double min;  ///< above 0
  double max;
};
/// A decimal number with an optional point and exponent: 64, 0.5, 6.1e-5.
std::optional<double> read_decimal(const Value& value, const DecimalRange& range);
/// The shortest text that read_decimal reads as the same number.
std::string shortest(double number);

struct DurationRange {
  std::chrono::nanoseconds min;
  std::chrono::nanoseconds max;
};
/// In the format of parse_duration.
std::optional<std::chrono::nanoseconds> read_duration(const Value& value,
                                                      const DurationRange& range);

}  // namespace pex::yaml
