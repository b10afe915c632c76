#include "http/request_head.h"

#include <boost/beast/http/error.hpp>
#include <boost/none.hpp>
#include <cstdint>

namespace pex::http {
namespace {
namespace wire = boost::beast::http;
}

RequestHead::RequestHead(std::size_t limit_bytes) : limit_bytes_(limit_bytes) {
  parser_.header_limit(static_cast<std::uint32_t>(limit_bytes));
  parser_.body_limit(boost::none);  // a body of any size is refused by us, and in one way
}

bool RequestHead::take(boost::beast::flat_buffer& received) {
  boost::beast::error_code error;
  const std::size_t used = parser_.put(received.data(), error);
  received.consume(used);
  taken_bytes_ += used;

  // Beast's own limit holds for what it sees at once: a client that sends one line at a time would
  // never meet it, so the whole is counted here.
  const bool needs_more = error == wire::error::need_more;
  const std::size_t head_bytes = taken_bytes_ + (needs_more ? received.size() : 0);
  if (head_bytes > limit_bytes_ || error == wire::error::header_limit) {
    status_ = 431;
  } else if (!needs_more) {
    status_ = error ? 400 : judge();
  }
  return status_ != 0;
}

unsigned RequestHead::judge() const {
  if (!parser_.is_done()) return 413;  // the head is whole, so what is still to come is a body
  const bool names_its_host = fields().count(wire::field::host) == 1;
  if (version() >= 11 && !names_its_host) return 400;  // RFC 9112, 3.2: MUST
  return 200;
}

}  // namespace pex::http
