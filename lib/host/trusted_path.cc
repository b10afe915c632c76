#include "host/trusted_path.h"

#include <limits.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <optional>

#include "host/mounts.h"
#include "host/self_process.h"

namespace pex::host {
namespace {

constexpr int kMaxLinks = 40;  // as the kernel follows

bool is_of_ours(uid_t owner) {
  return owner == 0 || (owner == ::geteuid() && !has_rights_by_its_file());
}

bool others_may_write(const struct stat& status) {
  const bool group_may = (status.st_mode & S_IWGRP) != 0 && status.st_gid != 0;
  return group_may || (status.st_mode & S_IWOTH) != 0;
}

/// Others can put a file or link of root in a directory, such as one that they were given, but they
/// cannot move a directory of root there: its entry ".." changes (rename(2), EACCES).
bool is_held_by_sticky_bit(const struct stat& directory, const struct stat& entry) {
  return (directory.st_mode & S_ISVTX) != 0 && S_ISDIR(entry.st_mode) && is_of_ours(entry.st_uid) &&
         !others_may_write(entry);
}

/// Any user may mount FUSE on a directory of his own (fusermount(1)), and say that its files are
/// those of root.
bool is_mounted_by_user(const std::string& directory) {
  struct statfs system {};
  if (::statfs(directory.c_str(), &system) != 0) return true;
  if (system.f_type != FUSE_SUPER_MAGIC) return false;
  const std::optional<Mount> mount = mount_of_file({}, directory);
  return mount && mount->fs_type.starts_with("fuse") && !mount->has_option("user_id=0");
}

/// The text of a link of procfs to a file or directory of a process, such as /proc/1/root, does not
/// lead where the link does: proc_pid_fd(5). Nothing too.
std::optional<std::string> target_of(const std::string& directory, const std::string& link) {
  std::string target(PATH_MAX, '\0');
  const ssize_t size = ::readlink(link.c_str(), target.data(), target.size());
  if (size <= 0) return {};
  target.resize(static_cast<std::size_t>(size));
  struct statfs system {};
  const bool is_known = ::statfs((directory + "/").c_str(), &system) == 0;
  if (!is_known || (system.f_type == PROC_SUPER_MAGIC && target.starts_with('/'))) return {};
  return target;
}

/// One name of `path`, which is taken off it, without the slashes around it.
std::string take_name(std::string& path) {
  path.erase(0, path.find_first_not_of('/'));
  const std::string name = path.substr(0, path.find('/'));
  path.erase(0, name.size());
  return name;
}

}  // namespace

bool is_trusted_path(const std::string& path) {
  std::string rest = path;
  std::string directory;  // its path; empty: the root
  struct stat above {};
  if (!path.starts_with('/') || ::stat("/", &above) != 0) return false;
  for (int links = 0;;) {
    const bool is_of_root = is_of_ours(above.st_uid);
    const std::string name = take_name(rest);
    if (name.empty()) return is_of_root && !others_may_write(above);
    if (!is_of_root) return false;
    const std::string entry = directory + "/" + name;
    struct stat status {};
    if (::lstat(entry.c_str(), &status) != 0) return false;
    if (others_may_write(above) && !is_held_by_sticky_bit(above, status)) return false;
    if (!S_ISLNK(status.st_mode)) {
      if (is_mounted_by_user(entry)) return false;
      directory = entry;
      above = status;
      continue;
    }
    const std::optional<std::string> target = target_of(directory, entry);
    if (!target || ++links > kMaxLinks) return false;
    rest = *target + "/" + rest;
    if (!target->starts_with('/')) continue;
    directory.clear();
    if (::stat("/", &above) != 0) return false;
  }
}

}  // namespace pex::host
