#include "daemon/service/open_files.h"

#include <boost/asio/post.hpp>
#include <boost/system/system_error.hpp>
#include <utility>

#include "host/self_process.h"

namespace pex::daemon {

OpenFiles::OpenFiles() : OpenFiles(Source{host::reported_open_fds, host::list_open_fds}) {}

OpenFiles::OpenFiles(Source source) : source_(std::move(source)) {}

OpenFiles::~OpenFiles() {
  if (thread_) thread_->join();
}

std::optional<std::uint64_t> OpenFiles::read(Clock::time_point now) {
  if (const std::optional<std::uint64_t> reported = source_.reported()) return reported;
  const bool is_due = !list_begun_ || now - *list_begun_ >= kListedAgainAfter;
  if (is_due && !is_listing_.exchange(true)) {
    list_begun_ = now;
    list();
  }
  const std::int64_t last = last_list_;
  return last < 0 ? std::nullopt : std::optional(static_cast<std::uint64_t>(last));
}

/// If no thread is available the number stays unknown, until the next try.
void OpenFiles::list() {
  try {
    if (!thread_) {
      thread_.emplace(1);
      boost::asio::post(*thread_, host::block_signals);
    }
  } catch (const boost::system::system_error&) {
    is_listing_ = false;
    return;
  }
  boost::asio::post(*thread_, [this] {
    if (const auto listed = source_.listed()) last_list_ = static_cast<std::int64_t>(*listed);
    is_listing_ = false;
  });
}

}  // namespace pex::daemon
