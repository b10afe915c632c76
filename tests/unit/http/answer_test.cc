#include "http/answer.h"

#include <gtest/gtest.h>

#include <string>

namespace pex::http {
namespace {

TEST(AnswerTest, WritesTheHeadOfAResponse) {
  Response response = plain_text(200, "hello\n");
  response.headers = {{"Content-Encoding", "gzip"}};

  EXPECT_EQ(response_head(response, {}, {.version = 11, .keep_alive = true, .now = 784111777}),
            "HTTP/1.1 200 OK\r\n"
            "Server: perf_event_exporter\r\n"
            "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
            "Content-Type: text/plain; charset=utf-8\r\n"
            "Content-Length: 6\r\n"
            "X-Content-Type-Options: nosniff\r\n"
            "Content-Encoding: gzip\r\n"
            "\r\n");
}

TEST(AnswerTest, ReportsWhatBecomesOfTheConnectionWhereTheVersionDoesNot) {
  const Response response;
  const auto says = [&](unsigned version, bool keep_alive, const char* line) {
    const std::string head = response_head(response, {}, {version, keep_alive, 0});
    return head.find(line) != std::string::npos;
  };

  EXPECT_FALSE(says(11, true, "Connection"));
  EXPECT_TRUE(says(11, false, "\r\nConnection: close\r\n"));
  EXPECT_TRUE(says(10, true, "\r\nConnection: keep-alive\r\n"));
  EXPECT_FALSE(says(10, false, "Connection"));
  EXPECT_TRUE(says(10, false, "HTTP/1.0 200 OK\r\n"));
}

TEST(AnswerTest, PutsAResponsesOwnHeadersInPlaceOfTheUsualOnes) {
  Response response;
  response.headers = {{"x-one", "own"}};

  const std::string head = response_head(response, {{"X-One", "usual"}, {"X-Two", "usual"}}, {});

  EXPECT_NE(head.find("x-one: own\r\n"), std::string::npos);
  EXPECT_EQ(head.find("X-One"), std::string::npos);
  EXPECT_NE(head.find("X-Two: usual\r\n"), std::string::npos);
}

TEST(AnswerTest, ForbidsToGuessTheTypeOnceWhoeverReportsIt) {
  Response own = plain_text(200, "");
  own.headers = {{"x-content-type-options", "nosniff"}};
  for (const std::string& head :
       {response_head(own, {}, {}), response_head({}, {{"X-CONTENT-TYPE-OPTIONS", "nosniff"}}, {}),
        response_head(own, {{"X-Content-Type-Options", "nosniff"}}, {}),
        response_head({}, {}, {})}) {
    const std::size_t at = head.find(": nosniff\r\n");
    EXPECT_NE(at, std::string::npos) << head;
    EXPECT_EQ(head.find("nosniff", at + 5), std::string::npos) << head;
  }
}

TEST(AnswerTest, AsksToWaitForAtLeastASecond) {
  EXPECT_EQ(too_many_requests(std::chrono::nanoseconds{1}).headers.front().second, "1");
  EXPECT_EQ(too_many_requests(std::chrono::milliseconds{1001}).headers.front().second, "2");
}

TEST(AnswerTest, ReportsWhichLimitARequestExceeds) {
  constexpr std::chrono::seconds kWait{1};
  EXPECT_EQ(*too_many_requests(kWait).body, "429 Too Many Requests: over the rate limit\n");
  EXPECT_EQ(*too_many_requests(kWait, "wait").body, "429 Too Many Requests: wait\n");
}

}  // namespace
}  // namespace pex::http
