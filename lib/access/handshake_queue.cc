#include "access/handshake_queue.h"

#include <boost/asio/post.hpp>

namespace pex::access {

void HandshakeQueue::ask(const Peer& peer, Begin begin) {
  waiting_.push(peer, std::move(begin));
  give_later();
}

/// After everything that is ready now.
void HandshakeQueue::give_later() {
  if (waiting_.empty() || std::exchange(is_given_later_, true)) return;
  boost::asio::post(loop_, [self = shared_from_this()] { self->give(); });
}

void HandshakeQueue::give() {
  is_given_later_ = false;
  for (bool is_taken = false; !is_taken && !waiting_.empty();) {
    const Begin begin = waiting_.take_next();
    is_taken = begin();
  }
  give_later();
}

}  // namespace pex::access
