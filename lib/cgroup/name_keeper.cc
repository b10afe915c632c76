#include "cgroup/name_keeper.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <tuple>
#include <utility>

#include "base/text.h"

namespace pex::cgroup {
namespace {

/// Of the root of each hierarchy (cgroup_setup_root() of the kernel).
constexpr std::uint64_t kHierarchyRoot = 1;

/// The kernel cuts off longer paths (perf_event_cgroup()).
constexpr std::size_t kMaxReportedBytes = PATH_MAX - sizeof(std::uint64_t) - 1;

/// The reports that wait, at most: some MB, if all of them are as long as can be.
constexpr std::size_t kMaxWaiting = 1024;

/// As the kernel writes the path of a directory. Without memory for it, it writes "//enomem".
bool is_kernel_path(std::string_view path) {
  if (path == "/") return true;
  if (!path.starts_with('/') || path.size() > kMaxReportedBytes) return false;
  if (path.find('\0') != path.npos) return false;
  const std::vector<std::string_view> names = split(path.substr(1), '/');
  return std::none_of(names.begin(), names.end(), [](std::string_view name) {
    return name.empty() || name == "." || name == "..";
  });
}

/// See CgroupNames::path_of.
std::string name_above(std::string path) {
  do path.resize(path.rfind('/'));
  while (is_path_too_long(path));
  return path + '/';
}

std::string name_of(const std::string& path) {
  return is_path_too_long(path) ? name_above(path) : path;
}

bool is_below(std::string_view path, std::string_view directory) {
  return path.size() > directory.size() && path.starts_with(directory) &&
         path[directory.size()] == '/';
}

/// Whether it is below one of `directories`.
bool is_in(std::string_view path, const std::set<std::string, std::less<>>& directories) {
  for (std::size_t end = path.rfind('/'); end != 0 && end != path.npos;) {
    path = path.substr(0, end);
    if (directories.contains(path)) return true;
    end = path.rfind('/');
  }
  return false;
}

bool is_gone(int code) { return code == ENOENT || code == ENODEV; }

Error cannot_name(int code, const std::string& directory) {
  return Error{code, "read cgroup directory '" + directory + "', to name cgroups",
               lacks_descriptors(code) ? remedy_for_descriptors(code) : Remedy()};
}

}  // namespace

/// A name whose cgroup the walk has not found.
struct NameKeeper::Missing {
  Clock::time_point since;  ///< of the first walk that missed it
  std::uint64_t id = 0;
  const std::string* path = nullptr;
  bool is_unreadable = false;  ///< it may exist
};

NameKeeper::NameKeeper(const Hierarchy& hierarchy, std::size_t max_directories)
    : mount_(hierarchy.mount),
      max_directories_(max_directories),
      visits_({Tree::kVisitsPerSecond, static_cast<double>(max_directories)}) {}

/// What is reported is placed before a walk, so that the walk finds out whether it is gone.
std::shared_ptr<const CgroupNames> NameKeeper::update(Clock::time_point now,
                                                      std::span<const NamedCgroup> reported,
                                                      bool unknown) {
  reported_.clear();
  for (const NamedCgroup& cgroup : reported) {
    if (cgroup.id != 0 && is_kernel_path(cgroup.path)) waiting_.push_back({cgroup, now});
  }
  if (is_full(waiting_.size()) && may_walk(now, kMinWait)) walk(now);  // drops some that are gone
  place_reports();
  if (is_walk_due(now, unknown)) {
    walk(now);
    place_reports();
  }
  while (waiting_.size() > kMaxWaiting ||
         (!waiting_.empty() && now - waiting_.front().since >= kKeepGone)) {
    waiting_.pop_front();
  }
  return names_;
}

bool NameKeeper::is_full(std::size_t more) const {
  return names_->size() + more >= 2 * max_directories_;
}

bool NameKeeper::may_walk(Clock::time_point now, Clock::duration wait) const {
  return !walked_at_ || (now - *walked_at_ >= wait && visits_.tokens(now) > 0);
}

bool NameKeeper::is_walk_due(Clock::time_point now, bool unknown) {
  const bool is_requested = unknown || !waiting_.empty() || error_;
  if (!is_requested) wait_ = kMinWait;
  return may_walk(now, is_requested ? wait_ : kMaxWait);
}

void NameKeeper::place_reports() {
  for (auto each = waiting_.begin(); !above_ && each != waiting_.end(); ++each) {
    learn_path_above(each->cgroup);
  }
  if (!above_) return;
  CgroupNames::Map named;
  for (const Waiting& each : std::exchange(waiting_, {})) place(each.cgroup, named);
  if (!named.empty()) names_ = std::make_shared<const CgroupNames>(names_->with(named));
}

/// A directory that a walk has found keeps the name that it had then: it may have been renamed
/// since it was reported (version 1).
void NameKeeper::place(const NamedCgroup& reported, CgroupNames::Map& named) {
  std::optional<std::string> path = below_mount(reported.path);
  if (!path) return;
  const bool is_cut_off = reported.path.size() == kMaxReportedBytes;
  const bool is_whole = !is_cut_off && !is_path_too_long(*path);
  const bool is_named = names_->path_of(reported.id) != nullptr || named.contains(reported.id);
  if (!is_named && is_full(named.size())) {
    ++left_out_;
    return;
  }
  if (!is_named) named.emplace(reported.id, is_whole ? *path : name_above(*path));
  gone_.erase(reported.id);  // there may be records of it behind this one
  if (is_whole) reported_.push_back({reported.id, std::move(*path)});
}

/// The reported path ends with the path that a walk has found for its id.
void NameKeeper::learn_path_above(const NamedCgroup& reported) {
  if (reported.id == root_id_) above_ = reported.path == "/" ? "" : reported.path;
  const std::string* const known = names_->path_of(reported.id);
  if (above_ || known == nullptr || known->ends_with('/')) return;
  if (reported.path.ends_with(*known)) {
    above_ = reported.path.substr(0, reported.path.size() - known->size());
  }
}

/// Nothing if it is outside.
std::optional<std::string> NameKeeper::below_mount(std::string_view path) const {
  if (above_->empty()) return std::string(path);
  if (path == *above_) return "/";
  if (!is_below(path, *above_)) return {};
  return std::string(path.substr(above_->size()));
}

void NameKeeper::walk(Clock::time_point now) {
  walked_at_ = now;
  Walk walk;
  Result<> read = read_root(walk);
  if (read) read = read_tree(walk);
  visits_.take(static_cast<double>(walk.visited), now);
  error_.reset();
  if (!read) error_ = std::move(read.error());
  if (read) left_out_ = walk.left_out;
  const bool has_found = read && adopt(std::move(walk), now);
  wait_ = has_found ? kMinWait : std::min(2 * wait_, kMaxWait);
}

Result<> NameKeeper::read_root(Walk& walk) {
  struct stat status {};
  if (::stat(mount_.c_str(), &status) != 0) return cannot_name(errno, mount_);
  if (device_.value_or(status.st_dev) != status.st_dev) {
    return Error{
        0, "not naming new cgroups in '" + mount_ + "': another file system is mounted there now",
        "unmount it, or mount the cgroup file system again and reload " + ProgramTerm::kProgram};
  }
  device_ = status.st_dev;
  if (root_id_ != status.st_ino) above_.reset();  // another part of the hierarchy
  root_id_ = status.st_ino;
  if (root_id_ == kHierarchyRoot) above_ = "";
  walk.found.emplace(*root_id_, "/");
  return {};
}

/// Level by level. A directory that has vanished meanwhile is no error, and one that may not be
/// read does not affect the others. Any other failure is that of the walk: nothing may be missed by
/// it.
Result<> NameKeeper::read_tree(Walk& walk) const {
  std::deque<std::string> paths{""};
  for (; !paths.empty(); paths.pop_front()) {
    const std::string& path = paths.front();
    const Result<std::vector<ChildDirectory>, int> children =
        child_directories(mount_ + path, device_);
    if (!children) {
      const int code = children.error();
      if (path.empty() || (!is_gone(code) && !may_be_left_out(code) && code != EXDEV)) {
        return cannot_name(code, mount_ + path);
      }
      if (!is_gone(code)) walk.unreadable.insert(path);
      continue;
    }
    for (const ChildDirectory& child : *children) {
      ++walk.visited;
      if (walk.found.size() > max_directories_) {
        ++walk.left_out;
        continue;
      }
      std::string below = path + "/" + child.name;
      walk.found.emplace(child.inode, name_of(below));
      paths.push_back(std::move(below));
    }
  }
  return {};
}

/// Those that are missing, and keep their names.
std::vector<NameKeeper::Missing> NameKeeper::missing_from(const Walk& walk,
                                                          Clock::time_point now) const {
  std::vector<Missing> missing;
  names_->for_each([&](std::uint64_t id, const std::string& path) {
    if (walk.found.contains(id)) return;
    const auto gone = gone_.find(id);
    Missing each{gone == gone_.end() ? now : gone->second, id, &path};
    each.is_unreadable = is_in(path, walk.unreadable);
    if (each.is_unreadable) each.since = now;
    if (now - each.since < kKeepGone) missing.push_back(each);
  });
  if (missing.size() > max_directories_) {
    std::sort(missing.begin(), missing.end(), [](const Missing& a, const Missing& b) {
      return std::tie(a.is_unreadable, a.since, a.id) > std::tie(b.is_unreadable, b.since, b.id);
    });
    missing.resize(max_directories_);
  }
  return missing;
}

/// Returns whether it has found a cgroup that had no name.
bool NameKeeper::adopt(Walk walk, Clock::time_point now) {
  std::size_t known = 0;
  bool is_renamed = false;
  names_->for_each([&](std::uint64_t id, const std::string& path) {
    const auto found = walk.found.find(id);
    known += found == walk.found.end() ? 0 : 1;
    is_renamed = is_renamed || (found != walk.found.end() && found->second != path);
  });
  const bool has_found = walk.found.size() > known;
  const std::vector<Missing> missing = missing_from(walk, now);
  gone_.clear();
  for (const Missing& each : missing) gone_.emplace(each.id, each.since);
  if (!has_found && !is_renamed && known + missing.size() == names_->size()) return false;
  for (const Missing& each : missing) walk.found.emplace(each.id, *each.path);
  names_ = std::make_shared<const CgroupNames>(names_->replaced_by(std::move(walk.found)));
  return has_found;
}

}  // namespace pex::cgroup
