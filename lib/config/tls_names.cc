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

constexpr yaml::Expected kCipher = {
    "a cipher suite",
    "use others, for example TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 and "
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"};

constexpr NameEntry kCurves[] = {
    {"CurveP256", "P-256"}, {"CurveP384", "P-384"}, {"CurveP521", "P-521"}, {"X25519", "X25519"}};
constexpr yaml::Expected kCurve = {"a curve", "use CurveP256, CurveP384, CurveP521 and X25519"};

/// Refuses the names of OpenSSL with those of Go.
bool refuse_name_of_openssl(const yaml::Value& value, std::string_view name) {
  const auto entry = std::find_if(
      std::begin(kCiphers), std::end(kCiphers),
      [&](const NameEntry& each) { return !each.openssl.empty() && each.openssl == name; });
  if (entry == std::end(kCiphers)) return false;
  value.refuse(yaml::quoted(entry->openssl) + " is a name of OpenSSL",
               "write that of Go, " + std::string(entry->word));
  return true;
}

const NameEntry* read_cipher(const yaml::Value& value) {
  const std::optional<std::string> name = value.text(kCipher);
  if (!name || refuse_name_of_openssl(value, *name)) return nullptr;
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
