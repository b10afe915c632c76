#include "plan/cgroup_tree.h"

#include <fcntl.h>

#include <cerrno>
#include <string>

#include "base/unique_fd.h"
#include "events/event_table.h"
#include "host/mounts.h"
#include "host/permissions.h"
#include "plan/event_trial.h"

namespace pex::plan {
namespace {

/// What css_tryget_online_from_dir() (Linux, kernel/cgroup/cgroup.c) says of a directory.
struct RefusalEntry {
  int code;
  const char* what;
};
constexpr RefusalEntry kRefusals[] = {
    {EBADF, "it is not in a cgroup file system"},
    {ENOENT, "it is a cgroup hierarchy, but not the one that carries perf_event"},
};

Remedy remedy(const cgroup::Hierarchy& tree, const host::HostRoots& roots) {
  const auto mounts = host::read_mounts(roots);
  const auto found = mounts ? cgroup::choose_hierarchy(*mounts) : std::nullopt;
  if (!found || found->mount == tree.mount) {
    return "mount cgroup2, or the version 1 hierarchy of perf_event, and name its mount with " +
           ProgramTerm::kCgroupfs;
  }
  return "set " + ProgramTerm::kCgroupfs + " to '" + found->mount + "', or leave it out";
}

}  // namespace

Result<> check_tree(const cgroup::Hierarchy& tree, const host::HostRoots& roots,
                    perf::PerfKernel& kernel, int cpu) {
  const UniqueFd root{::open(tree.mount.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!root) return {};  // who is going to read it says why it cannot be
  const Result<> tried =
      try_event(kernel, events::generic_counter("dummy"), {cpu, root.get(), "/"});
  if (tried) return {};
  for (const RefusalEntry& row : kRefusals) {
    if (row.code != tried.error().code) continue;
    return Error{row.code, "count cgroups in '" + tree.mount + "': " + row.what,
                 remedy(tree, roots)};
  }
  return {};
}

cgroup::Tree::Limits tree_limits(const collect::Budget& budget, const host::HostRoots& roots) {
  cgroup::Tree::Limits limits{.directories = budget.max_directories};
  const auto watches = host::read_sysctl(roots, "fs/inotify/max_user_watches");
  if (watches) limits.watches = static_cast<std::size_t>(*watches) / 2;
  return limits;
}

}  // namespace pex::plan
