#include <openssl/err.h>

#include <array>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "access/ready_access.h"
#include "access/return_error.h"
#include "access/transport.h"

namespace pex::access {
namespace {

namespace asio = boost::asio;

class TlsTransport final : public Transport {
 public:
  /// Takes `session`.
  TlsTransport(Socket& socket, SSL* session, std::shared_ptr<const Access> access)
      : access_(std::move(access)), stream_(socket, session) {}

  asio::awaitable<Finished> handshake() override {
    return stream_.async_handshake(asio::ssl::stream_base::server, kReturnError);
  }

  asio::awaitable<Transferred> read_some(asio::mutable_buffer room) override {
    return stream_.async_read_some(room, kReturnError);
  }

  /// Each of the two makes records of its own: the body is encrypted from where it is.
  asio::awaitable<Transferred> write(std::string_view head, std::string_view body,
                                     Clock::time_point& last_progress) override {
    const std::array<asio::const_buffer, 2> both{asio::buffer(head), asio::buffer(body)};
    return asio::async_write(stream_, both, NotesProgress{&last_progress}, kReturnError);
  }

  asio::awaitable<Finished> end() override { return stream_.async_shutdown(kReturnError); }

 private:
  std::shared_ptr<const Access> access_;  ///< the context refers to its settings
  asio::ssl::stream<Socket&> stream_;
};

}  // namespace

std::unique_ptr<Transport> tls_transport(Socket& socket, std::shared_ptr<const Access> access) {
  SSL* const session = SSL_new(access->tls());
  if (session == nullptr) {
    ERR_clear_error();
    return nullptr;
  }
  return std::make_unique<TlsTransport>(socket, session, std::move(access));
}

}  // namespace pex::access
