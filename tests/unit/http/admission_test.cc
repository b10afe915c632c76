
#include <atomic>

#include "http/server.h"
#include "support/few_descriptors.h"
#include "support/patience.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"
#include "unit/access/certificates.h"
#include "unit/http/raw_client.h"
#include "unit/http/server_fixture.h"
#include "unit/http/tls_client.h"

namespace pex::http {
namespace {

constexpr const char* kHalf = "GET /hello HTTP/1.1\r\nHo";

/// The server at its limit of connections.
class AdmissionTest : public ServerTest {
 protected:
  /// With a long time before anybody stands still, unless the test says otherwise.
  static Limits room_for(std::size_t connections, milliseconds stall_time = std::chrono::hours{1}) {
    return {.max_connections = connections, .stall_time = stall_time};
  }

  /// Refused clients have a minute, however busy the machine is.
  static Limits patient_room_for(std::size_t connections) {
    Limits limits = room_for(connections);
    limits.refused_timeout = test::kPatience;
    return limits;
  }

  void start(Limits limits) {
    ServerTest::start(limits, {.addresses = {"127.0.0.1:0", "unix:" + socket_}});
  }

  std::vector<RawClient> clients(std::size_t number, const std::string& bytes = "") {
    std::vector<RawClient> all;
    for (std::size_t i = 0; i < number; ++i) all.push_back(client_that_sends(bytes));
    return all;
  }
  /// As many clients as there is room for, each of which has sent `bytes`.
  void start_full(const Limits& limits, const std::string& bytes = kHalf) {
    start(limits);
    crowd_ = clients(limits.max_connections, bytes);
    await([&] { return connections() == crowd_.size(); });
  }

  /// Another peer than client(), of which all loopback addresses are.
  RawClient neighbour() const { return RawClient{socket_}; }

  static void await(const std::function<bool()>& condition) {
    ASSERT_TRUE(test::comes_true(condition));  // it need not stay so
  }

  void await_status(unsigned status, const std::string& path) {
    await([&] { return client().get(path).status == status; });
  }

  test::Identity identity_{{.name = "server"}};
  const test::TempTree tree_;
  const std::string socket_ = tree_.path("socket");
  std::vector<RawClient> crowd_;
};

TEST_F(AdmissionTest, ClosesAClientThatHasBegunARequestAndStandsStill) {
  start_full(room_for(4, kShort));

  await_status(200, "/hello");

  EXPECT_GE(errors().stalled_closed, 1u);
  EXPECT_EQ(errors().peer_share, 0u);
}

TEST_F(AdmissionTest, ClosesFirstOneOfThePeerThatHasMostConnections) {
  start(room_for(9, kShort));
  RawClient oldest = neighbour();
  oldest.send(kHalf);
  std::vector<RawClient>
      others;  // on a busy machine the client asks several times, and each closes one
  for (int i = 0; i < 8; ++i) {
    others.push_back(client());
    EXPECT_EQ(others.back().get("/hello").status, 200u);
  }
  std::this_thread::sleep_for(2 * kShort);  // now all of them have made no progress for kShort

  await_status(200, "/hello");

  oldest.send("st: x\r\n\r\n");
  EXPECT_EQ(oldest.read_reply().status, 200u);
}

TEST_F(AdmissionTest, TakesSingleBytesOfARequestForNoProgress) {
  start_full(room_for(4, seconds{1}));

  await([&] {
    for (RawClient& each : crowd_) each.send("s");
    return client().get("/hello").status == 200;
  });

  EXPECT_GE(errors().stalled_closed, 1u);
}

TEST_F(AdmissionTest, ClosesAClientThatDoesNotTakeItsAnswer) {
  start_full(room_for(4, kShort), "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");

  await_status(200, "/hello");

  EXPECT_GE(errors().stalled_closed, 1u);
  await([&] {
    return std::any_of(crowd_.begin(), crowd_.end(),
                       [](RawClient& each) { return each.has_error_within(0); });
  });
}

TEST_F(AdmissionTest, ClosesAClientThatDoesNotEndItsHandshake) {
  let_in({.tls = tls_of(identity_)});
  start_full(room_for(4, kShort), "\x16\x03\x01");

  await([&] { return TlsClient{port()}.get("/hello").status == 200; });

  EXPECT_GE(errors().stalled_closed, 1u);
}

TEST_F(AdmissionTest, ClosesNoClientThatWaitsForUsHoweverLongThatTakes) {
  start(room_for(1, milliseconds{0}));
  RawClient waiting = client();
  ask_for_later(waiting);

  EXPECT_EQ(client().get("/hello").status, 503u);

  answer_later();
  EXPECT_EQ(waiting.read_reply().status, 200u);
}

TEST_F(AdmissionTest, GivesEachPeerItsShareOfTheConnections) {
  start_full(room_for(4));

  std::vector<RawClient> neighbours;
  for (int i = 0; i < 2; ++i) {
    neighbours.push_back(neighbour());
    EXPECT_EQ(neighbours.back().get("/hello").status, 200u);
  }
  const unsigned beyond_share = neighbour().get("/hello").status;  // 2 of 4 are a share

  EXPECT_EQ(beyond_share, 503u);
  EXPECT_EQ(errors().peer_share, 2u);
  for (RawClient& each : neighbours) EXPECT_EQ(each.get("/hello").status, 200u);
}

TEST_F(AdmissionTest, TakesNoShareFromAPeerThatHasNoMoreThanTheNewClientsPeerWouldHave) {
  start_full(room_for(3));
  RawClient first = neighbour();
  EXPECT_EQ(first.get("/hello").status, 200u);  // two of one peer, and one of the other

  EXPECT_EQ(neighbour().get("/hello").status, 503u);

  EXPECT_EQ(errors().peer_share, 1u);
}

TEST_F(AdmissionTest, GivesAllLoopbackAddressesOneShareTogether) {
  start(room_for(4));
  for (const char* source : {"127.0.0.1", "127.0.0.2", "127.1.2.3", "127.200.0.1"}) {
    crowd_.emplace_back(port(), "127.0.0.1", source);
    crowd_.back().send(kHalf);
  }
  await([&] { return connections() == 4; });

  EXPECT_EQ(neighbour().get("/hello").status, 200u);
  EXPECT_EQ(errors().peer_share, 1u);
}

TEST_F(AdmissionTest, TakesAShareFromWhoWaitsForUsOnlyWhereNoOtherIsThere) {
  start(room_for(3));
  RawClient waiting = client();
  ask_for_later(waiting);
  const std::vector<RawClient> silent = clients(2);
  await([&] { return connections() == 3; });

  EXPECT_EQ(neighbour().get("/hello").status, 200u);

  answer_later();
  EXPECT_EQ(waiting.read_reply().status, 200u);
}

TEST_F(AdmissionTest, TakesAShareFromAPeerThatKeepsTheHandlersBusy) {
  start(room_for(2));
  RawClient one = client();
  RawClient two = client();
  ask_for_later(one);
  ask_for_later(two);

  EXPECT_EQ(neighbour().get("/hello").status, 200u);
  EXPECT_EQ(errors().peer_share, 1u);
}

TEST_F(AdmissionTest, ServesAllOfOnePeerUpToTheLimit) {
  start(room_for(64));
  std::vector<RawClient> all = clients(64);

  for (RawClient& each : all) EXPECT_EQ(each.get("/hello").status, 200u);
}

TEST_F(AdmissionTest, AnswersForARefusedClientWhatNeedsNoLoginAndIsAtHand) {
  start_full(patient_room_for(4));

  for (int i = 0; i < 50; ++i) {
    RawClient probe = client();
    const Reply reply = probe.get("/open");
    EXPECT_EQ(reply.status, 200u);
    EXPECT_EQ(reply.body, "open\n");
    EXPECT_EQ(reply.header("connection"), "close");
    EXPECT_TRUE(probe.is_closed_without_a_word());
  }
  RawClient asks_for_head = client_that_sends("HEAD /open HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(asks_for_head.read_reply(/*with_body=*/false).status, 200u);
  EXPECT_TRUE(asks_for_head.is_closed_without_a_word());
  RawClient posts = client_that_sends("POST /open HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(posts.read_reply().status, 503u);
  EXPECT_EQ(client().get("/hello").status, 503u);
  EXPECT_EQ(client().get("/nowhere").status, 503u);
  EXPECT_EQ(errors().connection_limit, 54u);
}

TEST_F(AdmissionTest, AnswersForARefusedClientOverTls) {
  let_in({.tls = tls_of(identity_)});
  start_full(patient_room_for(4), "\x16");

  for (int i = 0; i < 20; ++i) EXPECT_EQ(TlsClient{port()}.get("/open").body, "open\n");
  EXPECT_EQ(TlsClient{port()}.get("/hello").status, 503u);
}

TEST_F(AdmissionTest, KeepsOfManyRefusedClientsTheNewest) {
  Limits limits = patient_room_for(4);
  limits.max_refusals = 8;
  start_full(limits);
  std::vector<RawClient> half = clients(100, kHalf);

  EXPECT_EQ(client().get("/open").status, 200u);
  EXPECT_LE(connections(), 4u + 8u);
  EXPECT_TRUE(half.front().is_closed_without_a_word());
}

TEST_F(AdmissionTest, AnswersARefusedClientThatSendsItsRequestWhenManyHaveComeAfterIt) {
  Limits limits = room_for(4);
  limits.max_refusals = 8;
  limits.read_timeout = seconds{60};  // so that the crowd stays
  start_full(limits);

  await([&] {  // after a second it would be closed for one of them
    RawClient late = client();
    const std::vector<RawClient> half = clients(20, kHalf);
    EXPECT_EQ(client().get("/open").status, 200u);  // all of them have come
    return late.get("/open").status == 200;
  });
}

TEST_F(AdmissionTest, KeepsNoRefusedClientThatHasItsAnswerAndStaysInThePlaceOfANewOne) {
  Limits limits = patient_room_for(4);
  limits.max_refusals = 8;
  start_full(limits);
  std::vector<RawClient> staying;

  for (int i = 0; i < 100; ++i) {
    staying.push_back(client());
    EXPECT_EQ(staying.back().get("/open").status, 200u);
  }

  EXPECT_LE(connections(), 4u + 8u);
}

TEST_F(AdmissionTest, InformsASilentRefusedClientAfterAWhile) {
  start_full(room_for(1));

  RawClient silent = client();
  EXPECT_EQ(silent.read_reply().status, 503u);
  EXPECT_TRUE(silent.is_closed_without_a_word());
}

TEST_F(AdmissionTest, ClosesFirstWhoHasItsLastAnswerAndDoesNotLeave) {
  start_full(room_for(4), "nonsense\r\n\r\n");
  for (RawClient& each : crowd_) ASSERT_EQ(each.read_reply().status, 400u);

  EXPECT_EQ(client().get("/hello").status, 200u);
}

TEST_F(AdmissionTest, AnswersHealthAndRefusesTheRestWhileDescriptorsAreOut) {
  start(room_for(512));
  RawClient earlier = client();
  ASSERT_EQ(earlier.get("/hello").status, 200u);
  RawClient probe = RawClient::unconnected();
  RawClient scraper = RawClient::unconnected();
  {
    const test::FewDescriptors few{0};

    probe.connect_to(port());
    EXPECT_EQ(probe.get("/open").status, 200u);
    scraper.connect_to(port());
    EXPECT_EQ(scraper.get("/hello").status, 503u);
    EXPECT_EQ(earlier.get("/hello").status, 200u);
    EXPECT_GE(errors().accept_error, 2u);
  }

  EXPECT_EQ(client().get("/hello").status, 200u);
}

TEST_F(AdmissionTest, ClosesWhoStandsStillForANewClientWhileDescriptorsAreOut) {
  start(room_for(512, milliseconds{0}));
  RawClient idle = client();
  ASSERT_EQ(idle.get("/hello").status, 200u);
  RawClient scraper = RawClient::unconnected();

  const test::FewDescriptors few{0};
  scraper.connect_to(port());

  EXPECT_EQ(scraper.get("/hello").status, 200u);
  EXPECT_TRUE(idle.is_closed_without_a_word());
}

TEST_F(AdmissionTest, ClosesNoClientWhileDescriptorsAreOutAndNoClientComes) {
  start(room_for(512, milliseconds{0}));
  RawClient first = client();
  RawClient idle = client();
  ASSERT_EQ(idle.get("/hello").status, 200u);

  const test::FewDescriptors few{0};
  for (int i = 0; i < 20; ++i) EXPECT_EQ(idle.get("/hello").status, 200u);

  EXPECT_EQ(errors().accept_error, 0u);
}

TEST_F(AdmissionTest, ReportsTheConnectionLimitAndWhoHasMostConnections) {
  std::atomic<int> told = 0;
  on_connection_limit_ = [&] { ++told; };
  start_full(room_for(4));
  ASSERT_EQ(told, 0);

  EXPECT_EQ(client().get("/open").status, 200u);

  EXPECT_EQ(told, 1);
  on_loop([&] {
    const auto busiest = server_->busiest_peer();
    ASSERT_TRUE(busiest);
    EXPECT_EQ(busiest->peer, "loopback");
    EXPECT_EQ(busiest->connections, 4u);
  });
}

}  // namespace
}  // namespace pex::http
