#pragma once

#include <string>
#include <vector>

#include "access/access.h"
#include "yaml/value.h"

namespace pex::access {

/// Reads what stands behind `cipher_suites:`, in the names of Go (crypto/tls, CipherSuites), and
/// adds those of OpenSSL to `ciphers`. TLS 1.3 has suites of its own, of which each is always on:
/// they are taken with a warning, and add nothing. True when all that are listed are of TLS 1.3.
bool read_ciphers(const yaml::Value& value, std::vector<std::string>& ciphers);

/// Those of CBC among `ciphers`, which are weaker than the others (RFC 9325, 4.2). None written:
/// those that are used by default, before TLS 1.2 (http/access.h).
std::vector<std::string> cbc_ciphers(const std::vector<std::string>& ciphers,
                                     TlsVersion min_version);

/// The same for `curve_preferences:`.
void read_curves(const yaml::Value& value, std::vector<std::string>& curves);

}  // namespace pex::access
