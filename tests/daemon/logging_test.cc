#include "daemon/logging.h"

#include <gtest/gtest.h>

namespace pex::daemon {
namespace {

TEST(LoggingTest, LogfmtQuotesOnlyValuesThatNeedIt) {
  const std::string line = format_line(LogFormat::kLogfmt, LogLevel::kWarn, "it broke",
                                       {{"plain", "1s"}, {"spaced", "a b"}, {"empty", ""}});

  EXPECT_EQ(line, R"(level=warn msg="it broke" plain=1s spaced="a b" empty="")");
}

TEST(LoggingTest, JsonQuotesEveryValue) {
  const std::string line =
      format_line(LogFormat::kJson, LogLevel::kInfo, "listening", {{"address", ":10173"}});

  EXPECT_EQ(line, R"("level":"info","msg":"listening","address":":10173")");
}

TEST(LoggingTest, OneEventIsOneLineWhateverItSays) {
  const std::string line =
      format_line(LogFormat::kLogfmt, LogLevel::kError, "a\nb\"c\\d\x01", {{"key", "x\ty"}});

  EXPECT_EQ(line, R"(level=error msg="a\u000ab\"c\\d\u0001" key="x\u0009y")");
}

TEST(LoggingTest, IsUtf8WhateverItSays) {
  EXPECT_EQ(format_line(LogFormat::kJson, LogLevel::kWarn, "read '/caf\xe9'", {}),
            "\"level\":\"warn\",\"msg\":\"read '/caf\uFFFDe9'\"");
  EXPECT_EQ(format_line(LogFormat::kLogfmt, LogLevel::kWarn, "m", {{"path", "/caf\xe9"}}),
            "level=warn msg=\"m\" path=/caf\uFFFDe9");
}

TEST(OncePerMinuteTest, AMessagePassesAgainAfterAMinute) {
  OncePerMinute repeated;
  const auto start = OncePerMinute::Clock::now();

  EXPECT_TRUE(repeated.passes("a", start));
  EXPECT_FALSE(repeated.passes("a", start + std::chrono::seconds{59}));
  EXPECT_TRUE(repeated.passes("b", start + std::chrono::seconds{59}));
  EXPECT_TRUE(repeated.passes("a", start + std::chrono::seconds{60}));
}

TEST(OncePerMinuteTest, RemembersABoundedNumberOfMessages) {
  OncePerMinute repeated;
  const auto start = OncePerMinute::Clock::now();
  int passed = 0;
  for (int i = 0; i < 5'000; ++i) passed += repeated.passes(std::to_string(i), start) ? 1 : 0;

  EXPECT_EQ(passed, 1'024);
}

}  // namespace
}  // namespace pex::daemon
