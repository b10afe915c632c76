#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace pex::docs {

/// A row of a table: `|` within a cell would end it, also in code.
inline std::string table_row(std::initializer_list<std::string_view> cells) {
  std::string row = "|";
  for (const std::string_view cell : cells) {
    row += cell.empty() ? "" : " ";
    for (const char c : cell) row += c == '|' ? std::string("\\|") : std::string(1, c);
    row += " |";
  }
  return row + "\n";
}

inline std::string table_head(std::initializer_list<std::string_view> names) {
  std::string line = "|";
  for (std::size_t i = 0; i < names.size(); ++i) line += " --- |";
  return table_row(names) + line + "\n";
}

inline std::string code(std::string_view text) { return "`" + std::string(text) + "`"; }

}  // namespace pex::docs
