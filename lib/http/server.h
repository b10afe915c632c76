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
#include "base/result.h"

namespace boost::asio {
class io_context;
class thread_pool;
}  // namespace boost::asio

namespace pex::http {

/// A request that has passed the limits, and the login where one is needed. HEAD is answered as
/// GET: whoever sends the response leaves the body out.
struct Request {
  std::string path;    ///< without the query, as sent (not percent-decoded)
  std::string query;   ///< without the '?'
  std::string accept;  ///< the value of Accept, of several fields joined with ", "; may be empty
  bool takes_gzip = false;  ///< by Accept-Encoding
};

/// Bytes that many responses share and nobody changes. They are written to sockets from where they
/// are, never copied for a client.
using Body = std::shared_ptr<const std::string>;

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Response {
  unsigned status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  Body body;          ///< null: empty
  Headers headers{};  ///< further ones, such as Content-Encoding; they replace those of Access
};

/// Plain text, of `status`.
Response plain_text(unsigned status, std::string text);

/// Gives the answer to one request: called once, on the loop, from within the handler or later. The
/// client may have left by then, which makes no difference to the caller. Dropping it uncalled is
/// answered with 500.
using Respond = std::function<void(Response)>;

/// Answers requests for one exact path. The handler runs on the loop: it must not block. An
/// exception becomes a 500 that carries its text.
struct Route {
  std::string path;
  std::function<void(const Request&, Respond)> handler;
  bool is_post = false;     ///< answers POST without a body, and else GET and HEAD; not for a
                            ///< browser that sends it for a page of another site: 403
  bool needs_login = true;  ///< where users are configured; without, free of any rate limit too
};

/// A route whose answer is at hand.
template <typename Answer>
Route immediate(std::string path, Answer answer) {
  return {std::move(path),
          [answer = std::move(answer)](const Request& request, const Respond& respond) {
            respond(answer(request));
          }};
}

/// Every resource a client can make us use has a bound.
struct Limits {
  std::size_t header_bytes = 8 * 1024;  ///< beyond: 431
  std::size_t max_connections = 512;    ///< beyond: another one is closed, or the new refused
  std::size_t max_refusals = 128;       ///< refused clients that may still ask for health; beyond:
                                        ///< the oldest is closed
  std::size_t max_unsent_bytes =
      256 * 1024 * 1024;                       ///< bodies that clients have not taken, each once;
                                               ///< beyond: the slowest client is dropped
  std::size_t send_buffer_bytes = 128 * 1024;  ///< of the kernel, for each connection
  std::size_t max_pending_logins = 32;         ///< beyond: 503
  std::chrono::milliseconds stall_time = std::chrono::seconds{1};     ///< without progress: may be
                                                                      ///< closed for another client
  std::chrono::milliseconds read_timeout = std::chrono::seconds{10};  ///< for a whole request head
                                                                      ///< or TLS handshake
  std::chrono::milliseconds refused_timeout = std::chrono::seconds{1};  ///< the same of a refused
                                                                        ///< client
  std::chrono::milliseconds idle_timeout = std::chrono::seconds{120};   ///< between two requests
  std::chrono::milliseconds answer_timeout = std::chrono::seconds{60};  ///< for a handler: 503
  std::chrono::milliseconds write_timeout = std::chrono::seconds{30};   ///< for a whole response
};

/// Where to listen. At least one of both.
struct Listening {
  /// "host:port", ":port" (IPv6 and IPv4, or IPv4 alone where there is no IPv6), "[::1]:port", or
  /// "unix:/path" for a socket in the file system. Port 0 lets the kernel choose. Of a name's
  /// addresses one is listened on, an IPv4 one if there is any. A socket file that nobody listens
  /// on any more is replaced; ours is removed when we stop.
  std::vector<std::string> addresses{};
  /// Sockets that listen already (systemd.socket(5)), TCP or unix; owned from now on, also when
  /// listening fails.
  std::vector<int> inherited{};
};

/// What a server serves, and to whom.
struct Site {
  std::vector<Route> routes;
  Limits limits = {};
  /// Who may come in, asked for at every connection and every request, so that a change holds from
  /// the next one on. Never null.
  std::function<std::shared_ptr<const access::Access>()> access = access::open_access;
  /// A client has come at the limit of connections, and it or another one that was not idle had to
  /// go: as often as that happens, so do little. On the loop; may be empty.
  std::function<void()> on_connection_limit = {};
};

/// What became of clients and no handler saw: counts since the start.
struct ClientErrors {
  std::uint64_t connection_limit = 0;  ///< connections refused: over Limits::max_connections, or
                                       ///< no descriptor was left
  std::uint64_t idle_closed = 0;       ///< idle connections closed for others, at that limit
  std::uint64_t stalled_closed = 0;    ///< the same of those half-way through a request, a TLS
                                       ///< handshake or an answer, without progress
  std::uint64_t peer_share = 0;        ///< the same of the peer with the most connections
  std::uint64_t slow_client = 0;       ///< dropped, over Limits::write_timeout
  std::uint64_t unsent_limit = 0;      ///< dropped, over Limits::max_unsent_bytes
  std::uint64_t accept_error = 0;      ///< failures of accept(2)
  std::uint64_t tls_handshake = 0;     ///< clients that sent something and did not agree on TLS
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

/// HTTP/1.1 and 1.0 server, over TLS where Access says so, on an Asio loop that it does not own and
/// that must outlive it. Everything happens on that loop, which one thread runs; from another
/// thread, post to it. Only passwords are checked on `worker`, one at a time. Knows nothing of
/// metrics: it serves what the routes return. Bad requests are answered (400, 401, 403, 404, 405
/// with Allow, 408, 413, 429, 431, 503) before the connection is closed. A client that has sent
/// nothing is owed nothing, and is just closed when it takes too long, as is one that speaks no TLS
/// where we do. At the limit of connections a client that has made no progress for a while is
/// closed for the new one, or else one of the peer with the most connections if that has more than
/// the new one's. Where neither is, the new one is refused: it gets the answer of a route that
/// needs no login and has it at hand, else 503, and of many at once the oldest are closed. After a
/// 401 the connection ends, so that strangers cannot keep it.
class Server {
 public:
  /// Fails when one of the addresses cannot be had; the remedy names the option to change. A
  /// password keeps `worker` busy for some hundred milliseconds, and strangers can send many: share
  /// it with nothing that clients wait for.
  static Result<std::unique_ptr<Server>> listen(boost::asio::io_context& loop,
                                                boost::asio::thread_pool& worker,
                                                const Listening& listening, Site site);
  virtual ~Server() = default;

  /// The ports that are listened on, one for each address and then inherited socket, in their
  /// order; 0 for a unix socket.
  virtual std::vector<std::uint16_t> ports() const = 0;

  /// Whether other machines may reach one of them: all but loopback addresses and unix sockets.
  virtual bool serves_other_machines() const = 0;

  /// Connections that are open now.
  virtual std::size_t connections() const = 0;

  /// Who has most of them, and how many; nothing when nobody is there. Text as of an address:
  /// "192.0.2.7", "2001:db8::/64", "unix".
  struct Share {
    std::string peer;
    std::size_t connections = 0;
  };
  virtual std::optional<Share> busiest_peer() const = 0;

  /// As counted until now. On the loop, as everything here.
  virtual ClientErrors errors() const = 0;

  /// Stops listening and closes every connection, so that the loop can run out of work. No handler
  /// is called any more, even for a request already received. May be called from a handler, and
  /// again. Destruction does the same.
  virtual void stop() = 0;
};

}  // namespace pex::http
