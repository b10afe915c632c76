#pragma once

#include <openssl/types.h>

#include "access/access.h"
#include "base/result.h"

namespace pex::access {

/// Up to TLS 1.2, a cipher suite is for keys of one type. Fails if a version that `settings` enable
/// has no suite for the key of `context`, as no client could then connect with that version. Called
/// after versions, suites and key were set.
Result<> check_suites_of_key(SSL_CTX* context, const TlsSettings& settings);

}  // namespace pex::access
