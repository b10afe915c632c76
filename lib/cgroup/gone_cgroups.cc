#include "cgroup/gone_cgroups.h"

#include <utility>

#include "cgroup/inventory.h"

namespace pex::cgroup {
namespace {

bool has_found(const Tree& tree, const NamedCgroup& cgroup) {
  const auto known = tree.directories().find(cgroup.path);
  return known != tree.directories().end() && known->second.inode == cgroup.id;
}

/// Returns whether there was one.
bool take_one(std::multimap<std::string, std::uint64_t>& paths, const std::string& path) {
  const auto one = paths.find(path);
  if (one == paths.end()) return false;
  paths.erase(one);
  return true;
}

}  // namespace

void GoneCgroups::report(std::span<const NamedCgroup> reported, Clock::time_point now) {
  for (const NamedCgroup& cgroup : reported) {
    if (!cgroup.path.ends_with('/')) reports_.push_back({cgroup, now});
  }
}

/// The kernel reports a cgroup some microseconds before its directory can be found. If it is taken
/// in between, it is found later like any other.
std::vector<NamedCgroup> GoneCgroups::take(const Tree& tree, Clock::time_point now) {
  std::vector<NamedCgroup> gone;
  for (Report& each : std::exchange(reports_, {})) {
    const NamedCgroup& cgroup = each.cgroup;
    if (has_found(tree, cgroup)) continue;
    if (tree.is_too_long(cgroup.path) || !tree.selection().matches(cgroup.path)) continue;
    if (inode_of(tree.root() + cgroup.path) == cgroup.id) {
      if (now - each.since < kKeepReports) reports_.push_back(std::move(each));
      continue;
    }
    if (!take_one(missed_, cgroup.path)) taken_.emplace(cgroup.path, updates_);
    gone.push_back(std::move(each.cgroup));
  }
  while (reports_.size() > kMaxReports) reports_.pop_front();
  return gone;
}

std::uint64_t GoneCgroups::count_missed(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (!take_one(taken_, path)) missed_.emplace(path, updates_);
  }
  ++updates_;
  drop_old(taken_);
  return drop_old(missed_);
}

std::uint64_t GoneCgroups::miss_all() { return std::exchange(missed_, {}).size(); }

std::uint64_t GoneCgroups::drop_old(Updates& paths) const {
  return std::erase_if(paths,
                       [this](const auto& path) { return path.second + kMaxDelay < updates_; });
}

}  // namespace pex::cgroup
