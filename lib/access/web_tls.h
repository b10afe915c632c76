#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/access.h"
#include "yaml/reference.h"
#include "yaml/value.h"

namespace pex::access {

/// Reads the value of `tls_server_config:`. Returns nothing if it names no certificate and nothing
/// that requires one. Relative paths start from `directory`.
std::optional<TlsSettings> read_tls(const yaml::Value& value, const std::string& directory);

/// As the file spells them: "RequireAndVerifyClientCert", "TLS12".
std::string_view word_of(ClientCertificate policy);
std::string_view word_of(TlsVersion version);

/// Appends its keys, which belong to `map`.
void list_tls_keys(const std::string& map, std::vector<yaml::KeyReference>& all);

}  // namespace pex::access
