#include "cgroup/tree_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>

namespace pex::cgroup {

TreeWatch::TreeWatch() : inotify_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)), blind_(!inotify_) {}

void TreeWatch::add(const std::string& directory) {
  if (!inotify_) return;
  constexpr std::uint32_t kEvents = IN_CREATE | IN_DELETE | IN_MOVE | IN_ONLYDIR;
  if (::inotify_add_watch(inotify_.get(), directory.c_str(), kEvents) >= 0) return;
  if (errno != ENOENT) blind_ = true;  // one that has just gone needs no watch
}

bool TreeWatch::changed() {
  if (!inotify_) return true;
  bool any = blind_;
  alignas(inotify_event) char events[4096];
  while (::read(inotify_.get(), events, sizeof events) > 0) any = true;
  return any;
}

}  // namespace pex::cgroup
