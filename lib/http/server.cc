#include "http/server.h"

#include <openssl/rand.h>
#include <sys/socket.h>

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
#include <string_view>
#include <utility>

#include "http/connection.h"
#include "http/listener.h"
#include "http/ready_access.h"
#include "http/return_error.h"
#include "http/service.h"

namespace pex::http {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::milliseconds kAcceptPause{100};
constexpr int kAcceptsPerTurn = 16;             ///< so that a flood leaves the loop to others
constexpr std::size_t kLingeringRefusals = 16;  ///< the others are closed at once, see turn_away
/// Short enough for the buffer of a new socket, which takes it whole.
constexpr std::string_view kBusyHead =
    "HTTP/1.1 503 Service Unavailable\r\n"
    "Server: perf_event_exporter\r\n"
    "Content-Length: 0\r\n"
    "Retry-After: 1\r\n"
    "Connection: close\r\n"
    "\r\n";

static_assert(sizeof(Troubles) == std::size(kTroubles) * sizeof(std::uint64_t), "one has no row");

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

  /// Closes the one that has been idle for longest, which counts no more. False: none is idle.
  bool close_idlest() {
    const auto idlest = find_idlest();
    if (idlest == connections_.end()) return false;
    const auto connection = idlest->lock();
    connections_.erase(idlest);
    connection->close();
    return true;
  }

 private:
  std::vector<std::weak_ptr<Connection>>::iterator find_idlest() {
    auto idlest = connections_.end();
    auto since = std::chrono::steady_clock::time_point::max();
    for (auto each = connections_.begin(); each != connections_.end(); ++each) {
      const auto connection = each->lock();
      const auto idle = connection ? connection->idle_since() : std::nullopt;
      if (!idle || *idle >= since) continue;
      idlest = each;
      since = *idle;
    }
    return idlest;
  }

  std::vector<std::weak_ptr<Connection>> connections_;
};

/// Decides who is served.
class Admission {
 public:
  explicit Admission(std::shared_ptr<Service> service) : service_(std::move(service)) {}

  void admit(Socket socket) {
    boost::system::error_code ignored;  // a larger one costs memory, and is no failure
    const auto bytes = static_cast<int>(service_->site.limits.send_buffer_bytes);
    socket.set_option(asio::socket_base::send_buffer_size{bytes}, ignored);
    if (has_room()) {
      served_.add(serve(std::move(socket), service_));
      return;
    }
    ++service_->troubles.connection_limit;
    if (refused_.count() < kLingeringRefusals) {
      refused_.add(refuse(std::move(socket), service_));
    } else {
      turn_away(socket);
    }
  }

  Troubles& troubles() { return service_->troubles; }

  std::size_t count() { return served_.count() + refused_.count(); }

  void close_all() {
    service_->logins->stop();
    served_.close_all();
    refused_.close_all();
  }

 private:
  bool has_room() {
    if (served_.count() < service_->site.limits.max_connections) return true;
    if (!served_.close_idlest()) return false;
    ++service_->troubles.idle_closed;
    return true;
  }

  /// Within this turn of the loop, so that no number of clients piles up descriptors. A client that
  /// has sent its request may see a reset instead of the head.
  void turn_away(Socket& socket) {
    if (service_->site.access()->tls() == nullptr) {
      ::send(socket.native_handle(), kBusyHead.data(), kBusyHead.size(),
             MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    boost::system::error_code ignored;
    socket.close(ignored);
  }

  std::shared_ptr<Service> service_;
  OpenConnections served_;
  OpenConnections refused_;
};

/// One listening socket. Asio only waits for clients: it would accept them without close-on-exec.
struct Listener {
  explicit Listener(asio::io_context& loop) : ready(loop), pause(loop) {}

  int fd() { return ready.native_handle(); }
  bool is_open() const { return ready.is_open(); }

  void close() {
    boost::system::error_code ignored;
    file.remove();  // first, so that nobody finds a socket that refuses
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

/// A connection that cannot be waited for is closed, as its client would wait for ever.
void hand_over(UniqueFd client, Listener& listener, Admission& admission) {
  const asio::generic::stream_protocol protocol{family_of(client.get()), 0};
  Socket socket{listener.ready.get_executor()};
  boost::system::error_code error;
  socket.assign(protocol, client.get(), error);
  if (error) return;
  static_cast<void>(client.release());
  admission.admit(std::move(socket));
}

/// Takes as many clients as one turn of the loop may. The errno that ended it; 0: more may wait.
int accept_some(Listener& listener, Admission& admission) {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    auto client = accept_client(listener.fd());
    if (!client) return client.error();
    hand_over(*std::move(client), listener, admission);
  }
  return 0;
}

/// Not of the listener, but of one client or of the moment.
bool is_passing(int error) { return error == 0 || error == ECONNABORTED || error == EINTR; }

/// Ends only when the listener is closed. Holds what it uses, so that it may outlive the server by
/// the one turn of the loop in which it notices.
asio::awaitable<void> accept_forever(std::shared_ptr<Listener> listener,
                                     std::shared_ptr<Admission> admission) {
  const auto loop = listener->ready.get_executor();
  while (listener->is_open()) {
    const int error = accept_some(*listener, *admission);
    if (error == EAGAIN) {
      co_await listener->ready.async_wait(asio::posix::descriptor_base::wait_read, kReturnError);
    } else if (is_passing(error)) {
      co_await asio::post(loop, asio::use_awaitable);
    } else {
      ++admission->troubles().accept_error;
      // EMFILE above all: the client stays in the backlog and would be offered again at once.
      listener->pause.expires_after(kAcceptPause);
      co_await listener->pause.async_wait(kReturnError);
    }
  }
}

class LoopServer final : public Server {
 public:
  LoopServer(Listeners listeners, std::shared_ptr<Service> service)
      : listeners_(std::move(listeners)),
        admission_(std::make_shared<Admission>(std::move(service))) {
    for (const auto& listener : listeners_) {
      asio::co_spawn(listener->ready.get_executor(), accept_forever(listener, admission_),
                     asio::detached);
    }
  }
  ~LoopServer() override { stop(); }

  std::vector<std::uint16_t> ports() const override {
    std::vector<std::uint16_t> ports;
    for (const auto& listener : listeners_) ports.push_back(listener->port);
    return ports;
  }

  std::size_t connections() const override { return admission_->count(); }

  Troubles troubles() const override { return admission_->troubles(); }

  void stop() override {
    for (const auto& listener : listeners_) listener->close();
    admission_->close_all();
  }

 private:
  Listeners listeners_;
  std::shared_ptr<Admission> admission_;
};

std::vector<UniqueFd> owned(const std::vector<int>& fds) { return {fds.begin(), fds.end()}; }

Result<> add(Listeners& listeners, asio::io_context& loop, Result<ListeningSocket> opened) {
  if (!opened) return opened.error();
  auto listener = watch(loop, *std::move(opened));
  if (!listener) return listener.error();
  listeners.push_back(*std::move(listener));
  return {};
}

Result<Listeners> listen_everywhere(asio::io_context& loop, const Listening& listening) {
  std::vector<UniqueFd> inherited = owned(listening.inherited);
  Listeners listeners;
  for (const std::string& address : listening.addresses) {
    if (auto added = add(listeners, loop, open_listener(address)); !added) return added.error();
  }
  for (UniqueFd& fd : inherited) {
    if (auto added = add(listeners, loop, adopt_listener(std::move(fd))); !added) {
      return added.error();
    }
  }
  return listeners;
}

Result<SecretKey> random_key() {
  SecretKey key{};
  if (RAND_bytes(key.data(), static_cast<int>(key.size())) != 1) {
    return Error{0, "draw random bytes from OpenSSL", ""};
  }
  return key;
}

}  // namespace

Result<std::unique_ptr<Server>> Server::listen(asio::io_context& loop, asio::thread_pool& worker,
                                               const Listening& listening, Site site) {
  auto listeners = listen_everywhere(loop, listening);
  if (!listeners) return listeners.error();
  const auto key = random_key();
  if (!key) return key.error();
  auto logins =
      std::make_shared<Logins>(loop.get_executor(), worker, site.limits.max_pending_logins, *key);
  auto handshakes = std::make_shared<HandshakeTurns>(loop.get_executor());
  auto service =
      std::make_shared<Service>(std::move(site), std::move(logins), std::move(handshakes));
  return std::unique_ptr<Server>{
      std::make_unique<LoopServer>(*std::move(listeners), std::move(service))};
}

}  // namespace pex::http
