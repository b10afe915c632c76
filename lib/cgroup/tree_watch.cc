#include "cgroup/tree_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

namespace pex::cgroup {
namespace {

constexpr std::uint32_t kEvents = IN_CREATE | IN_DELETE | IN_MOVE | IN_ONLYDIR;

/// The directory is gone, or cannot be listed either: there is nothing to report.
bool needs_no_watch(int code) { return code == ENOENT || code == EACCES || code == ENAMETOOLONG; }

}  // namespace

TreeWatch::TreeWatch(std::size_t max_watches)
    : max_watches_(max_watches), inotify_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {}

void TreeWatch::add(const std::string& directory, const std::string& path) {
  if (!inotify_) return;
  if (!has_room_for(path)) {
    unwatched_.insert(path);
    return;
  }
  unwatched_.erase(path);
  const int descriptor = ::inotify_add_watch(inotify_.get(), directory.c_str(), kEvents);
  if (descriptor < 0) {
    if (!needs_no_watch(errno)) complete_ = false;
    return;
  }
  // A recreated one has another descriptor; the end of the old one may not be reported yet.
  const auto [watch, is_new] = watches_.try_emplace(path, descriptor);
  if (is_new) places_.hold(path);
  if (const int old = std::exchange(watch->second, descriptor); old != descriptor) {
    end_watch(old);
    paths_.erase(old);
  }
  paths_[descriptor] = path;
}

bool TreeWatch::has_room_for(const std::string& path) {
  if (watches_.size() < max_watches_ || watches_.contains(path)) return true;
  const std::optional<std::string> other = places_.displaced_by(path);
  if (!other) return false;
  remove(*other);
  unwatched_.insert(*other);
  return true;
}

void TreeWatch::remove(const std::string& path) {
  if (const std::optional<int> watch = stop(path)) paths_.erase(*watch);
}

/// It stays in paths_: what it has reported is still to be taken.
void TreeWatch::disappeared(const std::string& path) { (void)stop(path); }

/// Returns the watch that it had.
std::optional<int> TreeWatch::stop(const std::string& path) {
  unwatched_.erase(path);
  const std::optional<int> watch = watch_of(path);
  if (!watch) return {};
  end_watch(*watch);
  watches_.erase(path);
  places_.remove(path);
  return watch;
}

/// The end is reported after all that the watch has reported before. It may have ended already.
void TreeWatch::end_watch(int watch) const { (void)::inotify_rm_watch(inotify_.get(), watch); }

std::optional<int> TreeWatch::watch_of(const std::string& path) const {
  const auto watch = watches_.find(path);
  if (watch == watches_.end()) return {};
  return watch->second;
}

/// The path may have another watch by now.
void TreeWatch::ended(std::unordered_map<int, std::string>::iterator watched) {
  if (watch_of(watched->second) == watched->first) {
    watches_.erase(watched->second);
    places_.remove(watched->second);
  }
  paths_.erase(watched);
}

void TreeWatch::start_over() {
  // An instance may be available now. Existing watches are found again.
  if (!inotify_) inotify_.reset(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  complete_ = true;
  unwatched_.clear();
}

bool TreeWatch::finish() {
  if (!std::exchange(lost_ends_, false)) return false;
  std::erase_if(paths_, [this](const auto& each) { return watch_of(each.second) != each.first; });
  return true;
}

TreeWatch::Changes TreeWatch::take(Clock::time_point now) {
  Changes changes;
  changes.are_unknown = !is_complete();
  changes.are_all = !inotify_;
  while (!changes.are_all && events_.tokens(now) > 0) {
    changes.are_all = !read_some(now, changes);
  }
  return changes;
}

bool TreeWatch::read_some(Clock::time_point now, Changes& changes) {
  alignas(inotify_event) char buffer[16 * 1024];
  const ssize_t size = ::read(inotify_.get(), buffer, sizeof buffer);
  if (size <= 0) return false;
  inotify_event event{};
  int events = 0;
  for (const char* at = buffer; at < buffer + size; at += sizeof event + event.len, ++events) {
    std::memcpy(&event, at, sizeof event);
    if ((event.mask & IN_Q_OVERFLOW) != 0) changes.were_lost = lost_ends_ = true;
    // An unmounted tree must be walked as well.
    if ((event.mask & (IN_Q_OVERFLOW | IN_UNMOUNT)) != 0) changes.are_unknown = true;
    if ((event.mask & IN_IGNORED) != 0) changes.ended.push_back(event.wd);
    const auto watched = paths_.find(event.wd);
    if (watched == paths_.end()) continue;
    if ((event.mask & IN_IGNORED) != 0) {
      ended(watched);
    } else if ((event.mask & IN_ISDIR) != 0 && event.len > 0) {
      const bool came = (event.mask & (IN_CREATE | IN_MOVED_TO)) != 0;
      changes.each.push_back({came ? Change::Kind::kAppeared : Change::Kind::kDisappeared,
                              watched->second + "/" + (at + sizeof event), event.wd});
    }
  }
  events_.take(events, now);
  return true;
}

}  // namespace pex::cgroup
