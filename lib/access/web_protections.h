#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/access.h"

namespace pex::access {

/// How a web configuration protects the server: enough to tell whether another one does less, and
/// no secret. What does not apply has the value of a configuration without it.
struct WebProtections {
  bool tls = false;
  ClientCertificate client_certificate = ClientCertificate::kNone;
  std::size_t allowed_sans = 0;  ///< names of which a client needs one; 0: any
  std::size_t users = 0;         ///< 0: no login
  TlsVersion min_version = TlsVersion::kTls10;
  std::vector<std::string> cbc_ciphers;  ///< those that a list has to name, as OpenSSL does
  std::optional<RateLimit> rate_limit;
  std::vector<std::string> headers;  ///< names
};
WebProtections protections_of(const AccessSettings& settings);

/// One protection of which a change leaves less than there was.
struct Downgrade {
  std::string_view protection;  ///< as the label of a metric: "users"
  std::string_view key;         ///< where it stands in the file: "basic_auth_users"
  bool opens = false;           ///< somebody could come in, or listen, who could not before
  std::string before;           ///< "2 users"
  std::string after;            ///< "no user"

  bool operator==(const Downgrade&) const = default;
};

/// Everything of which `after` has less than `before`.
std::vector<Downgrade> downgrades(const WebProtections& before, const WebProtections& after);

/// "basic_auth_users from 2 users to no user"
std::string describe(const Downgrade& downgrade);

/// One protection and how much of it there is: {"users", "2 users"}.
struct ProtectionState {
  std::string_view protection;
  std::string state;
  bool opens = false;  ///< as in Downgrade
};
/// All that there are, in the order of importance.
std::vector<ProtectionState> states_of(const WebProtections& protections);

}  // namespace pex::access
