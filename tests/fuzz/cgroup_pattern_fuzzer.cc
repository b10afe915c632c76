#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "cgroup/label_rules.h"
#include "cgroup/pattern.h"
#include "cgroup/selection.h"
#include "fuzz/fuzzing.h"

namespace {

using pex::cgroup::LabelRules;
using pex::cgroup::Pattern;
using pex::cgroup::Template;
using pex::fuzz::require;

constexpr std::size_t kMaxBytes = 4096;
using Parts = std::span<const std::string_view>;

/// A path of the kernel: no part is empty, and the root alone ends with '/'.
std::string path_of(std::string_view text) {
  std::string path;
  for (const std::string_view part : pex::split(text, '/')) {
    if (!part.empty()) path += "/" + std::string(part);
  }
  return path.empty() ? "/" : path;
}

std::string above(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool part_matches(std::string_view glob, std::string_view part) {
  if (glob.empty()) return part.empty();
  if (glob[0] == '*') {
    return part_matches(glob.substr(1), part) ||
           (!part.empty() && part_matches(glob, part.substr(1)));
  }
  return !part.empty() && (glob[0] == '?' || glob[0] == part[0]) &&
         part_matches(glob.substr(1), part.substr(1));
}

/// What a glob means, without a regular expression.
bool parts_match(Parts glob, Parts path) {
  if (glob.empty()) return path.empty();
  if (glob[0] != "**") {
    return !path.empty() && part_matches(glob[0], path[0]) &&
           parts_match(glob.subspan(1), path.subspan(1));
  }
  if (glob.size() == 1) return !path.empty();
  return parts_match(glob.subspan(1), path) ||
         (!path.empty() && parts_match(glob, path.subspan(1)));
}

/// Short enough for a comparison that takes exponential time, and of characters of one byte.
bool can_be_compared(std::string_view glob, std::string_view path) {
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  return !glob.starts_with("re:") && glob != "/" &&
         std::count(glob.begin(), glob.end(), '*') <= 6 && glob.size() + path.size() < 60 &&
         std::all_of(glob.begin(), glob.end(), is_ascii) &&
         std::all_of(path.begin(), path.end(), is_ascii);
}

bool glob_matches(std::string_view glob, std::string_view path) {
  const auto patterns = pex::split(glob.substr(1), '/');
  const auto parts =
      path == "/" ? std::vector<std::string_view>{} : pex::split(path.substr(1), '/');
  return parts_match(patterns, parts);
}

/// A walk of the tree, which skips what cannot match, finds every path that matches.
void check_walk(const Pattern& pattern, const std::string& path) {
  const bool is_match = pattern.matches(path);
  for (std::string at = path; at != "/";) {
    at = above(at);
    if (is_match) require(pattern.may_match_below(at));
    if (pattern.matches_all_below(at)) require(is_match);
  }
}

void check_labels(const Pattern& pattern, const std::optional<std::vector<std::string>>& captured,
                  std::string_view text, const std::string& path) {
  const auto value = Template::parse(text, pattern.groups());
  if (!value) {
    require(!value.error().attempted.empty() && !value.error().remedy.empty());
    return;
  }
  const LabelRules rules({{pattern, {{"team", *value}}}});
  const auto labels = rules.labels_of(path);
  require(labels.size() <= 1 && (labels.empty() || captured));
  for (const auto& [name, filled] : labels) {
    require(!filled.empty() && filled == value->fill(*captured));
  }
}

void check_selection(const Pattern& pattern, const std::string& path) {
  const pex::cgroup::Selection included{.include = {pattern}, .exclude = {}, .helpers = true};
  require(included.matches(path) == pattern.matches(path));
  const pex::cgroup::Selection excluded{.include = {pattern}, .exclude = {pattern}};
  require(!excluded.matches(path));
}

}  // namespace

/// The first line is a pattern, the second one the template of a label, the rest a path. A pattern
/// is refused with a reason, or matches paths as its documentation says, and a walk finds them.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = pex::fuzz::text_of(data, std::min(size, kMaxBytes));
  const std::size_t first = std::min(text.find('\n'), text.size());
  const std::size_t second = std::min(text.find('\n', first + 1), text.size());
  if (second == text.size()) return 0;
  const std::string path = path_of(text.substr(second + 1));

  const auto pattern = Pattern::parse(text.substr(0, first));

  if (!pattern) {
    require(!pattern.error().attempted.empty() && !pattern.error().remedy.empty());
    return 0;
  }
  require(pattern->text() == text.substr(0, first));
  const auto captured = pattern->capture(path);
  require(captured.has_value() == pattern->matches(path));
  if (captured) require(captured->size() == pattern->groups() + 1 && captured->front() == path);
  check_walk(*pattern, path);
  check_labels(*pattern, captured, text.substr(first + 1, second - first - 1), path);
  check_selection(*pattern, path);
  if (can_be_compared(pattern->text(), path)) {
    require(pattern->matches(path) == glob_matches(pattern->text(), path));
  }
  return 0;
}
