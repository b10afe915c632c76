#include "access/web_protections.h"

#include <fmt/core.h>

#include <algorithm>

#include "access/tls_names.h"
#include "access/web_tls.h"
#include "base/duration.h"
#include "base/text.h"

namespace pex::access {
namespace {

using Protections = WebProtections;

bool requires_clients(const Protections& of) {
  return of.client_certificate == ClientCertificate::kRequiredAndVerified;
}

/// By the authorities of the operator, and not of the system: anybody may have one of those.
bool knows_clients(const Protections& of) { return requires_clients(of) && of.own_client_ca; }

/// Removing TLS also removes the protections that are part of it, without further messages.
bool keeps_tls(const Protections& before, const Protections& after) {
  return before.tls && after.tls;
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
  bool (*is_less)(const Protections& before, const Protections& after);
  std::string (*state)(const Protections&);
};

constexpr ProtectionEntry kProtections[] = {
    {"tls", "tls_server_config", true,
     [](const Protections& before, const Protections& after) { return before.tls && !after.tls; },
     [](const Protections& of) { return std::string(of.tls ? "TLS" : "plain HTTP"); }},
    {"client_certificate", "tls_server_config.client_auth_type", true,
     [](const Protections& before, const Protections& after) {
       return keeps_tls(before, after) && ((requires_clients(before) && !requires_clients(after)) ||
                                           (knows_clients(before) && !knows_clients(after)));
     },
     [](const Protections& of) {
       return std::string(word_of(of.client_certificate)) +
              (requires_clients(of) && !of.own_client_ca ? " by any authority of the system" : "");
     }},
    {"client_allowed_sans", "tls_server_config.client_allowed_sans", true,
     [](const Protections& before, const Protections& after) {
       return keeps_tls(before, after) && requires_clients(after) && before.allowed_sans > 0 &&
              after.allowed_sans == 0;
     },
     [](const Protections& of) {
       return of.allowed_sans == 0 ? std::string("any name") : counted(of.allowed_sans, "name");
     }},
    {"users", "basic_auth_users", true,
     [](const Protections& before, const Protections& after) {
       return before.users > 0 && after.users == 0;
     },
     [](const Protections& of) { return counted(of.users, "user"); }},
    {"min_version", "tls_server_config.min_version", false,
     [](const Protections& before, const Protections& after) {
       return keeps_tls(before, after) && after.min_version < before.min_version;
     },
     [](const Protections& of) {
       return of.tls ? std::string(word_of(of.min_version)) : std::string("none");
     }},
    {"cipher_suites", "tls_server_config.cipher_suites", false,
     [](const Protections& before, const Protections& after) {
       return keeps_tls(before, after) && lacks_any(before.cbc_ciphers, after.cbc_ciphers);
     },
     [](const Protections& of) {
       return of.cbc_ciphers.empty() ? std::string("no CBC") : join(of.cbc_ciphers);
     }},
    {"rate_limit", "rate_limit", false,
     [](const Protections& before, const Protections& after) {
       return before.rate_limit && allows_more(after.rate_limit, *before.rate_limit);
     },
     [](const Protections& of) { return text_of(of.rate_limit); }},
    {"headers", "http_server_config.headers", false,
     [](const Protections& before, const Protections& after) {
       return lacks_any(after.headers, before.headers);
     },
     [](const Protections& of) {
       return of.headers.empty() ? std::string("none") : join(of.headers);
     }},
};

constexpr Requirement kRequirable[] = {
    {"tls", "tls_server_config", [](const Protections& by) { return by.tls; }},
    {"users", "basic_auth_users", [](const Protections& by) { return by.users > 0; }},
    {"client-certificate", "tls_server_config.client_ca_file", knows_clients},
};

}  // namespace

std::span<const Requirement> requirable() { return kRequirable; }

WebProtections protections_of(const AccessSettings& settings) {
  WebProtections of;
  of.users = settings.users.size();
  of.rate_limit = settings.rate_limit;
  for (const auto& [name, value] : settings.headers) of.headers.push_back(name);
  if (!settings.tls) return of;
  of.tls = true;
  of.client_certificate = settings.tls->client_certificate;
  of.own_client_ca = !settings.tls->client_ca.empty();
  of.allowed_sans = settings.tls->client_allowed_sans.size();
  of.min_version = settings.tls->min_version;
  of.cbc_ciphers = cbc_ciphers(settings.tls->ciphers, settings.tls->min_version);
  return of;
}

std::vector<Downgrade> downgrades(const WebProtections& before, const WebProtections& after) {
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

std::vector<ProtectionState> states_of(const WebProtections& protections) {
  std::vector<ProtectionState> states;
  for (const ProtectionEntry& each : kProtections) {
    states.push_back({each.name, each.state(protections), each.opens});
  }
  return states;
}

}  // namespace pex::access
