#pragma once

#include <chrono>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "http/request_head.h"
#include "http/server.h"

namespace pex::http {

/// The part of a target before its first '?'.
std::string_view path_of(std::string_view target);

/// The route for exactly this path; null when there is none.
const Route* find_route(const std::vector<Route>& routes, std::string_view path);

/// A HEAD is answered like a GET: the sender of the response omits the body.
bool takes_method(const Route& route, std::string_view method);

/// The request of `peer` as the handler gets it, for a head with status 200.
Request request_of(const RequestHead& head, std::string peer);

/// The first line of its body: the reason of a refusal.
std::string_view first_line(const Response& response);

/// One plain line for `status`, which must be a refusal: 400, 401, 403, 404, 408, 413, 431.
Response refusal(unsigned status);

/// 400; `fault` is a sentence without a full stop, or empty if no more is known.
Response bad_request(std::string_view fault);

/// 204 with Allow, for OPTIONS.
Response allowed_methods(const Route& route);

/// 405, with the methods of `route` in Allow.
Response wrong_method(const Route& route);

/// 429, with the whole seconds of `wait` in Retry-After; `why` is a sentence without a full stop.
Response too_many_requests(std::chrono::nanoseconds wait,
                           const std::string& why = "over the rate limit");

/// 503, for a temporary state; `why` is a sentence without a full stop.
Response unavailable(const std::string& why);

/// 500, for an error of a handler.
Response handler_failed(const std::string& why);

/// How a response is framed.
struct Framing {
  unsigned version = 11;    ///< 10 or 11
  bool keep_alive = false;  ///< the client may send another request
  std::time_t now = 0;      ///< for Date
};

/// The bytes before the body, from the status line to the empty line. `usual` are the headers of
/// every response of the site; those of `response` override them. Every response forbids browsers
/// to guess its type, unless one of both overrides that.
std::string response_head(const Response& response, const Headers& usual, const Framing& framing);

}  // namespace pex::http
