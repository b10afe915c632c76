#include "access/tls_names.h"

#include <fmt/core.h>
#include <openssl/evp.h>
#include <openssl/objects.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "access/web_tls.h"
#include "base/lookup.h"
#include "yaml/plain_text.h"

namespace pex::access {
namespace {

/// The names of one algorithm in Go and in OpenSSL.
struct NameEntry {
  std::string_view word;
  std::string_view openssl;  ///< empty: of TLS 1.3
};
constexpr NameEntry kCiphers[] = {
    {"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256"},
    {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"},
    {"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384"},
    {"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384"},
    {"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"},
    {"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "ECDHE-ECDSA-AES128-SHA"},
    {"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "ECDHE-RSA-AES128-SHA"},
    {"TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "ECDHE-ECDSA-AES256-SHA"},
    {"TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "ECDHE-RSA-AES256-SHA"},
    {"TLS_AES_128_GCM_SHA256", ""},
    {"TLS_AES_256_GCM_SHA384", ""},
    {"TLS_CHACHA20_POLY1305_SHA256", ""},
};

constexpr std::string_view kGoodCipher =
    "use others, for example TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 and "
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256";
constexpr yaml::Expected kCipher = {"a cipher suite", kGoodCipher};

constexpr NameEntry kCurves[] = {
    {"CurveP256", "P-256"}, {"CurveP384", "P-384"}, {"CurveP521", "P-521"}, {"X25519", "X25519"}};
constexpr yaml::Expected kCurve = {"a curve", "use CurveP256, CurveP384, CurveP521 and X25519"};

bool refuse_openssl_name(const yaml::Value& value, const std::string& name) {
  const NameEntry* found = name.empty() ? nullptr : lookup(kCiphers, &NameEntry::openssl, name);
  if (found == nullptr) return false;
  value.refuse(fmt::format("{} is OpenSSL's name", yaml::in_quotes(found->openssl)),
               fmt::format("write Go's name, {}", found->word));
  return true;
}

const NameEntry* read_cipher(const yaml::Value& value) {
  const std::optional<std::string> name = value.text(kCipher);
  if (!name || refuse_openssl_name(value, *name)) return nullptr;
  return yaml::read_entry<NameEntry>(value, kCiphers, "a cipher suite", kCipher);
}

constexpr TlsVersion kTlsVersions[] = {TlsVersion::kTls10, TlsVersion::kTls11, TlsVersion::kTls12,
                                       TlsVersion::kTls13};

struct KeyEntry {
  int type;
  const char* name;
  bool is_ecdsa;           ///< as suites up to TLS 1.2 call it; else they call it RSA
  TlsVersion min_version;  ///< earlier ones cannot sign with it
};
constexpr KeyEntry kKeys[] = {
    {EVP_PKEY_EC, "EC", true, TlsVersion::kTls10},
    {EVP_PKEY_ED25519, "Ed25519", true, TlsVersion::kTls12},
    {EVP_PKEY_ED448, "Ed448", true, TlsVersion::kTls12},
    {EVP_PKEY_RSA, "RSA", false, TlsVersion::kTls10},
    {EVP_PKEY_RSA_PSS, "RSA-PSS", false, TlsVersion::kTls12},
};

/// The default has some for all keys, and TLS 1.3 has its own.
bool has_suite_for(const KeyEntry& key, TlsVersion version,
                   const std::vector<std::string>& ciphers) {
  if (version == TlsVersion::kTls13) return true;
  if (version < key.min_version) return false;
  const auto is_suite_for = [&](const std::string& cipher) {
    const bool is_of_version = version == TlsVersion::kTls12 || cipher.ends_with("-SHA");
    return is_of_version && (cipher.find("ECDSA") != std::string::npos) == key.is_ecdsa;
  };
  return ciphers.empty() || std::any_of(ciphers.begin(), ciphers.end(), is_suite_for);
}

/// ", or set 'min_version' to TLS13"; empty if no later version works either.
std::string or_later_version(const KeyEntry& key, TlsVersion lacking, const TlsSettings& settings) {
  for (const TlsVersion version : kTlsVersions) {
    if (version <= lacking || version > settings.max_version) continue;
    if (!has_suite_for(key, version, settings.ciphers)) continue;
    return fmt::format(", or set 'min_version' to {}", word_of(version));
  }
  return "";
}

std::string suite_remedy(const KeyEntry& key, TlsVersion lacking) {
  if (lacking < key.min_version) return "use a key of type EC or RSA";
  return fmt::format("add TLS_ECDHE_{}_WITH_AES_128_{} to 'cipher_suites' in 'tls_server_config'",
                     key.is_ecdsa ? "ECDSA" : "RSA",
                     lacking == TlsVersion::kTls12 ? "GCM_SHA256" : "CBC_SHA");
}

}  // namespace

std::vector<std::string> cbc_ciphers(const std::vector<std::string>& ciphers,
                                     TlsVersion min_version) {
  std::vector<std::string> cbc;
  for (const NameEntry& entry : kCiphers) {
    const bool is_cbc = entry.word.find("_CBC_") != std::string_view::npos;
    const bool is_allowed =
        ciphers.empty() ? min_version < TlsVersion::kTls12
                        : std::find(ciphers.begin(), ciphers.end(), entry.openssl) != ciphers.end();
    if (is_cbc && is_allowed) cbc.emplace_back(entry.openssl);
  }
  return cbc;
}

bool read_ciphers(const yaml::Value& value, std::vector<std::string>& ciphers) {
  const auto items =
      value.items({"a list of cipher suites",
                   "write a list, for example [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, "
                   "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256]"});
  if (!items) return false;
  yaml::DuplicateKeys names("remove one of the two");
  bool all_are_of_tls13 = !items->empty();
  for (const yaml::Value& item : *items) {
    const NameEntry* found = read_cipher(item);
    all_are_of_tls13 = all_are_of_tls13 && found != nullptr && found->openssl.empty();
    if (found == nullptr || !names.add(std::string(found->word), item)) continue;
    if (found->openssl.empty()) {
      item.warn("the suites of TLS 1.3 are always on");
    } else {
      ciphers.emplace_back(found->openssl);
    }
  }
  return all_are_of_tls13;
}

void read_curves(const yaml::Value& value, std::vector<std::string>& curves) {
  const auto items =
      value.items({"a list of curves", "write a list, for example [X25519, CurveP256]"});
  if (!items) return;
  yaml::DuplicateKeys names("remove one of the two");
  for (const yaml::Value& item : *items) {
    const NameEntry* found = yaml::read_entry<NameEntry>(item, kCurves, "a curve", kCurve);
    if (found != nullptr && names.add(std::string(found->word), item)) {
      curves.emplace_back(found->openssl);
    }
  }
}

Result<> check_suites_of_key(int key_type, const TlsSettings& settings) {
  const KeyEntry* const key = lookup(kKeys, &KeyEntry::type, key_type);
  if (key == nullptr) {
    return Error{0, fmt::format("serve TLS with a key of type {}", OBJ_nid2sn(key_type)),
                 "use a key of type EC, Ed25519 or RSA"};
  }
  for (const TlsVersion version : kTlsVersions) {
    const bool is_enabled = settings.min_version <= version && version <= settings.max_version;
    if (!is_enabled || has_suite_for(*key, version, settings.ciphers)) continue;
    return Error{0,
                 fmt::format("serve {} with a key of type {}: none of 'cipher_suites' fits both",
                             word_of(version), key->name),
                 suite_remedy(*key, version) + or_later_version(*key, version, settings)};
  }
  return {};
}

}  // namespace pex::access
