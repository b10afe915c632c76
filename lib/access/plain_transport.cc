#include <array>
#include <boost/asio/write.hpp>

#include "access/return_error.h"
#include "access/transport.h"

namespace pex::access {
namespace {

namespace asio = boost::asio;

class PlainTransport final : public Transport {
 public:
  explicit PlainTransport(Socket& socket) : socket_(socket) {}

  asio::awaitable<Finished> handshake() override { co_return Finished{}; }

  asio::awaitable<Transferred> read_some(asio::mutable_buffer room) override {
    return socket_.async_read_some(room, kReturnError);
  }

  asio::awaitable<Transferred> write(std::string_view head, std::string_view body,
                                     Clock::time_point& last_progress) override {
    const std::array<asio::const_buffer, 2> both{asio::buffer(head), asio::buffer(body)};
    return asio::async_write(socket_, both, NotesProgress{&last_progress}, kReturnError);
  }

  asio::awaitable<Finished> end() override { co_return Finished{}; }

 private:
  Socket& socket_;
};

}  // namespace

std::unique_ptr<Transport> plain_transport(Socket& socket) {
  return std::make_unique<PlainTransport>(socket);
}

}  // namespace pex::access
