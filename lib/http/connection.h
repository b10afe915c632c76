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
  kServer,  ///< the server: the start of its handshake, a login, the answer of a handler
  kTaking,  ///< the client to read its answer
  kOver,    ///< the client to leave: it has its final answer
};

/// The phase, and the last progress: when it began, or when the client last read a part of its
/// answer. Single bytes of a request are no progress, so that they cannot hold a place.
struct Standing {
  Phase phase = Phase::kIdle;
  std::chrono::steady_clock::time_point since;
};

/// The bytes from and to one client: its socket, TLS if Access has it, and the timeout of each
/// step. The coroutine that answers it (conversation.h) keeps it alive and nothing else does: other
/// code holds a weak_ptr, which has expired once the socket is closed.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  enum class Kind {
    kServed,
    kRefused,  ///< over the limit of connections: has less time, and gets one answer
  };

  Connection(access::Socket socket, const access::Peer& peer, std::shared_ptr<Service> service,
             Kind kind);

  /// Closes the socket. No handler is called after this, even for a request already received.
  void close();

  /// Closes the socket for another client: drops the unread part of its answer.
  void give_way();

  Standing standing() const { return standing_; }

  /// The body that the client is reading.
  struct Unsent {
    Body body{};  ///< null: none
    std::chrono::steady_clock::time_point since{};
  };
  const Unsent& unsent() const { return unsent_; }

  /// Closes the socket, because too much is unsent.
  void drop_unsent();

  // The following functions are for the coroutine that answers the client.

  bool is_open() const { return socket_.is_open(); }
  bool is_refused() const { return kind_ == Kind::kRefused; }
  access::Socket::executor_type executor() { return socket_.get_executor(); }

  const access::Peer& peer() const { return peer_; }

  /// The access rules as of the last request.
  const access::Access& access() const { return *access_; }
  void refresh_access() { access_ = service_->site.access(); }
  /// Whether the connection uses the TLS configuration, or none, that is in force now.
  bool uses_current_tls() const { return transport_access_ == access_->tls(); }

  /// Starts TLS if Access has it. False: no request can follow.
  boost::asio::awaitable<bool> secure();

  /// Reads the next request into `head`. Returns its status; 408 if it does not arrive in time, 400
  /// if the client ends it halfway, 0 if nothing of it arrived and no client waits for an answer.
  boost::asio::awaitable<unsigned> read(RequestHead& head);

  /// Waits for `value`, which wakes by wakeup(). False: it takes longer than `allowed`, or the
  /// connection was closed.
  template <typename T>
  boost::asio::awaitable<bool> wait_for(const AsyncValue<T>& value,
                                        std::chrono::milliseconds allowed);
  boost::asio::steady_timer& wakeup() { return wakeup_; }

  /// Sends head and body in one gathering write, the body without a copy. False: the client did not
  /// read them.
  boost::asio::awaitable<bool> send(const Response& response, Framing framing, bool with_body);

  /// Waits a moment for the client to read its final answer.
  boost::asio::awaitable<void> linger_and_close();

 private:
  using OnExpiry = void (Connection::*)();

  bool peek(char& first);
  void report_handshake(const boost::system::error_code& error);
  boost::asio::awaitable<void> refuse_plain_http();
  boost::asio::awaitable<bool> wait_for_handshake();
  boost::asio::awaitable<bool> receive();

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
  const void* transport_access_ = nullptr;  ///< the TLS context of transport_
  Deadline deadline_;
  boost::asio::steady_timer wakeup_;
  Standing standing_{Phase::kIdle, std::chrono::steady_clock::now()};
  Unsent unsent_;
  bool was_answered_ = false;  ///< at least one request; the next one may take longer
  /// Read from the socket and not yet parsed: pipelined requests wait here.
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
