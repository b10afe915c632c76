#include "cgroup/inventory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/unique_fd.h"

namespace pex::cgroup {
namespace {

using Stream = std::unique_ptr<DIR, int (*)(DIR*)>;

bool is_child_directory(const dirent& entry) {
  return entry.d_type == DT_DIR && std::strcmp(entry.d_name, ".") != 0 &&
         std::strcmp(entry.d_name, "..") != 0;
}

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

Result<std::vector<ChildDirectory>, int> child_directories(const std::string& directory,
                                                           std::optional<dev_t> device,
                                                           std::size_t most) {
  UniqueFd fd{::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!fd) return errno;
  struct stat status {};
  if (device && ::fstat(fd.get(), &status) != 0) return errno;
  if (device && status.st_dev != *device) return EXDEV;
  const Stream stream{::fdopendir(fd.get()), &::closedir};
  if (!stream) return errno;
  (void)fd.release();  // the stream closes it
  std::vector<ChildDirectory> children;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr && errno != 0) return errno;
    if (entry == nullptr || children.size() == most) return children;
    if (is_child_directory(*entry)) children.push_back({entry->d_name, entry->d_ino});
  }
}

std::optional<std::uint64_t> inode_of(const std::string& directory) {
  struct stat status {};
  if (::lstat(directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return {};
  return status.st_ino;
}

bool lacks_descriptors(int code) { return code == EMFILE || code == ENFILE; }

Remedy remedy_for_directory(int code) {
  if (code == ENFILE) return "raise fs.file-max";
  if (code == EMFILE) return "raise " + ProgramTerm::kOpenFileLimit + ", or ulimit -n";
  return "let " + ProgramTerm::kProgram + "'s user read it, or exclude it";
}

Inventory take_inventory(const std::string& mount, std::size_t limit) {
  Walk walk{mount, limit};
  walk.add_below("");
  std::sort(walk.all.cgroups.begin(), walk.all.cgroups.end());
  std::sort(walk.all.unreadable.begin(), walk.all.unreadable.end());
  return std::move(walk.all);
}

}  // namespace pex::cgroup
