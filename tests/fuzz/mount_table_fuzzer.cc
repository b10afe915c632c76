#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cgroup/hierarchy.h"
#include "fuzz/file_tree.h"
#include "fuzz/fuzzing.h"
#include "host/memory.h"
#include "host/mounts.h"
#include "host/self_process.h"

namespace {

using pex::cgroup::Hierarchy;
using pex::fuzz::FileTree;
using pex::fuzz::require;
using pex::host::Mount;

bool any_of(const std::vector<Mount>& mounts, const auto& is_it) {
  return std::any_of(mounts.begin(), mounts.end(), is_it);
}

/// It is one of the mounts, and of the version that its mount is.
void check_hierarchy(const Hierarchy& chosen, const std::vector<Mount>& mounts) {
  require(any_of(mounts, [&](const Mount& mount) {
    if (mount.point != chosen.mount) return false;
    if (chosen.version == Hierarchy::Version::kV2) return mount.fs_type == "cgroup2";
    return mount.fs_type == "cgroup" && mount.has_option("perf_event");
  }));
  require(chosen.accounting.empty() || any_of(mounts, [&](const Mount& mount) {
            return mount.point == chosen.accounting && mount.has_option("cpuacct");
          }));
}

/// No mount leads to files of the machine that this runs on.
bool stay_inside(const std::vector<Mount>& mounts, const std::string& root) {
  return !any_of(mounts, [&](const Mount& mount) {
    return !mount.point.starts_with(root) || mount.point.find("..") != std::string::npos;
  });
}

void check_own_cgroup(const FileTree& tree, const std::optional<Hierarchy>& hierarchy) {
  const std::string own = tree.content("proc/thread-self/cgroup");
  const auto path = pex::host::perf_cgroup_of(own);
  require(!path || own.find(*path) != std::string::npos);
  (void)pex::host::memory_limit(tree.roots());
  if (hierarchy) (void)pex::cgroup::OwnCgroup(tree.roots(), *hierarchy)();
}

}  // namespace

/// Any mount table gives the mounts that it has, and one of them is the tree of cgroups, or none.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const FileTree tree{pex::fuzz::text_of(data, size)};
  const std::string table = tree.content("proc/self/mountinfo");

  const std::vector<Mount> mounts = pex::host::parse_mounts(table);

  const auto lines = static_cast<std::size_t>(std::count(table.begin(), table.end(), '\n'));
  require(mounts.size() <= lines + 1);
  const std::optional<Hierarchy> chosen = pex::cgroup::choose_hierarchy(mounts);
  if (chosen) check_hierarchy(*chosen, mounts);
  const auto found = pex::cgroup::find_hierarchy(tree.roots());
  require(!found || *found == chosen);
  if (stay_inside(mounts, tree.root())) check_own_cgroup(tree, chosen);
  return 0;
}
