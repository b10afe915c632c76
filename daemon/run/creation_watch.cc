#include "daemon/run/creation_watch.h"

#include <limits.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

namespace pex::daemon {

/// Watching the same directory again returns the same watch.
void CreationWatch::follow() {
  std::error_code is_gone;
  std::string real = std::filesystem::canonical(file_, is_gone).string();
  if (is_gone) return;
  if (!inotify_) inotify_.reset(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  const std::string directory = real.substr(0, real.rfind('/') + 1);
  constexpr std::uint32_t kEvents = IN_CREATE | IN_MODIFY | IN_MOVED_TO;
  const int watch = ::inotify_add_watch(inotify_.get(), directory.c_str(), kEvents);
  const bool is_elsewhere = !real_.empty() && real != real_;
  if (is_elsewhere || (watch_ >= 0 && watch >= 0 && watch != watch_)) {
    (void)take();  // the file may have been created before a link led to it
    is_created_ = !is_elsewhere;
  }
  if (watch_ >= 0 && watch != watch_) ::inotify_rm_watch(inotify_.get(), watch_);
  watch_ = watch;
  real_ = std::move(real);
}

std::optional<bool> CreationWatch::take() {
  const std::string name = real_.substr(real_.rfind('/') + 1);
  alignas(inotify_event) char reports[sizeof(inotify_event) + NAME_MAX + 1];
  for (;;) {
    const ssize_t size = ::read(inotify_.get(), reports, sizeof reports);
    if (size <= 0) return std::exchange(is_created_, std::nullopt);
    for (const char* at = reports; at < reports + size;) {
      const auto& report = *reinterpret_cast<const inotify_event*>(at);
      const bool is_of_it = report.wd == watch_ && report.len > 0 && report.name == name;
      if (is_of_it) is_created_ = (report.mask & IN_MOVED_TO) == 0;
      at += sizeof report + report.len;
    }
  }
}

}  // namespace pex::daemon
