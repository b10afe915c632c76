#include "http/request_head.h"

#include <gtest/gtest.h>

#include <boost/asio/buffer.hpp>
#include <string>
#include <string_view>

namespace pex::http {
namespace {

constexpr std::size_t kLimit = 256;

void append(boost::beast::flat_buffer& buffer, std::string_view bytes) {
  const auto room = buffer.prepare(bytes.size());
  buffer.commit(boost::asio::buffer_copy(room, boost::asio::buffer(bytes.data(), bytes.size())));
}

/// The status of a head that comes in pieces of `piece` bytes; 0 when it is not whole.
unsigned status_of(std::string_view bytes, std::size_t piece) {
  RequestHead head{kLimit};
  boost::beast::flat_buffer received;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    append(received, bytes.substr(at, piece));
    if (head.take(received)) return head.status();
  }
  return 0;
}

TEST(RequestHeadTest, SaysTheSameHoweverTheBytesArrive) {
  struct Row {
    std::string_view bytes;
    unsigned status;
  };
  const Row rows[] = {
      {"GET /a?b HTTP/1.1\r\nHost: x\r\n\r\n", 200},
      {"GET /a HTTP/1.0\r\n\r\n", 200},
      {"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", 200},
      {"GET /a HTTP/1.1\r\nHost: x\r\n", 0},
      {"GET /a HTTP/1.1\r\n\r\n", 400},
      {"GET /a HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400},
      {"GET /a HTTP/2.0\r\nHost: x\r\n\r\n", 400},
      {"GET  /a HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"GET /a\r\n\r\n", 400},
      {"GET /a HTTP/1.1\r\nHost x\r\n\r\n", 400},
      {"GET /a HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400},
      {"GET /a HTTP/1.1\r\nHost: x\r\nContent-Length: 18446744073709551616\r\n\r\n", 400},
      {"\x16\x03\x01\x02", 400},
      {"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n", 413},
      {"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 18446744073709551615\r\n\r\n", 413},
      {"POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", 413},
  };
  for (const Row& row : rows) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, kLimit}) {
      EXPECT_EQ(status_of(row.bytes, piece), row.status) << row.bytes << " by " << piece;
    }
  }
}

TEST(RequestHeadTest, TakesAHeadOfExactlyTheLimit) {
  const std::string start = "GET / HTTP/1.1\r\nHost: x\r\nPad: ";
  const std::string at_limit = start + std::string(kLimit - start.size() - 4, 'p') + "\r\n\r\n";
  const std::string over_it = start + std::string(kLimit - start.size() - 3, 'p') + "\r\n\r\n";

  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, 2 * kLimit}) {
    EXPECT_EQ(status_of(at_limit, piece), 200u) << piece;
    EXPECT_EQ(status_of(over_it, piece), 431u) << piece;
  }
}

TEST(RequestHeadTest, CountsFieldsThatArriveOneByOneTowardsTheLimit) {
  RequestHead head{kLimit};
  boost::beast::flat_buffer received;
  append(received, "GET / HTTP/1.1\r\nHost: x\r\n");

  std::size_t sent = received.size();
  while (!head.take(received) && sent < 10 * kLimit) {
    append(received, "A: b\r\n");
    sent += 6;
  }

  EXPECT_EQ(head.status(), 431u);
  EXPECT_LE(sent, kLimit + 6);
}

TEST(RequestHeadTest, LeavesWhatFollowsForTheNextOne) {
  RequestHead head{kLimit};
  boost::beast::flat_buffer received;
  append(received, "GET /one HTTP/1.1\r\nHost: x\r\n\r\nGET /two");

  ASSERT_TRUE(head.take(received));
  EXPECT_EQ(head.method(), "GET");
  EXPECT_EQ(head.target(), "/one");
  EXPECT_EQ(head.version(), 11u);
  EXPECT_TRUE(head.keep_alive());
  EXPECT_EQ(received.size(), std::string_view{"GET /two"}.size());
}

}  // namespace
}  // namespace pex::http
