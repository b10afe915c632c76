#include "http/request_head.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "http/same_origin.h"

namespace pex::http {
namespace {

constexpr std::size_t kLimit = 256;

/// The status of a head that comes in pieces of `piece` bytes; 0 when it is not whole.
unsigned status_of(std::string_view bytes, std::size_t piece) {
  RequestHead head{kLimit};
  std::string received;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    received += bytes.substr(at, piece);
    if (head.take(received)) return head.status();
  }
  return 0;
}

/// However the bytes arrive.
void expect_status(std::string_view bytes, unsigned status) {
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, 2 * kLimit}) {
    EXPECT_EQ(status_of(bytes, piece), status) << bytes << " by " << piece;
  }
}

TEST(RequestHeadTest, ReportsTheSameHoweverTheBytesArrive) {
  struct Row {
    std::string_view bytes;
    unsigned status;
  };
  const Row rows[] = {
      {"GET /a?b HTTP/1.1\r\nHost: x\r\n\r\n", 200},
      {"GET /a HTTP/1.0\r\n\r\n", 200},
      {"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", 200},
      {"GET /a HTTP/1.1\r\nHost: x\r\n", 0},
      {"GET /a HTTP/1.1\r\nHost: [::1]:80\r\nA:\r\nB: \t\x80\xff \r\n\r\n", 200},
      {"GET /a HTTP/1.1\r\nHost:\r\nContent-Length: 000\r\n\r\n", 200},
      {"GET /a HTTP/1.1\r\n\r\n", 400},
      {"GET /a HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400},
      {"GET /a HTTP/2.0\r\nHost: x\r\n\r\n", 400},
      {"GET  /a HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"GET /a\r\n\r\n", 400},
      {"GET /a HTTP/1.1\r\nHost x\r\n\r\n", 400},
      {"GET /a HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400},
      {"GET /a HTTP/1.1\r\nHost: x\r\nContent-Length: 18446744073709551616\r\n\r\n", 400},
      {"\x16\x03\x01\x02", 400},
      {"get /a HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n", 413},
      {"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 18446744073709551615\r\n\r\n", 413},
      {"POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", 413},
  };
  for (const Row& row : rows) expect_status(row.bytes, row.status);
}

// Heads of which two readers might make two different requests (RFC 9112, 11.2), and the like.
TEST(RequestHeadTest, RefusesWhatAnotherReaderMightTakeDifferently) {
  const std::string_view fields[] = {
      "Content-Length: 0\r\nContent-Length: 0\r\n",
      "Content-Length: 1\r\nContent-Length: 1\r\n",
      "Content-Length: 0\r\nContent-Length: 1\r\n",
      "Content-Length: 0, 0\r\n",
      "Content-Length: +1\r\n",
      "Content-Length: 0x1\r\n",
      "Content-Length: 1 1\r\n",
      "Content-Length:\r\n",
      "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n",
      "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n",
      "Transfer-Encoding: identity\r\nContent-Length: 0\r\n",
      "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
      "A: b\r\n folded\r\n",
      "A: b\r\n\tfolded\r\n",
      " A: b\r\n",
      "A : b\r\n",
      "A\t: b\r\n",
      ": b\r\n",
      "A\r\n",
      "A: b\n",
      "A: b\r",
      "A: b\rC: d\r\n",
      "A: b\x01\r\n",
      "A: b\x7f\r\n",
      "A\x80: b\r\n",
      {"A: b\0\r\n", 8},
      "Host: x\r\n",
      "host: y\r\n",
  };
  for (const std::string_view field : fields) {
    expect_status(
        "GET /a HTTP/1.1\r\nHost: x\r\n" + std::string{field} + "\r\nGET /b HTTP/1.1\r\n\r\n", 400);
  }
}

TEST(RequestHeadTest, RefusesAtOnceAHeadWhoseLinesEndWithoutACarriageReturn) {
  expect_status("GET /-/healthy HTTP/1.0\n\n", 400);
}

TEST(RequestHeadTest, RefusesRequestLinesThatAreNotExactlyOfThreeWords) {
  const std::string_view lines[] = {
      "GET http://x/a HTTP/1.1", "GET x:80 HTTP/1.1",     "CONNECT x:80 HTTP/1.1",
      "OPTIONS * HTTP/1.1",      "GET a HTTP/1.1",        "GET  HTTP/1.1",
      "GET /a b HTTP/1.1",       "GET /a  HTTP/1.1",      "GET\t/a HTTP/1.1",
      "GET /a\tHTTP/1.1",        "GET /a HTTP/1.1 ",      " GET /a HTTP/1.1",
      "\tGET /a HTTP/1.1",       "\r\nGET /a HTTP/1.1",   "\nGET /a HTTP/1.1",
      "GET /a\x01 HTTP/1.1",     "GET /a\x80 HTTP/1.1",   "GET /a\x7f HTTP/1.1",
      {"GET /a\0 HTTP/1.1", 16}, "GET /a HTTP/0.9",       "GET /a HTTP/1.2",
      "GET /a HTTP/2.0",         "GET /a HTTP/1.1\nA: b", "GET /a http/1.1",
      "GET /a HTTP/11",          "G(T /a HTTP/1.1",
  };
  for (const std::string_view line : lines) {
    expect_status(std::string{line} + "\r\nHost: x\r\n\r\n", 400);
  }
}

TEST(RequestHeadTest, RefusesAHostThatIsNoHost) {
  for (const std::string_view host : {"x y", "x/y", "u@x", "x?", "x#", "<x>", "x, y", "x\\y"}) {
    expect_status("GET /a HTTP/1.1\r\nHost: " + std::string{host} + "\r\n\r\n", 400);
  }
  expect_status("GET /a HTTP/1.0\r\nHost: x\r\nHost: x\r\n\r\n", 400);
}

TEST(RequestHeadTest, SaysWhatIsWrongWithARequestThatAProgramSends) {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"PRI * HTTP/2.0\r\n\r\n", "this server speaks HTTP/1.1, and not HTTP/2"},
      {"PROXY TCP4 1.2.3.4 1.2.3.4 1 2\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
       "a proxy sent the PROXY protocol: disable it there"},
      {{"\r\n\r\n\0\r\nQUIT\n", 12}, "a proxy sent the PROXY protocol: disable it there"},
      {"CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n", "this is no proxy: the target must be a path"},
      {"GET http://x/ HTTP/1.1\r\nHost: x\r\n\r\n", "this is no proxy: the target must be a path"},
      {"GET / HTTP/1.1\r\n\r\n", "exactly one Host field is required"},
      {"GET / HTTP/1.1\r\nHost: u@x\r\n\r\n", "the Host field is no host and port"},
      {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n",
       "the length of the body is given twice, or wrongly"},
      {"nonsense\r\n\r\n", ""},
  };
  for (const auto& [sent, fault] : rows) {
    RequestHead head{kLimit};
    std::string received{sent};
    EXPECT_TRUE(head.take(received));
    EXPECT_EQ(head.status(), 400u) << sent;
    EXPECT_EQ(head.fault(), fault) << sent;
  }
}

TEST(RequestHeadTest, JoinsTheFieldsOfOneName) {
  RequestHead head{kLimit};
  std::string received = "GET / HTTP/1.1\r\nHost: x\r\nAccept: a\r\nB: c\r\naccept:  d \r\n\r\n";

  ASSERT_TRUE(head.take(received));
  EXPECT_EQ(head.value("Accept"), "a, d");
  EXPECT_EQ(head.count("ACCEPT"), 2u);
  EXPECT_EQ(head.value("Missing"), "");
  EXPECT_EQ(head.count("Missing"), 0u);
}

TEST(RequestHeadTest, TakesAHeadOfExactlyTheLimit) {
  const std::string start = "GET / HTTP/1.1\r\nHost: x\r\nPad: ";
  const std::string at_limit = start + std::string(kLimit - start.size() - 4, 'p') + "\r\n\r\n";
  const std::string over_it = start + std::string(kLimit - start.size() - 3, 'p') + "\r\n\r\n";

  expect_status(at_limit, 200);
  expect_status(over_it, 431);
}

TEST(RequestHeadTest, CountsFieldsThatArriveOneByOneTowardsTheLimit) {
  RequestHead head{kLimit};
  std::string received;
  received += "GET / HTTP/1.1\r\nHost: x\r\n";

  std::size_t sent = received.size();
  while (!head.take(received) && sent < 10 * kLimit) {
    received += "A: b\r\n";
    sent += 6;
  }

  EXPECT_EQ(head.status(), 431u);
  EXPECT_LE(sent, kLimit + 6);
}

TEST(RequestHeadTest, LeavesWhatFollowsForTheNextOne) {
  RequestHead head{kLimit};
  std::string received;
  received += "GET /one HTTP/1.1\r\nHost: x\r\n\r\nGET /two";

  ASSERT_TRUE(head.take(received));
  EXPECT_EQ(head.method(), "GET");
  EXPECT_EQ(head.target(), "/one");
  EXPECT_EQ(head.version(), 11u);
  EXPECT_TRUE(head.keep_alive());
  EXPECT_EQ(received.size(), std::string_view{"GET /two"}.size());
}

TEST(RequestHeadTest, KeepsTheConnectionAsAllItsFieldsConnectionSay) {
  struct Row {
    const char* version;
    const char* fields;
    bool keep_alive;
  };
  const Row rows[] = {
      {"1.1", "", true},
      {"1.1", "Connection: close\r\n", false},
      {"1.1", "Connection: keep-alive\r\nConnection: close\r\n", false},
      {"1.1", "Connection: close\r\nConnection: keep-alive\r\n", false},
      {"1.1", "connection: TE\r\nCONNECTION: te , Close\r\n", false},
      {"1.1", "Connection: keep-alive, close\r\n", false},
      {"1.1", "Connection: upgrade\r\n", true},
      {"1.1", "Connection:\r\n", true},
      {"1.0", "", false},
      {"1.0", "Connection: keep-alive\r\n", true},
      {"1.0", "Connection: te\r\nConnection: Keep-Alive\r\n", true},
      {"1.0", "Connection: keep-alive\r\nConnection: close\r\n", false},
      {"1.0", "Connection: keep-alives\r\n", false},
  };
  for (const Row& row : rows) {
    RequestHead head{kLimit};
    std::string received =
        "GET / HTTP/" + std::string(row.version) + "\r\nHost: x\r\n" + row.fields + "\r\n";
    ASSERT_TRUE(head.take(received));
    ASSERT_EQ(head.status(), 200u) << row.fields;
    EXPECT_EQ(head.keep_alive(), row.keep_alive) << row.version << ": " << row.fields;
  }
}

bool is_refused(const std::string& fields, const std::string& host = "x.example:10173") {
  RequestHead head{1024};
  std::string received = "POST /-/reload HTTP/1.1\r\nHost: " + host + "\r\n" + fields + "\r\n";
  EXPECT_TRUE(head.take(received));
  EXPECT_EQ(head.status(), 200u) << fields;
  return is_of_another_site(head);
}

TEST(SameOriginTest, LetsInWhoIsNoBrowserAndPagesOfThisSite) {
  for (const char* fields :
       {"", "Origin: http://x.example:10173\r\n", "origin: https://X.example:10173\r\n",
        "Sec-Fetch-Site: same-origin\r\n", "Sec-Fetch-Site: none\r\n",
        "Origin: http://x.example:10173\r\nSec-Fetch-Site: same-origin\r\n"}) {
    EXPECT_FALSE(is_refused(fields)) << fields;
  }
  EXPECT_FALSE(is_refused("Origin: http://[::1]:10173\r\n", "[::1]:10173"));
}

TEST(SameOriginTest, RefusesPagesOfOtherSites) {
  for (const char* fields :
       {"Origin: http://evil.example\r\n", "Origin: http://evil.example:10173\r\n",
        "Origin: http://x.example\r\n", "Origin: http://x.example:10173.evil.example\r\n",
        "Origin: http://evil.example/x.example:10173\r\n", "Origin: null\r\n", "Origin:\r\n",
        "Origin: x.example:10173\r\n", "Origin: http://\r\n",
        "Origin: http://x.example:10173\r\nOrigin: http://evil.example\r\n",
        "Sec-Fetch-Site: cross-site\r\n", "Sec-Fetch-Site: same-site\r\n",
        "Sec-Fetch-Site: nonsense\r\n", "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Site: none\r\n",
        "Origin: http://x.example:10173\r\nSec-Fetch-Site: cross-site\r\n",
        "Origin: http://evil.example\r\nSec-Fetch-Site: same-origin\r\n"}) {
    EXPECT_TRUE(is_refused(fields)) << fields;
  }
  EXPECT_TRUE(is_refused("Origin: http://\r\n", ""));
}

}  // namespace
}  // namespace pex::http
