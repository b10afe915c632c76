#include "http/answer.h"

#include <algorithm>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <cassert>
#include <iterator>
#include <utility>

#include "base/lookup.h"
#include "http/negotiation.h"

namespace pex::http {
namespace {

namespace wire = boost::beast::http;

/// RFC 7617, 2 and 2.1.
constexpr const char* kChallenge = "Basic realm=\"perf_event_exporter\", charset=\"UTF-8\"";

struct RefusalEntry {
  unsigned status;
  const char* line;
};
constexpr RefusalEntry kRefusals[] = {
    {400, "400 Bad Request: this is not a well-formed HTTP/1.1 or HTTP/1.0 request\n"},
    {401, "401 Unauthorized: a user and password of this exporter are required\n"},
    {403,
     "403 Forbidden: a browser sent this request for a page of another site. To send it yourself, "
     "use curl, or leave out the fields Origin and Sec-Fetch-Site. A reverse proxy must forward "
     "the "
     "Host field.\n"},
    {404, "404 Not Found: nothing is served at this path\n"},
    {408, "408 Request Timeout: the request head did not arrive in time\n"},
    {413, "413 Payload Too Large: requests must not have a body\n"},
    {431, "431 Request Header Fields Too Large: the request head is over the limit\n"},
};

const char* methods_of(const Route& route) {
  return route.is_post ? "POST, OPTIONS" : "GET, HEAD, OPTIONS";
}

/// RFC 9110, 5.6.7, independent of the locale.
std::string http_date(std::time_t now) {
  static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  char rest[32];
  std::strftime(rest, sizeof rest, " %Y %H:%M:%S GMT", &utc);
  char day[8];
  std::strftime(day, sizeof day, ", %d ", &utc);
  return std::string{kDays[utc.tm_wday]} + day + kMonths[utc.tm_mon] + rest;
}

}  // namespace

Response plain_text(unsigned status, std::string text) {
  return {.status = status, .body = std::make_shared<const std::string>(std::move(text))};
}

std::string_view path_of(std::string_view target) { return target.substr(0, target.find('?')); }

const Route* find_route(const std::vector<Route>& routes, std::string_view path) {
  return lookup(routes, &Route::path, path);
}

bool takes_method(const Route& route, std::string_view method) {
  return route.is_post ? method == "POST" : method == "GET" || method == "HEAD";
}

Request request_of(const RequestHead& head, std::string peer) {
  const std::string_view target = head.target();
  const std::string_view path = path_of(target);
  const std::string_view query = target.substr(std::min(path.size() + 1, target.size()));
  return {.path = std::string{path},
          .query = std::string{query},
          .accept = head.value("Accept"),
          .takes_gzip = takes_gzip(head.value("Accept-Encoding")),
          .peer = std::move(peer)};
}

Response refusal(unsigned status) {
  const RefusalEntry* const row = lookup(kRefusals, &RefusalEntry::status, status);
  assert(row != nullptr);
  Response response = plain_text(row->status, row->line);
  if (status == 401) response.headers.emplace_back("WWW-Authenticate", kChallenge);
  return response;
}

Response bad_request(std::string_view fault) {
  if (fault.empty()) return refusal(400);
  return plain_text(400, "400 Bad Request: " + std::string(fault) + "\n");
}

Response allowed_methods(const Route& route) {
  return {.status = 204, .headers = {{"Allow", methods_of(route)}}};
}

std::string_view first_line(const Response& response) {
  const std::string_view body = response.body ? std::string_view(*response.body) : "";
  return body.substr(0, body.find('\n'));
}

Response wrong_method(const Route& route) {
  const std::string methods = methods_of(route);
  Response response =
      plain_text(405, "405 Method Not Allowed: this path answers " + methods + "\n");
  response.headers.emplace_back("Allow", methods);
  return response;
}

Response too_many_requests(std::chrono::nanoseconds wait, const std::string& why) {
  Response response = plain_text(429, "429 Too Many Requests: " + why + "\n");
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(wait).count();
  response.headers.emplace_back("Retry-After", std::to_string(std::max<long long>(seconds, 1)));
  return response;
}

Response unavailable(const std::string& why) {
  Response response = plain_text(503, "503 Service Unavailable: " + why + "\n");
  response.headers.emplace_back("Retry-After", "1");
  return response;
}

Response handler_failed(const std::string& why) {
  return plain_text(500, "500 Internal Server Error: " + why + "\n");
}

std::string response_head(const Response& response, const Headers& usual, const Framing& framing) {
  wire::response<wire::empty_body> head;
  head.version(framing.version);
  head.result(response.status);
  head.set(wire::field::server, "perf_event_exporter");
  head.set(wire::field::date, http_date(framing.now));
  if (response.status != 204) {  // which has neither (RFC 9110, 8.6)
    head.set(wire::field::content_type, response.content_type);
    head.content_length(response.body ? response.body->size() : 0);
  }
  // No browser may detect a page in an answer of another type.
  head.set("X-Content-Type-Options", "nosniff");
  for (const Headers* const each : {&usual, &response.headers}) {
    for (const auto& [name, value] : *each) head.set(name, value);
  }
  head.keep_alive(framing.keep_alive);
  const wire::fields::writer writer{head, head.version(), head.result_int()};
  return boost::beast::buffers_to_string(writer.get());
}

}  // namespace pex::http
