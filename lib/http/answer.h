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

/// A HEAD is answered wherever a GET is: whoever sends the response leaves the body out.
bool takes_method(const Route& route, std::string_view method);

/// What the handler sees of a request whose head has status 200.
Request request_of(const RequestHead& head);

/// One plain line for `status`, which must be one of those we refuse with: 400, 401, 403, 404, 408,
/// 413, 431.
Response refusal(unsigned status);

/// 405, with what `route` takes in Allow.
Response wrong_method(const Route& route);

/// 429, with the whole seconds of `wait` in Retry-After.
Response too_many_requests(std::chrono::nanoseconds wait);

/// 503, for a state that will pass; `why` is a sentence without a full stop.
Response unavailable(const std::string& why);

/// 500, because of what a handler did.
Response handler_failed(const std::string& why);

/// How a response is framed.
struct Framing {
  unsigned version = 11;    ///< 10 or 11
  bool keep_alive = false;  ///< the client may send another request
  std::time_t now = 0;      ///< for Date
};

/// The bytes before the body, from the status line to the empty line. `usual` are the headers of
/// every response of the site; those of `response` take their place. Every response forbids
/// browsers to guess its type, unless one of both says otherwise.
std::string response_head(const Response& response, const Headers& usual, const Framing& framing);

}  // namespace pex::http
