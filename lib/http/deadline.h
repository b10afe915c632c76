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
///
/// A connection sets several for each request and rarely reaches one. A wait of the timer that is
/// running is therefore kept when the deadline is moved or lifted; if it ends early, it waits for
/// the remaining time.
class Deadline {
 public:
  explicit Deadline(const boost::asio::any_io_executor& loop) : timer_(loop) {}

  /// Calls `on_expiry` when `allowed` has passed, unless it is set again or lifted before. `owner`
  /// holds this: nothing is called once it is gone.
  void set(std::chrono::milliseconds allowed, std::weak_ptr<const void> owner,
           std::function<void()> on_expiry) {
    due_ = Clock::now() + allowed;
    owner_ = std::move(owner);
    on_expiry_ = std::move(on_expiry);
    has_passed_ = false;
    if (!is_waiting_ || due_ < timer_.expiry()) wait();
  }

  void lift() {
    due_ = kNever;
    has_passed_ = false;
  }

  /// the last one that was set
  bool has_passed() const { return has_passed_; }

 private:
  using Clock = boost::asio::steady_timer::clock_type;
  static constexpr Clock::time_point kNever = Clock::time_point::max();

  void wait() {
    is_waiting_ = true;
    timer_.expires_at(due_);
    timer_.async_wait([this, owner = owner_](const boost::system::error_code& error) {
      const auto held = owner.lock();
      // A wait that was over when another one was begun has no error; only the clock knows.
      if (error || !held || timer_.expiry() > Clock::now()) return;
      is_waiting_ = false;
      if (due_ > Clock::now()) {
        if (due_ != kNever) wait();
        return;
      }
      due_ = kNever;
      has_passed_ = true;
      std::exchange(on_expiry_, {})();
    });
  }

  boost::asio::steady_timer timer_;
  bool is_waiting_ = false;
  Clock::time_point due_ = kNever;
  std::weak_ptr<const void> owner_;
  std::function<void()> on_expiry_;
  bool has_passed_ = false;
};

}  // namespace pex::http
