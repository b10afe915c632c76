#include "access/tls_context.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "access/tls_names.h"
#include "base/ascii.h"
#include "base/lookup.h"
#include "base/small_file.h"
#include "base/text.h"

namespace pex::access {
namespace {

constexpr std::size_t kMaxPemBytes = 1024 * 1024;  ///< a CA bundle has some hundred KiB

template <auto free>
struct Free {
  void operator()(auto* object) const { free(object); }
};
using Bio = std::unique_ptr<BIO, Free<BIO_free>>;
using Certificate = std::unique_ptr<X509, Free<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using Names = std::unique_ptr<GENERAL_NAMES, Free<GENERAL_NAMES_free>>;

/// One of the three PEM texts, as the operator knows it.
struct Source {
  const char* what;
  const char* remedy;
};
constexpr Source kCertificate{
    "certificate",
    "set 'cert_file' or 'cert' in 'tls_server_config' to a certificate in the PEM format, with its "
    "chain after it"};
constexpr Source kKey{
    "key",
    "set 'key_file' or 'key' in 'tls_server_config' to the private key of that certificate in the "
    "PEM format, without a passphrase"};
constexpr Source kClientCa{"client CA",
                           "set 'client_ca_file' or 'client_ca' in 'tls_server_config' to one or "
                           "more certificates in the PEM format"};

/// Errors of reading a file, independent of its content.
struct FileEntry {
  int code;
  const char* remedy;
};
constexpr FileEntry kFileRows[] = {
    {ENOENT, "check the path in the web configuration; relative ones start from its directory"},
    {EACCES, "let the user of this process read it"},
    {EISDIR, "name the file itself in the web configuration, not the directory it is in"},
};

/// OpenSSL's text for its first error; clears its queue.
std::string openssl_reason() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* const reason = code != 0 ? ERR_reason_error_string(code) : nullptr;
  return reason != nullptr ? reason : "OpenSSL gives no reason";
}

Error failed(const std::string& attempted, const char* remedy) {
  return Error{0, attempted + ": " + openssl_reason(), remedy};
}

std::string name_of(const Source& source, const Pem& pem) {
  return source.what +
         (pem.file.empty() ? std::string{" in the web configuration"} : " '" + pem.file + "'");
}

const char* remedy_for(int code, const Source& source) {
  const FileEntry* const row = lookup(kFileRows, &FileEntry::code, code);
  return row != nullptr ? row->remedy : source.remedy;
}

Result<std::string> text_of(const Source& source, const Pem& pem) {
  if (pem.file.empty()) return pem.text;
  auto text = read_small_file(pem.file, kMaxPemBytes, source.what);
  if (!text && text.error().remedy.empty()) {
    text.error().remedy = remedy_for(text.error().code, source);
  }
  return text;
}

/// Reads `text`, which must outlive the BIO.
Bio reader_of(const std::string& text) {
  return Bio{BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))};
}

/// Replaces OpenSSL's own callback, which would ask for the passphrase on the terminal.
int no_passphrase(char*, int, int, void*) { return -1; }

/// All certificates of the text, in order. Ignores anything else between them. Fails on a broken
/// one, and if there is none.
Result<std::vector<Certificate>> read_certificates(const Source& source, const Pem& pem) {
  const auto text = text_of(source, pem);
  if (!text) return text.error();
  const Bio bio = reader_of(*text);
  std::vector<Certificate> certificates;
  while (X509* next = PEM_read_bio_X509(bio.get(), nullptr, no_passphrase, nullptr)) {
    certificates.emplace_back(next);
  }
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (certificates.empty() || !at_end) return failed("read " + name_of(source, pem), source.remedy);
  ERR_clear_error();
  return certificates;
}

Result<Key> read_key(const Pem& pem) {
  auto read = text_of(kKey, pem);
  if (!read) return read.error();
  std::string text = *std::move(read);
  const Bio bio = reader_of(text);
  Key key{PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr)};
  OPENSSL_cleanse(text.data(), text.size());
  if (!key) return failed("read " + name_of(kKey, pem), kKey.remedy);
  return key;
}

constexpr const char* kStronger =
    "make a new one, with an RSA key of at least 2048 bits or an EC key, and signed with SHA-256";

Result<> use_certificate(SSL_CTX* context, const TlsSettings& settings) {
  auto chain = read_certificates(kCertificate, settings.certificate);
  if (!chain) return chain.error();
  const std::string attempted = "use " + name_of(kCertificate, settings.certificate);
  if (SSL_CTX_use_certificate(context, chain->front().get()) != 1) {
    return failed(attempted, kStronger);
  }
  for (auto each = chain->begin() + 1; each != chain->end(); ++each) {
    if (SSL_CTX_add1_chain_cert(context, each->get()) != 1) {
      return failed(attempted, kStronger);
    }
  }
  return {};
}

Result<> use_key(SSL_CTX* context, const TlsSettings& settings) {
  const auto key = read_key(settings.key);
  if (!key) return key.error();
  if (SSL_CTX_use_PrivateKey(context, key->get()) != 1 || SSL_CTX_check_private_key(context) != 1) {
    return failed("use " + name_of(kKey, settings.key) + " with " +
                      name_of(kCertificate, settings.certificate),
                  kKey.remedy);
  }
  return check_suites_of_key(EVP_PKEY_get_base_id(key->get()), settings);
}

Result<> use_versions(SSL_CTX* context, const TlsSettings& settings) {
  // TLS 1.0 and 1.1 sign with algorithms below every security level but this
  // (SSL_CTX_set_security_level(3)).
  if (settings.min_version < TlsVersion::kTls12) SSL_CTX_set_security_level(context, 0);
  if (settings.min_version <= settings.max_version &&
      SSL_CTX_set_min_proto_version(context, static_cast<int>(settings.min_version)) == 1 &&
      SSL_CTX_set_max_proto_version(context, static_cast<int>(settings.max_version)) == 1) {
    return {};
  }
  return failed("use the TLS versions from 'min_version' to 'max_version'",
                "set 'min_version' in 'tls_server_config' no later than 'max_version'");
}

/// The default: ciphers with forward secrecy and authenticated encryption. So our key cannot
/// decrypt recorded traffic, and there is no padding to probe (RFC 9325, 4.2).
constexpr const char* kDefaultCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20";
/// TLS before 1.2 has none of these. CBC with SHA-256 leaks by its timing, and CCM is rare.
constexpr const char* kDefaultOldCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20:ECDHE+AES+SHA1";

/// OpenSSL ignores unknown ciphers, so each is tried by itself first.
Result<> use_ciphers(SSL_CTX* context, const TlsSettings& settings) {
  const std::vector<std::string>& ciphers = settings.ciphers;
  if (ciphers.empty()) {
    const bool is_old = settings.min_version < TlsVersion::kTls12;
    if (SSL_CTX_set_cipher_list(context, is_old ? kDefaultOldCiphers : kDefaultCiphers) == 1) {
      return {};
    }
    return failed("use the ciphers of ECDHE with AES-GCM or ChaCha20", "");
  }
  for (const std::string& each : ciphers) {
    if (SSL_CTX_set_cipher_list(context, each.c_str()) == 1) continue;
    return failed("use the cipher '" + each + "'",
                  "leave it out of 'cipher_suites' in 'tls_server_config'");
  }
  SSL_CTX_set_cipher_list(context, join(ciphers, ":").c_str());
  return {};
}

Result<> use_curves(SSL_CTX* context, const TlsSettings& settings) {
  const std::vector<std::string>& curves = settings.curves;
  const std::string list = join(curves, ":");
  if (list.empty() || SSL_CTX_set1_groups_list(context, list.c_str()) == 1) return {};
  return failed("use the curves '" + list + "'",
                "choose from X25519, P-256, P-384 and P-521 for 'curve_preferences' in "
                "'tls_server_config'");
}

std::string_view text_of(const ASN1_STRING* string) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(string)),
          static_cast<std::size_t>(ASN1_STRING_length(string))};
}

bool is_same_address(const ASN1_STRING* address, const std::string& allowed) {
  std::array<char, 16> bytes{};
  const bool is_v4 = ::inet_pton(AF_INET, allowed.c_str(), bytes.data()) == 1;
  if (!is_v4 && ::inet_pton(AF_INET6, allowed.c_str(), bytes.data()) != 1) return false;
  return text_of(address) == std::string_view{bytes.data(), is_v4 ? 4u : 16u};
}

bool is_same_name(const GENERAL_NAME* name, const std::string& allowed) {
  switch (name->type) {
    case GEN_DNS:
      return iequals(text_of(name->d.dNSName), allowed);
    case GEN_IPADD:
      return is_same_address(name->d.iPAddress, allowed);
    case GEN_EMAIL:
      return text_of(name->d.rfc822Name) == allowed;
    case GEN_URI:
      return text_of(name->d.uniformResourceIdentifier) == allowed;
    default:
      return false;
  }
}

bool has_allowed_name(X509* certificate, const std::vector<std::string>& allowed) {
  const Names names{static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr))};
  const int count = names ? sk_GENERAL_NAME_num(names.get()) : 0;
  for (int i = 0; i < count; ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), i);
    if (std::any_of(allowed.begin(), allowed.end(),
                    [&](const std::string& each) { return is_same_name(name, each); })) {
      return true;
    }
  }
  return false;
}

/// Called when a client has sent a certificate, instead of OpenSSL's own verification.
int accept_any(X509_STORE_CTX*, void*) { return 1; }

/// OpenSSL's own verification, then the names.
int verify_client(X509_STORE_CTX* verification, void* settings) {
  if (X509_verify_cert(verification) != 1) return 0;
  const auto& allowed = static_cast<const TlsSettings*>(settings)->client_allowed_sans;
  if (allowed.empty() || has_allowed_name(X509_STORE_CTX_get0_cert(verification), allowed))
    return 1;
  X509_STORE_CTX_set_error(verification, X509_V_ERR_APPLICATION_VERIFICATION);
  return 0;
}

struct ClientEntry {
  ClientCertificate asked;
  int mode;
  int (*verify)(X509_STORE_CTX*, void*);
};
constexpr int kNeeded = SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
constexpr ClientEntry kClientRows[] = {
    {ClientCertificate::kNone, SSL_VERIFY_NONE, accept_any},
    {ClientCertificate::kRequested, SSL_VERIFY_PEER, accept_any},
    {ClientCertificate::kAny, kNeeded, accept_any},
    {ClientCertificate::kVerifiedIfGiven, SSL_VERIFY_PEER, verify_client},
    {ClientCertificate::kRequiredAndVerified, kNeeded, verify_client},
};

void ask_for_certificate(SSL_CTX* context, const TlsSettings& settings) {
  const ClientEntry* const row =
      lookup(kClientRows, &ClientEntry::asked, settings.client_certificate);
  SSL_CTX_set_verify(context, row->mode, nullptr);
  SSL_CTX_set_cert_verify_callback(context, row->verify, const_cast<TlsSettings*>(&settings));
  if (row->mode == SSL_VERIFY_NONE) return;
  // A resumed session would not show its certificate again, which may have expired since.
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(context, 0);
}

/// Those of this system: where OpenSSL was built to find them, and where distributions have them.
/// Read now, as OpenSSL otherwise reads files during handshakes.
Result<> trust_system(SSL_CTX* context) {
  const char* const bundles[] = {::X509_get_default_cert_file(),
                                 "/etc/ssl/certs/ca-certificates.crt",  // Debian
                                 "/etc/pki/tls/certs/ca-bundle.crt",    // Fedora
                                 "/etc/ssl/ca-bundle.pem"};             // SUSE
  bool any = false;
  for (const char* bundle : bundles) {
    any = SSL_CTX_load_verify_locations(context, bundle, nullptr) == 1 || any;
  }
  ERR_clear_error();
  if (any) return {};
  return Error{0, "find the certificate authorities of this system", kClientCa.remedy};
}

/// Trusts each certificate of the text itself, as Go does: also an intermediate CA, or a client's
/// own certificate.
Result<> trust_authorities(SSL_CTX* context, const TlsSettings& settings) {
  if (settings.client_ca.empty()) {
    return verifies_clients(settings.client_certificate) ? trust_system(context) : Result<>{};
  }
  const auto authorities = read_certificates(kClientCa, settings.client_ca);
  if (!authorities) return authorities.error();
  X509_STORE* const store = SSL_CTX_get_cert_store(context);
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
  for (const Certificate& each : *authorities) {
    if (X509_STORE_add_cert(store, each.get()) != 1 ||
        SSL_CTX_add_client_CA(context, each.get()) != 1) {
      return failed("use " + name_of(kClientCa, settings.client_ca), kClientCa.remedy);
    }
  }
  return {};
}

void set_manners(SSL_CTX* context, const TlsSettings& settings) {
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  if (settings.prefer_server_ciphers) {
    SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE);
  }
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);  // tickets need none
  SSL_CTX_set_mode(context,
                   SSL_MODE_RELEASE_BUFFERS);  // most connections are idle most of the time
}

using Step = Result<> (*)(SSL_CTX*, const TlsSettings&);
constexpr Step kSteps[] = {use_versions,    use_ciphers, use_curves,
                           use_certificate, use_key,     trust_authorities};

}  // namespace

Result<TlsContext> make_tls_context(const TlsSettings& settings) {
  ERR_clear_error();  // clears errors of other code
  SSL_CTX* const handle = SSL_CTX_new(TLS_server_method());
  if (handle == nullptr) return failed("make a TLS context", "");
  auto context = std::make_unique<boost::asio::ssl::context>(handle);  // owns the handle
  set_manners(handle, settings);
  ask_for_certificate(handle, settings);
  for (const Step step : kSteps) {
    if (auto done = step(handle, settings); !done) return done.error();
  }
  return context;
}

std::vector<Error> unreadable_pems(const TlsSettings& settings) {
  std::vector<Error> errors;
  for (const auto& [source, pem] : {std::pair{&kCertificate, &settings.certificate},
                                    {&kKey, &settings.key},
                                    {&kClientCa, &settings.client_ca}}) {
    Result<std::string> text = text_of(*source, *pem);
    if (!text) {
      errors.push_back(text.error());
    } else {
      OPENSSL_cleanse(text->data(), text->size());
    }
  }
  return errors;
}

}  // namespace pex::access
