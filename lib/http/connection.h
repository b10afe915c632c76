#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <memory>

#include "http/answer.h"

namespace pex::http {

/// One client. Its own coroutine keeps it alive and nothing else does: what other code holds is a
/// weak_ptr, which has expired once the socket is closed.
class Connection {
 public:
  virtual ~Connection() = default;

  /// Closes the socket. No handler is called after this, even for a request already received.
  virtual void close() = 0;
};

/// Answers the client's requests, one after the other, until one side has had enough.
std::weak_ptr<Connection> serve(boost::asio::ip::tcp::socket socket,
                                std::shared_ptr<const Site> site);

/// Answers 503 without waiting for a request, and closes. With `linger` the client has time to
/// read it; without, it may see a reset instead, but costs us nothing beyond this turn of the loop.
std::weak_ptr<Connection> refuse(boost::asio::ip::tcp::socket socket,
                                 std::shared_ptr<const Site> site, bool linger);

}  // namespace pex::http
