#include "table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace pex::bench {
namespace {

std::string formatted(const char* format, double number) {
  char text[64];
  std::snprintf(text, sizeof text, format, number);
  return text;
}

}  // namespace

std::string digits(double number) {
  if (std::abs(number) >= 99.95) return formatted("%.0f", number);
  return formatted(std::abs(number) >= 9.995 ? "%.1f" : "%.2f", number);
}

std::string percent(double part) {
  const std::string text = formatted(std::abs(part) < 0.0995 ? "%+.2f" : "%+.1f", 100 * part);
  return text == "-0.00" || text == "+0.00" ? "0.00" : text;
}

std::string Table::markdown() const {
  std::vector<std::size_t> widths(rows_[0].size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  const auto put = [&](std::size_t column, const std::string& cell) {
    const std::string padding(widths[column] - cell.size(), ' ');
    if (column == 0) text.append("| ").append(cell).append(padding).append(" |");
    if (column > 0) text.append(" ").append(padding).append(cell).append(" |");
  };
  for (std::size_t line = 0; line < rows_.size(); ++line) {
    for (std::size_t i = 0; i < rows_[line].size(); ++i) put(i, rows_[line][i]);
    text += '\n';
    if (line > 0) continue;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      put(i, std::string(widths[i] - 1, '-').append(i == 0 ? "-" : ":"));
    }
    text += '\n';
  }
  return text;
}

}  // namespace pex::bench
