#include "access/handshake_queue.h"

#include <boost/asio/post.hpp>

namespace pex::access {

void HandshakeQueue::ask(const Peer& peer, Begin begin) {
  std::deque<Begin>& clients = waiting_[peer];
  if (clients.empty()) order_.push_back(peer);
  clients.push_back(std::move(begin));
  give_later();
}

/// After everything that is ready now.
void HandshakeQueue::give_later() {
  if (order_.empty() || std::exchange(is_given_later_, true)) return;
  boost::asio::post(loop_, [self = shared_from_this()] { self->give(); });
}

void HandshakeQueue::give() {
  is_given_later_ = false;
  for (bool is_taken = false; !is_taken && !order_.empty();) {
    const Begin begin = take_next();
    is_taken = begin();
  }
  give_later();
}

HandshakeQueue::Begin HandshakeQueue::take_next() {
  const Peer peer = order_.front();
  order_.pop_front();
  const auto clients = waiting_.find(peer);
  Begin begin = std::move(clients->second.front());
  clients->second.pop_front();
  if (clients->second.empty()) {
    waiting_.erase(clients);
  } else {
    order_.push_back(peer);
  }
  return begin;
}

}  // namespace pex::access
