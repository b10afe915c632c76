#include "cgroup/glob.h"

#include "base/text.h"

namespace pex::cgroup {
namespace {

constexpr std::string_view kAnyComponents = "**";

/// Walks `pattern` and `subject` together. A wildcard that stands for any number of elements first
/// takes none; on a mismatch the last such wildcard takes one more. Earlier wildcards never need a
/// second try, which keeps this quadratic. Serves for characters and for components alike.
template <typename Pattern, typename Subject, typename IsWildcard, typename Matches>
bool wildcard_match(const Pattern& pattern, const Subject& subject, IsWildcard is_wildcard,
                    Matches matches) {
  std::size_t p = 0;
  std::size_t s = 0;
  std::size_t wildcard = pattern.size();  // the last one met; none yet
  std::size_t resume = 0;                 // where the subject goes on after it
  while (s < subject.size()) {
    if (p < pattern.size() && is_wildcard(pattern[p])) {
      wildcard = p++;
      resume = s;
    } else if (p < pattern.size() && matches(pattern[p], subject[s])) {
      ++p;
      ++s;
    } else if (wildcard != pattern.size()) {
      p = wildcard + 1;
      s = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && is_wildcard(pattern[p])) ++p;
  return p == pattern.size();
}

bool component_matches(std::string_view pattern, std::string_view component) {
  return wildcard_match(
      pattern, component, [](char c) { return c == '*'; },
      [](char wanted, char c) { return wanted == '?' || wanted == c; });
}

/// "/a/b" into {"a", "b"}; the root into nothing.
std::vector<std::string_view> components_of(std::string_view path) {
  path.remove_prefix(path.starts_with('/') ? 1 : 0);
  if (path.empty()) return {};
  return split(path, '/');
}

}  // namespace

Glob::Glob(std::string pattern) : pattern_(std::move(pattern)) {
  for (const std::string_view component : components_of(pattern_)) {
    components_.emplace_back(component);
  }
  // At the end "**" stands for at least one component: "/a/**" is what is below /a, without /a.
  if (!components_.empty() && components_.back() == kAnyComponents) {
    components_.insert(components_.end() - 1, "*");
  }
}

bool Glob::matches(std::string_view path) const {
  return wildcard_match(
      components_, components_of(path),
      [](const std::string& component) { return component == kAnyComponents; }, component_matches);
}

bool Glob::may_match_below(std::string_view path) const {
  const std::vector<std::string_view> above = components_of(path);
  for (std::size_t i = 0; i < above.size(); ++i) {
    if (i == components_.size()) return false;
    if (components_[i] == kAnyComponents) return true;
    if (!component_matches(components_[i], above[i])) return false;
  }
  return above.size() < components_.size();
}

}  // namespace pex::cgroup
