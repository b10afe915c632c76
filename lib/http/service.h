#pragma once

#include <memory>

#include "access/handshake_queue.h"
#include "access/login.h"
#include "access/rate_limiter.h"
#include "http/connection_table.h"
#include "http/server.h"

namespace pex::http {

/// The state shared by all connections of one server.
struct Service : std::enable_shared_from_this<Service> {
  Service(Site served, std::shared_ptr<access::Logins> checked_by,
          std::shared_ptr<access::HandshakeQueue> spaced_by)
      : site(std::move(served)),
        logins(std::move(checked_by)),
        handshakes(std::move(spaced_by)),
        connections(*this) {}

  void refused(const access::Peer& peer, std::string_view reason) const {
    if (site.on_refusal) site.on_refusal(peer, reason);
  }

  const Site site;
  const std::shared_ptr<access::Logins> logins;
  const std::shared_ptr<access::HandshakeQueue> handshakes;
  access::RateLimiter rate_limiter;
  ConnectionTable connections;
  ClientErrors errors;
};

}  // namespace pex::http
