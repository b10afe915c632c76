#pragma once

#include <string>
#include <vector>

#include "access/access.h"
#include "base/result.h"
#include "yaml/value.h"

namespace pex::access {

/// Reads the value of `cipher_suites:`, in the names of Go (crypto/tls, CipherSuites), and adds
/// those of OpenSSL to `ciphers`. The suites of TLS 1.3 are always on: they are accepted with a
/// warning, and add nothing. Returns true if all suites listed are of TLS 1.3.
bool read_ciphers(const yaml::Value& value, std::vector<std::string>& ciphers);

/// The CBC suites among `ciphers`, which are weaker than the others (RFC 9325, 4.2). If `ciphers`
/// is empty: those of the default before TLS 1.2 (access.h).
std::vector<std::string> cbc_ciphers(const std::vector<std::string>& ciphers,
                                     TlsVersion min_version);

/// The same for `curve_preferences:`.
void read_curves(const yaml::Value& value, std::vector<std::string>& curves);

/// Up to TLS 1.2, a cipher suite is for keys of one type (`EVP_PKEY_*`). Fails if a version that
/// `settings` enable has no suite for `key_type`, as no client could then connect with it.
Result<> check_suites_of_key(int key_type, const TlsSettings& settings);

}  // namespace pex::access
