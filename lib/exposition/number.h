#pragma once

#include <cstddef>
#include <cstdint>

namespace pex::exposition {

/// The value of a sample as it was counted, for writing without loss of precision.
struct Number {
  enum class Kind : std::uint8_t {
    kNone,         ///< unknown: there is no sample
    kWhole,        ///< `whole`
    kNanoseconds,  ///< `whole`, written in seconds: a double is exact for 104 days only
    kReal,         ///< `real`
  };
  Kind kind = Kind::kNone;
  union {
    std::uint64_t whole = 0;
    double real;
  };

  explicit operator bool() const { return kind != Kind::kNone; }
  double as_double() const;  ///< in the written unit; 0 for kNone
};

inline Number whole(std::uint64_t value) { return {Number::Kind::kWhole, {value}}; }
inline Number nanoseconds(std::uint64_t value) { return {Number::Kind::kNanoseconds, {value}}; }
Number real(double value);

/// `count` times `scale`, the counted unit in the unit of the family. Exact if possible: for
/// clocks, and scales that are whole numbers.
Number scaled_by_unit(std::uint64_t count, double scale);
inline Number scaled(std::uint64_t count, double scale) {
  return scale == 1 ? whole(count) : scaled_by_unit(count, scale);
}

/// The maximum length of write().
inline constexpr std::size_t kNumberBytes = 32;

/// Writes digits that all formats of Prometheus read as `number`, which is not kNone: whole numbers
/// as such, seconds with up to nine decimals, others with the shortest digits that give the same
/// double; "+Inf", "-Inf", "NaN". Returns the end.
char* write(char* at, Number number);

}  // namespace pex::exposition
