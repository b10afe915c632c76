#pragma once

#include <memory>

#include "http/handshake_turns.h"
#include "http/login.h"
#include "http/server.h"
#include "http/token_bucket.h"
#include "http/unsent_bodies.h"

namespace pex::http {

/// What all connections of one server share.
struct Service {
  Service(Site served, std::shared_ptr<Logins> checked_by,
          std::shared_ptr<HandshakeTurns> spaced_by)
      : site(std::move(served)),
        logins(std::move(checked_by)),
        handshakes(std::move(spaced_by)),
        unsent(site.limits.max_unsent_bytes) {}

  const Site site;
  const std::shared_ptr<Logins> logins;
  const std::shared_ptr<HandshakeTurns> handshakes;
  TokenBucket bucket;
  UnsentBodies unsent;
  Troubles troubles;
};

}  // namespace pex::http
