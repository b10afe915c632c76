#pragma once

#include <algorithm>
#include <string>

namespace pex::test {

/// A text, and where in it a '^' stood: "line:column", from 1.
struct MarkedText {
  std::string text;
  std::string place;
};

inline MarkedText marked(std::string text) {
  const std::size_t mark = text.find('^');
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<long>(mark), '\n');
  const std::size_t column = mark - text.rfind('\n', mark);
  text.erase(mark, 1);
  return {std::move(text), std::to_string(line) + ":" + std::to_string(column)};
}

}  // namespace pex::test
