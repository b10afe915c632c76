#pragma once

#include <memory>

#include "access/access.h"
#include "access/tls_context.h"

namespace pex::access {

/// What make_access gives. It neither moves nor changes: its TLS context refers to its settings.
class Access {
 public:
  explicit Access(AccessSettings settings) : settings_(std::move(settings)) {}
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;

  /// Once, before anybody else sees this.
  Result<> prepare();

  const AccessSettings& settings() const { return settings_; }
  /// Null: plain HTTP. Connections that use it keep this Access.
  SSL_CTX* tls() const { return tls_.get(); }

 private:
  AccessSettings settings_;
  TlsContext tls_;
};

}  // namespace pex::access
