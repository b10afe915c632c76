#include "config/tls_names.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "yaml/plain_text.h"

namespace pex::config {
namespace {

/// One thing, as Go and as OpenSSL names it.
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

/// Go's InsecureCipherSuites, which the file cannot name either. All of them stand here, so that
/// messages repeat one of these and not what the file has.
struct WeaknessEntry {
  std::string_view word;
  std::string_view what;
};
constexpr std::string_view kRc4 = "is broken (RC4)";
constexpr std::string_view k3Des = "is too weak (3DES)";
constexpr std::string_view kRsa = "keeps no secret once the key is known (RSA key exchange)";
constexpr std::string_view kCbcSha256 = "leaks by its timing (CBC with SHA-256)";
constexpr WeaknessEntry kWeaknesses[] = {
    {"TLS_RSA_WITH_RC4_128_SHA", kRc4},
    {"TLS_ECDHE_ECDSA_WITH_RC4_128_SHA", kRc4},
    {"TLS_ECDHE_RSA_WITH_RC4_128_SHA", kRc4},
    {"TLS_RSA_WITH_3DES_EDE_CBC_SHA", k3Des},
    {"TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA", k3Des},
    {"TLS_RSA_WITH_AES_128_CBC_SHA", kRsa},
    {"TLS_RSA_WITH_AES_256_CBC_SHA", kRsa},
    {"TLS_RSA_WITH_AES_128_CBC_SHA256", kRsa},
    {"TLS_RSA_WITH_AES_128_GCM_SHA256", kRsa},
    {"TLS_RSA_WITH_AES_256_GCM_SHA384", kRsa},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", kCbcSha256},
    {"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", kCbcSha256},
};
constexpr std::string_view kGoodCipher =
    "use others, for example TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 and "
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256";
constexpr yaml::Expected kCipher = {"a cipher suite", kGoodCipher};

constexpr NameEntry kCurves[] = {
    {"CurveP256", "P-256"}, {"CurveP384", "P-384"}, {"CurveP521", "P-521"}, {"X25519", "X25519"}};
constexpr yaml::Expected kCurve = {"a curve", "use CurveP256, CurveP384, CurveP521 and X25519"};

/// Refuses what is known to Go, or to OpenSSL, with more to say than that it is unknown.
bool refuse_known_cipher(const yaml::Value& value, std::string_view name) {
  for (const NameEntry& row : kCiphers) {
    if (row.openssl.empty() || row.openssl != name) continue;
    value.refuse(yaml::quoted(row.openssl) + " is a name of OpenSSL",
                 "write that of Go, " + std::string(row.word));
    return true;
  }
  for (const WeaknessEntry& row : kWeaknesses) {
    if (row.word != name) continue;
    value.refuse(yaml::quoted(row.word) + " " + std::string(row.what), std::string(kGoodCipher));
    return true;
  }
  return false;
}

const NameEntry* read_cipher(const yaml::Value& value) {
  const std::optional<std::string> name = value.text(kCipher);
  if (!name || refuse_known_cipher(value, *name)) return nullptr;
  return read_row<NameEntry>(value, kCiphers, "a cipher suite", kCipher);
}

}  // namespace

std::vector<std::string> cbc_ciphers(const std::vector<std::string>& ciphers,
                                     TlsVersion min_version) {
  std::vector<std::string> cbc;
  for (const NameEntry& row : kCiphers) {
    const bool is_cbc = row.word.find("_CBC_") != std::string_view::npos;
    const bool is_allowed =
        ciphers.empty() ? min_version < TlsVersion::kTls12
                        : std::find(ciphers.begin(), ciphers.end(), row.openssl) != ciphers.end();
    if (is_cbc && is_allowed) cbc.emplace_back(row.openssl);
  }
  return cbc;
}

void read_ciphers(const yaml::Value& value, std::vector<std::string>& ciphers,
                  std::vector<std::string>& remarks) {
  const auto items =
      value.items({"a list of cipher suites",
                   "write a list, for example [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, "
                   "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256]"});
  if (!items) return;
  yaml::DuplicateKeys names("remove one of the two");
  for (const yaml::Value& item : *items) {
    const NameEntry* row = read_cipher(item);
    if (row == nullptr || !names.add(std::string(row->word), item)) continue;
    if (row->openssl.empty()) {
      remarks.push_back(remark(item, "the suites of TLS 1.3 are always on"));
    } else {
      ciphers.emplace_back(row->openssl);
    }
  }
}

void read_curves(const yaml::Value& value, std::vector<std::string>& curves) {
  const auto items =
      value.items({"a list of curves", "write a list, for example [X25519, CurveP256]"});
  if (!items) return;
  yaml::DuplicateKeys names("remove one of the two");
  for (const yaml::Value& item : *items) {
    const NameEntry* row = read_row<NameEntry>(item, kCurves, "a curve", kCurve);
    if (row != nullptr && names.add(std::string(row->word), item))
      curves.emplace_back(row->openssl);
  }
}

}  // namespace pex::config
