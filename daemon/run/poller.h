#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "count/collector.h"
#include "count/snapshot.h"
#include "daemon/run/poll_schedule.h"
#include "exposition/poll_metrics.h"
#include "targets/poll_report.h"

namespace pex::daemon {

/// Has the collector poll, on schedule and on request, and keeps the last published snapshot. On
/// the loop's thread.
class Poller {
 public:
  using Clock = PollSchedule::Clock;
  /// Called on the loop once a poll is published.
  using OnPoll = std::function<void(const collect::PollReport& report)>;

  Poller(boost::asio::io_context& loop, OnPoll on_poll);

  /// Polls `collector` from now on; it must live until release(). On schedule the next poll is due
  /// after `interval`.
  void use(collect::Collector& collector, std::chrono::nanoseconds interval);
  /// Stops polling until use(); the result of a running poll is dropped.
  void release();

  /// Polls now; `done` is called on the loop once the poll is published. Returns false and makes no
  /// call if a poll is running or there is no collector. On schedule it replaces the next poll.
  bool poll(std::function<void()> done);

  /// Polls now, and if a poll is running, once more as soon as it is published: what was changed
  /// before the call is in the result of that poll. `done` is called on the loop when it is
  /// published.
  void poll_after_change(std::function<void()> done = {});

  /// Polls at once, and then at every interval.
  void start();
  /// Lets the loop run out of work.
  void stop();

  /// Null before the first poll.
  const std::shared_ptr<const collect::Snapshot>& snapshot() const { return metrics_.snapshot(); }
  /// When snapshot() was published.
  Clock::time_point polled_at() const { return polled_at_; }
  const exposition::PollMetrics& metrics() const { return metrics_; }

 private:
  bool begin(std::function<void()> done);
  void finish(const collect::PollReport& report, std::shared_ptr<const collect::Snapshot> snapshot);
  void arm();
  void on_timer();

  boost::asio::io_context& loop_;
  OnPoll on_poll_;
  collect::Collector* collector_ = nullptr;
  std::uint64_t generation_ = 0;  ///< of the collector: reports of an earlier one are dropped
  boost::asio::steady_timer timer_;
  PollSchedule schedule_;
  bool is_on_schedule_ = false;
  bool is_poll_due_ = false;                         ///< when the running one is published
  std::vector<std::function<void()>> after_change_;  ///< called when that one is
  Clock::time_point polled_at_;
  exposition::PollMetrics metrics_;
};

}  // namespace pex::daemon
