#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>

#include "count/collector.h"

namespace pex::daemon {

/// Has the collector reconcile the cgroups between two polls, so that new ones are counted from
/// their first moments, however far apart the polls are:
///
///   waiting --inotify event, or after a second--> reconciling --> resting, 50 ms --> waiting
///
/// Runs on the loop's thread.
class CgroupWatcher {
 public:
  explicit CgroupWatcher(boost::asio::io_context& loop);

  /// Starts watching for `collector`, which is polled at every `interval` and outlives this watcher
  /// or the next stop().
  void watch(collect::Collector& collector, std::chrono::nanoseconds interval);
  void stop();

 private:
  void follow_descriptor();
  void wait();
  void reconcile(std::uint64_t watch);
  void rest(std::uint64_t watch);

  boost::asio::io_context& loop_;
  boost::asio::posix::stream_descriptor events_;  ///< a duplicate, as the collector owns its own
  boost::asio::steady_timer timer_;
  int followed_ = -1;  ///< the collector's, which events_ duplicates
  collect::Collector* collector_ = nullptr;
  bool polls_are_rare_ = false;
  std::uint64_t watch_ = 0;  ///< counts the states; a callback of an earlier one does nothing
};

}  // namespace pex::daemon
