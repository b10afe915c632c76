#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/web_config.h"
#include "yaml/reference.h"
#include "yaml/value.h"

namespace pex::config {

/// Reads what stands behind `tls_server_config:`. Nothing where it names no certificate and nothing
/// that needs one. Files are relative to `directory`; `remarks` are those of WebConfig.
std::optional<WebTls> read_tls(const yaml::Value& value, const std::string& directory,
                               std::vector<std::string>& remarks);

/// As the file spells them: "RequireAndVerifyClientCert", "TLS12".
std::string_view word_of(ClientAuth policy);
std::string_view word_of(TlsVersion version);

/// Appends its keys, which stand in `map`.
void list_tls_keys(const std::string& map, std::vector<yaml::KeyReference>& all);

}  // namespace pex::config
