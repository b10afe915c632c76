#pragma once

#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <utility>

namespace pex::http {

/// A value that another part of the program provides, at once or later, on the loop. The waiting
/// side owns it, sleeps on `wakeup` and checks again; the others hold a weak_ptr, which has expired
/// once there is no waiting side.
template <typename T>
class AsyncValue {
 public:
  explicit AsyncValue(boost::asio::steady_timer& wakeup) : wakeup_(wakeup) {}

  /// The first value counts.
  void set(T value) {
    if (value_) return;
    value_ = std::move(value);
    wakeup_.cancel();
  }

  bool is_set() const { return value_.has_value(); }
  T take() { return *std::move(value_); }  ///< only once it is set

 private:
  boost::asio::steady_timer& wakeup_;
  std::optional<T> value_;
};

}  // namespace pex::http
