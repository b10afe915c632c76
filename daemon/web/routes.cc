#include "daemon/web/routes.h"

#include <memory>
#include <optional>
#include <utility>

#include "base/duration.h"
#include "daemon/cli/words.h"
#include "daemon/status/page_files.h"
#include "http/answer.h"
#include "http/negotiation.h"

namespace pex::daemon {
namespace {

using http::plain_text;

http::Response response_of(std::string content_type, std::string text) {
  http::Response response;
  response.content_type = std::move(content_type);
  response.body = std::make_shared<const std::string>(std::move(text));
  response.headers = {{"Cache-Control", "no-store"}};
  return response;
}

/// A constant answer; every client gets the same bytes.
http::Route page_route(const PageFile& file) {
  http::Response response = response_of(std::string(file.content_type), std::string(file.content));
  response.headers.emplace_back("Content-Security-Policy", kPagePolicy);
  return http::immediate(std::string(file.path),
                         [response](const http::Request&) { return response; });
}

/// A probe exposes no data, and has no password. `why_not` is empty if the answer is yes.
template <typename WhyNot>
http::Route probe(const char* path, const std::string& yes, const WhyNot& why_not) {
  http::Route route = http::immediate(path, [=](const http::Request&) {
    const std::string why{why_not()};
    return why.empty() ? plain_text(200, yes + "\n") : plain_text(503, why + "\n");
  });
  route.needs_login = false;
  return route;
}

http::Route health(const RouteHandlers& handlers) {
  return probe("/-/healthy", "healthy", [is_healthy = handlers.is_healthy] {
    return is_healthy() ? "" : "no counting thread makes progress";
  });
}

http::Route readiness(const RouteHandlers& handlers) {
  return probe("/-/ready", "ready", [why_not_ready = handlers.why_not_ready] {
    const std::string why{why_not_ready()};
    return why.empty() ? why : "not ready: " + why;
  });
}

http::Response outcome_of(const Result<void, std::vector<Error>>& reloaded) {
  if (reloaded) return plain_text(200, "configuration reloaded\n");
  std::string text = "the previous configuration stays in force\n";
  for (const Error& error : reloaded.error()) text += worded(error) + "\n";
  return plain_text(500, std::move(text));
}

/// For a request that came too soon after the last one, which started `what`.
http::Response too_soon(const std::string& what, std::chrono::seconds apart) {
  const std::string rate = apart.count() == 1 ? "per second" : "in " + format_duration(apart);
  return http::too_many_requests(apart, what + " starts at most once " + rate);
}

http::Route reload(const RouteHandlers& handlers) {
  http::Route route{"/-/reload", [reload = handlers.reload, apart = handlers.between_reloads](
                                     const http::Request&, const http::Respond& respond) {
                      const bool is_taken = reload(
                          [respond](const auto& reloaded) { respond(outcome_of(reloaded)); });
                      if (!is_taken) respond(too_soon("a reload", apart));
                    }};
  route.is_post = true;
  return route;
}

/// The scope of a pause, which is that of hardware events unless it is said.
Result<Counted> pause_scope(std::string_view query) {
  const std::vector<std::string> texts = http::query_values(query, "scope");
  if (texts.empty() || (texts.size() == 1 && texts.front() == "hardware")) {
    return Counted::kSoftware;
  }
  if (texts.size() == 1 && texts.front() == "all") return Counted::kNothing;
  return Error{0, "'scope' is neither hardware nor all", "write ?scope=all, or leave it out"};
}

Result<PauseRequest> pause_request(std::string_view query) {
  const Result<Counted> scope = pause_scope(query);
  if (!scope) return scope.error();
  const bool is_of_all = *scope == Counted::kNothing;
  PauseRequest request{.counted = *scope};
  const std::vector<std::string> texts = http::query_values(query, "for");
  if (texts.empty()) {
    if (is_of_all) request.length.reset();
    return request;
  }
  const auto longest = is_of_all ? PauseRequest::kMaxOfAll : PauseRequest::kMax;
  request.length = parse_duration(texts.front());
  const bool fits =
      request.length && *request.length >= PauseRequest::kMin && *request.length <= longest;
  if (fits && texts.size() == 1) return request;
  return Error{0,
               "'for' is no duration from " + format_duration(PauseRequest::kMin) + " to " +
                   format_duration(longest),
               "write for example ?for=" + format_duration(PauseRequest::kUsual)};
}

http::Route pause(const RouteHandlers& handlers) {
  http::Route route{"/-/pause", [pause = handlers.pause, apart = handlers.between_reloads](
                                    const http::Request& request, const http::Respond& respond) {
                      const Result<PauseRequest> asked = pause_request(request.query);
                      if (!asked) return respond(http::bad_request(worded(asked.error())));
                      const bool is_taken = pause(*asked, [respond](const std::string& answer) {
                        respond(plain_text(200, answer + "\n"));
                      });
                      if (!is_taken) respond(too_soon("a pause", apart));
                    }};
  route.is_post = true;
  return route;
}

http::Route resume(const RouteHandlers& handlers) {
  http::Route route{
      "/-/resume", [resume = handlers.resume](const http::Request&, http::Respond respond) {
        resume(
            [respond = std::move(respond)] { respond(plain_text(200, "no pause is running\n")); });
      }};
  route.is_post = true;
  return route;
}

}  // namespace

std::vector<http::Route> make_probe_routes(const RouteHandlers& handlers) {
  return {health(handlers), readiness(handlers)};
}

std::vector<http::Route> make_routes(const std::string& telemetry_path, bool lifecycle,
                                     const RouteHandlers& handlers) {
  std::vector<http::Route> routes = {
      http::immediate("/api/v1/status",
                      [status = handlers.status](const http::Request&) {
                        return response_of("application/json", status());
                      }),
      {telemetry_path, handlers.scrape},
      health(handlers),
      readiness(handlers)};
  for (const PageFile& file : kPageFiles) routes.push_back(page_route(file));
  if (lifecycle) routes.insert(routes.end(), {reload(handlers), pause(handlers), resume(handlers)});
  return routes;
}

}  // namespace pex::daemon
