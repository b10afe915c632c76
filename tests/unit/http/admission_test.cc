#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "http/server.h"
#include "support/few_descriptors.h"
#include "support/patience.h"
#include "support/temp_tree.h"
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

  void start(Limits limits) {
    ServerTest::start(limits, {.addresses = {"127.0.0.1:0", "unix:" + socket_}});
  }

  /// As many as are in use then, each of which has sent `bytes`.
  std::vector<RawClient> crowd(std::size_t size, const std::string& bytes = kHalf) {
    std::vector<RawClient> clients;
    for (std::size_t i = 0; i < size; ++i) {
      clients.push_back(client());
      clients.back().send(bytes);
    }
    await([&] { return connections() == size; });
    return clients;
  }

  /// Another peer than client(), of which all loopback addresses are.
  RawClient neighbour() const { return RawClient{socket_}; }

  static void await(const std::function<bool()>& condition) {
    ASSERT_TRUE(test::comes_true(condition));  // it need not stay so
  }

  void await_status(unsigned status, const std::string& path) {
    await([&] { return client().get(path).status == status; });
  }

  access::AccessSettings tls() const {
    return {.tls = access::TlsSettings{.certificate = {.text = identity_.certificate()},
                                       .key = {.text = identity_.key()}}};
  }

  test::Identity identity_{{.name = "server"}};
  const test::TempTree tree_;
  const std::string socket_ = tree_.path("socket");
};

TEST_F(AdmissionTest, ClosesAClientThatHasBegunARequestAndStandsStill) {
  start(room_for(4, kShort));
  const std::vector<RawClient> half = crowd(4);

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
  start(room_for(4, seconds{1}));
  std::vector<RawClient> dripping = crowd(4);

  await([&] {
    for (RawClient& each : dripping) each.send("s");
    return client().get("/hello").status == 200;
  });

  EXPECT_GE(errors().stalled_closed, 1u);
}

TEST_F(AdmissionTest, ClosesAClientThatDoesNotTakeItsAnswer) {
  start(room_for(4, kShort));
  std::vector<RawClient> greedy = crowd(4, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");

  await_status(200, "/hello");

  EXPECT_GE(errors().stalled_closed, 1u);
  await([&] {
    return std::any_of(greedy.begin(), greedy.end(),
                       [](RawClient& each) { return each.has_error_within(0); });
  });
}

TEST_F(AdmissionTest, ClosesAClientThatDoesNotEndItsHandshake) {
  let_in(tls());
  start(room_for(4, kShort));
  const std::vector<RawClient> half = crowd(4, "\x16\x03\x01");

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
  start(room_for(4));
  const std::vector<RawClient> crowd = this->crowd(4);

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
  start(room_for(3));
  const std::vector<RawClient> crowd = this->crowd(3);
  RawClient first = neighbour();
  EXPECT_EQ(first.get("/hello").status, 200u);  // two of one peer, and one of the other

  EXPECT_EQ(neighbour().get("/hello").status, 503u);

  EXPECT_EQ(errors().peer_share, 1u);
}

TEST_F(AdmissionTest, GivesAllLoopbackAddressesOneShareTogether) {
  start(room_for(4));
  std::vector<RawClient> crowd;
  for (const char* source : {"127.0.0.1", "127.0.0.2", "127.1.2.3", "127.200.0.1"}) {
    crowd.emplace_back(port(), "127.0.0.1", source);
    crowd.back().send(kHalf);
  }
  await([&] { return connections() == 4; });

  EXPECT_EQ(neighbour().get("/hello").status, 200u);
  EXPECT_EQ(errors().peer_share, 1u);
}

TEST_F(AdmissionTest, TakesAShareFromWhoWaitsForUsOnlyWhereNoOtherIsThere) {
  start(room_for(3));
  RawClient waiting = client();
  ask_for_later(waiting);
  const std::vector<RawClient> half = [&] {
    std::vector<RawClient> clients;
    for (int i = 0; i < 2; ++i) clients.push_back(client());
    return clients;
  }();
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
  std::vector<RawClient> clients;
  for (int i = 0; i < 64; ++i) clients.push_back(client());

  for (RawClient& each : clients) EXPECT_EQ(each.get("/hello").status, 200u);
}

TEST_F(AdmissionTest, AnswersForARefusedClientWhatNeedsNoLoginAndIsAtHand) {
  Limits limits = room_for(4);
  limits.refused_timeout = test::kPatience;  // however busy the machine is
  start(limits);
  const std::vector<RawClient> crowd = this->crowd(4);

  for (int i = 0; i < 50; ++i) {
    RawClient probe = client();
    const Reply reply = probe.get("/open");
    EXPECT_EQ(reply.status, 200u);
    EXPECT_EQ(reply.body, "open\n");
    EXPECT_EQ(reply.header("connection"), "close");
    EXPECT_TRUE(probe.is_closed_without_a_word());
  }
  RawClient asks_for_head = client();
  asks_for_head.send("HEAD /open HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(asks_for_head.read_reply(/*with_body=*/false).status, 200u);
  EXPECT_TRUE(asks_for_head.is_closed_without_a_word());
  RawClient posts = client();
  posts.send("POST /open HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(posts.read_reply().status, 503u);
  EXPECT_EQ(client().get("/hello").status, 503u);
  EXPECT_EQ(client().get("/nowhere").status, 503u);
  EXPECT_EQ(errors().connection_limit, 54u);
}

TEST_F(AdmissionTest, AnswersForARefusedClientOverTls) {
  let_in(tls());
  Limits limits = room_for(4);
  limits.refused_timeout = test::kPatience;  // however slow the handshakes are here
  start(limits);
  const std::vector<RawClient> crowd = this->crowd(4, "\x16");

  for (int i = 0; i < 20; ++i) EXPECT_EQ(TlsClient{port()}.get("/open").body, "open\n");
  EXPECT_EQ(TlsClient{port()}.get("/hello").status, 503u);
}

TEST_F(AdmissionTest, KeepsOfManyRefusedClientsTheNewest) {
  Limits limits = room_for(4);
  limits.max_refusals = 8;
  limits.refused_timeout = test::kPatience;  // so that none goes because it takes long
  start(limits);
  const std::vector<RawClient> crowd = this->crowd(4);
  std::vector<RawClient> half;
  for (int i = 0; i < 100; ++i) {
    half.push_back(client());
    half.back().send(kHalf);
  }

  EXPECT_EQ(client().get("/open").status, 200u);
  EXPECT_LE(connections(), 4u + 8u);
  EXPECT_TRUE(half.front().is_closed_without_a_word());
}

TEST_F(AdmissionTest, AnswersARefusedClientThatSendsItsRequestWhenManyHaveComeAfterIt) {
  Limits limits = room_for(4);
  limits.max_refusals = 8;
  limits.read_timeout = seconds{60};  // so that the crowd stays
  start(limits);
  const std::vector<RawClient> crowd = this->crowd(4);

  await([&] {  // after a second it would be closed for one of them
    RawClient late = client();
    std::vector<RawClient> half;
    for (int i = 0; i < 20; ++i) {
      half.push_back(client());
      half.back().send(kHalf);
    }
    EXPECT_EQ(client().get("/open").status, 200u);  // all of them have come
    return late.get("/open").status == 200;
  });
}

TEST_F(AdmissionTest, KeepsNoRefusedClientThatHasItsAnswerAndStaysInThePlaceOfANewOne) {
  Limits limits = room_for(4);
  limits.max_refusals = 8;
  limits.refused_timeout = test::kPatience;  // however busy the machine is
  start(limits);
  const std::vector<RawClient> crowd = this->crowd(4);
  std::vector<RawClient> staying;

  for (int i = 0; i < 100; ++i) {
    staying.push_back(client());
    EXPECT_EQ(staying.back().get("/open").status, 200u);
  }

  EXPECT_LE(connections(), 4u + 8u);
}

TEST_F(AdmissionTest, InformsASilentRefusedClientAfterAWhile) {
  start(room_for(1));
  const std::vector<RawClient> crowd = this->crowd(1);

  RawClient silent = client();
  EXPECT_EQ(silent.read_reply().status, 503u);
  EXPECT_TRUE(silent.is_closed_without_a_word());
}

TEST_F(AdmissionTest, ClosesFirstWhoHasItsLastAnswerAndDoesNotLeave) {
  start(room_for(4));
  std::vector<RawClient> staying = crowd(4, "nonsense\r\n\r\n");
  for (RawClient& each : staying) ASSERT_EQ(each.read_reply().status, 400u);

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
  start(room_for(4));
  const std::vector<RawClient> crowd = this->crowd(4);
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
