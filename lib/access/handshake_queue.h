#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <utility>

#include "access/peer.h"
#include "access/peer_queue.h"

namespace pex::access {

/// Spaces out TLS handshakes. Each handshake signs on the loop (some milliseconds with RSA of 4096
/// bits): one begins per iteration of the loop, and everything else that is ready runs in between.
/// In the order of PeerQueue: while one host repeats 520 handshakes, a scrape from
/// another one takes 42 ms (median of 50, P-256), and 5.5 s without this (real.crowd). On the
/// loop's thread.
class HandshakeQueue : public std::enable_shared_from_this<HandshakeQueue> {
 public:
  explicit HandshakeQueue(boost::asio::any_io_executor loop) : loop_(std::move(loop)) {}

  /// Calls `begin` in a later iteration of the loop. If it returns false, its client has left, and
  /// the next one is called instead.
  void ask(const Peer& peer, std::function<bool()> begin);

 private:
  using Begin = std::function<bool()>;

  void give_later();
  void give();

  boost::asio::any_io_executor loop_;
  PeerQueue<Begin> waiting_;
  bool is_given_later_ = false;
};

}  // namespace pex::access
