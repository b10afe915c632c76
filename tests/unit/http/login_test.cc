#include "access/login.h"

#include <boost/asio/post.hpp>
#include <future>

#include "support/test_headers.h"
#include "unit/http/raw_client.h"
#include "unit/http/server_fixture.h"

namespace pex::http {
namespace {

// Of cost 4, the least there is.
constexpr const char* kSecret = "$2y$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW";
constexpr const char* kSwordfish = "$2b$04$ABCDEFGHIJKLMNOPQRSTUuWe5mm6jjKoXct8KlGVbJ.sX.LJLueOK";

const access::Logins::Users& users() {
  static const access::Logins::Users both{{"alice", kSecret}, {"bob", kSwordfish}};
  return both;
}

/// The head's field for "alice:secret".
constexpr const char* kAlice = "Authorization: Basic YWxpY2U6c2VjcmV0\r\n";
constexpr const char* kWrong = "Authorization: Basic YWxpY2U6d3Jvbmc=\r\n";
constexpr const char* kNobody = "Authorization: Basic bm9ib2R5OnNlY3JldA==\r\n";

class LoginTest : public ServerTest {
 protected:
  void SetUp() override { let_in({.users = users(), .headers = {{"X-Frame-Options", "deny"}}}); }
};

TEST_F(LoginTest, LetsInWhoHasThePassword) {
  RawClient client = start_and_connect();

  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.get("/hello", kAlice).body, "hello\n");
  EXPECT_EQ(client.get("/hello", kWrong).status, 401u);
  EXPECT_EQ(this->client().get("/hello", kNobody).status, 401u);
  EXPECT_EQ(this->client().get("/hello", kAlice).body, "hello\n");
  EXPECT_EQ(errors().login_refused, 2u);
}

TEST_F(LoginTest, EndsTheConnectionOfAClientWithoutALogin) {
  RawClient client = start_and_connect();

  EXPECT_EQ(client.get("/hello").header("connection"), "close");

  EXPECT_TRUE(client.is_closed_without_a_word());
}

TEST_F(LoginTest, AsksForAPassword) {
  RawClient client = start_and_connect();

  const Reply reply = client.get("/hello");

  EXPECT_EQ(reply.status, 401u);
  EXPECT_EQ(reply.header("www-authenticate"),
            "Basic realm=\"perf_event_exporter\", charset=\"UTF-8\"");
  EXPECT_EQ(reply.header("x-frame-options"), "deny");
  EXPECT_EQ(this->client().get("/hello", std::string{kAlice} + kAlice).status, 401u);
  EXPECT_EQ(this->client().get("/hello", "Authorization: Bearer YWxpY2U6c2VjcmV0\r\n").status,
            401u);
}

TEST_F(LoginTest, DisclosesNothingOfItsPathsToClientsWithoutALogin) {
  start();

  EXPECT_EQ(client().get("/nowhere").status, 401u);
  EXPECT_EQ(client().get("/post").status, 401u);
  EXPECT_EQ(client().get("/nowhere", kAlice).status, 404u);
  EXPECT_EQ(client().get("/post", kAlice).status, 405u);
  EXPECT_EQ(client().get("/count", kWrong).status, 401u);
  EXPECT_EQ(counted_, 0);
}

TEST_F(LoginTest, IsNotNeededWhereARouteAllowsIt) {
  RawClient client = start_and_connect();

  EXPECT_EQ(client.get("/open").status, 200u);
  EXPECT_EQ(client.get("/open", kWrong).status, 200u);
}

TEST_F(LoginTest, FollowsAChangeOfUsersWithTheNextRequest) {
  start();
  RawClient earlier = this->client();
  EXPECT_EQ(earlier.get("/hello", kAlice).status, 200u);

  let_in({.users = {{"alice", kSwordfish}}});
  EXPECT_EQ(earlier.get("/hello", kAlice).status, 401u);
  let_in({.users = {{"bob", kSecret}}});
  EXPECT_EQ(this->client().get("/hello", kAlice).status, 401u);
  let_in({});
  RawClient client = this->client();
  EXPECT_EQ(client.get("/hello").status, 200u);
  let_in({.users = users()});
  EXPECT_EQ(client.get("/hello", kAlice).status, 200u);
}

TEST_F(LoginTest, CountsEveryTryTowardsARateLimitOfStrangersOrOfUsersWhoLoggedInBefore) {
  let_in({.users = users(),
          .rate_limit = access::RateLimit{.interval = std::chrono::hours{1}, .burst = 2}});
  start();

  EXPECT_EQ(client().get("/hello", kWrong).status, 401u);
  EXPECT_EQ(client().get("/hello", kAlice).status, 200u);
  EXPECT_EQ(client().get("/hello", kWrong).status, 429u);
  EXPECT_EQ(client().get("/hello").status, 429u);
  EXPECT_EQ(client().get("/hello", kAlice).status, 200u);
  EXPECT_EQ(client().get("/hello", kAlice).status, 200u);
  EXPECT_EQ(client().get("/hello", kAlice).status, 429u);
  EXPECT_EQ(client().get("/open").status, 200u);  // a probe is free of it
  EXPECT_EQ(errors().rate_limit, 3u);
}

TEST_F(LoginTest, RefusesLoginsOverTheLimitAndAnswersThoseThatWait) {
  start(Limits{.max_pending_logins = 1});
  std::promise<void> released;
  boost::asio::post(worker_, [future = released.get_future().share()] { future.wait(); });
  std::vector<RawClient> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(client());

  // Each with another password; which of them is one too many is the server's to say.
  const char* const tries[] = {kAlice, kWrong, kNobody};
  for (std::size_t i = 0; i < 3; ++i) {
    clients[i].send("GET /hello HTTP/1.1\r\nHost: x\r\n" + std::string{tries[i]} + "\r\n");
  }
  unsigned refused = 0;
  for (int i = 0; i < 100 && refused == 0; ++i) {
    for (RawClient& each : clients) refused += each.has_input_within(10) ? 1 : 0;
  }
  EXPECT_EQ(refused, 1u);
  EXPECT_EQ(client().get("/open").status, 200u);  // nothing waits for bcrypt that need not
  released.set_value();

  unsigned busy = 0;
  for (RawClient& each : clients) busy += each.read_reply().status == 503 ? 1 : 0;
  EXPECT_EQ(busy, 1u);
  EXPECT_EQ(errors().login_busy, 1u);
}

TEST_F(LoginTest, StopsWhileAPasswordIsChecked) {
  start();
  std::promise<void> released;
  boost::asio::post(worker_, [future = released.get_future().share()] { future.wait(); });
  RawClient client =
      client_that_sends("GET /count HTTP/1.1\r\nHost: x\r\n" + std::string{kAlice} + "\r\n");
  EXPECT_FALSE(client.has_input_within(50));

  boost::asio::post(loop_, [this] { server_->stop(); });

  EXPECT_TRUE(loop_ends());
  EXPECT_TRUE(client.is_closed_without_a_word());
  released.set_value();
  worker_.join();
  EXPECT_EQ(counted_, 0);
}

}  // namespace
}  // namespace pex::http
