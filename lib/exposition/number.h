#pragma once

#include <cstddef>
#include <cstdint>

namespace pex::exposition {

/// A value of a sample as it was counted, so that it can be written without a loss.
struct Number {
  enum class Kind : std::uint8_t {
    kNone,         ///< not known: there is no sample
    kWhole,        ///< `whole`
    kNanoseconds,  ///< `whole`, to be written in seconds: a double holds them for 104 days only
    kReal,         ///< `real`
  };
  Kind kind = Kind::kNone;
  union {
    std::uint64_t whole = 0;
    double real;
  };

  explicit operator bool() const { return kind != Kind::kNone; }
  double as_double() const;  ///< in the unit that it is written in; 0 of none
};

inline Number whole(std::uint64_t value) { return {Number::Kind::kWhole, {value}}; }
inline Number nanoseconds(std::uint64_t value) { return {Number::Kind::kNanoseconds, {value}}; }
Number real(double value);

/// `count` times `scale`, the unit that is counted in the unit of the family. Exact where that can
/// be: clocks, and units of whole numbers.
Number scaled_by_unit(std::uint64_t count, double scale);
inline Number scaled(std::uint64_t count, double scale) {
  return scale == 1 ? whole(count) : scaled_by_unit(count, scale);
}

/// What write() needs at most.
inline constexpr std::size_t kNumberBytes = 32;

/// Writes the digits that all formats of Prometheus read as `number`, which is not none: whole
/// numbers whole, seconds with up to nine decimals, others with the shortest digits that are read
/// as the same double; "+Inf", "-Inf", "NaN". Returns the end.
char* write(char* at, Number number);

}  // namespace pex::exposition
