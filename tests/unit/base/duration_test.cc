#include "base/duration.h"

#include <cstdint>

#include "support/test_headers.h"

namespace pex {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

TEST(ParseDurationTest, ReadsWhatGoReads) {
  EXPECT_EQ(parse_duration("0"), 0ns);
  EXPECT_EQ(parse_duration("0s"), 0ns);
  EXPECT_EQ(parse_duration("250ms"), 250ms);
  EXPECT_EQ(parse_duration("90s"), 90s);
  EXPECT_EQ(parse_duration("1m30s"), 90s);
  EXPECT_EQ(parse_duration("1h2m3s4ms5us6ns"), 1h + 2min + 3s + 4ms + 5us + 6ns);
  EXPECT_EQ(parse_duration("30s1m"), 90s);
  EXPECT_EQ(parse_duration("1.5h"), 90min);
  EXPECT_EQ(parse_duration("0.1s"), 100ms);
  EXPECT_EQ(parse_duration(".5s"), 500ms);
  EXPECT_EQ(parse_duration("1.s"), 1s);
  EXPECT_EQ(parse_duration("1.999999999999s"), 1s + 999'999'999ns);
  EXPECT_EQ(parse_duration("7\u00b5s"), 7us);
  EXPECT_EQ(parse_duration("7\u03bcs"), 7us);
  EXPECT_EQ(parse_duration("9223372036854ms"), 9223372036854ms);
  EXPECT_EQ(parse_duration("9223372036.854775807s"), nanoseconds::max());
}

TEST(ParseDurationTest, ReadsNothingElse) {
  const char* const other_forms[] = {"",    "1",  "s",  ".s",  ".",   "1.5", "1s2",   "1 s", " 1s",
                                     "1s ", "1d", "1S", "1ss", "-1s", "+1s", "1..5s", "1e3s"};
  const char* const too_long[] = {"9223372036855ms",       "9223372036.854775808s",
                                  "9223372037s",           "2562048h",
                                  "18446744073709551616s", "9223372036s9223372036s"};
  for (const char* text : other_forms) EXPECT_EQ(parse_duration(text), std::nullopt) << text;
  for (const char* text : too_long) EXPECT_EQ(parse_duration(text), std::nullopt) << text;
}

RC_GTEST_PROP(ParseDurationTest, AddsUpWhatIsWrittenInParts, ()) {
  const auto seconds = *rc::gen::inRange(0, 100'000);
  const auto millis = *rc::gen::inRange(0, 1000);

  const auto duration =
      parse_duration(std::to_string(seconds) + "s" + std::to_string(millis) + "ms");

  RC_ASSERT(duration == 1s * seconds + 1ms * millis);
}

TEST(FormatDurationTest, UsesTheLargestUnitThatKeepsItWhole) {
  EXPECT_EQ(format_duration(3600s), "1h");
  EXPECT_EQ(format_duration(120s), "2m");
  EXPECT_EQ(format_duration(90s), "90s");
  EXPECT_EQ(format_duration(1500ms), "1500ms");
  EXPECT_EQ(format_duration(1500us), "1500us");
  EXPECT_EQ(format_duration(1500ns), "1500ns");
  EXPECT_EQ(format_duration(0s), "0s");
}

TEST(FormatPartTest, HasThreeDigitsInTheUnitThatFitsTheWhole) {
  EXPECT_EQ(format_part(41'200us, 1s), "41.2 ms");
  EXPECT_EQ(format_part(1s, 1s), "1000 ms");
  EXPECT_EQ(format_part(1'000'312us, 1'000'312us), "1000 ms");
  EXPECT_EQ(format_part(412us, 1s), "0.41 ms");
  EXPECT_EQ(format_part(204ms, 987ms), "204 ms");
  EXPECT_EQ(format_part(1'500ms, 12s), "1.5 s");
  EXPECT_EQ(format_part(10min, 10h), "10 m");
  EXPECT_EQ(format_part(0ns, 5us), "0 ns");
  EXPECT_EQ(format_part(0ns, 0ns), "0 ns");
}

RC_GTEST_PROP(FormatDurationTest, IsReadBackAsTheSameDuration, ()) {
  const nanoseconds duration{
      *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(0, 9'223'372'036'854'775'806),
                      rc::gen::map(rc::gen::inRange<std::int64_t>(0, 9'223'372'036'854),
                                   [](std::int64_t millis) { return millis * 1'000'000; }),
                      rc::gen::map(rc::gen::inRange<std::int64_t>(0, 2'562'046),
                                   [](std::int64_t hours) { return hours * 3'600'000'000'000; }))};

  RC_ASSERT(parse_duration(format_duration(duration)) == duration);
}

}  // namespace
}  // namespace pex
