#include "daemon/status/human_format.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <string_view>

namespace pex::daemon {
namespace {

using std::chrono::nanoseconds;

constexpr std::string_view kThinSpace = "\u202f";  // narrow, and does not break
constexpr std::string_view kSpace = "\u00a0";      // does not break

std::string fixed(double value, int decimals) {
  char digits[64];
  const auto [end, error] = std::to_chars(std::begin(digits), std::end(digits), value,
                                          std::chars_format::fixed, decimals);
  return error == std::errc{} ? std::string(digits, end) : "?";
}

/// Below 1000; at least as many decimals as make three digits.
std::string three_digits(double value) {
  if (value >= 99.95) return fixed(value, 0);
  if (value >= 9.995) return fixed(value, 1);
  return fixed(value, value >= 0.9995 ? 2 : 3);
}

struct Prefix {
  double worth;
  std::string_view symbol;
};
constexpr Prefix kPrefixes[] = {{1e18, "E"}, {1e15, "P"}, {1e12, "T"},
                                {1e9, "G"},  {1e6, "M"},  {1e3, "k"}};

struct UnitOfTime {
  std::int64_t seconds;
  std::string_view symbol;
};
constexpr UnitOfTime kUnitsOfTime[] = {{86'400, "d"}, {3'600, "h"}, {60, "min"}, {1, "s"}};

std::string with_unit(const std::string& number, std::string_view unit) {
  return std::string(number).append(kSpace).append(unit);
}

/// From a minute on: the largest unit, and the next one when there is any of it.
std::string two_units(std::int64_t seconds) {
  const UnitOfTime* unit = kUnitsOfTime;
  while (seconds < unit->seconds) ++unit;
  std::string text = with_unit(std::to_string(seconds / unit->seconds), unit->symbol);
  const std::int64_t rest = seconds % unit->seconds;
  if (unit->seconds == 1 || rest / unit[1].seconds == 0) return text;
  return text.append(" ").append(with_unit(std::to_string(rest / unit[1].seconds), unit[1].symbol));
}

std::string format_time(std::chrono::system_clock::time_point time, const char* format) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm fields{};
  if (::gmtime_r(&seconds, &fields) == nullptr) return "?";
  char text[64];
  return {text, std::strftime(text, sizeof text, format, &fields)};
}

}  // namespace

std::string figure(double value) {
  if (!std::isfinite(value)) return "?";
  if (value < 0) return "\u2212" + figure(-value);
  if (value == 0) return "0";
  if (value < 0.0005) return std::string("under").append(kSpace).append("0.001");
  for (const Prefix& prefix : kPrefixes) {
    if (value >= prefix.worth * 0.9995) {
      return with_unit(three_digits(value / prefix.worth), prefix.symbol);
    }
  }
  return three_digits(value);
}

std::string count_text(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t from_end = 3, size = text.size(); from_end < size; from_end += 3) {
    text.insert(size - from_end, kThinSpace);
  }
  return text;
}

std::string percent(double ratio) {
  const auto text = [](const std::string& number) { return with_unit(number, "%"); };
  if (!std::isfinite(ratio)) return "?";
  if (ratio == 0) return text("0");
  if (ratio >= 1) return text(fixed(ratio * 100, 0));
  if (ratio >= 0.9995) return text("99.9");
  if (ratio < 0.001) return text("under\u00a00.1");
  return text(fixed(ratio * 100, 1));
}

std::string duration_text(nanoseconds duration) {
  const double ns = static_cast<double>(duration.count());
  if (duration <= nanoseconds{0}) return with_unit("0", "s");
  if (ns < 1e6) return with_unit(three_digits(ns / 1e3), "µs");
  if (ns < 999.5e6) return with_unit(three_digits(ns / 1e6), "ms");
  if (ns < 9.995e9) return with_unit(three_digits(ns / 1e9), "s");
  return two_units(std::chrono::round<std::chrono::seconds>(duration).count());
}

std::string age_text(nanoseconds age) {
  if (age < std::chrono::seconds{1}) return "under " + with_unit("1", "s");
  return two_units(std::chrono::floor<std::chrono::seconds>(age).count());
}

std::string iso_time(std::chrono::system_clock::time_point time) {
  return format_time(time, "%Y-%m-%dT%H:%M:%SZ");
}

std::string utc_time(std::chrono::system_clock::time_point time) {
  return format_time(time, "%Y-%m-%d %H:%M:%S UTC");
}

}  // namespace pex::daemon
