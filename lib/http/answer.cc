#include "http/answer.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

#include "base/ascii.h"
#include "http/negotiation.h"

namespace pex::http {
namespace {

/// RFC 7617, 2 and 2.1.
constexpr const char* kChallenge = "Basic realm=\"perf_event_exporter\", charset=\"UTF-8\"";

struct RefusalEntry {
  unsigned status;
  const char* line;
};
constexpr RefusalEntry kRefusals[] = {
    {400, "400 Bad Request: this is not a well-formed HTTP/1.1 or HTTP/1.0 request\n"},
    {401, "401 Unauthorized: a user and password of this exporter are needed\n"},
    {403,
     "403 Forbidden: a browser sent this request for a page of another site. To send it yourself, "
     "use curl, or leave out the fields Origin and Sec-Fetch-Site. A reverse proxy must forward "
     "the "
     "Host field.\n"},
    {404, "404 Not Found: nothing is served at this path\n"},
    {408, "408 Request Timeout: the request head did not arrive in time\n"},
    {413, "413 Payload Too Large: requests with a body are not taken\n"},
    {431, "431 Request Header Fields Too Large: the request head is over the limit\n"},
};

struct ReasonEntry {
  unsigned status;
  std::string_view reason;
};
/// Of those sent here; clients must not read it (RFC 9112, 4), so any other may go without.
constexpr ReasonEntry kReasons[] = {
    {200, "OK"},
    {202, "Accepted"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {413, "Payload Too Large"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {503, "Service Unavailable"},
};

std::string_view reason_of(unsigned status) {
  const auto row = std::find_if(std::begin(kReasons), std::end(kReasons),
                                [&](const ReasonEntry& each) { return each.status == status; });
  return row != std::end(kReasons) ? row->reason : "";
}

const char* methods_of(const Route& route) { return route.is_post ? "POST" : "GET, HEAD"; }

bool has_name(const Headers& headers, std::string_view name) {
  return std::any_of(headers.begin(), headers.end(),
                     [&](const auto& each) { return iequals(each.first, name); });
}

void add_line(std::string& head, std::string_view name, std::string_view value) {
  head.append(name).append(": ").append(value).append("\r\n");
}

/// RFC 9110, 5.6.7, whatever the locale.
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

constexpr std::string_view kBusyHead =
    "HTTP/1.1 503 Service Unavailable\r\n"
    "Server: perf_event_exporter\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Content-Length: 0\r\n"
    "Retry-After: 1\r\n"
    "Connection: close\r\n"
    "\r\n";

Response plain_text(unsigned status, std::string text) {
  return {.status = status, .body = std::make_shared<const std::string>(std::move(text))};
}

std::string_view path_of(std::string_view target) { return target.substr(0, target.find('?')); }

std::optional<std::size_t> find_route(const std::vector<Route>& routes, std::string_view path) {
  const auto route = std::find_if(routes.begin(), routes.end(),
                                  [&](const Route& each) { return each.path == path; });
  if (route == routes.end()) return {};
  return static_cast<std::size_t>(route - routes.begin());
}

bool takes_method(const Route& route, std::string_view method) {
  return route.is_post ? method == "POST" : method == "GET" || method == "HEAD";
}

Request request_of(const RequestHead& head) {
  const std::string_view target = head.target();
  const std::string_view path = path_of(target);
  const std::string_view query = target.substr(std::min(path.size() + 1, target.size()));
  return {.path = std::string{path},
          .query = std::string{query},
          .accept = head.value("Accept"),
          .takes_gzip = takes_gzip(head.value("Accept-Encoding"))};
}

Response refusal(unsigned status) {
  const auto row = std::find_if(std::begin(kRefusals), std::end(kRefusals),
                                [&](const RefusalEntry& each) { return each.status == status; });
  assert(row != std::end(kRefusals));
  Response response = plain_text(row->status, row->line);
  if (status == 401) response.headers.emplace_back("WWW-Authenticate", kChallenge);
  return response;
}

Response wrong_method(const Route& route) {
  const std::string methods = methods_of(route);
  Response response =
      plain_text(405, "405 Method Not Allowed: this path answers " + methods + "\n");
  response.headers.emplace_back("Allow", methods);
  return response;
}

Response too_many_requests(std::chrono::nanoseconds wait) {
  Response response = plain_text(429, "429 Too Many Requests: over the rate limit\n");
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
  std::string head = framing.version == 10 ? "HTTP/1.0 " : "HTTP/1.1 ";
  head.append(std::to_string(response.status)).append(" ");
  head.append(reason_of(response.status)).append("\r\n");
  add_line(head, "Server", "perf_event_exporter");
  add_line(head, "Date", http_date(framing.now));
  add_line(head, "Content-Type", response.content_type);
  add_line(head, "Content-Length", std::to_string(response.body ? response.body->size() : 0));
  // Whatever the type says it is: no browser is to find a page in an answer that is none.
  constexpr const char* kSniffing = "X-Content-Type-Options";
  if (!has_name(usual, kSniffing) && !has_name(response.headers, kSniffing)) {
    add_line(head, kSniffing, "nosniff");
  }
  for (const auto& [name, value] : usual) {
    if (!has_name(response.headers, name)) add_line(head, name, value);
  }
  for (const auto& [name, value] : response.headers) add_line(head, name, value);
  if (framing.version == 10 && framing.keep_alive) add_line(head, "Connection", "keep-alive");
  if (framing.version != 10 && !framing.keep_alive) add_line(head, "Connection", "close");
  return head.append("\r\n");
}

}  // namespace pex::http
