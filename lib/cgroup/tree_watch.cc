#include "cgroup/tree_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace pex::cgroup {
namespace {

constexpr std::uint32_t kEvents = IN_CREATE | IN_DELETE | IN_MOVE | IN_ONLYDIR;

/// More than the queue holds by default: who makes directories all the time must not keep us here.
constexpr int kMostReads = 256;

/// Of a directory that is gone, or that nobody could list either: there is nothing to be told.
bool needs_no_watch(int code) { return code == ENOENT || code == EACCES || code == ENAMETOOLONG; }

}  // namespace

TreeWatch::TreeWatch() : inotify_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {}

void TreeWatch::add(const std::string& directory, const std::string& path) {
  if (!inotify_) return;
  const int watch = ::inotify_add_watch(inotify_.get(), directory.c_str(), kEvents);
  if (watch >= 0) {
    paths_[watch] = path;
  } else if (!needs_no_watch(errno)) {
    complete_ = false;
  }
}

void TreeWatch::start_over() {
  // There may be room for an instance by now. Watches that are there already are found again; of
  // those that are not, the end is still to be told.
  if (!inotify_) inotify_.reset(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  complete_ = true;
}

TreeWatch::Changes TreeWatch::take() {
  Changes changes;
  changes.are_unknown = !is_complete();
  if (!inotify_) return changes;
  alignas(inotify_event) char buffer[16 * 1024];
  for (int reads = 0; reads < kMostReads; ++reads) {
    const ssize_t size = ::read(inotify_.get(), buffer, sizeof buffer);
    if (size <= 0) break;
    inotify_event event{};
    for (const char* at = buffer; at < buffer + size; at += sizeof event + event.len) {
      std::memcpy(&event, at, sizeof event);
      if ((event.mask & IN_IGNORED) != 0) paths_.erase(event.wd);
      if ((event.mask & IN_Q_OVERFLOW) != 0) {
        changes.are_unknown = changes.were_lost = true;
        paths_.clear();  // of some the end may never be told
      }
      const auto watched = paths_.find(event.wd);
      if ((event.mask & IN_ISDIR) == 0 || event.len == 0 || watched == paths_.end()) continue;
      const bool came = (event.mask & (IN_CREATE | IN_MOVED_TO)) != 0;
      changes.each.push_back({came ? Change::Kind::kCame : Change::Kind::kWent,
                              watched->second + "/" + (at + sizeof event)});
    }
  }
  return changes;
}

}  // namespace pex::cgroup
