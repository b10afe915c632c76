#pragma once

#include <chrono>
#include <memory>

#include "access/peer.h"
#include "access/transport.h"
#include "http/service.h"

namespace pex::http {

/// What a connection waits for.
enum class Phase {
  kIdle,    ///< the first byte of a request, or of a TLS handshake
  kAsking,  ///< the rest of it
  kServer,  ///< us: the turn of its handshake, a login, the answer of a handler
  kTaking,  ///< the client to take its answer
  kOver,    ///< the client to leave: it has its last answer
};

/// The phase, and the last progress: when it began, or when the client last took a part of its
/// answer. Single bytes of a request are no progress, so that nobody can hold a place with them.
struct Standing {
  Phase phase = Phase::kIdle;
  std::chrono::steady_clock::time_point since;
};

/// One client. Its own coroutine keeps it alive and nothing else does: what other code holds is a
/// weak_ptr, which has expired once the socket is closed.
class Connection {
 public:
  virtual ~Connection() = default;

  /// Closes the socket. No handler is called after this, even for a request already received.
  virtual void close() = 0;

  /// Closes the socket for another client: what this one has not taken of its answer is dropped.
  virtual void give_way() = 0;

  virtual Standing standing() const = 0;
};

/// Answers the client's requests, one after the other, until one side has had enough.
std::weak_ptr<Connection> serve(access::Socket socket, const access::Peer& peer,
                                std::shared_ptr<Service> service);

/// Answers one request, and closes: as it would be served where the route needs no login and has
/// its answer at hand, such as health; anything else with 503. Its descriptor is ours meanwhile:
/// not for any number of clients.
std::weak_ptr<Connection> refuse(access::Socket socket, const access::Peer& peer,
                                 std::shared_ptr<Service> service);

}  // namespace pex::http
