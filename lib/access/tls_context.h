#pragma once

#include <openssl/types.h>

#include <memory>

#include "access/access.h"
#include "base/result.h"

namespace pex::access {

struct FreeTlsContext {
  void operator()(SSL_CTX* context) const;
};
using TlsContext = std::unique_ptr<SSL_CTX, FreeTlsContext>;

/// A server's context (SSL_CTX_new(3)) that keeps to `settings`, which must outlive it and its
/// connections. Errors as make_access has them.
Result<TlsContext> make_tls_context(const TlsSettings& settings);

}  // namespace pex::access
