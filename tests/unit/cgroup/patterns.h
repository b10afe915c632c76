#pragma once

#include <stdexcept>
#include <string_view>

#include "cgroup/pattern.h"
#include "support/test_headers.h"

namespace pex::cgroup {

inline Pattern pattern(std::string_view text) {
  Result<Pattern> parsed = Pattern::parse(text);
  if (!parsed) throw std::invalid_argument(std::string(text) + " " + describe(parsed.error()));
  return *parsed;
}

/// A pattern, a path, and what the pattern says of the path.
struct PatternRow {
  const char* pattern;
  const char* path;
  bool expected;
};

inline void expect_of_each(bool (Pattern::*question)(std::string_view) const,
                           std::span<const PatternRow> rows) {
  for (const PatternRow& row : rows) {
    EXPECT_EQ((pattern(row.pattern).*question)(row.path), row.expected)
        << row.pattern << " of " << row.path;
  }
}

inline std::string path_of(std::span<const std::string> components) {
  std::string path;
  for (const std::string& component : components) path += "/" + component;
  return path.empty() ? "/" : path;
}

}  // namespace pex::cgroup
