#include "http/server.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <future>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "http/raw_client.h"

namespace pex::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kBigBody = 50'000'000;
constexpr milliseconds kShort{100};

/// A server on a port of the kernel's choice, its loop in a thread of its own.
class ServerTest : public testing::Test {
 protected:
  ~ServerTest() override {
    if (!server_) return;
    boost::asio::post(loop_, [this] { server_->stop(); });
    if (!loop_ends()) loop_.stop();
  }

  void start(Limits limits = {}, const std::vector<std::string>& addresses = {"127.0.0.1:0"}) {
    auto server = Server::listen(loop_, addresses, routes(), limits);
    ASSERT_TRUE(server) << describe(server.error());
    server_ = *std::move(server);
    run_ = std::async(std::launch::async, [this] { loop_.run(); });
  }

  bool loop_ends() { return run_.wait_for(seconds{10}) == std::future_status::ready; }
  RawClient client() { return RawClient{server_->ports().front()}; }

  std::vector<Route> routes() {
    return {
        {"/hello", [](const Request&) { return Response{.body = "hello\n"}; }},
        {"/echo",
         [](const Request& request) {
           return Response{.body = request.path + " " + request.query};
         }},
        {"/teapot",
         [](const Request&) {
           return Response{418, "application/x-tea", "short and stout\n"};
         }},
        {"/throws",
         [](const Request&) -> Response { throw std::runtime_error{"the pot is empty"}; }},
        {"/big", [](const Request&) { return Response{.body = std::string(kBigBody, 'x')}; }},
        {"/count", [this](const Request&) { return Response{.body = std::to_string(++counted_)}; }},
        {"/stop",
         [this](const Request&) {
           server_->stop();
           return Response{};
         }},
    };
  }

  boost::asio::io_context loop_;
  std::unique_ptr<Server> server_;
  std::future<void> run_;
  std::atomic<int> counted_ = 0;
};

TEST_F(ServerTest, AnswersGetWithTheRoutesResponse) {
  start();
  RawClient client = this->client();

  const Reply reply = client.get("/teapot");

  EXPECT_EQ(reply.status, 418u);
  EXPECT_EQ(reply.body, "short and stout\n");
  EXPECT_EQ(reply.header("content-type"), "application/x-tea");
  EXPECT_EQ(reply.header("content-length"), "16");
  EXPECT_EQ(reply.header("server"), "perf_event_exporter");
}

TEST_F(ServerTest, AnswersHeadWithTheHeadersOfGetAlone) {
  start();
  RawClient client = this->client();

  client.send("HEAD /hello HTTP/1.1\r\nHost: x\r\n\r\n");
  const Reply head = client.read_reply(/*with_body=*/false);
  const Reply get = client.get("/hello");

  EXPECT_EQ(head.status, 200u);
  EXPECT_EQ(head.headers, get.headers);
  EXPECT_EQ(get.body, "hello\n");
}

TEST_F(ServerTest, SplitsTheTargetAtTheFirstQuestionMark) {
  start();
  RawClient client = this->client();

  EXPECT_EQ(client.get("/echo").body, "/echo ");
  EXPECT_EQ(client.get("/echo?").body, "/echo ");
  EXPECT_EQ(client.get("/echo?a=%20&b=?c").body, "/echo a=%20&b=?c");
}

TEST_F(ServerTest, KeepsTheConnectionOverRequestsThatCannotBeServed) {
  start();
  RawClient client = this->client();

  const Reply unknown = client.get("/hello/");
  client.send("DELETE /hello HTTP/1.1\r\nHost: x\r\n\r\n");
  const Reply wrong_method = client.read_reply();
  const Reply thrown = client.get("/throws");
  const Reply good = client.get("/hello");

  EXPECT_EQ(unknown.status, 404u);
  EXPECT_EQ(wrong_method.status, 405u);
  EXPECT_EQ(wrong_method.header("allow"), "GET, HEAD");
  EXPECT_EQ(thrown.status, 500u);
  EXPECT_EQ(thrown.body, "500 Internal Server Error: the pot is empty\n");
  EXPECT_EQ(good.status, 200u);
}

TEST_F(ServerTest, RefusesTargetsThatAreNoPath) {
  start();
  RawClient client = this->client();

  EXPECT_EQ(client.get("*").status, 400u);
  EXPECT_EQ(client.get("http://elsewhere/hello").status, 400u);
  EXPECT_EQ(client.get("elsewhere:443").status, 400u);
}

struct RefusedRow {
  const char* name;
  std::string request;
  unsigned status;
};
class RefusedRequestTest : public ServerTest, public testing::WithParamInterface<RefusedRow> {};

TEST_P(RefusedRequestTest, IsAnsweredThenClosed) {
  start();
  RawClient client = this->client();

  client.send(GetParam().request);
  const Reply reply = client.read_reply();

  EXPECT_EQ(reply.status, GetParam().status);
  EXPECT_EQ(reply.header("connection"), "close");
  EXPECT_TRUE(reply.body.starts_with(std::to_string(reply.status) + " ")) << reply.body;
  EXPECT_TRUE(client.is_closed_without_a_word());
}

INSTANTIATE_TEST_SUITE_P(
    Each, RefusedRequestTest,
    testing::Values(
        RefusedRow{"Malformed", "hello there\r\n\r\n", 400},
        RefusedRow{"Binary", std::string("\x16\x03\x01\x00\xff\x00", 6), 400},
        RefusedRow{"LongHead",
                   "GET / HTTP/1.1\r\nHost: x\r\nA: " + std::string(20'000, 'a') + "\r\n\r\n", 431},
        RefusedRow{"LongTarget", "GET /" + std::string(20'000, 'a'), 431},
        RefusedRow{"Body", "POST /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello",
                   413},
        RefusedRow{"ChunkedBody",
                   "POST /hello HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                   413},
        // More than the sockets hold: a server that closed at once would reset its own answer.
        RefusedRow{"BigBody",
                   "POST /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 8000000\r\n\r\n" +
                       std::string(8'000'000, 'x'),
                   413}),
    [](const auto& each) { return each.param.name; });

TEST_F(ServerTest, AnswersARequestThatEndsHalfway) {
  start();
  RawClient client = this->client();

  client.send("GET /hello HTT");
  client.end_sending();

  EXPECT_EQ(client.read_reply().status, 400u);
  EXPECT_TRUE(client.is_closed_without_a_word());
}

TEST_F(ServerTest, AnswersAClientThatHasEndedItsSide) {
  start();
  RawClient client = this->client();

  client.send("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
  client.end_sending();

  EXPECT_EQ(client.read_reply().body, "hello\n");
  EXPECT_TRUE(client.is_closed_without_a_word());
}

TEST_F(ServerTest, KeepsTheConnectionAsTheClientsVersionWants) {
  start();

  RawClient asks_to_close = client();
  asks_to_close.send("GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(asks_to_close.read_reply().header("connection"), "close");
  EXPECT_TRUE(asks_to_close.is_closed_without_a_word());

  RawClient old = client();
  old.send("GET /hello HTTP/1.0\r\n\r\n");
  EXPECT_EQ(old.read_reply().body, "hello\n");
  EXPECT_TRUE(old.is_closed_without_a_word());

  RawClient old_but_persistent = client();
  for (int i = 0; i < 2; ++i) {
    old_but_persistent.send("GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_EQ(old_but_persistent.read_reply().header("connection"), "keep-alive");
  }
}

TEST_F(ServerTest, AnswersPipelinedRequestsInTheirOrder) {
  start();
  RawClient client = this->client();

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
  start({.max_connections = 1});
  {
    RawClient first = client();
    ASSERT_EQ(first.get("/hello").status, 200u);  // so it is known to be counted

    RawClient second = client();
    const Reply reply = second.read_reply();
    EXPECT_EQ(reply.status, 503u);
    EXPECT_EQ(reply.header("connection"), "close");
    EXPECT_TRUE(second.is_closed_without_a_word());
    EXPECT_EQ(first.get("/hello").status, 200u);
  }

  unsigned status = 503;  // until the server has seen the first one go
  for (int i = 0; i < 10'000 && status != 200; ++i) status = client().get("/hello").status;
  EXPECT_EQ(status, 200u);
}

TEST_F(ServerTest, RefusesManyAtOnceWithoutHarmToTheOneItServes) {
  start({.max_connections = 1});
  RawClient served = client();
  ASSERT_EQ(served.get("/hello").status, 200u);

  std::vector<RawClient> refused;
  for (int i = 0; i < 200; ++i) refused.push_back(client());
  for (RawClient& each : refused) EXPECT_EQ(each.read_reply().status, 503u);

  EXPECT_EQ(served.get("/hello").status, 200u);
}

TEST_F(ServerTest, AnswersAHalfRequestWhenItsTimeIsUp) {
  start({.read_timeout = kShort});
  RawClient client = this->client();

  client.send("GET /hello HTTP/1.1\r\nHo");

  EXPECT_EQ(client.read_reply().status, 408u);
  EXPECT_TRUE(client.is_closed_without_a_word());
}

TEST_F(ServerTest, GivesAWholeHeadOneTimeLimitHoweverOftenBytesCome) {
  start({.read_timeout = kShort});
  RawClient client = this->client();

  client.send("GET /hello HTTP/1.1\r\nHost: x\r\nA: ");
  const auto begin = std::chrono::steady_clock::now();
  while (!client.has_input_within(10) && std::chrono::steady_clock::now() - begin < seconds{10}) {
    client.send("a");
  }

  EXPECT_EQ(client.read_reply().status, 408u);
}

TEST_F(ServerTest, JustClosesAClientThatSendsNothing) {
  start({.read_timeout = kShort, .idle_timeout = kShort});

  RawClient silent = client();
  EXPECT_TRUE(silent.is_closed_without_a_word());

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
  start({.write_timeout = kShort});
  RawClient client = this->client();

  client.send("GET /big HTTP/1.1\r\nHost: x\r\n\r\n");

  EXPECT_TRUE(client.is_reset());
  EXPECT_LT(client.read_up_to(kBigBody), kBigBody);
}

/// While it lives the process can have `spare` more descriptors and no others.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t spare) {
    ::getrlimit(RLIMIT_NOFILE, &usual_);
    const UniqueFd lowest_free{::dup(STDERR_FILENO)};
    rlimit low = usual_;
    low.rlim_cur = static_cast<rlim_t>(lowest_free.get()) + spare;
    ::setrlimit(RLIMIT_NOFILE, &low);
  }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &usual_); }

 private:
  rlimit usual_{};
};

TEST_F(ServerTest, ServesTheClientThatWaitedWhileDescriptorsWereOut) {
  start();
  RawClient earlier = client();
  ASSERT_EQ(earlier.get("/hello").status, 200u);

  auto few = std::make_unique<FewDescriptors>(1);
  RawClient waiting = client();  // has the last one: the server's accept fails with EMFILE
  ASSERT_TRUE(waiting.is_connected());
  waiting.send("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_FALSE(waiting.has_input_within(250));
  EXPECT_EQ(earlier.get("/hello").status, 200u);
  few.reset();

  EXPECT_EQ(waiting.read_reply().status, 200u);
  EXPECT_EQ(client().get("/hello").status, 200u);
}

TEST_F(ServerTest, StopsWithConnectionsInEveryState) {
  start();
  RawClient idle = client();
  ASSERT_EQ(idle.get("/hello").status, 200u);
  RawClient half_sent = client();
  half_sent.send("GET /hello HT");
  RawClient not_reading = client();
  not_reading.send("GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(not_reading.has_input_within(10'000));
  RawClient silent = client();

  boost::asio::post(loop_, [this] { server_->stop(); });

  EXPECT_TRUE(loop_ends());
  EXPECT_TRUE(idle.is_closed_without_a_word());
}

TEST_F(ServerTest, CallsNoHandlerAfterOneOfThemStoppedIt) {
  start();
  RawClient client = this->client();

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
    auto server = Server::listen(loop, {"127.0.0.1:0"}, routes());
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

bool has_ipv6() {
  boost::asio::io_context loop;
  return static_cast<bool>(Server::listen(loop, {"[::1]:0"}, {}));
}

TEST_F(ServerTest, ServesBothFamiliesWhereNoHostIsGiven) {
  if (!has_ipv6()) GTEST_SKIP() << "this machine has no IPv6: dual stack is NOT tested";
  start({}, {":0"});

  RawClient v4{server_->ports().front(), "127.0.0.1"};
  RawClient v6{server_->ports().front(), "::1"};

  EXPECT_EQ(v4.get("/hello").status, 200u);
  EXPECT_EQ(v6.get("/hello").status, 200u);
}

TEST_F(ServerTest, ServesEveryAddressItIsGiven) {
  start({}, {"127.0.0.1:0", "localhost:0"});

  ASSERT_EQ(server_->ports().size(), 2u);
  for (const std::uint16_t port : server_->ports()) {
    EXPECT_EQ(RawClient{port}.get("/hello").status, 200u);
  }
}

TEST_F(ServerTest, ServesAnIpv6AddressAlone) {
  if (!has_ipv6()) GTEST_SKIP() << "this machine has no IPv6: [::1] is NOT tested";
  start({}, {"[::1]:0"});
  const std::uint16_t port = server_->ports().front();

  EXPECT_EQ((RawClient{port, "::1"}.get("/hello").status), 200u);
  EXPECT_FALSE((RawClient{port, "127.0.0.1"}.is_connected()));
}

/// What an operator reads when nothing can be listened on at `address`.
std::string complaint_about(const std::string& address) {
  boost::asio::io_context loop;
  const auto server = Server::listen(loop, {address}, {});
  return server ? "none" : describe(server.error());
}

TEST(ListenTest, NamesThePortThatAnotherProgramHas) {
  boost::asio::io_context loop;
  const auto first = Server::listen(loop, {"127.0.0.1:0"}, {});
  ASSERT_TRUE(first);
  const std::string address = "127.0.0.1:" + std::to_string((*first)->ports().front());

  EXPECT_EQ(complaint_about(address),
            "listen on " + address +
                ": Address already in use (EADDRINUSE). Remedy: another program has this port: "
                "choose another with --web.listen-address");
}

TEST(ListenTest, NamesTheAddressThatThisMachineDoesNotHave) {
  EXPECT_EQ(complaint_about("192.0.2.1:0"),
            "listen on 192.0.2.1:0: Cannot assign requested address (EADDRNOTAVAIL). Remedy: this "
            "machine does not have this address: choose one of its own with --web.listen-address");
}

TEST(ListenTest, NamesTheCapabilityThatALowPortNeeds) {
  const uid_t usual = ::geteuid();
  if (usual == 0 && ::seteuid(65534) != 0) GTEST_SKIP() << "cannot give up root: NOT tested";
  const std::string complaint = complaint_about("127.0.0.1:1");
  ASSERT_EQ(::seteuid(usual), 0);

  if (complaint == "none") GTEST_SKIP() << "low ports are free for all here: NOT tested";
  EXPECT_EQ(complaint,
            "listen on 127.0.0.1:1: Permission denied (EACCES). Remedy: ports below 1024 need "
            "CAP_NET_BIND_SERVICE: choose a higher one with --web.listen-address");
}

TEST(ListenTest, RefusesNamesThatDoNotResolve) {
  const std::string complaint = complaint_about("no-such-host.invalid:80");

  EXPECT_TRUE(complaint.starts_with("listen on no-such-host.invalid:80: ")) << complaint;
  EXPECT_TRUE(complaint.ends_with("in --web.listen-address")) << complaint;
}

TEST(ListenTest, RefusesBadSpellings) {
  const char* const spellings[] = {
      "",
      "10173",
      "localhost",
      ":",
      "localhost:",
      "localhost:http",
      ":65536",
      ":-1",
      ":+1",
      ": 80",
      ":80 ",
      "::1:80",
      "[::1]",
      "[::1]80",
      "[::1:80",
      "::1]:80",
      "[]:80",
      "[localhost]:80",
      "a:b:80",
      "[1.2.3.4]:80",
      "local host:80",
      "http://localhost:80",
      "localhost/:80",
      "99999999999999999999:1:1",
  };
  for (const std::string spelling : spellings) {
    EXPECT_EQ(complaint_about(spelling),
              "'" + spelling +
                  "' is no listen address. Remedy: write host:port, :port or [IPv6]:port in "
                  "--web.listen-address, for example 127.0.0.1:10173");
  }
}

TEST(ListenTest, LeavesNothingOpenWhenOneOfSeveralFails) {
  boost::asio::io_context loop;
  const auto probe = Server::listen(loop, {"127.0.0.1:0"}, {});
  ASSERT_TRUE(probe);
  const std::string address = "127.0.0.1:" + std::to_string((*probe)->ports().front());
  (*probe)->stop();

  EXPECT_FALSE(Server::listen(loop, {address, "nonsense"}, {}));
  EXPECT_TRUE(Server::listen(loop, {address}, {}));
}

}  // namespace
}  // namespace pex::http
