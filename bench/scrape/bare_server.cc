#include "bench/scrape/bare_server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/socket.h>

#include <array>
#include <stdexcept>
#include <string_view>

namespace pex::bench {
namespace {

/// As long as what the real one answers.
constexpr std::string_view kAnswer =
    "HTTP/1.1 200 OK\r\n"
    "Server: perf_event_exporter\r\n"
    "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n"
    "Content-Type: text/plain; charset=utf-8\r\n"
    "Content-Length: 6\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Connection: close\r\n"
    "\r\n"
    "hello\n";

struct Free {
  void operator()(X509* each) const { X509_free(each); }
  void operator()(EVP_PKEY* each) const { EVP_PKEY_free(each); }
  void operator()(BIO* each) const { BIO_free(each); }
};
using Certificate = std::unique_ptr<X509, Free>;
using Key = std::unique_ptr<EVP_PKEY, Free>;
using Bio = std::unique_ptr<BIO, Free>;

void require(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}

std::string text_of(const Bio& bio) {
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

Bio reader_of(const std::string& text) {
  return Bio{BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))};
}

TlsContext context_of(const Identity& identity) {
  TlsContext context{SSL_CTX_new(TLS_server_method())};
  const Certificate certificate{
      PEM_read_bio_X509(reader_of(identity.certificate).get(), nullptr, nullptr, nullptr)};
  const Key key{PEM_read_bio_PrivateKey(reader_of(identity.key).get(), nullptr, nullptr, nullptr)};
  require(SSL_CTX_use_certificate(context.get(), certificate.get()) == 1, "use a certificate");
  require(SSL_CTX_use_PrivateKey(context.get(), key.get()) == 1, "use a key");
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  return context;
}

}  // namespace

Identity make_identity() {
  constexpr long kHour = 3600;
  const Key key{EVP_EC_gen("P-256")};
  const Certificate certificate{X509_new()};
  X509* const made = certificate.get();
  require(key && made != nullptr && X509_set_version(made, X509_VERSION_3) == 1 &&
              X509_gmtime_adj(X509_getm_notBefore(made), -kHour) != nullptr &&
              X509_gmtime_adj(X509_getm_notAfter(made), kHour) != nullptr &&
              X509_set_pubkey(made, key.get()) == 1 && X509_sign(made, key.get(), EVP_sha256()) > 0,
          "make a certificate");
  const Bio certificate_text{BIO_new(BIO_s_mem())};
  const Bio key_text{BIO_new(BIO_s_mem())};
  require(PEM_write_bio_X509(certificate_text.get(), made) == 1 &&
              PEM_write_bio_PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr,
                                       nullptr) == 1,
          "write a certificate");
  return {text_of(certificate_text), text_of(key_text)};
}

BareServer::BareServer(const Identity* identity)
    : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  require(::bind(listener_.get(), any, size) == 0 && ::listen(listener_.get(), SOMAXCONN) == 0 &&
              ::getsockname(listener_.get(), any, &size) == 0,
          "listen on loopback");
  port_ = ntohs(address.sin_port);
  if (identity != nullptr) tls_ = context_of(*identity);
  thread_ = std::thread{[this] { serve(); }};
}

BareServer::~BareServer() {
  ::shutdown(listener_.get(), SHUT_RDWR);  // ends accept
  thread_.join();
}

void BareServer::serve() {
  for (;;) {
    const UniqueFd client{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
    if (!client) return;
    const int on = 1;
    ::setsockopt(client.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    answer(client.get());
  }
}

void BareServer::answer(int client) {
  std::array<char, 4096> request{};
  if (!tls_) {
    if (::recv(client, request.data(), request.size(), 0) <= 0) return;
    ::send(client, kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL);
    return;
  }
  const std::unique_ptr<SSL, FreeTls> session{SSL_new(tls_.get())};
  SSL_set_fd(session.get(), client);
  if (SSL_accept(session.get()) != 1) return;
  if (SSL_read(session.get(), request.data(), static_cast<int>(request.size())) <= 0) return;
  SSL_write(session.get(), kAnswer.data(), static_cast<int>(kAnswer.size()));
  SSL_shutdown(session.get());
}

}  // namespace pex::bench
