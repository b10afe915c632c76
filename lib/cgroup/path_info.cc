#include "cgroup/path_info.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>

#include "base/lookup.h"
#include "cgroup/naming_rules.h"
#include "cgroup/systemd_escape.h"

namespace pex::cgroup {
namespace {

constexpr std::string_view kSlice = ".slice";
/// The other units that have processes, and so cgroups: systemd.resource-control(5).
constexpr std::string_view kUnits[] = {".service", ".scope", ".socket", ".mount", ".swap"};

constexpr std::string_view kUserManager = "user@";

bool is_of_root(std::string PathInfo::*field) {
  const PathLabel* const label = lookup(kPathLabels, &PathLabel::field, field);
  return label != nullptr && label->is_of_root;
}

/// The offset of its own part in the name of a slice, which starts with the names of the slices
/// that contain it (systemd.slice(5)): "kubelet-kubepods-pod1" in a kubelet with a --cgroup-root.
std::string_view without_outer_slices(std::string_view name, std::string_view own) {
  const std::size_t at = name.rfind(own);
  const bool starts_there = at != std::string_view::npos && (at == 0 || name[at - 1] == '-');
  return starts_there ? name.substr(at) : name;
}

std::optional<ParsedName> parse_name(const NamingRule& rule, std::string_view component) {
  if (!component.ends_with(rule.suffix)) return {};
  component.remove_suffix(rule.suffix.size());
  if (rule.suffix == kSlice) component = without_outer_slices(component, rule.prefix);
  if (!component.starts_with(rule.prefix)) return {};
  return rule.name(component.substr(rule.prefix.size()));
}

struct Match {
  const NamingRule* rule;
  ParsedName name;
};

std::optional<Match> first_match(Place above, std::string_view component) {
  for (const NamingRule& rule : naming_rules()) {
    if (rule.above != above) continue;
    if (std::optional<ParsedName> name = parse_name(rule, component)) {
      return Match{&rule, *std::move(name)};
    }
  }
  return {};
}

std::optional<Match> match(Place above, std::string_view component) {
  std::optional<Match> found = first_match(above, component);
  return found || above == Place::kAny ? found : first_match(Place::kAny, component);
}

/// Walks down a path, from component to component.
class PathParser {
 public:
  void enter(std::string_view component);
  /// What follows was named by a user, unless it is in a container.
  void leave_root() { is_of_user_ = is_of_user_ || !is_in_container_; }
  PathInfo info() && { return std::move(info_); }

 private:
  void begin(Begins what);
  void set_unit(std::string_view component);
  void apply(const Match& match);
  void leave_outer_units();
  void clear(bool of_unit);

  PathInfo info_;
  Place place_ = Place::kAny;
  bool is_in_container_ = false;
  bool is_of_user_ = false;       ///< below a user's service manager, or in another's directory
  bool are_units_outer_ = false;  ///< they are those around the container; none inside of it yet
};

void PathParser::enter(std::string_view component) {
  std::optional<Match> found = match(place_, component);
  if (found && is_of_user_ && is_of_root(found->rule->field)) found.reset();
  if (found) begin(found->rule->begins);
  set_unit(component);
  if (found) apply(*found);
  place_ = found ? found->rule->place : Place::kAny;
}

void PathParser::begin(Begins what) {
  if (what == Begins::kNothing) return;
  leave_outer_units();
  if (is_in_container_) clear(false);
  info_.is_delegated = info_.is_delegated || is_in_container_ || is_of_user_;
  info_.runtime.clear();
  info_.is_helper = false;
  is_in_container_ = what == Begins::kContainer;
}

/// Inside of a container, a unit or another container replaces those around it.
void PathParser::leave_outer_units() {
  if (are_units_outer_) clear(true);
  are_units_outer_ = false;
}

void PathParser::set_unit(std::string_view component) {
  const auto has_suffix = [component](std::string_view suffix) {
    return component.size() > suffix.size() && component.ends_with(suffix);
  };
  const bool is_slice = has_suffix(kSlice);
  if (!is_slice && std::none_of(std::begin(kUnits), std::end(kUnits), has_suffix)) return;
  leave_outer_units();
  (is_slice ? info_.slice : info_.unit) = systemd_unescape(component);
  is_of_user_ = is_of_user_ || (component.starts_with(kUserManager) && !is_slice);
}

void PathParser::apply(const Match& match) {
  const NamingRule& rule = *match.rule;
  if (rule.field == &PathInfo::unit) leave_outer_units();
  if (rule.fixed.field != nullptr) info_.*rule.fixed.field = rule.fixed.value;
  if (rule.field != nullptr) info_.*rule.field = match.name.value;
  if (!match.name.ecs_task.empty()) info_.ecs_task = match.name.ecs_task;
  info_.is_helper |= rule.is_helper;
  if (rule.begins == Begins::kContainer) are_units_outer_ = true;
}

/// All fields of units, or of workloads.
void PathParser::clear(bool of_unit) {
  for (const PathLabel& each : kPathLabels) {
    if (each.is_of_unit == of_unit) (info_.*each.field).clear();
  }
}

/// If systemd was meant to create "docker-ID.scope" in "a.slice", but the runtime created a
/// directory itself, its name is that of the request, "a.slice:docker:ID" (the cgroupsPath of
/// runc): two components in one. The slice may be missing.
std::size_t end_of_requested_slice(std::string_view component) {
  const std::size_t colon = component.find(':');
  const bool is_request = colon != std::string_view::npos &&
                          (colon == 0 || component.substr(0, colon).ends_with(kSlice));
  return is_request ? colon : component.size();
}

}  // namespace

PathInfo parse_path(std::string_view path, std::size_t of_root) {
  PathParser parser;
  for (std::size_t names = 0; !path.empty();) {
    const std::string_view component = path.substr(0, path.find('/'));
    names += component.empty() ? 0 : 1;
    if (names > of_root) parser.leave_root();
    path.remove_prefix(std::min(component.size() + 1, path.size()));
    const std::size_t slice_end = end_of_requested_slice(component);
    if (slice_end > 0) parser.enter(component.substr(0, slice_end));
    if (slice_end < component.size()) parser.enter(component.substr(slice_end + 1));
  }
  return std::move(parser).info();
}

}  // namespace pex::cgroup
