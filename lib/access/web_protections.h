#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "access/access.h"

namespace pex::access {

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
std::vector<Downgrade> downgrades(const AccessSettings& before, const AccessSettings& after);

/// "basic_auth_users from 2 users to no user"
std::string describe(const Downgrade& downgrade);

/// What an operator may require of each web configuration: one of requirable().
struct Requirement {
  std::string_view name;  ///< "client-certificate"
  std::string_view key;   ///< the key that meets it: "tls_server_config.client_auth_type"
  bool (*is_met)(const AccessSettings& by);
};
std::span<const Requirement> requirable();

/// One protection and its strength, without any secret: {"users", "2 users"}.
struct ProtectionState {
  std::string_view protection;
  std::string state;
  bool opens = false;  ///< as in Downgrade
};
/// All protections, in order of importance.
std::vector<ProtectionState> states_of(const AccessSettings& settings);

}  // namespace pex::access
