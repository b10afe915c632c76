#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "access/access.h"
#include "yaml/value.h"

namespace pex::access {

/// Reads the value of `tls_server_config:`. Returns nothing if it names no certificate and nothing
/// that requires one. Relative paths start from `directory`.
std::optional<TlsSettings> read_tls(const yaml::Value& value, const std::string& directory);

/// As the file spells them: "RequireAndVerifyClientCert", "TLS12".
std::string_view word_of(ClientCertificate policy);
std::string_view word_of(TlsVersion version);

}  // namespace pex::access
