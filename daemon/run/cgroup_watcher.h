#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>

#include "collect/collector.h"

namespace pex::daemon {

/// Has the collector look for cgroups that come and go between two polls, so that they are counted
/// from their first moments, however far apart the polls are:
///
///   waiting --inotify tells, or a second has passed--> looking --> resting, 50 ms --> waiting
///
/// All on the loop's thread.
class CgroupWatcher {
 public:
  explicit CgroupWatcher(boost::asio::io_context& loop);

  /// From now on for `collector`, which polls itself at every `interval` and outlives this or the
  /// next stop().
  void watch(collect::Collector& collector, std::chrono::nanoseconds interval);
  void stop();

 private:
  void follow_descriptor();
  void wait();
  void look(std::uint64_t watch);
  void rest(std::uint64_t watch);

  boost::asio::io_context& loop_;
  boost::asio::posix::stream_descriptor told_;  ///< a duplicate, as the collector owns its own
  boost::asio::steady_timer timer_;
  int followed_ = -1;  ///< the collector's, of which told_ is one
  collect::Collector* collector_ = nullptr;
  bool polls_are_rare_ = false;
  std::uint64_t watch_ = 0;  ///< goes up with each state; what belongs to an earlier one is void
};

}  // namespace pex::daemon
