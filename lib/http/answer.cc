#include "http/answer.h"

#include <algorithm>
#include <cassert>
#include <exception>
#include <iterator>
#include <string>

namespace pex::http {
namespace {

struct RefusalRow {
  unsigned status;
  const char* line;
};
constexpr RefusalRow kRefusals[] = {
    {400, "400 Bad Request: this is not a well-formed HTTP/1.1 or HTTP/1.0 request\n"},
    {404, "404 Not Found: nothing is served at this path\n"},
    {405, "405 Method Not Allowed: this path answers GET and HEAD\n"},
    {408, "408 Request Timeout: the request head did not arrive in time\n"},
    {413, "413 Payload Too Large: requests with a body are not taken\n"},
    {431, "431 Request Header Fields Too Large: the request head is over the limit\n"},
    {503, "503 Service Unavailable: too many connections\n"},
};

Response handler_failed(const std::string& why) {
  return {.status = 500, .body = "500 Internal Server Error: " + why + "\n"};
}

Response response_of(const Route& route, const Request& request) {
  try {
    return route.handler(request);
  } catch (const std::exception& error) {
    return handler_failed(error.what());
  } catch (...) {
    return handler_failed("unknown");
  }
}

}  // namespace

Response refusal(unsigned status) {
  const auto row = std::find_if(std::begin(kRefusals), std::end(kRefusals),
                                [&](const RefusalRow& each) { return each.status == status; });
  assert(row != std::end(kRefusals));
  return {.status = row->status, .body = row->line};
}

Response answer(const Site& site, std::string_view method, std::string_view target) {
  // "*" and "host:port" belong to methods we do not have, and a whole URL to proxies.
  if (!target.starts_with('/')) return refusal(400);
  const std::size_t mark = std::min(target.find('?'), target.size());
  const std::string_view path = target.substr(0, mark);

  const auto route = std::find_if(site.routes.begin(), site.routes.end(),
                                  [&](const Route& each) { return each.path == path; });
  if (route == site.routes.end()) return refusal(404);
  if (method != "GET" && method != "HEAD") return refusal(405);

  const std::string_view query = target.substr(std::min(mark + 1, target.size()));
  return response_of(*route, {std::string{path}, std::string{query}});
}

}  // namespace pex::http
