#include "exposition/number.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>

namespace pex::exposition {
namespace {

constexpr std::uint64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr double kNanosecond = 1e-9;

char* write_whole(char* at, std::uint64_t value) {
  return std::to_chars(at, at + kNumberBytes, value).ptr;
}

char* write_seconds(char* at, std::uint64_t nanoseconds) {
  constexpr int kDecimals = 9;
  at = write_whole(at, nanoseconds / kNanosecondsPerSecond);
  std::uint64_t rest = nanoseconds % kNanosecondsPerSecond;
  if (rest == 0) return at;
  *at = '.';
  for (int place = kDecimals; place >= 1; --place, rest /= 10) {
    at[place] = static_cast<char>('0' + rest % 10);
  }
  char* end = at + kDecimals + 1;
  while (end[-1] == '0') --end;
  return end;
}

char* write_text(char* at, std::string_view text) {
  std::memcpy(at, text.data(), text.size());
  return at + text.size();
}

char* write_real(char* at, double value) {
  constexpr double kMaxWhole = 1e15;  // without an exponent, as people read timestamps and bytes
  if (std::isnan(value)) return write_text(at, "NaN");
  if (std::isinf(value)) return write_text(at, value > 0 ? "+Inf" : "-Inf");
  if (value >= 0 && value < kMaxWhole && value == std::floor(value)) {
    return write_whole(at, static_cast<std::uint64_t>(value));
  }
  return std::to_chars(at, at + kNumberBytes, value).ptr;
}

}  // namespace

Number real(double value) {
  Number number;
  number.kind = Number::Kind::kReal;
  number.real = value;
  return number;
}

Number scaled_by_unit(std::uint64_t count, double scale) {
  constexpr double kLargestExact = 1 << 30;
  if (scale == kNanosecond) return nanoseconds(count);
  std::uint64_t product = 0;
  if (scale >= 1 && scale <= kLargestExact && scale == std::floor(scale) &&
      !__builtin_mul_overflow(count, static_cast<std::uint64_t>(scale), &product)) {
    return whole(product);
  }
  return real(static_cast<double>(count) * scale);
}

double Number::as_double() const {
  switch (kind) {
    case Kind::kNone:
      break;
    case Kind::kWhole:
      return static_cast<double>(whole);
    case Kind::kNanoseconds:
      return static_cast<double>(whole) / static_cast<double>(kNanosecondsPerSecond);
    case Kind::kReal:
      return real;
  }
  return 0;
}

char* write(char* at, Number number) {
  switch (number.kind) {
    case Number::Kind::kNone:
      break;
    case Number::Kind::kWhole:
      return write_whole(at, number.whole);
    case Number::Kind::kNanoseconds:
      return write_seconds(at, number.whole);
    case Number::Kind::kReal:
      return write_real(at, number.real);
  }
  return at;
}

}  // namespace pex::exposition
