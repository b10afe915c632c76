#pragma once

#include <memory>

#include "access/peer.h"
#include "access/transport.h"
#include "http/connection.h"
#include "http/service.h"

namespace pex::http {

/// Answers the client's requests, one after the other, until one side has had enough. A refused
/// client gets one answer: as it would be served where the route needs no login and has its answer
/// at hand, such as health; anything else is answered with 503.
std::weak_ptr<Connection> converse(access::Socket socket, const access::Peer& peer,
                                   std::shared_ptr<Service> service, Connection::Kind kind);

}  // namespace pex::http
