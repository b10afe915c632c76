#include "async/async_ring.h"

#include <poll.h>

#include <boost/asio/error.hpp>

namespace pex::async {

namespace asio = boost::asio;
using boost::system::error_code;

AsyncRing::State::State(const asio::any_io_executor& executor, const perf::RingBuffer& waited_for,
                        std::size_t least)
    : descriptor(executor, waited_for.fd()), ring(&waited_for), enough(least) {}

bool AsyncRing::State::has_enough() const { return ring != nullptr && ring->unread() >= enough; }

/// A wait that was ended because there is enough has succeeded, whatever it says itself. A wake-up
/// with nothing to read is that of an event that will never write again.
error_code AsyncRing::State::outcome(error_code error) const {
  if (is_cancelled || ring == nullptr) return asio::error::operation_aborted;
  if (has_enough()) return {};
  if (error || ring->unread() > 0) return error;
  pollfd event{ring->fd(), POLLIN, 0};
  ::poll(&event, 1, 0);
  if ((event.revents & (POLLERR | POLLHUP)) == 0) return {};
  if (ring->unread() > 0) return {};  // written since, but before the event ended
  if ((event.revents & POLLERR) != 0) return asio::error::bad_descriptor;
  return asio::error::eof;
}

AsyncRing::AsyncRing(const asio::any_io_executor& executor, const perf::RingBuffer& ring,
                     std::size_t enough)
    : state_(std::make_shared<State>(executor, ring, enough)) {}

AsyncRing::~AsyncRing() {
  if (!state_) return;
  state_->ring = nullptr;
  state_->descriptor.release();
}

void AsyncRing::cancel() {
  state_->is_cancelled = true;
  state_->descriptor.cancel();
}

}  // namespace pex::async
