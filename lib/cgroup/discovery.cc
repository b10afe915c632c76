#include "cgroup/discovery.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "cgroup/cpu_use.h"

namespace pex::cgroup {
namespace {

/// Whether another selected one is below `path`; all of them are in `directories`.
bool has_selected_below(const Tree::Directories& directories, const std::string& path) {
  const std::string above = path + "/";
  for (auto at = directories.lower_bound(above);
       at != directories.end() && at->first.starts_with(above); ++at) {
    if (at->second.is_selected) return true;
  }
  return false;
}

}  // namespace

Discovery::Discovery(Hierarchy hierarchy, Selection selection)
    : hierarchy_(std::move(hierarchy)), tree_(hierarchy_.mount, std::move(selection)) {}

Result<std::shared_ptr<const Discovery::Found>> Discovery::update(std::size_t capacity,
                                                                  Clock::time_point now) {
  const Result<bool> changed = tree_.update(now);
  if (!changed) return changed.error();
  if (found_ && !*changed && capacity == capacity_ && !try_again_) return found_;

  try_again_ = false;
  capacity_ = capacity;
  auto found = std::make_shared<const Found>(choose(capacity));
  if (!found_ || *found != *found_) found_ = std::move(found);
  return found_;
}

/// All that are selected, by path.
std::vector<std::string> Discovery::wanted() const {
  const bool leaves = tree_.selection().leaves;
  std::vector<std::string> paths;
  for (const auto& [path, directory] : tree_.directories()) {
    if (!directory.is_selected) continue;
    if (leaves && has_selected_below(tree_.directories(), path)) continue;
    paths.push_back(path);
  }
  return paths;
}

bool Discovery::is_held(const std::string& path) const {
  const auto held = held_.find(path);
  return held != held_.end() && held->second->id == tree_.directories().at(path).inode;
}

/// Those of `wanted` that are not held yet, in the order in which they get the room there is.
std::vector<std::string> Discovery::newcomers(const std::vector<std::string>& wanted,
                                              std::size_t room) {
  std::vector<std::pair<std::uint64_t, std::string>> by_use;
  for (const std::string& path : wanted) {
    if (!is_held(path)) by_use.emplace_back(0, path);
  }
  const bool has_to_choose = room > 0 && by_use.size() > room;
  if (has_to_choose) {
    for (auto& [use, path] : by_use) use = cpu_use(hierarchy_, path);
  }
  std::stable_sort(by_use.begin(), by_use.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> paths;
  for (auto& [use, path] : by_use) paths.push_back(std::move(path));
  return paths;
}

Result<std::shared_ptr<const Cgroup>> Discovery::hold(const std::string& path) const {
  auto cgroup = std::make_shared<Cgroup>();
  const std::string directory = tree_.root() + path;
  cgroup->path = path;
  cgroup->directory.reset(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status {};
  if (!cgroup->directory || ::fstat(cgroup->directory.get(), &status) != 0) {
    const int code = errno;
    return Error{code, "open cgroup directory '" + directory + "'",
                 wants_descriptor(code) ? "raise LimitNOFILE= in the unit, or ulimit -n"
                                        : "let the exporter's user read it, or exclude it"};
  }
  cgroup->id = status.st_ino;
  return std::shared_ptr<const Cgroup>{std::move(cgroup)};
}

/// One that cannot be held costs the others nothing, and least of all their room.
void Discovery::take(const std::string& path, Held& held, Found& found) {
  Result<std::shared_ptr<const Cgroup>> cgroup = hold(path);
  if (cgroup) {
    held.emplace(path, std::move(*cgroup));
  } else if (cgroup.error().code == ENOENT) {
    tree_.forget(path);
  } else if (!tree_.unreadable().contains(path)) {  // else that has been said
    try_again_ = try_again_ || wants_descriptor(cgroup.error().code);
    found.unreadable.push_back(std::move(cgroup.error()));
  }
}

Discovery::Found Discovery::choose(std::size_t capacity) {
  Found found;
  for (const auto& [path, why] : tree_.unreadable()) found.unreadable.push_back(why);
  const std::vector<std::string> all = wanted();
  Held held;
  for (const std::string& path : all) {
    if (!is_held(path)) continue;
    if (held.size() < capacity) {
      held.insert(*held_.find(path));
    } else {
      found.left_out.push_back(path);
    }
  }
  for (const std::string& path : newcomers(all, capacity - held.size())) {
    if (held.size() < capacity) {
      take(path, held, found);
    } else {
      found.left_out.push_back(path);
    }
  }
  std::sort(found.left_out.begin(), found.left_out.end());
  for (const auto& [path, cgroup] : held) found.cgroups.push_back(cgroup);
  held_ = std::move(held);
  return found;
}

void Discovery::let_go(const std::string& path) {
  try_again_ = held_.erase(path) > 0 || try_again_;
}

}  // namespace pex::cgroup
