#include "access/transport.h"

#include <array>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "access/return_error.h"

namespace pex::access {
namespace {

namespace asio = boost::asio;
namespace ssl = asio::ssl;

/// A stream of Asio, made from `args`.
template <typename Stream>
class StreamTransport : public Transport {
 public:
  template <typename... Args>
  explicit StreamTransport(Args&&... args) : stream_(std::forward<Args>(args)...) {}

  asio::awaitable<Transferred> read_some(asio::mutable_buffer room) override {
    return stream_.async_read_some(room, kReturnError);
  }

  /// with TLS each buffer becomes separate records, encrypted without a copy
  asio::awaitable<Transferred> write(std::string_view head, std::string_view body,
                                     Clock::time_point& last_progress) override {
    const std::array<asio::const_buffer, 2> both{asio::buffer(head), asio::buffer(body)};
    return asio::async_write(stream_, both, NotesProgress{&last_progress}, kReturnError);
  }

 protected:
  Stream stream_;
};

class PlainTransport final : public StreamTransport<Socket&> {
 public:
  using StreamTransport::StreamTransport;

  asio::awaitable<Finished> handshake() override { co_return Finished{}; }
  asio::awaitable<Finished> end() override { co_return Finished{}; }
};

class TlsTransport final : public StreamTransport<ssl::stream<Socket&>> {
 public:
  /// Keeps `context`, and whatever it refers to.
  TlsTransport(Socket& socket, std::shared_ptr<ssl::context> context,
               ssl::stream_base::handshake_type role)
      : StreamTransport(socket, *context), context_(std::move(context)), role_(role) {}

  asio::awaitable<Finished> handshake() override {
    return stream_.async_handshake(role_, kReturnError);
  }
  std::string why_refused(const boost::system::error_code& error) const override {
    const long found = ::SSL_get_verify_result(native());
    const std::string reason = error.message();
    if (found == X509_V_OK) return reason;
    return reason + ": " + ::X509_verify_cert_error_string(found);
  }
  asio::awaitable<Finished> end() override { return stream_.async_shutdown(kReturnError); }

 private:
  /// Asio has it for a stream that may be changed only.
  SSL* native() const { return const_cast<ssl::stream<Socket&>&>(stream_).native_handle(); }

  std::shared_ptr<ssl::context> context_;
  ssl::stream_base::handshake_type role_;
};

}  // namespace

std::unique_ptr<Transport> plain_transport(Socket& socket) {
  return std::make_unique<PlainTransport>(socket);
}

std::unique_ptr<Transport> tls_transport(Socket& socket,
                                         const std::shared_ptr<const Access>& access) {
  const std::shared_ptr<ssl::context> context{access, access->tls()};
  return std::make_unique<TlsTransport>(socket, context, ssl::stream_base::server);
}

std::unique_ptr<Transport> unverified_tls_transport(Socket& socket) {
  auto context = std::make_shared<ssl::context>(ssl::context::tls_client);
  context->set_verify_mode(ssl::verify_none);
  return std::make_unique<TlsTransport>(socket, std::move(context), ssl::stream_base::client);
}

}  // namespace pex::access
