#include "http/handshake_turns.h"

#include <boost/asio/post.hpp>

namespace pex::http {

void HandshakeTurns::ask(std::function<bool()> begin) {
  waiting_.push_back(std::move(begin));
  give_later();
}

/// Behind all that is ready now.
void HandshakeTurns::give_later() {
  if (waiting_.empty() || std::exchange(is_given_later_, true)) return;
  boost::asio::post(loop_, [self = shared_from_this()] { self->give(); });
}

void HandshakeTurns::give() {
  is_given_later_ = false;
  for (bool is_taken = false; !is_taken && !waiting_.empty();) {
    const std::function<bool()> begin = std::move(waiting_.front());
    waiting_.pop_front();
    is_taken = begin();
  }
  give_later();
}

}  // namespace pex::http
