#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "http/service.h"
#include "http/transport.h"

namespace pex::http {

/// One client. Its own coroutine keeps it alive and nothing else does: what other code holds is a
/// weak_ptr, which has expired once the socket is closed.
class Connection {
 public:
  virtual ~Connection() = default;

  /// Closes the socket. No handler is called after this, even for a request already received.
  virtual void close() = 0;

  /// Since when we wait for the client's first byte or next request, and for nothing else: it may
  /// be closed for another one. Nothing: it may not, also because it has just come.
  virtual std::optional<std::chrono::steady_clock::time_point> idle_since() const = 0;
};

/// Answers the client's requests, one after the other, until one side has had enough.
std::weak_ptr<Connection> serve(Socket socket, std::shared_ptr<Service> service);

/// Answers 503 without waiting for a request, and closes. The client has time to read it, and to
/// agree on TLS first, so its descriptor is ours for a while: not for any number of clients.
std::weak_ptr<Connection> refuse(Socket socket, std::shared_ptr<Service> service);

}  // namespace pex::http
