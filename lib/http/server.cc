#include "http/server.h"

#include <poll.h>

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <optional>
#include <utility>

#include "access/return_error.h"
#include "http/address.h"
#include "http/listener.h"
#include "http/service.h"

namespace pex::http {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::milliseconds kAcceptPause{100};
constexpr int kAcceptsPerIteration = 16;  ///< so that a flood leaves time to others
static_assert(sizeof(ClientErrors) == std::size(kClientErrors) * sizeof(std::uint64_t),
              "an error without an entry");

/// One listening socket. Asio only waits for clients: it would accept them without close-on-exec.
struct Listener {
  explicit Listener(asio::io_context& loop) : ready(loop), pause(loop) {}

  int fd() { return ready.native_handle(); }
  bool is_open() const { return ready.is_open(); }

  void close() {
    boost::system::error_code ignored;
    file.remove();  // first, so that no client finds a socket that refuses
    ready.close(ignored);
    pause.cancel();
  }

  asio::posix::stream_descriptor ready;  ///< owns the socket
  asio::steady_timer pause;
  std::uint16_t port = 0;
  SocketFile file;
};

using Listeners = std::vector<std::shared_ptr<Listener>>;

Result<std::shared_ptr<Listener>> watch(asio::io_context& loop, ListeningSocket opened) {
  auto listener = std::make_shared<Listener>(loop);
  boost::system::error_code error;
  listener->ready.assign(opened.fd.get(), error);
  if (error) return Error{error.value(), "wait for clients", ""};
  static_cast<void>(opened.fd.release());
  listener->port = opened.port;
  listener->file = std::move(opened.file);
  return listener;
}

/// Nothing: a connection that cannot be waited for is closed, as its client would wait for ever.
std::optional<access::Socket> socket_of(UniqueFd fd, Listener& listener) {
  const asio::generic::stream_protocol protocol{family_of(fd.get()), 0};
  access::Socket socket{listener.ready.get_executor()};
  boost::system::error_code error;
  socket.assign(protocol, fd.get(), error);
  if (error) return {};
  static_cast<void>(fd.release());
  return socket;
}

bool lacks_descriptors(int error) { return error == EMFILE || error == ENFILE; }

/// accept(2) allocates a descriptor before it checks for a client.
bool has_waiting(Listener& listener) {
  pollfd watched{listener.fd(), POLLIN, 0};
  return ::poll(&watched, 1, 0) > 0;
}

/// Handles a lack of descriptors. Returns the errno that ended it; 0: more clients may wait.
int accept_in_place_of_another(Listener& listener, Service& service) {
  if (!has_waiting(listener)) return EAGAIN;
  ++service.errors.accept_error;
  using Freed = ConnectionTable::Freed;
  const Freed freed = service.connections.free_descriptor();
  if (freed == Freed::kNone) return EMFILE;
  auto client = accept_client(listener.fd());
  if (!client) return client.error();
  auto socket = socket_of(std::move(client->fd), listener);
  if (!socket) return 0;
  freed == Freed::kPlace ? service.connections.admit(*std::move(socket), client->peer)
                         : service.connections.refuse(*std::move(socket), client->peer);
  return 0;
}

/// Accepts as many clients as one iteration of the loop may: one, without free descriptors. Returns
/// the errno that ended it; 0: more clients may wait.
int accept_some(Listener& listener, Service& service) {
  service.connections.recover();
  for (int i = 0; i < kAcceptsPerIteration; ++i) {
    auto client = accept_client(listener.fd());
    if (!client && lacks_descriptors(client.error())) {
      return accept_in_place_of_another(listener, service);
    }
    if (!client) return client.error();
    auto socket = socket_of(std::move(client->fd), listener);
    if (socket) service.connections.admit(*std::move(socket), client->peer);
  }
  return 0;
}

/// An error of one client or temporary, not of the listener.
bool is_passing(int error) { return error == 0 || error == ECONNABORTED || error == EINTR; }

/// Ends only when the listener is closed. Owns what it uses, so that it may outlive the server by
/// one iteration of the loop.
asio::awaitable<void> accept_forever(std::shared_ptr<Listener> listener,
                                     std::shared_ptr<Service> service) {
  const auto loop = listener->ready.get_executor();
  while (listener->is_open()) {
    const int error = accept_some(*listener, *service);
    if (error == EAGAIN) {
      co_await listener->ready.async_wait(asio::posix::descriptor_base::wait_read,
                                          access::kReturnError);
    } else if (is_passing(error)) {
      co_await asio::post(loop, asio::use_awaitable);
    } else {
      if (!lacks_descriptors(error)) ++service->errors.accept_error;
      // The client stays in the backlog and would be offered again at once.
      listener->pause.expires_after(kAcceptPause);
      co_await listener->pause.async_wait(access::kReturnError);
    }
  }
}

class LoopServer final : public Server {
 public:
  LoopServer(Listeners listeners, std::shared_ptr<Service> service)
      : listeners_(std::move(listeners)), service_(std::move(service)) {
    for (const auto& listener : listeners_) {
      asio::co_spawn(listener->ready.get_executor(), accept_forever(listener, service_),
                     asio::detached);
    }
  }
  ~LoopServer() override { stop(); }

  std::vector<std::uint16_t> ports() const override {
    std::vector<std::uint16_t> ports;
    for (const auto& listener : listeners_) ports.push_back(listener->port);
    return ports;
  }

  std::vector<std::string> ips() const override {
    std::vector<std::string> ips;
    for (const auto& listener : listeners_) ips.push_back(ip_of(listener->fd()));
    return ips;
  }

  bool serves_other_machines() const override {
    return std::any_of(listeners_.begin(), listeners_.end(), [](const auto& listener) {
      return is_reachable_from_elsewhere(listener->fd());
    });
  }

  std::size_t connections() const override { return service_->connections.count(); }

  std::optional<Share> busiest_peer() const override { return service_->connections.busiest(); }

  ClientErrors errors() const override { return service_->errors; }

  void stop() override {
    for (const auto& listener : listeners_) listener->close();
    service_->logins->stop();
    service_->connections.close_all();
  }

 private:
  Listeners listeners_;
  std::shared_ptr<Service> service_;
};

std::vector<UniqueFd> owned(const std::vector<int>& fds) { return {fds.begin(), fds.end()}; }

Result<> add(Listeners& listeners, asio::io_context& loop, Result<ListeningSocket> opened) {
  if (!opened) return opened.error();
  auto listener = watch(loop, *std::move(opened));
  if (!listener) return listener.error();
  listeners.push_back(*std::move(listener));
  return {};
}

bool has_port_of(const Listeners& listeners, const std::string& address) {
  const auto wanted = parse_address(address);
  return wanted && std::any_of(listeners.begin(), listeners.end(), [&](const auto& listener) {
           return listener->port == wanted->port;
         });
}

Result<Listeners> listen_everywhere(asio::io_context& loop, const Listening& listening) {
  std::vector<UniqueFd> inherited = owned(listening.inherited);
  Listeners listeners;
  for (const std::string& address : listening.addresses) {
    auto added = add(listeners, loop, open_listener(address));
    if (!added && added.error().code == EADDRINUSE && has_port_of(listeners, address)) {
      added.error().remedy =
          "an address before it includes this one, as [::] and :PORT include "
          "IPv4: leave one of them out of " +
          ProgramTerm::kListenAddress;
    }
    if (!added) return added.error();
  }
  for (UniqueFd& fd : inherited) {
    if (auto added = add(listeners, loop, adopt_listener(std::move(fd))); !added) {
      return added.error();
    }
  }
  return listeners;
}

}  // namespace

Result<std::unique_ptr<Server>> Server::listen(asio::io_context& loop, asio::thread_pool& worker,
                                               const Listening& listening, Site site) {
  auto listeners = listen_everywhere(loop, listening);
  if (!listeners) return listeners.error();
  const auto key = access::random_key();
  if (!key) return key.error();
  auto logins = std::make_shared<access::Logins>(loop.get_executor(), worker,
                                                 site.limits.max_pending_logins, *key);
  auto handshakes = std::make_shared<access::HandshakeQueue>(loop.get_executor());
  auto service =
      std::make_shared<Service>(std::move(site), std::move(logins), std::move(handshakes));
  return std::unique_ptr<Server>{
      std::make_unique<LoopServer>(*std::move(listeners), std::move(service))};
}

}  // namespace pex::http
