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
/// Paths are matched as UTF-8. A byte that is not part of a UTF-8 character counts as one
/// character, which '?' and '.' match and no letter does.
///
/// Matching takes time linear in the length of the path. Copies share the compiled expressions.
class Pattern {
 public:
  /// The Error describes the fault of the text and its remedy, without quoting the text. A pattern
  /// that certainly matches no path is refused as well.
  static Result<Pattern> parse(std::string_view text);

  /// Here and below, `path` starts with '/' and does not end with it, except for the root.
  bool matches(std::string_view path) const;

  /// False if nothing below `path` can match, so that it need not be watched. Exact for a glob. For
  /// a regular expression it follows from the first and the last text that match: nothing below
  /// "/b" matches "re:/a/.*", but below "/b" something may match "re:/(a|c)/.*".
  bool may_match_below(std::string_view path) const;

  /// True if everything below `path` certainly matches: only for globs that end with "/**".
  bool matches_all_below(std::string_view path) const;

  /// The path, then the text that each group in parentheses matched; empty for one that did not
  /// take part. Nothing if the path does not match. A glob has no groups.
  std::optional<std::vector<std::string>> capture(std::string_view path) const;

  /// The number of groups in parentheses.
  std::size_t groups() const;

  /// The original text, with its "re:".
  const std::string& text() const { return text_; }

  /// Equal texts match the same paths.
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
