#include "plan/cgroup_tree.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include "base/unique_fd.h"
#include "cgroup/inventory.h"
#include "events/event_table.h"
#include "host/mounts.h"
#include "host/permissions.h"
#include "plan/event_trial.h"
#include "yaml/diagnostic.h"
#include "yaml/plain_text.h"

namespace pex::plan {
namespace {

/// The errors of css_tryget_online_from_dir() (Linux, kernel/cgroup/cgroup.c) for a directory.
struct RefusalEntry {
  int code;
  const char* what;
};
constexpr RefusalEntry kRefusals[] = {
    {EBADF, "it is not in a cgroup file system"},
    {ENOENT, "it is a cgroup hierarchy, but without the perf_event controller"},
};

Remedy remedy(const cgroup::Hierarchy& tree, const host::HostRoots& roots) {
  const auto mounts = host::read_mounts(roots);
  const auto found = mounts ? cgroup::choose_hierarchy(*mounts) : std::nullopt;
  if (!found || found->mount == tree.mount) {
    return "mount cgroup2, or the version 1 hierarchy of perf_event, and set its mount with " +
           ProgramTerm::kCgroupfs;
  }
  return "set " + ProgramTerm::kCgroupfs + " to '" + found->mount + "', or leave it out";
}

bool is_a_default(const config::PatternEntry& pattern) {
  const std::vector<config::PatternEntry> defaults = config::Cgroups{}.include;
  return std::any_of(defaults.begin(), defaults.end(),
                     [&](const auto& each) { return each.text == pattern.text; });
}

/// Whether the pattern matches none of the cgroups that could be there, also of those that could
/// not be read.
bool matches_none(const cgroup::Pattern& pattern, const cgroup::Inventory& there) {
  return std::none_of(there.cgroups.begin(), there.cgroups.end(),
                      [&](const std::string& path) { return pattern.matches(path); }) &&
         std::none_of(there.unreadable.begin(), there.unreadable.end(),
                      [&](const std::string& path) { return pattern.may_match_below(path); });
}

std::vector<Error> unmatched_patterns(const LoadedPlan& planned, const std::string& mount) {
  const std::vector<config::PatternEntry>& written = planned.config.cgroups.include;
  const std::vector<cgroup::Pattern>& patterns = planned.plan.cgroups.selection.include;
  std::vector<Error> unmatched;
  std::optional<cgroup::Inventory> there;  // read only if there is a pattern to try
  for (std::size_t i = 0; i < std::min(written.size(), patterns.size()); ++i) {
    if (is_a_default(written[i])) continue;
    if (!there) there = cgroup::take_inventory(mount, planned.plan.budget.max_directories);
    if (there->is_cut_off) return {};  // it may match one of the others
    if (!matches_none(patterns[i], *there)) continue;
    unmatched.push_back(yaml::error_of(
        {written[i].at,
         yaml::in_quotes(written[i].text) + " matched no cgroup when the configuration was loaded",
         "correct it, or keep it for cgroups that are created later", yaml::Severity::kWarning}));
  }
  return unmatched;
}

Result<CgroupTree> without_tree(Error why) { return CgroupTree{{}, {std::move(why)}}; }

}  // namespace

Result<CgroupTree> find_cgroup_tree(const LoadedPlan& planned, const host::HostRoots& roots) {
  const Plan& plan = planned.plan;
  const bool are_wanted = planned.config.enabled &&
                          std::ranges::any_of(planned.config.groups, &config::Group::cgroup_scope);
  if (!are_wanted) return CgroupTree{};
  Result<std::optional<cgroup::Hierarchy>> hierarchy = cgroup::find_hierarchy(roots);
  if (plan.counting.cgroup.empty()) {
    return CgroupTree{hierarchy ? *std::move(hierarchy) : std::nullopt, {}};
  }
  if (plan.cgroups.selection.include.empty()) {
    return without_tree({0, "no cgroups are counted: 'cgroups.include' is empty",
                         "list some, or leave the key out for the default"});
  }
  if (!hierarchy) return hierarchy.error();
  if (!*hierarchy) {
    return without_tree(
        {0, "no cgroups are counted: no mounted hierarchy has the perf_event controller",
         "mount cgroup2, or set " + ProgramTerm::kCgroupfs + " to its mount"});
  }
  std::vector<Error> unmatched = unmatched_patterns(planned, (*hierarchy)->mount);
  return CgroupTree{std::move(*hierarchy), std::move(unmatched)};
}

Result<CgroupTree> find_counted_tree(const LoadedPlan& planned, const host::HostRoots& roots,
                                     perf::PerfKernel& kernel) {
  Result<CgroupTree> tree = find_cgroup_tree(planned, roots);
  const bool counts_none = planned.plan.counting.cgroup.empty() || planned.cpus->online.empty();
  if (!tree || !tree->hierarchy || counts_none) return tree;
  const Result<> counts = check_tree(*tree->hierarchy, roots, kernel, planned.cpus->online.front());
  if (counts) return tree;
  if (!roots.cgroupfs.empty()) return counts.error();
  return without_tree(counts.error());
}

Result<> check_tree(const cgroup::Hierarchy& tree, const host::HostRoots& roots,
                    perf::PerfKernel& kernel, int cpu) {
  const UniqueFd root{::open(tree.mount.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!root) return {};  // reading it will report the reason
  const Result<> tried =
      try_event(kernel, events::generic_counter("dummy"), {cpu, root.get(), "/"});
  if (tried) return {};
  for (const RefusalEntry& entry : kRefusals) {
    if (entry.code != tried.error().code) continue;
    return Error{entry.code, "count cgroups in '" + tree.mount + "': " + entry.what,
                 remedy(tree, roots)};
  }
  return {};
}

cgroup::Tree::Limits tree_limits(const collect::Budget& budget, const host::HostRoots& roots) {
  cgroup::Tree::Limits limits{.directories = budget.max_directories};
  limits.path_bytes = budget.max_path_bytes;
  const auto watches = host::read_sysctl(roots, "fs/inotify/max_user_watches");
  if (watches) limits.watches = static_cast<std::size_t>(*watches) / 2;
  return limits;
}

}  // namespace pex::plan
