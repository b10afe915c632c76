#pragma once

#include <string_view>
#include <vector>

#include "http/server.h"

namespace pex::http {

/// What all connections of one server share; it never changes.
struct Site {
  std::vector<Route> routes;
  Limits limits;
};

/// What the site says to a well-formed request: the route's own response, or 400, 404, 405 or 500.
/// `target` is the second word of the request line. HEAD is answered as GET: whoever sends the
/// response leaves the body out.
Response answer(const Site& site, std::string_view method, std::string_view target);

/// One plain line for `status`, which must be one of those we refuse with.
Response refusal(unsigned status);

}  // namespace pex::http
