#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

namespace pex::http {

/// Spaces out the TLS handshakes, each of which signs on the loop (some milliseconds with RSA of
/// 4096 bits): one begins per turn of the loop, in the order of asking, and whatever else is ready
/// runs between two of them. Of the loop's thread.
class HandshakeTurns : public std::enable_shared_from_this<HandshakeTurns> {
 public:
  explicit HandshakeTurns(boost::asio::any_io_executor loop) : loop_(std::move(loop)) {}

  /// Calls `begin` in a later turn of the loop. False: nobody waits there any more, and the next
  /// one has the turn.
  void ask(std::function<bool()> begin);

 private:
  void give_later();
  void give();

  boost::asio::any_io_executor loop_;
  std::deque<std::function<bool()>> waiting_;
  bool is_given_later_ = false;
};

}  // namespace pex::http
