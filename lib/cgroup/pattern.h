#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cgroup/glob.h"

namespace pex::cgroup {

/// What paths of cgroups below their mount, "/system.slice/cron.service", are compared with. Either
/// a glob (glob.h), or after "re:" a regular expression in the syntax of RE2, which has to match
/// the whole path: "re:/system\.slice/(web|db)-.+\.service". To an expression a path is UTF-8; each
/// byte that is not part of it is one character, which '.' matches and no letter does. '.' matches
/// '/' as well.
///
/// An expression takes time linear in the length of the path. Copies share it.
class Pattern {
 public:
  /// The Error says what is wrong with the text and what to do, without naming the text. A pattern
  /// that certainly matches no path is refused as well.
  static Result<Pattern> parse(std::string_view text);

  /// Here as below, `path` starts with '/' and does not end with it, except for the root.
  bool matches(std::string_view path) const;

  /// False when nothing below `path` can match, so that it need not be watched. Of an expression
  /// this is known by the first and the last text it matches: nothing below "/b" with "re:/a/.*",
  /// but with "re:/(a|c)/.*" there may be, and with "re:.*/a" everywhere.
  bool may_match_below(std::string_view path) const;

  /// True when everything below `path` matches for certain: known of globs that end with "/**".
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
  struct Expression;

  explicit Pattern(std::string_view text) : text_(text) {}
  static Result<Pattern> parse_glob(std::string_view text);
  static Result<Pattern> parse_expression(std::string_view text);

  std::string text_;
  std::optional<Glob> glob_;                      ///< this or an expression
  std::optional<Glob> tops_;                      ///< of a glob "X/**" the glob "X"
  std::shared_ptr<const Expression> expression_;  ///< null where there is a glob
};

}  // namespace pex::cgroup
