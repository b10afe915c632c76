#pragma once

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "access/access.h"
#include "unit/access/certificates.h"
#include "unit/http/raw_client.h"

namespace pex::http {

/// Of a server that shows `identity`.
inline access::TlsSettings tls_of(const test::Identity& identity) {
  return {.certificate = {.text = identity.certificate()}, .key = {.text = identity.key()}};
}

/// What a client of TLS brings; pointers may be null and must outlive it.
struct TlsOptions {
  int min_version = TLS1_2_VERSION;
  int max_version = TLS1_3_VERSION;
  const test::Identity* trusted = nullptr;  ///< verifies the server by it; null: not at all
  const test::Identity* own = nullptr;      ///< shown to the server when it asks
  const char* ciphers = nullptr;
  SSL_SESSION* resumed = nullptr;
};

/// A RawClient over TLS. The handshake is done by the constructor.
class TlsClient : public RawClient {
 public:
  explicit TlsClient(std::uint16_t port, const TlsOptions& options = {}) : RawClient(port) {
    context_.reset(SSL_CTX_new(TLS_client_method()));
    SSL_CTX_set_security_level(context_.get(), 0);
    SSL_CTX_set_min_proto_version(context_.get(), options.min_version);
    SSL_CTX_set_max_proto_version(context_.get(), options.max_version);
    if (options.ciphers != nullptr) SSL_CTX_set_cipher_list(context_.get(), options.ciphers);
    if (options.trusted != nullptr) {
      X509_STORE_add_cert(SSL_CTX_get_cert_store(context_.get()),
                          options.trusted->raw_certificate());
      SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    }
    if (options.own != nullptr) {
      SSL_CTX_use_certificate(context_.get(), options.own->raw_certificate());
      SSL_CTX_use_PrivateKey(context_.get(), options.own->raw_key());
    }
    session_.reset(SSL_new(context_.get()));
    SSL_set_fd(session_.get(), fd());
    if (options.resumed != nullptr) SSL_set_session(session_.get(), options.resumed);
    ERR_clear_error();
    is_secure_ = SSL_connect(session_.get()) == 1;
    if (!is_secure_) note_failure();
  }

  /// With TLS 1.3 the server may find fault with our certificate after this; then no reply comes.
  bool is_secure() const { return is_secure_; }
  /// Why OpenSSL could not go on; empty while it could.
  const std::string& failure() const { return failure_; }

  int version() const { return SSL_version(session_.get()); }
  std::string cipher() const { return SSL_get_cipher_name(session_.get()); }
  bool is_resumed() const { return SSL_session_reused(session_.get()) == 1; }
  SSL_SESSION* session() const { return SSL_get_session(session_.get()); }
  /// True when the server has said close_notify.
  bool saw_close_notify() const {
    return (SSL_get_shutdown(session_.get()) & SSL_RECEIVED_SHUTDOWN) != 0;
  }
  /// TLS 1.2 and before; false when the server does not agree.
  bool renegotiate() {
    return SSL_renegotiate(session_.get()) == 1 && SSL_do_handshake(session_.get()) == 1;
  }

 protected:
  ssize_t send_some(std::string_view bytes) override {
    if (!is_secure_) return -1;
    return SSL_write(session_.get(), bytes.data(), static_cast<int>(bytes.size()));
  }
  ssize_t receive_some(char* room, std::size_t size) override {
    if (!is_secure_) return -1;
    ERR_clear_error();
    const int received = SSL_read(session_.get(), room, static_cast<int>(size));
    if (received > 0) return received;
    if (SSL_get_error(session_.get(), received) == SSL_ERROR_ZERO_RETURN) return 0;
    note_failure();
    return -1;
  }

 private:
  struct Free {
    void operator()(SSL_CTX* each) const { SSL_CTX_free(each); }
    void operator()(SSL* each) const { SSL_free(each); }
  };

  void note_failure() {
    const char* const reason = ERR_reason_error_string(ERR_get_error());
    failure_ = reason != nullptr ? reason : "the connection ended";
  }

  std::unique_ptr<SSL_CTX, Free> context_;
  std::unique_ptr<SSL, Free> session_;
  bool is_secure_ = false;
  std::string failure_;
};

}  // namespace pex::http
