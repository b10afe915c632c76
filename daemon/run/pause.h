#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "exposition/collected_family.h"

namespace pex::daemon {

/// A time in which groups of hardware events leave the counters to other programs, such as `perf
/// stat`. It ends on request, and by itself: nobody has to remember it. On the loop's thread.
class Pause final : public prometheus::Collectable {
 public:
  using Clock = std::chrono::steady_clock;
  /// Called when it begins and when it ends.
  using OnChange = std::function<void(bool paused)>;

  static constexpr std::chrono::minutes kDefault{5};
  static constexpr std::chrono::seconds kMin{1};
  static constexpr std::chrono::hours kMax{1};
  static constexpr std::chrono::seconds kBetweenClients{1};

  Pause(boost::asio::io_context& loop, OnChange on_change);

  /// For so long from now on, from kMin to kMax; also if one is running.
  void begin(std::chrono::nanoseconds length);
  /// For a client, who may be unauthenticated. Returns false, and does nothing, if the last one was
  /// too recent: each takes two polls and lines of the log.
  bool begin_for_client(std::chrono::nanoseconds length);
  /// Does nothing if none is running.
  void end();
  /// Lets the loop run out of work.
  void stop();

  bool is_running() const { return until_.has_value(); }
  /// What is left of it; nothing if none is running.
  std::optional<std::chrono::seconds> left() const;

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  OnChange on_change_;
  boost::asio::steady_timer timer_;
  std::optional<Clock::time_point> until_;
  Clock::time_point begun_for_client_ = Clock::time_point::min() + kBetweenClients;
};

}  // namespace pex::daemon
