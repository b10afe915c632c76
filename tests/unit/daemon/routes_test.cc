#include "daemon/web/routes.h"

#include "http/answer.h"
#include "support/test_headers.h"

namespace pex::daemon {
namespace {

/// The answer to a POST where the last one was too recent.
http::Response refused(const std::string& path, std::chrono::seconds between) {
  RouteHandlers handlers;
  handlers.reload = [](const RouteHandlers::ReloadAnswer&) { return false; };
  handlers.pause = [](const PauseRequest&, const std::function<void(std::string)>&) {
    return false;
  };
  handlers.between_reloads = between;
  const std::vector<http::Route> routes = make_routes("/metrics", true, handlers);
  http::Response answer;
  http::find_route(routes, path)->handler({}, [&answer](http::Response given) {
    answer = std::move(given);
  });
  return answer;
}

TEST(RoutesTest, NameWhatStartsTooOftenAndNoRateLimit) {
  using namespace std::chrono_literals;

  const http::Response reload = refused("/-/reload", 1s);

  EXPECT_EQ(reload.status, 429U);
  EXPECT_EQ(*reload.body, "429 Too Many Requests: a reload starts at most once per second\n");
  EXPECT_EQ(*refused("/-/pause", 1s).body,
            "429 Too Many Requests: a pause starts at most once per second\n");
  EXPECT_EQ(*refused("/-/pause", 5s).body,
            "429 Too Many Requests: a pause starts at most once in 5s\n");
}

}  // namespace
}  // namespace pex::daemon
