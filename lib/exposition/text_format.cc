#include "exposition/text_format.h"

#include <charconv>
#include <cmath>
#include <utility>

namespace pex::exposition {
namespace {

void append_number(std::string& text, std::uint64_t value) {
  char digits[20];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

}  // namespace

void append_seconds(std::string& text, std::uint64_t nanoseconds) {
  append_number(text, nanoseconds / 1'000'000'000);
  std::uint64_t rest = nanoseconds % 1'000'000'000;
  if (rest == 0) return;
  char decimals[10] = {'.'};
  for (int place = 9; place >= 1; --place, rest /= 10) {
    decimals[place] = static_cast<char>('0' + rest % 10);
  }
  std::size_t length = sizeof decimals;
  while (decimals[length - 1] == '0') --length;
  text.append(decimals, length);
}

void append_double(std::string& text, double value) {
  if (std::isinf(value)) {
    text += "+Inf";
    return;
  }
  char digits[32];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

void append_value(std::string& text, std::uint64_t count, double scale) {
  constexpr double kNanosecond = 1e-9;
  constexpr double kLargestExact = 1 << 30;
  if (scale == 1) return append_number(text, count);
  if (scale == kNanosecond) return append_seconds(text, count);
  std::uint64_t product = 0;
  if (scale >= 1 && scale <= kLargestExact && scale == std::floor(scale) &&
      !__builtin_mul_overflow(count, static_cast<std::uint64_t>(scale), &product)) {
    return append_number(text, product);
  }
  append_double(text, static_cast<double>(count) * scale);
}

std::string& LateFamily::start(std::string_view first, std::string_view second) {
  if (!std::exchange(headed_, true)) append_header();
  text_ += name_;
  if (first.empty() && second.empty()) return text_ += ' ';
  (text_ += '{') += first;
  if (!first.empty() && !second.empty()) text_ += ',';
  return (text_ += second) += "} ";
}

void LateFamily::append_header() {
  ((((text_ += "# HELP ") += name_) += ' ') += help_) += '\n';
  ((((text_ += "# TYPE ") += name_) += ' ') += type_) += '\n';
}

}  // namespace pex::exposition
