#include "daemon/cli/table_text.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <system_error>

namespace pex::daemon {

std::string column(std::string text, std::size_t width) {
  text.resize(std::max(text.size() + 1, width), ' ');
  return text;
}

std::string with_decimals(double number, int decimals) {
  char digits[400];  // a double has up to 309 before its point
  const auto [end, error] = std::to_chars(std::begin(digits), std::end(digits), number,
                                          std::chars_format::fixed, decimals);
  return error == std::errc{} ? std::string(digits, end) : "?";
}

std::string yes_or_no(bool available, const Error& reason) {
  if (available) return "yes";
  return reason.code == 0 ? "no" : "no (" + errno_name(reason.code) + ")";
}

}  // namespace pex::daemon
