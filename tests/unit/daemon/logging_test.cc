#include "daemon/log/logging.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <ctime>
#include <mutex>

#include "base/unique_fd.h"
#include "daemon/log/journal.h"
#include "support/patience.h"
#include "support/test_headers.h"

namespace pex::daemon {
namespace {

using testing::Contains;
using testing::ElementsAre;

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

TEST(LoggingTest, OneEventIsOneLineWhateverItHolds) {
  const std::string line =
      format_line(LogFormat::kLogfmt, LogLevel::kError, "a\nb\"c\\d\x01", {{"key", "x\ty"}});

  EXPECT_EQ(line, R"(level=error msg="a\u000ab\"c\\d\u0001" key="x\u0009y")");
}

TEST(LoggingTest, NoFieldHoldsWhatATerminalTakesForACommand) {
  const LogFields fields = {
      {"cgroup", "/\x1b]0;pwned\x07"}, {"c1", "/\u009b31m"}, {"turned", "\u202ea"}};

  EXPECT_EQ(format_line(LogFormat::kLogfmt, LogLevel::kWarn, "\x1b[2J", fields),
            R"(level=warn msg="\u001b[2J" cgroup="/\u001b]0;pwned\u0007")"
            R"( c1="/\u009b31m" turned="\u202ea")");
  EXPECT_EQ(format_line(LogFormat::kJson, LogLevel::kWarn, "\x1b[2J", fields),
            R"("level":"warn","msg":"\u001b[2J","cgroup":"/\u001b]0;pwned\u0007")"
            R"(,"c1":"/\u009b31m","turned":"\u202ea")");
}

TEST(LoggingTest, KeysAreOneWord) {
  EXPECT_EQ(logfmt_pairs({{"a b=\x1b", "v"}}), " a_b__=v");
  EXPECT_EQ(format_line(LogFormat::kJson, LogLevel::kInfo, "m", {{"a\"", "v"}}),
            R"("level":"info","msg":"m","a\"":"v")");
}

std::size_t count_of(const std::string& word, const std::string& text) {
  std::size_t times = 0;
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; ++at) ++times;
  return times;
}

/// The sum of all lines that tell of it: each at its place.
std::uint64_t dropped_as_told(const std::string& text) {
  const std::string label = "in time\" lines=";
  std::uint64_t told = 0;
  for (std::size_t at = 0; (at = text.find(label, at)) != std::string::npos; ++at) {
    told += std::stoull(text.substr(at + label.size()));
  }
  return told;
}

/// stderr is a pipe that nobody reads at first.
class UnreadLogTest : public ::testing::Test {
 protected:
  UnreadLogTest() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    read_end_.reset(ends[0]);
    ::fcntl(ends[1], F_SETPIPE_SZ, 4096);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[1]);
  }
  ~UnreadLogTest() override { restore(); }

  void restore() { ::dup2(saved_.get(), STDERR_FILENO); }

  /// Until `is_whole` says so of the lines, as a log that ends waits a second at most for whoever
  /// reads it; and then to the end of `log`.
  std::string read_all(std::unique_ptr<Log> log,
                       const std::function<bool(const std::string& lines)>& is_whole) {
    std::string text;
    std::mutex is_used;
    std::thread reader{[&] {
      char block[4096];
      for (ssize_t got = 0; (got = ::read(read_end_.get(), block, sizeof block)) > 0;) {
        const std::lock_guard use{is_used};
        text.append(block, static_cast<std::size_t>(got));
      }
    }};
    const auto reads_whole = [&] {
      const std::lock_guard use{is_used};
      return is_whole(text.substr(0, text.rfind('\n') + 1));
    };
    EXPECT_TRUE(test::comes_true(reads_whole));
    log.reset();
    restore();  // the last writing end is closed
    reader.join();
    return text;
  }

  UniqueFd saved_{::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10)};
  UniqueFd read_end_;
};

TEST_F(UnreadLogTest, DropsAndCountsLinesAndReportsHowManyWhenItIsReadAgain) {
  constexpr std::uint64_t kLines = 10'000;
  auto log = std::make_unique<Log>(LogLevel::kInfo, LogFormat::kLogfmt);
  for (std::uint64_t i = 0; i < kLines; ++i) log->info("a line", {{"number", std::to_string(i)}});

  const std::uint64_t dropped = log->dropped();
  const std::string text = read_all(std::move(log), [&](const std::string& so_far) {
    return count_of("msg=\"a line\"", so_far) + dropped_as_told(so_far) == kLines;
  });

  EXPECT_GT(dropped, 5'000U);
  EXPECT_EQ(count_of("msg=\"a line\"", text), kLines - dropped);
  EXPECT_EQ(dropped_as_told(text), dropped);
}

TEST_F(UnreadLogTest, TakesABoundedAmountOfMemory) {
  auto log = std::make_unique<Log>(LogLevel::kInfo, LogFormat::kLogfmt);
  for (int i = 0; i < 100; ++i) log->info(std::string(1'000'000, 'x'));

  const std::uint64_t dropped = log->dropped();
  const std::string text = read_all(std::move(log), [&](const std::string& so_far) {
    return dropped_as_told(so_far) == dropped;
  });

  EXPECT_GE(dropped, 96U);
  EXPECT_LT(text.size(), 5'000'000U);
}

TEST_F(UnreadLogTest, LinesHaveTheTimeAndOrderOfTheirLogging) {
  auto log = std::make_unique<Log>(LogLevel::kInfo, LogFormat::kLogfmt);
  for (int i = 0; i < 200; ++i) log->info("a line", {{"number", std::to_string(i)}});
  const auto logged = std::chrono::system_clock::now();
  while (std::chrono::system_clock::now() < logged + std::chrono::milliseconds{2}) {
  }

  const std::string text = read_all(
      std::move(log), [](const std::string& so_far) { return count_of("\n", so_far) == 200; });

  char last[32];
  const std::time_t logged_at = std::chrono::system_clock::to_time_t(logged);
  std::strftime(last, sizeof last, "ts=%Y-%m-%dT%H:%M:%S", std::gmtime(&logged_at));
  int number = 0;
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line); ++number) {
    EXPECT_TRUE(line.ends_with(" number=" + std::to_string(number))) << line;
    EXPECT_LE(line.substr(0, std::strlen(last)), last);
  }
  EXPECT_EQ(number, 200);
}

TEST_F(UnreadLogTest, EndsWithoutAReader) {
  auto log = std::make_unique<Log>(LogLevel::kInfo, LogFormat::kLogfmt);
  for (int i = 0; i < 1'000; ++i) log->info("a line");

  log.reset();  // or the test never ends
}

TEST(LoggingTest, IsUtf8WhateverItHolds) {
  EXPECT_EQ(format_line(LogFormat::kJson, LogLevel::kWarn, "read '/caf\xe9'", {}),
            "\"level\":\"warn\",\"msg\":\"read '/caf\uFFFDe9'\"");
  EXPECT_EQ(format_line(LogFormat::kLogfmt, LogLevel::kWarn, "m", {{"path", "/caf\xe9"}}),
            "level=warn msg=\"m\" path=/caf\uFFFDe9");
}

TEST(OncePerMinuteTest, AMessagePassesAgainAfterAMinute) {
  LogThrottle repeated;
  const auto start = LogThrottle::Clock::now();

  EXPECT_TRUE(repeated.passes("a", start));
  EXPECT_FALSE(repeated.passes("a", start + std::chrono::seconds{59}));
  EXPECT_TRUE(repeated.passes("b", start + std::chrono::seconds{59}));
  EXPECT_TRUE(repeated.passes("a", start + std::chrono::seconds{60}));
}

TEST(OncePerMinuteTest, RemembersABoundedNumberOfMessages) {
  LogThrottle repeated;
  const auto start = LogThrottle::Clock::now();
  int passed = 0;
  for (int i = 0; i < 5'000; ++i) passed += repeated.passes(std::to_string(i), start) ? 1 : 0;

  EXPECT_EQ(passed, 1'024);
}

TEST(JournalTest, TheStreamNamesAFileByDeviceAndInode) {
  EXPECT_TRUE(names_file("9:30142", 9, 30142));
  EXPECT_FALSE(names_file("9:30142", 9, 30143));
  EXPECT_FALSE(names_file("9:30142", 8, 30142));
}

TEST(JournalTest, WhatIsNoStreamNamesNoFile) {
  for (const char* text : {"", ":", "9", "9:", ":30142", "9:301420", "09:30142", "9:30142 "}) {
    EXPECT_FALSE(names_file(text, 9, 30142)) << "'" << text << "'";
  }
}

TEST(JournalTest, AnEntryHasItsMessageAndAFieldForEachThingItReports) {
  const auto entry = journal_fields(LogLevel::kWarn, "it broke",
                                    {{"cgroup", "/a b"}, {"cpu", "3"}, {"errno", "13"}});

  EXPECT_THAT(entry, ElementsAre("MESSAGE=it broke cgroup=\"/a b\" cpu=3 errno=13", "PRIORITY=4",
                                 "SYSLOG_IDENTIFIER=perf_event_exporter", "PERF_CGROUP=/a b",
                                 "PERF_CPU=3", "ERRNO=13"));
}

TEST(JournalTest, LevelsArePrioritiesOfSyslog) {
  EXPECT_THAT(journal_fields(LogLevel::kError, "m", {}), Contains("PRIORITY=3"));
  EXPECT_THAT(journal_fields(LogLevel::kWarn, "m", {}), Contains("PRIORITY=4"));
  EXPECT_THAT(journal_fields(LogLevel::kInfo, "m", {}), Contains("PRIORITY=6"));
  EXPECT_THAT(journal_fields(LogLevel::kDebug, "m", {}), Contains("PRIORITY=7"));
}

TEST(JournalTest, NamesOfFieldsAreOnesThatTheJournalTakes) {
  const std::string longest(64 - std::string("PERF_").size(), 'X');

  const auto entry =
      journal_fields(LogLevel::kInfo, "m", {{"a-key.2", "v"}, {std::string(80, 'x'), "v"}});

  EXPECT_THAT(entry, Contains("PERF_A_KEY_2=v"));
  EXPECT_THAT(entry, Contains("PERF_" + longest + "=v"));
}

TEST(JournalTest, FieldsAreOneLineOfUtf8WhateverTheyHold) {
  const auto entry = journal_fields(LogLevel::kInfo, "read '/caf\xe9'", {{"path", "/caf\xe9\n"}});

  EXPECT_THAT(entry, Contains("MESSAGE=read '/caf\uFFFDe9' path=\"/caf\uFFFDe9\\u000a\""));
  EXPECT_THAT(entry, Contains("PERF_PATH=/caf\uFFFDe9\\u000a"));
}

}  // namespace
}  // namespace pex::daemon
