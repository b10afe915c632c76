#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>

namespace pex::http {

/// The timeout of the current step of a connection. Beast's streams have timeouts as well, but
/// close the socket, where a client must still be answered (408) or reset.
class Deadline {
 public:
  explicit Deadline(const boost::asio::any_io_executor& loop) : timer_(loop) {}

  /// Calls `on_expiry` when `allowed` has passed, unless it is set again or lifted before. `owner`
  /// holds this: nothing is called once it is gone.
  void set(std::chrono::milliseconds allowed, std::weak_ptr<const void> owner,
           std::function<void()> on_expiry) {
    has_passed_ = false;
    timer_.expires_after(allowed);
    timer_.async_wait([this, owner = std::move(owner),
                       on_expiry = std::move(on_expiry)](const boost::system::error_code& error) {
      const auto held = owner.lock();
      if (error || !held) return;
      // a wait that ended before the deadline was set again has no error
      if (timer_.expiry() > Clock::now()) return;
      has_passed_ = true;
      on_expiry();
    });
  }

  void lift() {
    has_passed_ = false;
    timer_.expires_at(Clock::time_point::max());
  }

  /// the last one that was set
  bool has_passed() const { return has_passed_; }

 private:
  using Clock = boost::asio::steady_timer::clock_type;

  boost::asio::steady_timer timer_;
  bool has_passed_ = false;
};

}  // namespace pex::http
