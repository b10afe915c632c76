#include "cgroup/inventory.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace pex::cgroup {
namespace {

namespace fs = std::filesystem;

/// A walk of one tree.
struct Walk {
  const std::string& mount;
  std::size_t limit;
  Inventory all = {};

  void add_below(const std::string& path) {
    std::error_code failed;
    for (fs::directory_iterator at(mount + path, failed), end; !failed && at != end;
         at.increment(failed)) {
      std::error_code gone;
      if (at->is_symlink(gone) || !at->is_directory(gone)) continue;
      all.is_cut_off = all.is_cut_off || all.cgroups.size() == limit;
      if (all.is_cut_off) return;
      const std::string below = path + "/" + at->path().filename().string();
      all.cgroups.push_back(below);
      add_below(below);
    }
    const bool is_gone = failed == std::errc::no_such_file_or_directory && !path.empty();
    if (failed && !is_gone) {
      all.unreadable.push_back(path.empty() ? "/" : path);
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
