#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "access/access.h"

namespace pex::access {

/// The protections of a web configuration: enough to determine whether another one has fewer,
/// without any secret. A protection that does not apply has its default value.
struct WebProtections {
  bool tls = false;
  ClientCertificate client_certificate = ClientCertificate::kNone;
  bool own_client_ca = false;    ///< not every authority that the system trusts
  std::size_t allowed_sans = 0;  ///< one of which a client needs; 0: any
  std::size_t users = 0;         ///< 0: no login
  TlsVersion min_version = TlsVersion::kTls10;
  std::vector<std::string> cbc_ciphers;  ///< only those that must be listed explicitly, by
                                         ///< OpenSSL's names
  std::optional<RateLimit> rate_limit;
  std::vector<std::string> headers;  ///< names
};
WebProtections protections_of(const AccessSettings& settings);

/// A protection that a change has reduced.
struct Downgrade {
  std::string_view protection;  ///< as the label of a metric: "users"
  std::string_view key;         ///< its key in the file: "basic_auth_users"
  bool opens = false;           ///< someone could connect, or eavesdrop, who could not before
  std::string before;           ///< "2 users"
  std::string after;            ///< "no user"

  bool operator==(const Downgrade&) const = default;
};

/// All protections that `after` reduces compared with `before`.
std::vector<Downgrade> downgrades(const WebProtections& before, const WebProtections& after);

/// "basic_auth_users from 2 users to no user"
std::string describe(const Downgrade& downgrade);

/// What an operator may require of each web configuration: one of requirable().
struct Requirement {
  std::string_view name;  ///< "client-certificate"
  std::string_view key;   ///< the key that meets it: "tls_server_config.client_auth_type"
  bool (*is_met)(const WebProtections& by);
};
std::span<const Requirement> requirable();

/// One protection and its strength: {"users", "2 users"}.
struct ProtectionState {
  std::string_view protection;
  std::string state;
  bool opens = false;  ///< as in Downgrade
};
/// All protections, in order of importance.
std::vector<ProtectionState> states_of(const WebProtections& protections);

}  // namespace pex::access
