#include "yaml/go_duration.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "base/text.h"

namespace pex::yaml {
namespace {

constexpr std::string_view kDigits = "0123456789";

struct DurationUnitEntry {
  std::string_view name;
  std::int64_t nanoseconds;
};
constexpr DurationUnitEntry kUnits[] = {
    {"ns", 1},          {"us", 1'000},        {"\u00b5s", 1'000},  // micro sign
    {"\u03bcs", 1'000},                                            // Greek letter mu
    {"ms", 1'000'000},  {"s", 1'000'000'000}, {"m", 60'000'000'000}, {"h", 3'600'000'000'000},
};

const DurationUnitEntry* unit_called(std::string_view name) {
  const auto* const row =
      std::find_if(std::begin(kUnits), std::end(kUnits),
                   [name](const DurationUnitEntry& unit) { return unit.name == name; });
  return row == std::end(kUnits) ? nullptr : row;
}

/// Takes from the front of `text` what stands there of `characters`, or of all others.
std::string_view take(std::string_view& text, std::string_view characters, bool others = false) {
  const std::size_t found =
      others ? text.find_first_of(characters) : text.find_first_not_of(characters);
  const std::string_view taken = text.substr(0, found);
  text.remove_prefix(taken.size());
  return taken;
}

/// What `digits` behind a point are worth, in nanoseconds; what is less than one of them is
/// dropped.
std::int64_t fraction_of(std::int64_t unit, std::string_view digits) {
  std::int64_t worth = 0;
  for (const char digit : digits) worth += (unit /= 10) * (digit - '0');
  return worth;
}

/// Takes one number and its unit from the front of `text`.
std::optional<std::int64_t> take_part(std::string_view& text) {
  const std::string_view whole = take(text, kDigits);
  std::string_view fraction;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    fraction = take(text, kDigits);
  }
  const DurationUnitEntry* unit = unit_called(take(text, "0123456789.", /*others=*/true));
  if (unit == nullptr || (whole.empty() && fraction.empty())) return {};

  const std::optional<std::uint64_t> count = whole.empty() ? 0 : parse_unsigned(whole);
  // One less, for the fraction.
  const auto most = std::numeric_limits<std::int64_t>::max() / unit->nanoseconds - 1;
  if (!count || *count > static_cast<std::uint64_t>(most)) return {};
  return static_cast<std::int64_t>(*count) * unit->nanoseconds +
         fraction_of(unit->nanoseconds, fraction);
}

}  // namespace

std::optional<std::chrono::nanoseconds> parse_go_duration(std::string_view text) {
  if (text.empty()) return {};
  if (text == "0") return std::chrono::nanoseconds{0};
  std::int64_t sum = 0;
  while (!text.empty()) {
    const std::optional<std::int64_t> part = take_part(text);
    if (!part || *part > std::numeric_limits<std::int64_t>::max() - sum) return {};
    sum += *part;
  }
  return std::chrono::nanoseconds{sum};
}

std::optional<std::chrono::nanoseconds> read_go_duration(const Value& value,
                                                         const DurationRange& range) {
  const std::string remedy = "write a duration from " + format_duration(range.least) + " to " +
                             format_duration(range.most) + ", for example 500ms or 1m30s";
  const std::optional<std::string> text = value.text({"a duration", remedy});
  if (!text) return {};

  const std::optional<std::chrono::nanoseconds> duration = parse_go_duration(*text);
  if (duration && range.least <= *duration && *duration <= range.most) return duration;
  const bool has_no_unit = !text->empty() && text->find_first_not_of("0123456789.") == text->npos;
  const std::string_view what = duration      ? " is out of range"
                                : has_no_unit ? " has no unit"
                                              : " is not a duration";
  value.refuse(value.said() + std::string(what), remedy);
  return {};
}

}  // namespace pex::yaml
