#include "access/key_suites.h"

#include <fmt/core.h>
#include <openssl/evp.h>
#include <openssl/objects.h>
#include <openssl/ssl.h>

#include <string>
#include <string_view>

#include "access/web_tls.h"
#include "base/lookup.h"

namespace pex::access {
namespace {

constexpr TlsVersion kTlsVersions[] = {TlsVersion::kTls10, TlsVersion::kTls11, TlsVersion::kTls12,
                                       TlsVersion::kTls13};

struct KeyEntry {
  int type;
  const char* name;
  int auth;                ///< of the suites up to TLS 1.2 that authenticate with it
  const char* suites;      ///< the same in the names of Go
  TlsVersion min_version;  ///< earlier ones cannot sign with it
};
constexpr KeyEntry kKeys[] = {
    {EVP_PKEY_EC, "EC", NID_auth_ecdsa, "ECDSA", TlsVersion::kTls10},
    {EVP_PKEY_ED25519, "Ed25519", NID_auth_ecdsa, "ECDSA", TlsVersion::kTls12},
    {EVP_PKEY_ED448, "Ed448", NID_auth_ecdsa, "ECDSA", TlsVersion::kTls12},
    {EVP_PKEY_RSA, "RSA", NID_auth_rsa, "RSA", TlsVersion::kTls10},
    {EVP_PKEY_RSA_PSS, "RSA-PSS", NID_auth_rsa, "RSA", TlsVersion::kTls12},
};

/// Whether TLS before 1.2 has it as well.
bool is_of_old_versions(const SSL_CIPHER* suite) {
  const std::string_view first = SSL_CIPHER_get_version(suite);
  return first != "TLSv1.2" && first != "TLSv1.3";
}

bool has_suite_for(SSL_CTX* context, const KeyEntry& key, TlsVersion version) {
  if (version == TlsVersion::kTls13) return true;  // its suites are always on, and for all keys
  if (version < key.min_version) return false;
  const STACK_OF(SSL_CIPHER)* const suites = SSL_CTX_get_ciphers(context);
  for (int i = 0; i < sk_SSL_CIPHER_num(suites); ++i) {
    const SSL_CIPHER* const suite = sk_SSL_CIPHER_value(suites, i);
    const bool is_of_version = version == TlsVersion::kTls12 || is_of_old_versions(suite);
    if (is_of_version && SSL_CIPHER_get_auth_nid(suite) == key.auth) return true;
  }
  return false;
}

/// ", or set 'min_version' to TLS13"; empty if no later version works either.
std::string or_later_version(SSL_CTX* context, const KeyEntry& key, TlsVersion lacking,
                             TlsVersion max_version) {
  for (const TlsVersion version : kTlsVersions) {
    if (version <= lacking || version > max_version || !has_suite_for(context, key, version))
      continue;
    return fmt::format(", or set 'min_version' to {}", word_of(version));
  }
  return "";
}

std::string suite_remedy(const KeyEntry& key, TlsVersion lacking) {
  if (lacking < key.min_version) return "use a key of type EC or RSA";
  return fmt::format("add TLS_ECDHE_{}_WITH_AES_128_{} to 'cipher_suites' in 'tls_server_config'",
                     key.suites, lacking == TlsVersion::kTls12 ? "GCM_SHA256" : "CBC_SHA");
}

}  // namespace

Result<> check_suites_of_key(SSL_CTX* context, const TlsSettings& settings) {
  const int type = EVP_PKEY_get_base_id(SSL_CTX_get0_privatekey(context));
  const KeyEntry* const key = lookup(kKeys, &KeyEntry::type, type);
  if (key == nullptr) {
    return Error{0, fmt::format("serve TLS with a key of type {}", OBJ_nid2sn(type)),
                 "use a key of type EC, Ed25519 or RSA"};
  }
  for (const TlsVersion version : kTlsVersions) {
    const bool is_enabled = settings.min_version <= version && version <= settings.max_version;
    if (!is_enabled || has_suite_for(context, *key, version)) continue;
    return Error{0,
                 fmt::format("serve {} with a key of type {}: none of 'cipher_suites' fits both",
                             word_of(version), key->name),
                 suite_remedy(*key, version) +
                     or_later_version(context, *key, version, settings.max_version)};
  }
  return {};
}

}  // namespace pex::access
