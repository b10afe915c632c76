#pragma once

#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "base/unique_fd.h"

namespace pex::bench {

struct FreeTls {
  void operator()(SSL_CTX* each) const { SSL_CTX_free(each); }
  void operator()(SSL* each) const { SSL_free(each); }
};
using TlsContext = std::unique_ptr<SSL_CTX, FreeTls>;

/// A certificate for nobody in particular, and its key (P-256), in the PEM format.
struct Identity {
  std::string certificate;
  std::string key;
};
Identity make_identity();

/// The floor of serving: one thread that accepts, reads once, answers with a fixed text and closes,
/// one client after the other. With an identity, over TLS.
class BareServer {
 public:
  explicit BareServer(const Identity* identity = nullptr);
  ~BareServer();
  BareServer(const BareServer&) = delete;
  BareServer& operator=(const BareServer&) = delete;

  std::uint16_t port() const { return port_; }

 private:
  void serve();
  void answer(int client);

  UniqueFd listener_;
  std::uint16_t port_ = 0;
  TlsContext tls_;
  std::thread thread_;
};

}  // namespace pex::bench
