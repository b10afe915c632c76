#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "access/access.h"
#include "access/peer.h"
#include "base/result.h"

namespace boost::asio {
class io_context;
class thread_pool;
}  // namespace boost::asio

namespace pex::http {

/// A request within the limits, and with a valid login if one is required. HEAD is handled as GET:
/// the sender of the response omits the body.
struct Request {
  std::string path;    ///< without the query, as sent (not percent-decoded)
  std::string query;   ///< without the '?'
  std::string accept;  ///< the value of Accept, of several fields joined with ", "; may be empty
  bool takes_gzip = false;  ///< by Accept-Encoding
  std::string peer;         ///< where it came from, as Peer has it: "192.0.2.7", "unix"
};

/// Immutable bytes that many responses share. They are written to sockets without a copy per
/// client.
using Body = std::shared_ptr<const std::string>;

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Response {
  unsigned status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  Body body{};        ///< null: empty
  Headers headers{};  ///< additional ones, such as Content-Encoding; they override those of Access
};

/// Plain text, of `status`.
Response plain_text(unsigned status, std::string text);

/// Gives the answer to one request: called once, on the loop, within the handler or later. The
/// client may have left by then: this is harmless. If it is destroyed without being called, the
/// client gets a 500.
using Respond = std::function<void(Response)>;

/// Answers requests for one exact path. The handler runs on the loop: it must not block. An
/// exception is answered with a 500 that contains its text.
struct Route {
  std::string path;
  std::function<void(const Request&, Respond)> handler;
  bool is_post = false;     ///< answers POST without a body, otherwise GET and HEAD; refuses
                            ///< browsers that send it for a page of another site: 403
  bool needs_login = true;  ///< if users are configured; otherwise also exempt from the rate limit
};

/// A route whose answer is available at once.
template <typename Answer>
Route immediate(std::string path, Answer answer) {
  return {std::move(path),
          [answer = std::move(answer)](const Request& request, const Respond& respond) {
            respond(answer(request));
          }};
}

/// Every resource that a client can use has a limit.
struct Limits {
  std::size_t header_bytes = 32 * 1024;  ///< beyond: 431; half of it for cookies of other pages
  std::size_t max_connections = 512;     ///< beyond: another one is closed, or the new one refused
  std::size_t max_refusals = 128;        ///< refused clients that may still request health; beyond:
                                         ///< the oldest is closed
  std::size_t max_unsent_bytes =
      256 * 1024 * 1024;                       ///< bodies that clients have not read, each once;
                                               ///< beyond: the slowest client is dropped
  std::size_t send_buffer_bytes = 128 * 1024;  ///< kernel buffer of each connection
  std::size_t max_pending_logins = 32;         ///< beyond: 503
  std::chrono::milliseconds stall_time = std::chrono::seconds{1};     ///< without progress: may be
                                                                      ///< closed for another client
  std::chrono::milliseconds read_timeout = std::chrono::seconds{10};  ///< for a whole request head
                                                                      ///< or TLS handshake
  std::chrono::milliseconds refused_timeout = std::chrono::seconds{1};  ///< the same for a refused
                                                                        ///< client
  std::chrono::milliseconds idle_timeout = std::chrono::seconds{120};   ///< between two requests
  std::chrono::milliseconds answer_timeout = std::chrono::seconds{60};  ///< of a handler: 503
  std::chrono::milliseconds write_timeout = std::chrono::seconds{30};   ///< for a whole response
};

/// The addresses to listen on. At least one of both.
struct Listening {
  /// "host:port", ":port" (IPv6 and IPv4, or IPv4 only if there is no IPv6), "[::1]:port", or
  /// "unix:/path" for a socket in the file system. Port 0: the kernel chooses. For a name, one of
  /// its addresses is used, an IPv4 one if there is any. A socket file without a listener is
  /// replaced; ours is removed when the server stops.
  std::vector<std::string> addresses{};
  /// Listening sockets (systemd.socket(5)), TCP or unix; owned from now on, even if listening
  /// fails.
  std::vector<int> inherited{};
};

/// What a server serves, with its access rules.
struct Site {
  std::vector<Route> routes;
  Limits limits = {};
  /// The access rules, requested at every connection and every request, so that a change applies to
  /// the next one. Never null.
  std::function<std::shared_ptr<const access::Access>()> access = access::open_access;
  /// Called once for each client that is refused: by the TLS handshake, by an answer of 400 or
  /// more, or by the end of its connection before its request has an answer. On the loop; may be
  /// empty.
  std::function<void(const access::Peer& peer, std::string_view reason)> on_refusal = {};
  /// Called when a client arrived at the limit of connections, and it or another one that was not
  /// idle was closed: it can be called often, so it must be cheap. On the loop; may be empty.
  std::function<void()> on_connection_limit = {};
};

/// Errors that no handler sees, counted since the start.
struct ClientErrors {
  std::uint64_t connection_limit = 0;  ///< connections refused: over Limits::max_connections, or
                                       ///< no descriptor was left
  std::uint64_t idle_closed = 0;       ///< idle connections closed for others, at that limit
  std::uint64_t stalled_closed = 0;    ///< the same during a request, a TLS handshake or an answer,
                                       ///< without progress
  std::uint64_t peer_share = 0;        ///< the same of the peer with the most connections
  std::uint64_t slow_client = 0;       ///< dropped, over Limits::write_timeout
  std::uint64_t unsent_limit = 0;      ///< dropped, over Limits::max_unsent_bytes
  std::uint64_t accept_error = 0;      ///< failures of accept(2)
  std::uint64_t tls_handshake = 0;     ///< clients that sent data but failed the TLS handshake
  std::uint64_t login_refused = 0;     ///< requests answered with 401
  std::uint64_t login_busy = 0;        ///< requests answered with 503, as too many logins wait
  std::uint64_t rate_limit = 0;        ///< requests answered with 429
};

struct ClientErrorEntry {
  const char* name;  ///< in snake_case, for a label
  std::uint64_t ClientErrors::*count;
};
/// All of them, in their order.
inline constexpr ClientErrorEntry kClientErrors[] = {
    {"connection_limit", &ClientErrors::connection_limit},
    {"idle_closed", &ClientErrors::idle_closed},
    {"stalled_closed", &ClientErrors::stalled_closed},
    {"peer_share", &ClientErrors::peer_share},
    {"slow_client", &ClientErrors::slow_client},
    {"unsent_limit", &ClientErrors::unsent_limit},
    {"accept_error", &ClientErrors::accept_error},
    {"tls_handshake", &ClientErrors::tls_handshake},
    {"login_refused", &ClientErrors::login_refused},
    {"login_busy", &ClientErrors::login_busy},
    {"rate_limit", &ClientErrors::rate_limit},
};

/// HTTP/1.1 and 1.0 server, over TLS if Access has it, on an Asio loop that it does not own and
/// that must outlive it. Everything happens on that loop, which one thread runs; from another
/// thread, post to it. Only passwords are checked on `worker`, one at a time. Knows nothing of
/// metrics: it serves what the routes return. Bad requests are answered (400, 401, 403, 404, 405
/// with Allow, 408, 413, 429, 431, 503) before the connection is closed. A client that has sent
/// nothing gets no answer, and is closed after a timeout, as is one that fails the TLS handshake.
/// At the limit of connections a client that has made no progress for a while is closed for the new
/// one, or else one of the peer with the most connections if that has more than the new client's
/// peer. Otherwise the new one is refused: it gets the answer of a route that requires no login and
/// answers at once, else 503, and if there are many the oldest are closed. After a 401 the
/// connection ends, so that clients without a login cannot keep it.
class Server {
 public:
  /// Fails if one of the addresses cannot be used; the remedy names the option to change. A
  /// password check occupies `worker` for some hundred milliseconds, and anyone can send many:
  /// share it with nothing that clients wait for.
  static Result<std::unique_ptr<Server>> listen(boost::asio::io_context& loop,
                                                boost::asio::thread_pool& worker,
                                                const Listening& listening, Site site);
  virtual ~Server() = default;

  /// The ports of the listening sockets, one for each address and then each inherited socket, in
  /// order; 0 for a unix socket.
  virtual std::vector<std::uint16_t> ports() const = 0;

  /// Their IP addresses in the same order; empty for a unix socket.
  virtual std::vector<std::string> ips() const = 0;

  /// Whether other machines may reach one of them: any but loopback addresses and unix sockets.
  virtual bool serves_other_machines() const = 0;

  /// Open connections.
  virtual std::size_t connections() const = 0;

  /// The peer with most of them, and their number; nothing without any. Text as of Peer:
  /// "192.0.2.7", "2001:db8::/64", "loopback", "unix".
  struct Share {
    std::string peer;
    std::size_t connections = 0;
  };
  virtual std::optional<Share> busiest_peer() const = 0;

  /// The counts so far. On the loop, like everything here.
  virtual ClientErrors errors() const = 0;

  /// Stops listening and closes every connection, so that the loop can run out of work. No handler
  /// is called any more, even for a request already received. May be called from a handler, and
  /// repeatedly. The destructor does the same.
  virtual void stop() = 0;
};

}  // namespace pex::http
