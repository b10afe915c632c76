#include "cgroup/inventory.h"

#include <algorithm>
#include <cerrno>

#include "cgroup/tree.h"

namespace pex::cgroup {
namespace {

/// A walk of one tree.
struct Walk {
  const std::string& mount;
  std::size_t limit;
  Inventory all = {};

  void add_below(const std::string& path) {
    const Result<std::vector<ChildDirectory>, int> children = child_directories(mount + path);
    if (!children) {
      if (path.empty() || children.error() != ENOENT) {
        all.unreadable.push_back(path.empty() ? "/" : path);
      }
      return;
    }
    for (const ChildDirectory& child : *children) {
      all.is_cut_off = all.is_cut_off || all.cgroups.size() == limit;
      if (all.is_cut_off) return;
      const std::string below = path + "/" + child.name;
      all.cgroups.push_back(below);
      add_below(below);
    }
  }
};

}  // namespace

Inventory take_inventory(const std::string& mount, std::size_t limit) {
  Walk walk{mount, limit};
  walk.add_below("");
  std::sort(walk.all.cgroups.begin(), walk.all.cgroups.end());
  std::sort(walk.all.unreadable.begin(), walk.all.unreadable.end());
  return std::move(walk.all);
}

}  // namespace pex::cgroup
