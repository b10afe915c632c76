#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace pex::cgroup {

/// A pattern for paths of cgroups below their mount, such as "/system.slice/cron.service". It has
/// to match the whole path. Without a prefix it is a glob:
///   *    any characters within one component       ?   one character within a component
///   **   as a whole component: any number of components; at the end at least one
/// After "re:" it is a regular expression in the syntax of RE2:
/// "re:/system\.slice/(web|db)-.+\.service". There '.' matches '/' as well.
///
/// Paths are matched as UTF-8. A byte that is not part of a UTF-8 character is one character, which
/// '?' and '.' match and no letter does.
///
/// Matching takes time linear in the length of the path. Copies share the compiled expressions.
class Pattern {
 public:
  /// The Error says what is wrong with the text and what to do, without naming the text. A pattern
  /// that certainly matches no path is refused as well.
  static Result<Pattern> parse(std::string_view text);

  /// Here as below, `path` starts with '/' and does not end with it, except for the root.
  bool matches(std::string_view path) const;

  /// False when nothing below `path` can match, so that it need not be watched. For a glob this is
  /// exact. For an expression it follows from the first and the last text that match: nothing below
  /// "/b" matches "re:/a/.*", but below "/b" something may match "re:/(a|c)/.*".
  bool may_match_below(std::string_view path) const;

  /// True when everything below `path` matches for certain: known for globs that end with "/**".
  bool matches_all_below(std::string_view path) const;

  /// The path, then what each group in parentheses has matched; empty for one that took no part.
  /// Nothing when the path does not match. A glob has no groups.
  std::optional<std::vector<std::string>> capture(std::string_view path) const;

  /// How many groups in parentheses there are.
  std::size_t groups() const;

  /// As it was written, with its "re:".
  const std::string& text() const { return text_; }

  /// What is written alike matches alike.
  bool operator==(const Pattern& other) const { return text_ == other.text_; }

 private:
  struct Compiled;

  Pattern(std::string_view text, std::shared_ptr<const Compiled> compiled)
      : text_(text), compiled_(std::move(compiled)) {}
  static Result<Pattern> parse_glob(std::string_view text);
  static Result<Pattern> parse_expression(std::string_view text);

  std::string text_;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace pex::cgroup
