#include "access/web_protections.h"

#include <fmt/core.h>

#include <algorithm>

#include "access/tls_names.h"
#include "access/web_tls.h"
#include "base/duration.h"
#include "base/text.h"

namespace pex::access {
namespace {

using Settings = AccessSettings;

/// Without TLS, one that protects from nothing.
const TlsSettings& tls_of(const Settings& of) {
  static const TlsSettings kNone{};
  return of.tls ? *of.tls : kNone;
}

bool requires_clients(const Settings& of) {
  return tls_of(of).client_certificate == ClientCertificate::kRequiredAndVerified;
}

/// By the authorities of the operator, and not of the system: anybody may have one of those.
bool knows_clients(const Settings& of) {
  return requires_clients(of) && !tls_of(of).client_ca.empty();
}

/// Removing TLS also removes the protections that are part of it, without further messages.
bool keeps_tls(const Settings& before, const Settings& after) { return before.tls && after.tls; }

/// Those that must be listed explicitly, by OpenSSL's names.
std::vector<std::string> cbc_of(const Settings& of) {
  return of.tls ? cbc_ciphers(of.tls->ciphers, of.tls->min_version) : std::vector<std::string>{};
}

std::vector<std::string> headers_of(const Settings& of) {
  std::vector<std::string> names;
  for (const auto& [name, value] : of.headers) names.push_back(name);
  return names;
}

/// True for an element of `wanted` that is not among `all`.
bool lacks_any(const std::vector<std::string>& all, const std::vector<std::string>& wanted) {
  return std::any_of(wanted.begin(), wanted.end(), [&](const std::string& each) {
    return std::find(all.begin(), all.end(), each) == all.end();
  });
}

bool allows_more(const std::optional<RateLimit>& after, const RateLimit& before) {
  return !after || after->interval < before.interval || after->burst > before.burst;
}

std::string counted(std::size_t number, const std::string& noun) {
  return number == 0 ? "no " + noun : number_of(number, noun);
}

std::string text_of(const std::optional<RateLimit>& limit) {
  if (!limit) return "no limit";
  return fmt::format("1 request in {}, burst {}", format_duration(limit->interval), limit->burst);
}

/// Add new protections here.
struct ProtectionEntry {
  std::string_view name;
  std::string_view key;
  bool opens;  ///< a reduction lets someone connect, or eavesdrop: see Downgrade
  bool (*is_less)(const Settings& before, const Settings& after);
  std::string (*state)(const Settings&);
};

constexpr ProtectionEntry kProtections[] = {
    {"tls", "tls_server_config", true,
     [](const Settings& before, const Settings& after) { return before.tls && !after.tls; },
     [](const Settings& of) { return std::string(of.tls ? "TLS" : "plain HTTP"); }},
    {"client_certificate", "tls_server_config.client_auth_type", true,
     [](const Settings& before, const Settings& after) {
       return keeps_tls(before, after) && ((requires_clients(before) && !requires_clients(after)) ||
                                           (knows_clients(before) && !knows_clients(after)));
     },
     [](const Settings& of) {
       return std::string(word_of(tls_of(of).client_certificate)) +
              (requires_clients(of) && !knows_clients(of) ? " by any authority of the system" : "");
     }},
    {"client_allowed_sans", "tls_server_config.client_allowed_sans", true,
     [](const Settings& before, const Settings& after) {
       return keeps_tls(before, after) && requires_clients(after) &&
              !tls_of(before).client_allowed_sans.empty() &&
              tls_of(after).client_allowed_sans.empty();
     },
     [](const Settings& of) {
       const std::size_t names = tls_of(of).client_allowed_sans.size();
       return names == 0 ? std::string("any name") : counted(names, "name");
     }},
    {"users", "basic_auth_users", true,
     [](const Settings& before, const Settings& after) {
       return !before.users.empty() && after.users.empty();
     },
     [](const Settings& of) { return counted(of.users.size(), "user"); }},
    {"min_version", "tls_server_config.min_version", false,
     [](const Settings& before, const Settings& after) {
       return keeps_tls(before, after) && after.tls->min_version < before.tls->min_version;
     },
     [](const Settings& of) {
       return of.tls ? std::string(word_of(of.tls->min_version)) : std::string("none");
     }},
    {"cipher_suites", "tls_server_config.cipher_suites", false,
     [](const Settings& before, const Settings& after) {
       return keeps_tls(before, after) && lacks_any(cbc_of(before), cbc_of(after));
     },
     [](const Settings& of) {
       const std::vector<std::string> cbc = cbc_of(of);
       return cbc.empty() ? std::string("no CBC") : join(cbc);
     }},
    {"rate_limit", "rate_limit", false,
     [](const Settings& before, const Settings& after) {
       return before.rate_limit && allows_more(after.rate_limit, *before.rate_limit);
     },
     [](const Settings& of) { return text_of(of.rate_limit); }},
    {"headers", "http_server_config.headers", false,
     [](const Settings& before, const Settings& after) {
       return lacks_any(headers_of(after), headers_of(before));
     },
     [](const Settings& of) {
       return of.headers.empty() ? std::string("none") : join(headers_of(of));
     }},
};

constexpr Requirement kRequirable[] = {
    {"tls", "tls_server_config", [](const Settings& by) { return by.tls.has_value(); }},
    {"users", "basic_auth_users", [](const Settings& by) { return !by.users.empty(); }},
    {"client-certificate", "tls_server_config.client_ca_file", knows_clients},
};

}  // namespace

std::span<const Requirement> requirable() { return kRequirable; }

std::vector<Downgrade> downgrades(const AccessSettings& before, const AccessSettings& after) {
  std::vector<Downgrade> found;
  for (const ProtectionEntry& each : kProtections) {
    if (!each.is_less(before, after)) continue;
    found.push_back({each.name, each.key, each.opens, each.state(before), each.state(after)});
  }
  return found;
}

std::string describe(const Downgrade& downgrade) {
  return fmt::format("{} from {} to {}", downgrade.key, downgrade.before, downgrade.after);
}

std::vector<ProtectionState> states_of(const AccessSettings& settings) {
  std::vector<ProtectionState> states;
  for (const ProtectionEntry& each : kProtections) {
    states.push_back({each.name, each.state(settings), each.opens});
  }
  return states;
}

}  // namespace pex::access
