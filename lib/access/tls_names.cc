#include "access/tls_names.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string_view>

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

}  // namespace pex::access
