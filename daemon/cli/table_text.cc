#include "daemon/cli/table_text.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <ostream>
#include <system_error>

namespace pex::daemon {

std::string column(std::string text, std::size_t width) {
  text.resize(std::max(text.size() + 1, width), ' ');
  return text;
}

void print_table(std::ostream& out, const std::vector<std::vector<std::string>>& rows,
                 const std::vector<bool>& are_numbers) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const auto& row : rows) {
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      const bool is_number = i < are_numbers.size() && are_numbers[i];
      out << (is_number ? padding + row[i] : row[i] + padding) << "  ";
    }
    out << row.back() << '\n';
  }
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
