#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace boost::asio {
class io_context;
}

namespace pex::http {

/// A request that has passed the limits. HEAD is answered from the GET handler, without the body.
struct Request {
  std::string path;   ///< without the query, as sent (not percent-decoded)
  std::string query;  ///< without the '?'
};

struct Response {
  unsigned status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

/// Answers GET and HEAD on one exact path. Runs on the loop: it must not block. An exception
/// becomes a 500 that carries its text.
struct Route {
  std::string path;
  std::function<Response(const Request&)> handler;
};

/// Every resource a client can make us use has a bound.
struct Limits {
  std::size_t header_bytes = 8 * 1024;                                 ///< beyond: 431
  std::size_t max_connections = 64;                                    ///< beyond: 503, and closed
  std::chrono::milliseconds read_timeout = std::chrono::seconds{10};   ///< for a whole request head
  std::chrono::milliseconds idle_timeout = std::chrono::seconds{120};  ///< between two requests
  std::chrono::milliseconds write_timeout = std::chrono::seconds{30};  ///< for a whole response
};

/// HTTP/1.1 and 1.0 server on an Asio loop that it does not own and that must outlive it.
/// Everything happens on that loop, which one thread runs; from another thread, post to it. Knows
/// nothing of metrics: it serves what the routes return. Bad requests are answered (400, 404, 405
/// with Allow, 408, 413, 431, 503), never closed silently; a client that has sent nothing is owed
/// nothing, and is just closed when it takes too long.
class Server {
 public:
  /// Listens on every address: "host:port", ":port" (IPv6 and IPv4, or IPv4 alone where there is no
  /// IPv6), "[::1]:port". Port 0 lets the kernel choose. Of a name's addresses one is listened on,
  /// an IPv4 one if there is any. Fails when one of them cannot be had; the remedy names the option
  /// to change.
  static Result<std::unique_ptr<Server>> listen(boost::asio::io_context& loop,
                                                const std::vector<std::string>& addresses,
                                                std::vector<Route> routes, Limits limits = {});
  virtual ~Server() = default;

  /// The ports that are listened on, one for each address, in their order.
  virtual std::vector<std::uint16_t> ports() const = 0;

  /// Stops listening and closes every connection, so that the loop can run out of work. No handler
  /// is called any more, even for a request already received. May be called from a handler, and
  /// again. Destruction does the same.
  virtual void stop() = 0;
};

}  // namespace pex::http
