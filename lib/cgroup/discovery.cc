#include "cgroup/discovery.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace pex::cgroup {
namespace {

/// The watch tells of every change; this bounds the damage should it ever not.
constexpr std::chrono::minutes kRescanAnyway{1};

bool any_matches(const std::vector<Glob>& globs, std::string_view path) {
  return std::any_of(globs.begin(), globs.end(), [path](const Glob& g) { return g.matches(path); });
}

using Directory = std::unique_ptr<DIR, int (*)(DIR*)>;

bool is_child_directory(const dirent& entry) {
  return entry.d_type == DT_DIR && std::strcmp(entry.d_name, ".") != 0 &&
         std::strcmp(entry.d_name, "..") != 0;
}

}  // namespace

bool Selection::matches(std::string_view path) const {
  return any_matches(include, path) && !any_matches(exclude, path);
}

bool Selection::may_match_below(std::string_view path) const {
  return std::any_of(include.begin(), include.end(),
                     [path](const Glob& glob) { return glob.may_match_below(path); });
}

Discovery::Discovery(std::string root, Selection selection)
    : root_(std::move(root)), selection_(std::move(selection)) {}

Result<std::shared_ptr<const Discovery::Found>> Discovery::update(std::size_t capacity,
                                                                  Clock::time_point now) {
  const bool changed = watch_.changed();
  if (found_ && !changed && capacity == capacity_ && now - scanned_ < kRescanAnyway) return found_;

  Inodes matching;
  if (const Result<> walked = walk(AT_FDCWD, root_.c_str(), "", matching); !walked) {
    scanned_ = now - kRescanAnyway;  // try again at once
    return walked.error();
  }
  std::shared_ptr<const Found> found = choose(matching, capacity);
  if (!found_ || *found != *found_) found_ = std::move(found);
  capacity_ = capacity;
  scanned_ = now;
  return found_;
}

/// A directory that has vanished meanwhile is no failure: it is what we came to learn.
Result<> Discovery::walk(int parent, const char* name, const std::string& path, Inodes& matching) {
  const auto failed = [&](int code) {
    return Error{code, "read cgroup directory '" + root_ + path + "'", {}};
  };
  watch_.add(root_ + path);
  UniqueFd fd{::openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!fd) return errno == ENOENT && !path.empty() ? Result<>{} : Result<>{failed(errno)};
  const Directory directory{::fdopendir(fd.get()), &::closedir};
  if (!directory) return failed(errno);
  const int here = fd.release();  // the stream closes it

  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(directory.get());
    if (entry == nullptr) {
      return errno == 0 || errno == ENOENT ? Result<>{} : Result<>{failed(errno)};
    }
    if (!is_child_directory(*entry)) continue;
    const std::string child = path + "/" + entry->d_name;
    if (selection_.matches(child)) matching.emplace(child, entry->d_ino);
    if (!selection_.may_match_below(child)) continue;
    if (Result<> walked = walk(here, entry->d_name, child, matching); !walked) return walked;
  }
}

/// The cgroup we already hold when it is the same one, else a new hold on it; null when it has gone
/// or no descriptor can be had for it.
std::shared_ptr<const Cgroup> Discovery::hold(const std::string& path, std::uint64_t inode) const {
  const auto known = held_.find(path);
  if (known != held_.end() && known->second->id == inode) return known->second;

  auto cgroup = std::make_shared<Cgroup>();
  cgroup->path = path;
  cgroup->directory.reset(::open((root_ + path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status {};
  if (!cgroup->directory || ::fstat(cgroup->directory.get(), &status) != 0) return nullptr;
  cgroup->id = status.st_ino;
  return cgroup;
}

std::shared_ptr<const Discovery::Found> Discovery::choose(const Inodes& matching,
                                                          std::size_t capacity) {
  auto found = std::make_shared<Found>();
  std::map<std::string, std::shared_ptr<const Cgroup>> held;
  const auto take = [&](const std::string& path, std::uint64_t inode) {
    if (held.size() == capacity) {
      ++found->left_out;
      return;
    }
    if (std::shared_ptr<const Cgroup> cgroup = hold(path, inode)) held.emplace(path, cgroup);
  };
  for (const auto& [path, cgroup] : held_) {
    if (const auto still = matching.find(path); still != matching.end()) take(path, still->second);
  }
  for (const auto& [path, inode] : matching) {
    if (!held_.contains(path)) take(path, inode);
  }
  for (const auto& [path, cgroup] : held) found->cgroups.push_back(cgroup);
  held_ = std::move(held);
  return found;
}

}  // namespace pex::cgroup
