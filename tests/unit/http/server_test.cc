#include "http/server.h"

#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <random>

#include "support/patience.h"
#include "support/test_headers.h"
#include "unit/http/raw_client.h"
#include "unit/http/server_fixture.h"

namespace pex::http {
namespace {

TEST_F(ServerTest, AnswersGetWithTheRoutesResponse) {
  RawClient client = start_and_connect();

  const Reply reply = client.get("/teapot");

  EXPECT_EQ(reply.status, 418u);
  EXPECT_EQ(reply.body, "short and stout\n");
  EXPECT_EQ(reply.header("content-type"), "application/x-tea");
  EXPECT_EQ(reply.header("content-length"), "16");
  EXPECT_EQ(reply.header("server"), "perf_event_exporter");
}

TEST_F(ServerTest, AnswersHeadWithTheHeadersOfGetAlone) {
  RawClient client = start_and_connect();

  client.send("HEAD /hello HTTP/1.1\r\nHost: x\r\n\r\n");
  Reply head = client.read_reply(/*with_body=*/false);
  Reply get = client.get("/hello");
  head.headers.erase("date");
  get.headers.erase("date");

  EXPECT_EQ(head.status, 200u);
  EXPECT_EQ(head.headers, get.headers);
  EXPECT_EQ(get.body, "hello\n");
}

TEST_F(ServerTest, SplitsTheTargetAtTheFirstQuestionMark) {
  RawClient client = start_and_connect();

  EXPECT_EQ(client.get("/echo").body, "/echo ");
  EXPECT_EQ(client.get("/echo?").body, "/echo ");
  EXPECT_EQ(client.get("/echo?a=%20&b=?c").body, "/echo a=%20&b=?c");
}

TEST_F(ServerTest, KeepsTheConnectionOverRequestsThatCannotBeServed) {
  RawClient client = start_and_connect();

  const Reply unknown = client.get("/hello/");
  client.send("DELETE /hello HTTP/1.1\r\nHost: x\r\n\r\n");
  const Reply wrong_method = client.read_reply();
  const Reply thrown = client.get("/throws");
  const Reply good = client.get("/hello");

  EXPECT_EQ(unknown.status, 404u);
  EXPECT_EQ(wrong_method.status, 405u);
  EXPECT_EQ(wrong_method.header("allow"), "GET, HEAD, OPTIONS");
  EXPECT_EQ(thrown.status, 500u);
  EXPECT_EQ(thrown.body, "500 Internal Server Error: the pot is empty\n");
  EXPECT_EQ(good.status, 200u);
}

TEST_F(ServerTest, ClosesTheConnectionOfAClientThatBeginsTls) {
  RawClient client = start_and_connect();

  client.send(std::string("\x16\x03\x01\x00\xff\x00", 6));

  EXPECT_TRUE(client.is_closed_without_a_word());
}

TEST_F(ServerTest, AnswersOptionsWithTheMethodsOfThePath) {
  RawClient client = start_and_connect();

  client.send("OPTIONS /hello HTTP/1.1\r\nHost: x\r\n\r\n");
  const Reply reply = client.read_reply(/*with_body=*/false);

  EXPECT_EQ(reply.status, 204u);
  EXPECT_EQ(reply.header("allow"), "GET, HEAD, OPTIONS");
  EXPECT_EQ(client.get("/hello").status, 200u);
}

TEST_F(ServerTest, ServesAClientWithCookiesOfOtherPages) {
  RawClient client = start_and_connect();

  client.send("GET /hello HTTP/1.1\r\nHost: x\r\nCookie: a=" + std::string(16 * 1024, 'a') +
              "\r\n\r\n");

  EXPECT_EQ(client.read_reply().status, 200u);
}

TEST_F(ServerTest, AnswersARequestThatItRefusesAndThenClosesTheConnection) {
  const std::pair<std::string, unsigned> refused[] = {
      {"hello there\r\n\r\n", 400},
      {"POST /post HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n"
       "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n",
       400},
      {"GET / HTTP/1.1\r\nHost: x\r\nA: " + std::string(40'000, 'a') + "\r\n\r\n", 431},
      {"GET /" + std::string(40'000, 'a'), 431},
      {"POST /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello", 413},
      {"POST /hello HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 413},
      // More than the sockets hold: a server that closed at once would reset its own answer.
      {"POST /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 8000000\r\n\r\n" +
           std::string(8'000'000, 'x'),
       413},
  };
  start();
  for (const auto& [request, status] : refused) {
    SCOPED_TRACE(request.substr(0, 100));
    RawClient client = client_that_sends(request);

    const Reply reply = client.read_reply();

    EXPECT_EQ(reply.status, status);
    EXPECT_EQ(reply.header("connection"), "close");
    EXPECT_TRUE(reply.body.starts_with(std::to_string(status) + " ")) << reply.body;
    EXPECT_TRUE(client.is_closed_without_a_word());
  }
}

TEST_F(ServerTest, RefusesAHeadWithABodyWithoutOneOfItsOwn) {
  RawClient client = start_and_connect();

  client.send("HEAD /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n");

  EXPECT_EQ(client.read_reply(/*with_body=*/false).status, 413u);
  EXPECT_TRUE(client.is_closed_without_a_word());
}

TEST_F(ServerTest, AnswersAClientThatHasEndedItsSideAlsoHalfwayInARequest) {
  start();
  for (const auto& [sent, status] : {std::pair{"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n", 200u},
                                     std::pair{"GET /hello HTT", 400u}}) {
    RawClient client = client_that_sends(sent);
    client.end_sending();

    EXPECT_EQ(client.read_reply().status, status);
    EXPECT_TRUE(client.is_closed_without_a_word());
  }
}

TEST_F(ServerTest, KeepsTheConnectionAsTheClientsVersionWants) {
  start();

  RawClient asks_to_close =
      client_that_sends("GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(asks_to_close.read_reply().header("connection"), "close");
  EXPECT_TRUE(asks_to_close.is_closed_without_a_word());

  RawClient old = client_that_sends("GET /hello HTTP/1.0\r\n\r\n");
  EXPECT_EQ(old.read_reply().body, "hello\n");
  EXPECT_TRUE(old.is_closed_without_a_word());

  RawClient old_but_persistent = client();
  for (int i = 0; i < 2; ++i) {
    old_but_persistent.send("GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_EQ(old_but_persistent.read_reply().header("connection"), "keep-alive");
  }
}

TEST_F(ServerTest, AnswersPipelinedRequestsInTheirOrder) {
  RawClient client = start_and_connect();

  client.send(
      "GET /count HTTP/1.1\r\nHost: x\r\n\r\n"
      "GET /echo?second HTTP/1.1\r\nHost: x\r\n\r\n"
      "GET /count HTTP/1.1\r\nHost: x\r\n\r\nnonsense\r\n\r\n");

  EXPECT_EQ(client.read_reply().body, "1");
  EXPECT_EQ(client.read_reply().body, "/echo second");
  EXPECT_EQ(client.read_reply().body, "2");
  EXPECT_EQ(client.read_reply().status, 400u);
  EXPECT_TRUE(client.is_closed_without_a_word());
}

TEST_F(ServerTest, SurvivesRandomBytes) {
  start();
  std::minstd_rand random{1};

  for (int round = 0; round < 200; ++round) {
    RawClient client = this->client();
    std::string bytes = round % 2 == 0 ? "GET /hello HTTP/1.1\r\nHost: x\r\n" : "";
    for (int i = 0; i < 300; ++i) bytes.push_back(static_cast<char>(random() % 256));
    client.send(bytes + "\r\n\r\n");
    client.end_sending();
    const unsigned status = client.read_reply().status;
    EXPECT_TRUE(status == 200 || status == 400) << status;
  }

  EXPECT_EQ(client().get("/hello").status, 200u);
}

TEST_F(ServerTest, RefusesConnectionsOverTheLimitUntilOneEnds) {
  start(Limits{.max_connections = 1});
  {
    RawClient first = client();
    ask_for_later(first);  // so it is known to be counted, and not idle

    RawClient second = client();
    const Reply reply = second.read_reply();
    EXPECT_EQ(reply.status, 503u);
    EXPECT_EQ(reply.header("connection"), "close");
    EXPECT_EQ(reply.header("date").find("1970"), std::string::npos);
    EXPECT_TRUE(second.is_closed_without_a_word());
    EXPECT_EQ(errors().connection_limit, 1u);
    answer_later();
    EXPECT_EQ(first.read_reply().status, 200u);
  }

  // Until the server has seen the first one go.
  EXPECT_TRUE(test::comes_true([this] { return client().get("/hello").status == 200; }));
}

TEST_F(ServerTest, ClosesTheIdlestConnectionForANewOne) {
  start(Limits{.max_connections = 2, .stall_time = milliseconds{0}});
  RawClient idlest = client();
  ASSERT_EQ(idlest.get("/hello").status, 200u);
  RawClient idle = client();
  ASSERT_EQ(idle.get("/hello").status, 200u);

  EXPECT_EQ(client().get("/hello").status, 200u);

  EXPECT_TRUE(idlest.is_closed_without_a_word());
  EXPECT_EQ(idle.get("/hello").status, 200u);
  EXPECT_EQ(errors().idle_closed, 1u);
}

TEST_F(ServerTest, ClosesClientsWithoutALoginWhoSendNothingForANewClientAfterAWhile) {
  start(Limits{.max_connections = 2});
  RawClient silent = client();
  RawClient also_silent = client();
  const auto patience = std::chrono::steady_clock::now() + test::kPatience;
  while (connections() < 2 && std::chrono::steady_clock::now() < patience) {
    EXPECT_FALSE(also_silent.has_input_within(20));  // a pause, too
  }

  unsigned status = 0;
  while (status != 200 && std::chrono::steady_clock::now() < patience) {
    EXPECT_FALSE(also_silent.has_input_within(20));  // a pause, too
    status = client().get("/hello").status;
  }

  EXPECT_EQ(status, 200u);
  EXPECT_NE(silent.has_input_within(0), also_silent.has_input_within(0));  // one has the end
  EXPECT_EQ(errors().idle_closed, 1u);
}

TEST_F(ServerTest, LeavesTheLoopToOthersWhileManyClientsCome) {
  boost::asio::io_context loop;
  auto server =
      Server::listen(loop, worker_, {.addresses = {"127.0.0.1:0"}}, Site{.routes = routes()});
  ASSERT_TRUE(server);
  std::vector<RawClient> clients;
  for (int i = 0; i < 40; ++i) clients.emplace_back((*server)->ports().front());

  while ((*server)->connections() == 0) loop.run_one_for(test::kPatience);
  const std::size_t at_once = (*server)->connections();
  const auto patience = std::chrono::steady_clock::now() + test::kPatience;
  while ((*server)->connections() < 40 && std::chrono::steady_clock::now() < patience) {
    loop.run_one_for(seconds{1});
  }

  EXPECT_LE(at_once, 16u);
  EXPECT_EQ((*server)->connections(), 40u);
  server->reset();
  loop.run();
}

TEST_F(ServerTest, AnswersAHalfRequestWhenItsTimeIsUp) {
  RawClient client =
      start_and_connect({.read_timeout = seconds{1}});  // in which the half must come

  client.send("GET /hello HTTP/1.1\r\nHo");

  EXPECT_EQ(client.read_reply().status, 408u);
  EXPECT_TRUE(client.is_closed_without_a_word());
}

TEST_F(ServerTest, GivesAWholeHeadOneTimeLimitHoweverOftenBytesCome) {
  RawClient client =
      start_and_connect({.read_timeout = seconds{1}});  // in which the first bytes must come

  client.send("GET /hello HTTP/1.1\r\nHost: x\r\nA: ");
  const auto begin = std::chrono::steady_clock::now();
  while (!client.has_input_within(10) &&
         std::chrono::steady_clock::now() - begin < test::kPatience) {
    client.send("a");
  }

  EXPECT_EQ(client.read_reply().status, 408u);
}

TEST_F(ServerTest, JustClosesAClientThatHasNothingMoreToAsk) {
  start({.read_timeout = std::chrono::hours{1}, .idle_timeout = kShort});

  RawClient idle = client();
  EXPECT_EQ(idle.get("/hello").status, 200u);
  EXPECT_TRUE(idle.is_closed_without_a_word());
}

TEST_F(ServerTest, SurvivesClientsThatLeaveInTheMiddleOfAnAnswer) {
  start();
  for (int i = 0; i < 5; ++i) {
    RawClient client = this->client();
    client.send("GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_GE(client.read_up_to(1000), 1000u);
  }

  RawClient stays = client();
  EXPECT_EQ(stays.get("/big").body.size(), kBigBody);
  EXPECT_EQ(stays.get("/hello").status, 200u);
}

TEST_F(ServerTest, CutsOffAClientThatDoesNotReadItsAnswer) {
  RawClient client = start_and_connect({.write_timeout = kShort});

  client.send("GET /big HTTP/1.1\r\nHost: x\r\n\r\n");

  EXPECT_TRUE(client.is_reset());
  EXPECT_LT(client.read_up_to(kBigBody), kBigBody);
  EXPECT_EQ(errors().slow_client, 1u);
}

TEST_F(ServerTest, StopsWithConnectionsInEveryState) {
  start();
  RawClient idle = client();
  ASSERT_EQ(idle.get("/hello").status, 200u);
  RawClient half_sent = client_that_sends("GET /hello HT");
  RawClient not_reading = client_that_sends("GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(not_reading.has_input());
  RawClient silent = client();

  boost::asio::post(loop_, [this] { server_->stop(); });

  EXPECT_TRUE(loop_ends());
  EXPECT_TRUE(idle.is_closed_without_a_word());
}

TEST_F(ServerTest, CallsNoHandlerAfterOneOfThemStoppedIt) {
  RawClient client = start_and_connect();

  client.send(
      "GET /stop HTTP/1.1\r\nHost: x\r\n\r\n"
      "GET /count HTTP/1.1\r\nHost: x\r\n\r\n");

  EXPECT_TRUE(loop_ends());
  EXPECT_TRUE(client.is_closed_without_a_word());
  EXPECT_EQ(counted_, 0);
  EXPECT_FALSE(RawClient{server_->ports().front()}.is_connected());
}

TEST_F(ServerTest, CallsNoHandlerAfterDestructionAtWhateverStepOfTheLoop) {
  for (int steps = 0; steps < 30; ++steps) {
    boost::asio::io_context loop;
    boost::asio::thread_pool worker{1};
    auto server =
        Server::listen(loop, worker, {.addresses = {"127.0.0.1:0"}}, Site{.routes = routes()});
    ASSERT_TRUE(server);
    RawClient client{(*server)->ports().front()};
    client.send(
        "GET /count HTTP/1.1\r\nHost: x\r\n\r\n"
        "GET /count HTTP/1.1\r\nHost: x\r\n\r\n");
    for (int step = 0; step < steps; ++step) loop.poll_one();
    const int counted_before = counted_;

    server->reset();
    loop.run();

    EXPECT_EQ(counted_, counted_before) << "after " << steps << " steps";
  }
  EXPECT_GT(counted_, 0);
}

TEST_F(ServerTest, InformsTheHandlerWhatTheClientTakes) {
  RawClient client = start_and_connect();

  EXPECT_EQ(client.get("/accept").body, " without");
  EXPECT_EQ(client.get("/accept", "Accept: a\r\naccept: b\r\nAccept-Encoding: gzip\r\n").body,
            "a, b with gzip");
}

TEST_F(ServerTest, ReportsTheLengthOfAnEmptyBody) {
  start();

  const Reply reply = client().get("/empty");

  EXPECT_EQ(reply.status, 200u);
  EXPECT_EQ(reply.header("content-length"), "0");
}

TEST_F(ServerTest, AnswersPostOnlyWhereARouteAllowsIt) {
  RawClient client = start_and_connect();

  client.send("POST /post HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(client.read_reply().status, 202u);
  client.send("POST /post HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(client.read_reply().status, 202u);

  const Reply got = client.get("/post");
  EXPECT_EQ(got.status, 405u);
  EXPECT_EQ(got.header("allow"), "POST, OPTIONS");
  client.send("HEAD /post HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(client.read_reply(/*with_body=*/false).status, 405u);
  client.send("POST /hello HTTP/1.1\r\nHost: x\r\n\r\n");
  const Reply posted = client.read_reply();
  EXPECT_EQ(posted.status, 405u);
  EXPECT_EQ(posted.header("allow"), "GET, HEAD, OPTIONS");
}

TEST_F(ServerTest, RefusesAPostThatAPageOfAnotherSiteSends) {
  RawClient client = start_and_connect();
  const auto post = [&](const std::string& fields) {
    client.send("POST /post HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n" + fields + "\r\n");
    return client.read_reply();
  };

  const Reply refused = post("Origin: http://evil.example\r\n");

  EXPECT_EQ(refused.status, 403u);
  EXPECT_NE(refused.body.find("leave out the fields Origin"), std::string::npos) << refused.body;
  EXPECT_EQ(post("").status, 202u);
  EXPECT_EQ(client.get("/hello", "Origin: http://evil.example\r\n").status, 200u);
}

TEST_F(ServerTest, ForbidsBrowsersToGuessTheTypeOfAnyAnswer) {
  RawClient client = start_and_connect({.max_connections = 1, .max_refusals = 1});

  std::vector<Reply> replies;
  for (const char* path : {"/hello", "/throws", "/nowhere", "/post", "/empty"}) {
    replies.push_back(client.get(path));
  }
  RawClient refused = this->client();
  replies.push_back(refused.get("/open"));
  client.send("nonsense\r\n\r\n");
  replies.push_back(client.read_reply());

  for (const Reply& each : replies) {
    EXPECT_EQ(each.header("x-content-type-options"), "nosniff") << each.status << each.body;
  }
}

TEST_F(ServerTest, AnswersPipelinedRequestsInOrderThoughTheFirstTakesLonger) {
  RawClient client = start_and_connect();
  ask_for_later(client);
  client.send("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");

  EXPECT_EQ(this->client().get("/hello").status, 200u);
  EXPECT_FALSE(client.has_input_within(50));
  answer_later();

  EXPECT_EQ(client.read_reply().body, "at last\n");
  EXPECT_EQ(client.read_reply().body, "hello\n");
}

TEST_F(ServerTest, AnswersForAHandlerThatDoesNot) {
  RawClient client = start_and_connect();

  const Reply dropped = client.get("/drops");
  ask_for_later(client);
  on_loop([this] { kept_.clear(); });
  const Reply dropped_later = client.read_reply();

  EXPECT_EQ(dropped.status, 500u);
  EXPECT_EQ(dropped_later.status, 500u);
  EXPECT_EQ(dropped_later.body, "500 Internal Server Error: the handler did not answer\n");
  EXPECT_EQ(client.get("/hello").status, 200u);
}

TEST_F(ServerTest, TakesTheFirstOfTwoAnswers) {
  RawClient client = start_and_connect();

  EXPECT_EQ(client.get("/twice").body, "first");
  EXPECT_EQ(client.get("/hello").body, "hello\n");
}

TEST_F(ServerTest, InformsAClientWhoseAnswerTakesTooLong) {
  RawClient client = start_and_connect({.answer_timeout = kShort});
  ask_for_later(client);

  EXPECT_EQ(client.read_reply().status, 503u);
  EXPECT_EQ(client.get("/hello").status, 200u);
  answer_later("too late\n");
  EXPECT_EQ(client.get("/hello").body, "hello\n");
}

TEST_F(ServerTest, MakesNothingOfAnAnswerAfterItHasStopped) {
  RawClient client = start_and_connect();
  ask_for_later(client);
  on_loop([this] { server_->stop(); });

  EXPECT_TRUE(client.is_closed_without_a_word());
  EXPECT_TRUE(loop_ends());
  server_.reset();
  kept_.front()(plain_text(200, "too late\n"));
  kept_.clear();
}

TEST_F(ServerTest, SendsTheHeadersOfAccessWithEveryResponse) {
  let_in({.headers = {{"X-Frame-Options", "deny"}, {"X-Content-Type-Options", "nosniff"}}});
  RawClient client = start_and_connect();

  const Reply good = client.get("/hello");
  const Reply own = client.get("/headers");
  const Reply unknown = client.get("/nowhere");
  client.send("nonsense\r\n\r\n");
  const Reply bad = client.read_reply();

  for (const Reply& each : {good, unknown, bad}) {
    EXPECT_EQ(each.header("x-frame-options"), "deny") << each.status;
    EXPECT_EQ(each.header("x-content-type-options"), "nosniff") << each.status;
  }
  EXPECT_EQ(own.header("x-frame-options"), "sameorigin");
  EXPECT_EQ(own.header("x-own"), "route");
  EXPECT_EQ(bad.status, 400u);
}

TEST_F(ServerTest, LimitsTheRateOfRequests) {
  let_in({.rate_limit = access::RateLimit{.interval = std::chrono::hours{1}, .burst = 2}});
  RawClient client = start_and_connect();

  EXPECT_EQ(client.get("/hello").status, 200u);
  EXPECT_EQ(this->client().get("/nowhere").status, 404u);
  const Reply over = client.get("/hello");
  EXPECT_EQ(over.status, 429u);
  EXPECT_GT(parse_unsigned(over.header("retry-after")).value_or(0), 3000u);

  let_in({.rate_limit = access::RateLimit{.interval = std::chrono::hours{1}, .burst = 1000}});
  EXPECT_EQ(client.get("/hello").status, 429u);  // the same bucket, still empty
  let_in({});
  EXPECT_EQ(client.get("/hello").status, 200u);
}

TEST_F(ServerTest, SendsOneBodyToManyWithoutACopyForEach) {
  start();
  std::vector<RawClient> clients;
  for (int i = 0; i < 20; ++i) clients.push_back(client());
  rusage before{};
  ::getrusage(RUSAGE_SELF, &before);

  for (RawClient& each : clients) each.send("GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
  for (RawClient& each : clients) EXPECT_TRUE(each.has_input());
  rusage after{};
  ::getrusage(RUSAGE_SELF, &after);

  const long grown_kib = after.ru_maxrss - before.ru_maxrss;
  EXPECT_LT(grown_kib,
            static_cast<long>(kBigBody / 1024) * 2);  // 20 copies would be ten times that
}

}  // namespace
}  // namespace pex::http
