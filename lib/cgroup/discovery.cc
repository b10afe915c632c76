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

bool wants_descriptor(int code) { return code == EMFILE || code == ENFILE; }

Error unreadable(int code, const std::string& directory) {
  return Error{code, "read cgroup directory '" + directory + "'",
               wants_descriptor(code) ? "raise LimitNOFILE= in the unit, or ulimit -n"
                                      : "let the exporter's user read it, or exclude it"};
}

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

  scanned_ = now - kRescanAnyway;  // until it has succeeded, the next call tries again
  Scan scan;
  if (const Result<> walked = walk(AT_FDCWD, root_.c_str(), "", scan); !walked) {
    return walked.error();
  }
  auto found = std::make_shared<const Found>(choose(std::move(scan), capacity));
  if (!found_ || *found != *found_) found_ = std::move(found);
  capacity_ = capacity;
  const bool try_again =
      std::any_of(found_->unreadable.begin(), found_->unreadable.end(),
                  [](const Error& error) { return wants_descriptor(error.code); });
  if (!try_again) scanned_ = now;
  return found_;
}

/// A directory that has vanished meanwhile is no failure: it is what we came to learn. One whose
/// owner keeps it to himself must not cost the others.
Result<> Discovery::walk(int parent, const char* name, const std::string& path, Scan& scan) {
  const auto failed = [&](int code) -> Result<> {
    if (!path.empty() && code == ENOENT) return {};
    if (!path.empty() && (code == EACCES || code == EPERM || code == ENAMETOOLONG)) {
      scan.unreadable.push_back(unreadable(code, root_ + path));
      return {};
    }
    return unreadable(code, root_ + path);
  };
  watch_.add(root_ + path);
  UniqueFd fd{::openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!fd) return failed(errno);
  const Directory directory{::fdopendir(fd.get()), &::closedir};
  if (!directory) return failed(errno);
  const int here = fd.release();  // the stream closes it

  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(directory.get());
    if (entry == nullptr) return errno == 0 ? Result<>{} : failed(errno);
    if (!is_child_directory(*entry)) continue;
    const std::string child = path + "/" + entry->d_name;
    if (selection_.matches(child)) scan.matching.emplace(child, entry->d_ino);
    if (!selection_.may_match_below(child)) continue;
    if (Result<> walked = walk(here, entry->d_name, child, scan); !walked) return walked;
  }
}

/// The cgroup we already hold when it is the same one, else a new hold on it; null when it has
/// gone.
Result<std::shared_ptr<const Cgroup>> Discovery::hold(const std::string& path,
                                                      std::uint64_t inode) const {
  const auto known = held_.find(path);
  if (known != held_.end() && known->second->id == inode) return known->second;

  auto cgroup = std::make_shared<Cgroup>();
  cgroup->path = path;
  cgroup->directory.reset(::open((root_ + path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status {};
  if (!cgroup->directory || ::fstat(cgroup->directory.get(), &status) != 0) {
    const int code = errno;
    if (code == ENOENT) return std::shared_ptr<const Cgroup>{};
    return unreadable(code, root_ + path);
  }
  cgroup->id = status.st_ino;
  return std::shared_ptr<const Cgroup>{std::move(cgroup)};
}

/// One that cannot be held costs the others nothing, and least of all their room.
Discovery::Found Discovery::choose(Scan scan, std::size_t capacity) {
  Found found;
  found.unreadable = std::move(scan.unreadable);
  std::map<std::string, std::shared_ptr<const Cgroup>> held;
  const auto take = [&](const std::string& path, std::uint64_t inode) {
    if (held.size() == capacity) {
      ++found.left_out;
      return;
    }
    const Result<std::shared_ptr<const Cgroup>> cgroup = hold(path, inode);
    if (!cgroup) {
      found.unreadable.push_back(cgroup.error());
    } else if (*cgroup) {
      held.emplace(path, *cgroup);
    }
  };
  for (const auto& [path, cgroup] : held_) {
    const auto still = scan.matching.find(path);
    if (still != scan.matching.end()) take(path, still->second);
  }
  for (const auto& [path, inode] : scan.matching) {
    if (!held_.contains(path)) take(path, inode);
  }
  for (const auto& [path, cgroup] : held) found.cgroups.push_back(cgroup);
  held_ = std::move(held);
  return found;
}

}  // namespace pex::cgroup
