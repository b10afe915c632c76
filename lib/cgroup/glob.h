#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pex::cgroup {

/// A pattern on the path of a cgroup below its mount, "/system.slice/*.service":
///   *    any characters within one component       ?   one character within a component
///   **   as a whole component: any number of components; at the end at least one
/// Matching takes at most (length of pattern) x (length of path) steps.
class Glob {
 public:
  /// `pattern` starts with '/'.
  explicit Glob(std::string pattern);

  /// `path` starts with '/' and does not end with it, except for the root.
  bool matches(std::string_view path) const;

  /// True when something below `path` could match: whether a walk has to go on there.
  bool may_match_below(std::string_view path) const;

  const std::string& pattern() const { return pattern_; }

 private:
  std::string pattern_;
  std::vector<std::string> components_;
};

}  // namespace pex::cgroup
