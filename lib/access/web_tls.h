#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/access.h"
#include "yaml/reference.h"
#include "yaml/value.h"

namespace pex::access {

/// Reads what stands behind `tls_server_config:`. Nothing where it names no certificate and nothing
/// that needs one. Files are relative to `directory`.
std::optional<TlsSettings> read_tls(const yaml::Value& value, const std::string& directory);

/// As the file spells them: "RequireAndVerifyClientCert", "TLS12".
std::string_view word_of(ClientCertificate policy);
std::string_view word_of(TlsVersion version);

/// Appends its keys, which stand in `map`.
void list_tls_keys(const std::string& map, std::vector<yaml::KeyReference>& all);

}  // namespace pex::access
