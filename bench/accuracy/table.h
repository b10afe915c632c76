#pragma once

#include <string>
#include <vector>

namespace pex::bench {

/// A Markdown table that is readable as it stands. The first column is text, the others numbers.
class Table {
 public:
  explicit Table(std::vector<std::string> heading) : rows_{std::move(heading)} {}

  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string markdown() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// Three digits, and all that a number above 1000 has.
std::string digits(double number);
/// As parts of 100, with a sign.
std::string percent(double part);

}  // namespace pex::bench
