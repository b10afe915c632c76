#include "yaml/numbers.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/duration.h"
#include "base/lookup.h"
#include "base/text.h"

namespace pex::yaml {
namespace {

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// A spelling of a number that is likely meant but refused, with the reason.
struct WrongSpelling {
  bool (*fits)(std::string_view text);
  std::string_view what;
};
constexpr WrongSpelling kWrongSpellings[] = {
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
  const auto fits = [text](const WrongSpelling& entry) { return entry.fits(text); };
  const WrongSpelling* found = lookup(kWrongSpellings, fits, true);
  return found != nullptr ? std::optional(found->what) : std::nullopt;
}

/// A number beyond the range of a double becomes one that is out of every range.
std::optional<double> parse_decimal(std::string_view text) {
  // from_chars would accept "inf", and a point without a digit before it
  if (!is_digits(text.substr(0, 1))) return {};
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (end != text.data() + text.size()) return {};
  return error == std::errc() ? number : 0;
}

/// 1e+06, as programs in Go write a large number that they read from JSON or YAML, and 50000.0, as
/// others write a number that they computed.
std::optional<std::uint64_t> parse_float(std::string_view text) {
  constexpr double kExact = 1LL << 53;
  if (text.find_first_of(".eE") == text.npos) return {};
  const std::optional<double> number = parse_decimal(text);
  const bool is_whole =
      number && *number > 0 && *number <= kExact && *number == std::floor(*number);
  return is_whole ? std::optional(static_cast<std::uint64_t>(*number)) : std::nullopt;
}

std::optional<std::string_view> wrong_spelling_of_whole(std::string_view text) {
  if (const auto wrong = wrong_spelling(text)) return wrong;
  if (is_digits(text)) return {};
  const bool has_point = text.find_first_not_of("0123456789.") == text.npos;
  return has_point ? "is not a whole number" : "is not in plain digits";
}

struct DurationExample {
  std::chrono::milliseconds duration;
  const char* text;
};
constexpr DurationExample kExamples[] = {{std::chrono::milliseconds{500}, "500ms"},
                                         {std::chrono::seconds{90}, "1m30s"},
                                         {std::chrono::seconds{5}, "5s"},
                                         {std::chrono::minutes{30}, "30m"}};

/// At most two, or the longest duration.
std::vector<std::string> examples_of(const DurationRange& range) {
  std::vector<std::string> examples;
  for (const auto& [duration, text] : kExamples) {
    const bool is_in_range = range.min <= duration && duration <= range.max;
    if (is_in_range && examples.size() < 2) examples.emplace_back(text);
  }
  if (examples.empty()) examples.push_back(format_duration(range.max));
  return examples;
}

}  // namespace

std::string shortest(double number) {
  char digits[32];
  const auto [end, error] = std::to_chars(std::begin(digits), std::end(digits), number);
  return {digits, end};
}

std::optional<std::uint64_t> read_number(const Value& value, const NumberRange& range,
                                         std::string_view word) {
  const std::string remedy =
      fmt::format("write {}a whole number from {} to {}",
                  word.empty() ? "" : fmt::format("{}, or ", word), range.min, range.max);
  const std::optional<std::string> text = value.unquoted_text({"a number", remedy});
  if (!text) return {};

  const std::optional<std::uint64_t> from_float = parse_float(*text);
  if (const auto wrong = from_float ? std::nullopt : wrong_spelling_of_whole(*text)) {
    value.refuse(fmt::format("{} {}", value.quoted_text(), *wrong), remedy + ", in plain digits");
    return {};
  }
  const std::optional<std::uint64_t> number = from_float ? from_float : parse_unsigned(*text);
  if (number && range.min <= *number && *number <= range.max) return number;
  value.refuse(value.quoted_text() + " is out of range", remedy);
  return {};
}

std::optional<double> read_decimal(const Value& value, const DecimalRange& range) {
  const std::string remedy =
      fmt::format("write a number from {} to {}, for example 64, 0.5 or 6.1e-5",
                  shortest(range.min), shortest(range.max));
  const std::optional<std::string> text = value.unquoted_text({"a number", remedy});
  if (!text) return {};

  const std::optional<std::string_view> wrong = wrong_spelling(*text);
  const std::optional<double> number = parse_decimal(*text);
  if (wrong || !number) {
    value.refuse(fmt::format("{} {}", value.quoted_text(), wrong.value_or("is not a plain number")),
                 remedy);
    return {};
  }
  if (range.min <= *number && *number <= range.max) return number;
  value.refuse(value.quoted_text() + " is out of range", remedy);
  return {};
}

std::optional<std::chrono::nanoseconds> read_duration(const Value& value,
                                                      const DurationRange& range) {
  const std::string remedy =
      fmt::format("write a duration from {} to {}, for example {}", format_duration(range.min),
                  format_duration(range.max), fmt::join(examples_of(range), " or "));
  const std::optional<std::string> text = value.text({"a duration", remedy});
  if (!text) return {};

  const std::optional<std::chrono::nanoseconds> duration = parse_duration(*text);
  if (duration && range.min <= *duration && *duration <= range.max) return duration;
  const bool has_no_unit = !text->empty() && text->find_first_not_of("0123456789.") == text->npos;
  const std::string_view wrong = duration      ? "is out of range"
                                 : has_no_unit ? "has no unit"
                                               : "is not a duration";
  value.refuse(fmt::format("{} {}", value.quoted_text(), wrong), remedy);
  return {};
}

}  // namespace pex::yaml
