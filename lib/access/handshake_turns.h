#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "access/peer.h"

namespace pex::access {

/// Spaces out the TLS handshakes, each of which signs on the loop (some milliseconds with RSA of
/// 4096 bits): one begins per turn of the loop, and whatever else is ready runs between two of
/// them. Peers take turns, and the clients of one in the order of asking, so that no peer's number
/// of clients delays those of another: while one host keeps beginning 520 handshakes again, a
/// scrape of another one takes 42 ms (median of 50, P-256), and 5.5 s without this (real.crowd). Of
/// the loop's thread.
class HandshakeTurns : public std::enable_shared_from_this<HandshakeTurns> {
 public:
  explicit HandshakeTurns(boost::asio::any_io_executor loop) : loop_(std::move(loop)) {}

  /// Calls `begin` in a later turn of the loop. False: nobody waits there any more, and the next
  /// one has the turn.
  void ask(const Peer& peer, std::function<bool()> begin);

 private:
  using Begin = std::function<bool()>;

  void give_later();
  void give();
  Begin take_next();

  boost::asio::any_io_executor loop_;
  std::map<Peer, std::deque<Begin>> waiting_;  ///< none is empty
  std::deque<Peer> order_;                     ///< of those, the next one first
  bool is_given_later_ = false;
};

}  // namespace pex::access
