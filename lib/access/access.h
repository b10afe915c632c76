#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace boost::asio::ssl {
class context;
}  // namespace boost::asio::ssl

namespace pex::access {

/// Text in the PEM format, from a file or inline.
struct Pem {
  std::string file{};  ///< read by make_access; empty: `text` holds it
  std::string text{};

  bool empty() const { return file.empty() && text.empty(); }
};

/// Which certificate a client must present; the names are those of Go's crypto/tls.
enum class ClientCertificate {
  kNone,                ///< NoClientCert
  kRequested,           ///< RequestClientCert: asked for, and neither needed nor verified
  kAny,                 ///< RequireAnyClientCert: needed, not verified
  kVerifiedIfGiven,     ///< VerifyClientCertIfGiven
  kRequiredAndVerified  ///< RequireAndVerifyClientCert
};

/// Whether a certificate that a client shows is verified.
inline bool verifies_clients(ClientCertificate policy) {
  return policy == ClientCertificate::kVerifiedIfGiven ||
         policy == ClientCertificate::kRequiredAndVerified;
}

/// Versions of TLS as on the wire (RFC 8446, 4.1.2).
enum class TlsVersion : std::uint16_t {
  kTls10 = 0x0301,
  kTls11 = 0x0302,
  kTls12 = 0x0303,
  kTls13 = 0x0304,
};

struct TlsSettings {
  Pem certificate{};  ///< followed by its chain
  Pem key{};
  Pem client_ca{};  ///< empty: no certificate of a client is verified
  ClientCertificate client_certificate = ClientCertificate::kNone;
  std::vector<std::string> client_allowed_sans{};  ///< a verified client needs one; empty: any
  TlsVersion min_version = TlsVersion::kTls12;
  TlsVersion max_version = TlsVersion::kTls13;
  /// For TLS 1.2 and before, as OpenSSL names them; empty: ECDHE with AES-GCM or ChaCha20-Poly1305,
  /// and with AES-CBC and SHA-1 as well where `min_version` is before TLS 1.2.
  std::vector<std::string> ciphers{};
  std::vector<std::string> curves{};  ///< as OpenSSL names them, best first; empty: OpenSSL's
                                      ///< default
  bool prefer_server_ciphers = true;
};

/// A token bucket: each request takes a token, except on routes that need no login (see Route), so
/// that probes are always answered. Without a token: 429.
struct RateLimit {
  std::chrono::nanoseconds interval{};  ///< in which one token comes; > 0
  unsigned burst = 1;                   ///< tokens that fit; >= 1
};

/// The web configuration in plain values.
struct AccessSettings {
  std::optional<TlsSettings> tls{};  ///< nothing: plain HTTP
  /// Name -> bcrypt hash ($2a$, $2b$, $2y$); empty: no login.
  std::map<std::string, std::string> users{};
  std::vector<std::pair<std::string, std::string>> headers{};  ///< of every response
  std::optional<RateLimit> rate_limit{};
};

/// Settings that are ready for use. Neither copied nor moved: the TLS context refers to the
/// settings.
class Access {
 public:
  explicit Access(AccessSettings settings);
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;
  ~Access();

  /// Called once, before other threads see the object.
  Result<> prepare();

  const AccessSettings& settings() const { return settings_; }
  /// Null: plain HTTP. Connections that use it keep this Access.
  boost::asio::ssl::context* tls() const { return tls_.get(); }

 private:
  AccessSettings settings_;
  std::unique_ptr<boost::asio::ssl::context> tls_;
};

/// Reads certificates and keys. Fails if one cannot be read, is not PEM, does not match the other
/// or is rejected by OpenSSL; `attempted` names the file, `remedy` the key.
Result<std::shared_ptr<const Access>> make_access(AccessSettings settings);

/// One for each file that `settings` name and that cannot be read, as make_access would report the
/// first of them.
std::vector<Error> unreadable_files(const AccessSettings& settings);

/// Whether a client without a password and a verified certificate can connect.
bool allows_anonymous(const Access& access);

/// Plain HTTP without login.
std::shared_ptr<const Access> open_access();

}  // namespace pex::access
