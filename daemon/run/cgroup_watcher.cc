#include "daemon/run/cgroup_watcher.h"

#include <fcntl.h>
#include <unistd.h>

#include <boost/asio/post.hpp>

namespace pex::daemon {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

/// Where inotify does not work, and for cgroups that wait to be opened.
constexpr std::chrono::seconds kMaxWait{1};

/// When hundreds of cgroups appear at once, they are opened by the dozen: each reconciliation lists
/// all cgroups.
constexpr std::chrono::milliseconds kRest{50};

}  // namespace

CgroupWatcher::CgroupWatcher(asio::io_context& loop) : loop_(loop), events_(loop), timer_(loop) {}

void CgroupWatcher::watch(collect::Collector& collector, std::chrono::nanoseconds interval) {
  stop();
  collector_ = &collector;
  polls_are_rare_ = interval > kMaxWait;
  wait();
}

/// The kernel may have refused the collector an inotify instance at first, and granted one later.
void CgroupWatcher::follow_descriptor() {
  const int descriptor = collector_->descriptor();
  if (descriptor == followed_ && events_.is_open()) return;
  followed_ = descriptor;
  error_code ignored;
  events_.close(ignored);
  const int duplicate = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (duplicate < 0) return;  // the timer remains
  error_code refused;         // epoll allocates memory for it
  events_.assign(duplicate, refused);
  if (refused) ::close(duplicate);
}

void CgroupWatcher::stop() {
  ++watch_;
  collector_ = nullptr;
  timer_.cancel();
  error_code ignored;
  events_.close(ignored);
  followed_ = -1;
}

void CgroupWatcher::wait() {
  const std::uint64_t watch = ++watch_;
  follow_descriptor();
  if (events_.is_open()) {
    events_.async_wait(asio::posix::stream_descriptor::wait_read,
                       [this, watch](const error_code& cancelled) {
                         if (!cancelled) reconcile(watch);
                       });
  }
  if (events_.is_open() && !polls_are_rare_) return;
  timer_.expires_after(kMaxWait);
  timer_.async_wait([this, watch](const error_code& cancelled) {
    if (cancelled || watch != watch_) return;
    polls_are_rare_ ? reconcile(watch) : wait();  // by now a poll may have got a descriptor
  });
}

/// Not needed while a poll is running: the poll reconciles the cgroups too, or the next one is
/// near. The descriptor is closed until the next wait: while it is in epoll, each of the thousands
/// of events a second that a tenant can cause would wake the loop for nothing.
void CgroupWatcher::reconcile(std::uint64_t watch) {
  if (watch != watch_) return;
  watch = ++watch_;
  timer_.cancel();
  error_code ignored;
  events_.close(ignored);
  const bool started = collector_->reconcile(
      [this, watch, &loop = loop_] { asio::post(loop, [this, watch] { rest(watch); }); });
  if (!started) rest(watch);
}

void CgroupWatcher::rest(std::uint64_t watch) {
  if (watch != watch_) return;
  timer_.expires_after(kRest);
  timer_.async_wait([this, watch](const error_code& cancelled) {
    if (!cancelled && watch == watch_) wait();
  });
}

}  // namespace pex::daemon
