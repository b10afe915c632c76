#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>

namespace pex::daemon {

/// Waits for a cgroup hierarchy where none could be counted when the configuration was loaded: one
/// may be mounted later, and the controller perf_event may leave a hierarchy of version 1 for that
/// of version 2. The kernel reports neither, so it looks every ten seconds. On the loop's thread.
class HierarchyWatch {
 public:
  static constexpr std::chrono::seconds kEvery{10};

  struct Steps {
    std::function<bool()> is_there;
    std::function<void()> on_found;  ///< once for each start()
  };

  HierarchyWatch(boost::asio::io_context& loop, Steps steps,
                 std::chrono::nanoseconds every = kEvery);

  /// Looks until there is one, or until stop().
  void start();
  /// Lets the loop run out of work.
  void stop();

 private:
  void wait();

  Steps steps_;
  std::chrono::nanoseconds every_;
  boost::asio::steady_timer timer_;
  bool is_waiting_ = false;
};

}  // namespace pex::daemon
