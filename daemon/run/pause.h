#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/counted.h"
#include "daemon/web/routes.h"
#include "exposition/collected_family.h"

namespace pex::daemon {

/// A time in which groups of hardware events leave the counters to other programs, such as `perf
/// stat`, or in which nothing is counted. It ends on request, and by itself unless it has no end.
/// On the loop's thread.
class Pause final : public prometheus::Collectable {
 public:
  using Clock = std::chrono::steady_clock;
  /// Called when it begins, ends or becomes one of everything.
  using OnChange = std::function<void()>;

  static constexpr std::chrono::seconds kBetweenClients{1};

  Pause(boost::asio::io_context& loop, OnChange on_change);

  /// From now on, also if one is running; but one of hardware events does not replace one of
  /// everything.
  void begin(const PauseRequest& request);
  /// For a client, who may be unauthenticated. Returns the answer; or nothing, and does nothing, if
  /// the last one was too recent: each takes two polls and lines of the log.
  std::optional<std::string> begin_for_client(const PauseRequest& request);
  /// Does nothing if none is running.
  void end();
  /// Lets the loop run out of work.
  void stop();

  bool is_running() const { return counted_ != Counted::kAll; }
  /// What is counted meanwhile; kAll if none is running.
  Counted counted() const { return counted_; }
  /// While one is running: "groups of hardware events are paused".
  std::string what() const;
  /// The same with the time that is left, and the remedy.
  std::string text() const;

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  OnChange on_change_;
  boost::asio::steady_timer timer_;
  Counted counted_ = Counted::kAll;
  std::optional<Clock::time_point> until_;  ///< nothing: it has no end
  Clock::time_point begun_for_client_ = Clock::time_point::min() + kBetweenClients;
};

}  // namespace pex::daemon
