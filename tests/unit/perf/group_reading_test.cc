#include "perf/group_reading.h"

#include <cerrno>
#include <cstdint>

#include "support/results.h"
#include "support/test_headers.h"

namespace pex::perf {
namespace {

using test::FailsWith;
using ::testing::ElementsAre;
using Words = std::vector<std::uint64_t>;

TEST(DecodeGroupTest, ForgetsWhatTheReadingHeldBefore) {
  GroupReading reading;
  reading.state = GroupReading::State::kOffPmu;
  reading.counts = {1, 2, 3};

  const Result<> decoded = decode_group(Words{1, 10, 10, 71, 11}, Words{11}, reading);

  ASSERT_TRUE(decoded);
  EXPECT_EQ(reading.state, GroupReading::State::kCounting);
  EXPECT_THAT(reading.counts, ElementsAre(71));
}

TEST(DecodeGroupTest, RefusesWordsThatDoNotDescribeExactlyTheseEvents) {
  struct Row {
    const char* what;
    Words words;
  };
  const Row rows[] = {
      {"nothing", {}},
      {"only a number", {2}},
      {"no events", {0, 10, 10}},
      {"too few events", {1, 10, 10, 71, 11}},
      {"too many events", {3, 10, 10, 71, 11, 72, 12, 73, 13}},
      {"cut in the middle", {2, 10, 10, 71, 11, 72}},
      {"a wrong number of events", {1, 10, 10, 71, 11, 72, 12}},
      {"a wild number of events", {~std::uint64_t{0}, 10, 10, 71, 11, 72, 12}},
      {"an event of someone else", {2, 10, 10, 71, 11, 72, 99}},
      {"the same event twice", {2, 10, 10, 71, 11, 72, 11}},
  };

  for (const Row& row : rows) {
    GroupReading reading;

    EXPECT_THAT(decode_group(row.words, Words{11, 12}, reading), FailsWith(EBADMSG)) << row.what;
  }
}

RC_GTEST_PROP(DecodeGroupTest, TakesAnyWords, ()) {
  const auto words = *rc::gen::container<Words>(
      rc::gen::oneOf(rc::gen::inRange<std::uint64_t>(0, 5), rc::gen::arbitrary<std::uint64_t>()));
  GroupReading reading;

  const Result<> decoded = decode_group(words, Words{1, 2}, reading);

  if (!decoded) return;
  RC_ASSERT(words.size() == words_in_reading(2));
  RC_ASSERT(reading.counts.size() == 2u);
}

}  // namespace
}  // namespace pex::perf
