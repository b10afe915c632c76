#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "access/access.h"
#include "access/peer.h"
#include "access/return_error.h"
#include "access/transport.h"
#include "http/answer.h"
#include "http/async_value.h"
#include "http/deadline.h"
#include "http/request_head.h"
#include "http/service.h"

namespace pex::http {

/// What a connection waits for.
enum class Phase {
  kIdle,    ///< the first byte of a request, or of a TLS handshake
  kAsking,  ///< the rest of it
  kServer,  ///< the server: the turn of its handshake, a login, the answer of a handler
  kTaking,  ///< the client to take its answer
  kOver,    ///< the client to leave: it has its last answer
};

/// The phase, and the last progress: when it began, or when the client last took a part of its
/// answer. Single bytes of a request are no progress, so that nobody can hold a place with them.
struct Standing {
  Phase phase = Phase::kIdle;
  std::chrono::steady_clock::time_point since;
};

/// The bytes to and from one client: its socket, TLS where Access says so, and how long each step
/// may take. The coroutine that answers it (conversation.h) keeps it alive and nothing else does:
/// what other code holds is a weak_ptr, which has expired once the socket is closed.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  enum class Kind {
    kServed,
    kRefused,  ///< over the limit of connections: has less time, and one answer
  };

  Connection(access::Socket socket, const access::Peer& peer, std::shared_ptr<Service> service,
             Kind kind);

  /// Closes the socket. No handler is called after this, even for a request already received.
  void close();

  /// Closes the socket for another client: what this one has not taken of its answer is dropped.
  void give_way();

  Standing standing() const { return standing_; }

  // What follows is for the coroutine that answers the client.

  bool is_open() const { return socket_.is_open(); }
  bool is_refused() const { return kind_ == Kind::kRefused; }
  access::Socket::executor_type executor() { return socket_.get_executor(); }

  /// Who may come in: as it was at the last request.
  const access::Access& access() const { return *access_; }
  void refresh_access() { access_ = service_->site.access(); }
  /// Whether the client came in under the TLS configuration, or none, that is in force now.
  bool is_as_access_says() const { return transport_access_ == access_->tls(); }

  /// Speaks TLS from now on where Access says so. False: no request can follow.
  boost::asio::awaitable<bool> secure();

  /// Reads the next request into `head`. Its status; 408 when it does not arrive in time, 400 when
  /// the client ends it halfway, 0 when nothing of it came and nobody waits for an answer.
  boost::asio::awaitable<unsigned> read(RequestHead& head);

  /// Waits for `value`, which sleeps on wakeup(). False: it takes longer than `allowed`, or the
  /// connection was closed.
  template <typename T>
  boost::asio::awaitable<bool> wait_for(const AsyncValue<T>& value,
                                        std::chrono::milliseconds allowed);
  boost::asio::steady_timer& wakeup() { return wakeup_; }

  /// Head and body leave in one gathering write, the body from where the handler made it. False:
  /// the client did not take them.
  boost::asio::awaitable<bool> send(const Response& response, Framing framing, bool with_body);

  /// Waits a moment for the client to read its last answer.
  boost::asio::awaitable<void> linger_and_close();

 private:
  using OnExpiry = void (Connection::*)();

  bool peek(char& first);
  boost::asio::awaitable<void> refuse_plain_http();
  boost::asio::awaitable<bool> wait_for_turn();
  boost::asio::awaitable<bool> receive();
  std::function<void()> dropping();

  const Limits& limits() const { return service_->site.limits; }
  std::chrono::milliseconds head_timeout() const {
    return is_refused() ? limits().refused_timeout : limits().read_timeout;
  }
  void enter(Phase phase) { standing_ = {phase, std::chrono::steady_clock::now()}; }
  void set_deadline(std::chrono::milliseconds allowed, OnExpiry on_expiry);
  void stop_reading();
  void drop_slow_client();
  void abort();

  const access::Peer peer_;
  const Kind kind_;
  std::shared_ptr<Service> service_;
  std::shared_ptr<const access::Access> access_;
  access::Socket socket_;
  std::unique_ptr<access::Transport> transport_;
  const void* transport_access_ = nullptr;  ///< the TLS context that transport_ was made with
  Deadline deadline_;
  boost::asio::steady_timer wakeup_;
  Standing standing_{Phase::kIdle, std::chrono::steady_clock::now()};
  bool was_answered_ = false;  ///< at least one request; the next one may take its time
  /// Read from the socket and not yet parsed: pipelined requests wait here for their turn.
  std::string received_;
};

template <typename T>
boost::asio::awaitable<bool> Connection::wait_for(const AsyncValue<T>& value,
                                                  std::chrono::milliseconds allowed) {
  wakeup_.expires_after(allowed);
  while (!value.is_set() && is_open() && wakeup_.expiry() > std::chrono::steady_clock::now()) {
    co_await wakeup_.async_wait(access::kReturnError);
  }
  co_return value.is_set();
}

}  // namespace pex::http
