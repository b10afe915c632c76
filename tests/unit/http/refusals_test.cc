

#include "http/server.h"
#include "support/test_headers.h"
#include "unit/access/certificates.h"
#include "unit/http/raw_client.h"
#include "unit/http/server_fixture.h"
#include "unit/http/tls_client.h"

namespace pex::http {
namespace {

/// Each client that is refused is reported once, with its address and the reason.
class RefusalsTest : public ServerTest {
 protected:
  void expect_reported(const std::string& reason) {
    std::vector<std::string> reported;
    EXPECT_TRUE(test::comes_true([&] {
      for (std::string& each : take_refusals()) reported.push_back(std::move(each));
      return !reported.empty();
    })) << reason;
    EXPECT_EQ(reported.size(), 1u) << testing::PrintToString(reported);
    if (reported.empty()) return;
    EXPECT_TRUE(reported.front().starts_with("loopback: " + reason)) << reported.front();
  }

  struct Row {
    std::string sent;
    std::string reason;
  };

  void expect_reported(const std::vector<Row>& rows) {
    for (const Row& row : rows) {
      const RawClient client = client_that_sends(row.sent);
      expect_reported(row.reason);
    }
  }

  /// Longer than a busy machine lets the server wait for a CPU.
  static Limits impatient() { return {.read_timeout = seconds{1}, .write_timeout = seconds{1}}; }

  test::Identity identity_{{.name = "server"}};
};

TEST_F(RefusalsTest, OfRequests) {
  start();
  expect_reported({
      {"nonsense\r\n\r\n", "400 Bad Request"},
      {"GET / HTTP/1.1\r\n\r\n", "400 Bad Request: exactly one Host field is required"},
      {"GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n", "404 Not Found"},
      {"PUT /hello HTTP/1.1\r\nHost: x\r\n\r\n", "405 Method Not Allowed"},
      {"POST /post HTTP/1.1\r\nHost: x\r\nSec-Fetch-Site: cross-site\r\n\r\n", "403 Forbidden"},
      {"GET /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n", "413 "},
      {"GET /hello HTTP/1.1\r\nX: " + std::string(40'000, 'x') + "\r\n\r\n", "431 "},
      {"\x16\x03\x01", "TLS, and this server speaks plain HTTP"},
  });
}

TEST_F(RefusalsTest, OfSlowClients) {
  start(impatient());
  expect_reported({
      {"GET /hello HTTP/1.1\r\nHo", "408 Request Timeout"},
      {"GET /big HTTP/1.1\r\nHost: x\r\n\r\n", "dropped: it did not read its response in time"},
  });
}

TEST_F(RefusalsTest, OfClientsThatDoNotLogInOrAskTooOften) {
  let_in({.users = {{"alice", "$2y$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"}}});
  start();
  EXPECT_EQ(client().get("/hello").status, 401u);
  expect_reported("401 Unauthorized");

  let_in({.rate_limit = access::RateLimit{.interval = std::chrono::hours{1}, .burst = 0}});
  EXPECT_EQ(client().get("/hello").status, 429u);
  expect_reported("429 Too Many Requests");
}

TEST_F(RefusalsTest, OfHandshakes) {
  let_in({.tls = tls_of(identity_)});
  start(impatient());
  expect_reported({
      {"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n", "400 Bad Request: this port speaks HTTPS"},
      {std::string("\x01\x02", 2), "neither TLS nor HTTP"},
      {"\x16garbage", "TLS handshake: "},
      {"\x16\x03\x01", "TLS handshake: not complete in time"},
  });
}

TEST_F(RefusalsTest, OfClientsAtTheLimitOfConnections) {
  start({.max_connections = 1, .max_refusals = 1, .stall_time = std::chrono::hours{1}});
  RawClient served = client();
  ask_for_later(served);

  EXPECT_EQ(client().get("/hello").status, 503u);
  expect_reported("503 Service Unavailable: too many connections");

  const RawClient silent = client();
  const RawClient another = client();
  expect_reported("too many connections: closed for another client");
  answer_later();
}

TEST_F(RefusalsTest, OfClientsThatStandStillAtTheLimitOfConnections) {
  for (const bool over_tls : {false, true}) {
    if (over_tls) let_in({.tls = tls_of(identity_)});
    if (!over_tls) start({.max_connections = 1, .stall_time = milliseconds{0}});
    RawClient half = client_that_sends(over_tls ? "\x16\x03\x01" : "GET /hello HTTP/1.1\r\nHo");
    EXPECT_TRUE(test::comes_true([&] { return connections() == 1; }));
    std::this_thread::sleep_for(kShort);

    const RawClient newcomer = client();

    expect_reported("too many connections: closed for another client");
  }
}

TEST_F(RefusalsTest, AreNotOfClientsThatAreAnsweredOrHaveNotAsked) {
  start(impatient());
  EXPECT_EQ(client().get("/hello").status, 200u);
  RawClient silent = client();
  EXPECT_TRUE(silent.is_closed_without_a_word());
  EXPECT_EQ(take_refusals(), std::vector<std::string>{});
}

}  // namespace
}  // namespace pex::http
