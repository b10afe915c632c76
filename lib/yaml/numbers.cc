#include "yaml/numbers.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>

#include "base/text.h"
#include "yaml/plain_text.h"

namespace pex::yaml {
namespace {

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// A spelling of a number that somebody may mean, and why it is not taken.
struct NumberEntry {
  bool (*fits)(std::string_view text);
  std::string_view what;
};
constexpr NumberEntry kNumberRows[] = {
    {[](std::string_view text) { return text.starts_with('-'); }, "is negative"},
    {[](std::string_view text) { return text.starts_with("0x") || text.starts_with("0X"); },
     "is hexadecimal"},
    {[](std::string_view text) {
       return text.starts_with("0o") || (is_digits(text) && text.size() > 1 && text[0] == '0');
     },
     "would be octal to YAML"},
    {[](std::string_view text) {
       return is_digits(text.substr(0, 1)) &&
              text.find_first_not_of("0123456789_,' ") == text.npos && !is_digits(text);
     },
     "has separators between its digits"},
    {[](std::string_view text) { return text.find_first_of("0123456789") == text.npos; },
     "is not a number"},
};

std::optional<std::string_view> wrong_spelling(std::string_view text) {
  for (const NumberEntry& row : kNumberRows) {
    if (row.fits(text)) return row.what;
  }
  return {};
}

std::optional<std::string_view> wrong_spelling_of_whole(std::string_view text) {
  if (const auto wrong = wrong_spelling(text)) return wrong;
  if (is_digits(text)) return {};
  const bool has_point = text.find_first_not_of("0123456789.") == text.npos;
  return has_point ? "is not a whole number" : "is not in plain digits";
}

/// What is too large or too small for a double becomes a number that is out of every range.
std::optional<double> parse_decimal(std::string_view text) {
  // from_chars alone would take "inf", and a point with no digit before it.
  if (!is_digits(text.substr(0, 1))) return {};
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (end != text.data() + text.size()) return {};
  return error == std::errc() ? number : 0;
}

constexpr std::string_view kUnits[] = {"ms", "s", "m", "h"};

bool is_unit(std::string_view text) {
  return std::find(std::begin(kUnits), std::end(kUnits), text) != std::end(kUnits);
}

struct Advice {
  std::string what;
  std::string remedy;
};
/// Why `text` is no duration within its bounds.
Advice about_duration(const std::string& text, const std::string& bounds) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view unit = std::string_view(text).substr(digits);
  if (digits == 0 || unit.find_first_of("0123456789. ") != unit.npos) {
    return {quoted(text) + " is not a whole number and a unit",
            "write a number and one of ms, s, m, h, for example 1s"};
  }
  if (is_unit(unit) || !parse_unsigned(text.substr(0, digits))) {
    return {quoted(text) + " is out of range", bounds};
  }
  if (unit.empty()) return {quoted(text) + " has no unit", "write " + text + "s or 500ms"};
  return {quoted(unit) + " is not a unit of time", "use one of ms, s, m, h"};
}

}  // namespace

std::string shortest(double number) {
  char digits[32];
  const auto [end, error] = std::to_chars(std::begin(digits), std::end(digits), number);
  return {digits, end};
}

std::optional<std::uint64_t> read_number(const Value& value, const NumberRange& range) {
  const std::string remedy = "write a whole number from " + std::to_string(range.least) + " to " +
                             std::to_string(range.most);
  const std::optional<std::string> text = value.unquoted_text({"a number", remedy});
  if (!text) return {};

  if (const auto wrong = wrong_spelling_of_whole(*text)) {
    value.refuse(value.said() + " " + std::string(*wrong), remedy + ", in plain digits");
    return {};
  }
  const std::optional<std::uint64_t> number = parse_unsigned(*text);
  if (number && range.least <= *number && *number <= range.most) return number;
  value.refuse(value.said() + " is out of range", remedy);
  return {};
}

std::optional<double> read_decimal(const Value& value, const DecimalRange& range) {
  const std::string remedy = "write a number from " + shortest(range.least) + " to " +
                             shortest(range.most) + ", for example 64, 0.5 or 6.1e-5";
  const std::optional<std::string> text = value.unquoted_text({"a number", remedy});
  if (!text) return {};

  const std::optional<std::string_view> wrong = wrong_spelling(*text);
  const std::optional<double> number = parse_decimal(*text);
  if (wrong || !number) {
    value.refuse(value.said() + " " + std::string(wrong.value_or("is not a plain number")), remedy);
    return {};
  }
  if (range.least <= *number && *number <= range.most) return number;
  value.refuse(value.said() + " is out of range", remedy);
  return {};
}

std::optional<std::chrono::nanoseconds> read_duration(const Value& value,
                                                      const DurationRange& range) {
  const std::string remedy = "write a duration from " + format_duration(range.least) + " to " +
                             format_duration(range.most);
  const std::optional<std::string> text = value.text({"a duration", remedy});
  if (!text) return {};

  const std::optional<std::chrono::nanoseconds> duration = parse_duration(*text);
  if (duration && range.least <= *duration && *duration <= range.most) return duration;
  const Advice advice = about_duration(*text, remedy);
  value.refuse(advice.what, advice.remedy);
  return {};
}

}  // namespace pex::yaml
