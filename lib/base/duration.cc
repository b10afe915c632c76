#include "base/duration.h"

#include <cstdint>
#include <cstdio>
#include <limits>

#include "base/lookup.h"
#include "base/text.h"

namespace pex {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

struct UnitEntry {
  std::string_view name;
  std::int64_t nanoseconds;
};
/// Largest first: format_duration takes the first that keeps a duration whole.
constexpr UnitEntry kUnits[] = {
    {"h", 3'600'000'000'000}, {"m", 60'000'000'000}, {"s", 1'000'000'000},
    {"ms", 1'000'000},        {"us", 1'000},         {"ns", 1},
    {"\u00b5s", 1'000},  // micro sign
    {"\u03bcs", 1'000},  // Greek letter mu
};

/// Takes the first `end` characters from `text`, or all of it.
std::string_view take(std::string_view& text, std::size_t end) {
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(taken.size());
  return taken;
}

/// The fraction `digits` in nanoseconds, rounded down.
std::int64_t fraction_of(std::int64_t unit, std::string_view digits) {
  std::int64_t worth = 0;
  for (const char digit : digits) worth += (unit /= 10) * (digit - '0');
  return worth;
}

/// Takes one number and its unit from the front of `text`.
std::optional<std::int64_t> take_part(std::string_view& text) {
  const std::string_view whole = take(text, text.find_first_not_of(kDigits));
  std::string_view fraction;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    fraction = take(text, text.find_first_not_of(kDigits));
  }
  const UnitEntry* unit =
      lookup(kUnits, &UnitEntry::name, take(text, text.find_first_of("0123456789.")));
  if (unit == nullptr || (whole.empty() && fraction.empty())) return {};

  const std::optional<std::uint64_t> count = whole.empty() ? 0 : parse_unsigned(whole);
  if (!count || *count > static_cast<std::uint64_t>(kMax / unit->nanoseconds)) return {};
  const std::int64_t worth = static_cast<std::int64_t>(*count) * unit->nanoseconds;
  const std::int64_t rest = fraction_of(unit->nanoseconds, fraction);
  if (rest > kMax - worth) return {};
  return worth + rest;
}

}  // namespace

std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text) {
  if (text.empty()) return {};
  if (text == "0") return std::chrono::nanoseconds{0};
  std::int64_t sum = 0;
  while (!text.empty()) {
    const std::optional<std::int64_t> part = take_part(text);
    if (!part || *part > kMax - sum) return {};
    sum += *part;
  }
  return std::chrono::nanoseconds{sum};
}

std::string format_duration(std::chrono::nanoseconds duration) {
  if (duration.count() == 0) return "0s";
  const UnitEntry* unit = kUnits;
  while (duration.count() % unit->nanoseconds != 0) ++unit;  // ns divides all
  return std::to_string(duration.count() / unit->nanoseconds) + std::string(unit->name);
}

std::string format_part(std::chrono::nanoseconds part, std::chrono::nanoseconds whole) {
  constexpr std::int64_t kMaxNumber = 9999;
  const UnitEntry* unit = lookup(kUnits, &UnitEntry::name, std::string_view("ns"));
  while (unit != kUnits && whole.count() / unit->nanoseconds > kMaxNumber) --unit;
  const double value = static_cast<double>(part.count()) / static_cast<double>(unit->nanoseconds);
  char digits[64];
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  const int length = std::snprintf(digits, sizeof digits, "%.*f", decimals, value);
  std::string text(digits, static_cast<std::size_t>(length));
  if (decimals > 0) text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text.append(" ").append(unit->name);
}

}  // namespace pex
