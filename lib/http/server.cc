#include "http/server.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "http/answer.h"
#include "http/connection.h"
#include "http/listener.h"

namespace pex::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr auto kReturnError = asio::as_tuple(asio::use_awaitable);
constexpr std::chrono::milliseconds kAcceptPause{100};
constexpr std::size_t kLingeringRefusals = 16;  ///< so that refusing cannot use up descriptors

/// Connections that may still be open. They end by themselves; here they are only counted.
class OpenConnections {
 public:
  std::size_t count() {
    std::erase_if(connections_, [](const auto& each) { return each.expired(); });
    return connections_.size();
  }
  void add(std::weak_ptr<Connection> connection) { connections_.push_back(std::move(connection)); }
  void close_all() {
    for (const auto& each : connections_) {
      if (const auto connection = each.lock()) connection->close();
    }
  }

 private:
  std::vector<std::weak_ptr<Connection>> connections_;
};

/// Decides who is served.
class Admission {
 public:
  explicit Admission(std::shared_ptr<const Site> site) : site_(std::move(site)) {}

  void admit(tcp::socket socket) {
    boost::system::error_code ignored;  // without it small answers are late, not wrong
    socket.set_option(tcp::no_delay{true}, ignored);
    if (served_.count() < site_->limits.max_connections) {
      served_.add(serve(std::move(socket), site_));
    } else {
      const bool linger = refused_.count() < kLingeringRefusals;
      refused_.add(refuse(std::move(socket), site_, linger));
    }
  }

  void close_all() {
    served_.close_all();
    refused_.close_all();
  }

 private:
  std::shared_ptr<const Site> site_;
  OpenConnections served_;
  OpenConnections refused_;
};

/// One listening socket.
struct Listener {
  explicit Listener(tcp::acceptor opened)
      : acceptor(std::move(opened)),
        pause(acceptor.get_executor()),
        port(acceptor.local_endpoint().port()) {}

  void close() {
    boost::system::error_code ignored;
    acceptor.close(ignored);
    pause.cancel();
  }

  tcp::acceptor acceptor;
  asio::steady_timer pause;
  std::uint16_t port;
};

/// Ends only when the listener is closed. Holds what it uses, so that it may outlive the server by
/// the one turn of the loop in which it notices.
asio::awaitable<void> accept_forever(std::shared_ptr<Listener> listener,
                                     std::shared_ptr<Admission> admission) {
  for (;;) {
    auto [error, socket] = co_await listener->acceptor.async_accept(kReturnError);
    if (!listener->acceptor.is_open()) co_return;
    if (!error) {
      set_close_on_exec(socket.native_handle());
      admission->admit(std::move(socket));
      continue;
    }
    // EMFILE above all: the client stays in the backlog and would be offered again at once.
    listener->pause.expires_after(kAcceptPause);
    co_await listener->pause.async_wait(kReturnError);
    if (!listener->acceptor.is_open()) co_return;
  }
}

class LoopServer final : public Server {
 public:
  LoopServer(std::vector<std::shared_ptr<Listener>> listeners, std::shared_ptr<const Site> site)
      : listeners_(std::move(listeners)), admission_(std::make_shared<Admission>(std::move(site))) {
    for (const auto& listener : listeners_) {
      asio::co_spawn(listener->acceptor.get_executor(), accept_forever(listener, admission_),
                     asio::detached);
    }
  }
  ~LoopServer() override { stop(); }

  std::vector<std::uint16_t> ports() const override {
    std::vector<std::uint16_t> ports;
    for (const auto& listener : listeners_) ports.push_back(listener->port);
    return ports;
  }

  void stop() override {
    for (const auto& listener : listeners_) listener->close();
    admission_->close_all();
  }

 private:
  std::vector<std::shared_ptr<Listener>> listeners_;
  std::shared_ptr<Admission> admission_;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::listen(asio::io_context& loop,
                                               const std::vector<std::string>& addresses,
                                               std::vector<Route> routes, Limits limits) {
  std::vector<std::shared_ptr<Listener>> listeners;
  for (const std::string& address : addresses) {
    auto acceptor = open_listener(loop, address);
    if (!acceptor) return acceptor.error();
    listeners.push_back(std::make_shared<Listener>(*std::move(acceptor)));
  }
  auto site = std::make_shared<const Site>(Site{std::move(routes), limits});
  return std::unique_ptr<Server>{
      std::make_unique<LoopServer>(std::move(listeners), std::move(site))};
}

}  // namespace pex::http
