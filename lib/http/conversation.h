#pragma once

#include <memory>

#include "access/peer.h"
#include "access/transport.h"
#include "http/connection.h"
#include "http/service.h"

namespace pex::http {

/// Answers the client's requests, one after the other, until one side ends the connection. A
/// refused client gets one answer: the usual one if the route requires no login and answers at
/// once, such as health; else 503.
std::weak_ptr<Connection> converse(access::Socket socket, const access::Peer& peer,
                                   std::shared_ptr<Service> service, Connection::Kind kind);

}  // namespace pex::http
