#include "abi/record/read_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <iostream>

#include "support/record_encoder.h"

namespace pex::perf {
namespace {

using std::chrono::nanoseconds;
using test::EncodedReading;
using test::RecordEncoder;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kTimes = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
constexpr std::uint64_t kAllFormats = (1u << 5) - 1;
const EncodedReading kReading{2000, 1000, {{11, 1, 0}, {22, 2, 5}, {33, 3, 6}}};

ReadLayout layout_of(std::uint64_t read_format) {
  const auto layout = ReadLayout::of(read_format);
  EXPECT_TRUE(layout);
  return layout ? *layout : ReadLayout{};
}

TEST(ReadFormatTest, DecodesOneValueWithoutAnyBit) {
  const auto buffer = RecordEncoder().reading(0, kReading).body();

  const auto values = decode_values(layout_of(0), buffer);

  ASSERT_TRUE(values);
  EXPECT_EQ(values->state, ReadValues::State::kCounting);
  EXPECT_THAT(values->counters, ElementsAre(CounterValue{11, {}, {}}));
  EXPECT_FALSE(values->time_enabled);
  EXPECT_FALSE(values->time_running);
}

TEST(ReadFormatTest, DecodesTheTimesOfAReading) {
  for (const std::uint64_t group : {std::uint64_t{0}, std::uint64_t{PERF_FORMAT_GROUP}}) {
    const auto buffer = RecordEncoder().reading(kTimes | group, kReading).body();

    const auto values = decode_values(layout_of(kTimes | group), buffer);

    ASSERT_TRUE(values);
    EXPECT_EQ(values->time_enabled, nanoseconds{2000});
    EXPECT_EQ(values->time_running, nanoseconds{1000});
    EXPECT_EQ(values->counters[0].value, 11u);
  }
}

TEST(ReadFormatTest, DecodesAllCountersOfAGroup) {
  const auto buffer = RecordEncoder().reading(PERF_FORMAT_GROUP, kReading).body();

  const auto values = decode_values(layout_of(PERF_FORMAT_GROUP), buffer);

  ASSERT_TRUE(values);
  EXPECT_THAT(values->counters, ElementsAre(CounterValue{11, {}, {}}, CounterValue{22, {}, {}},
                                            CounterValue{33, {}, {}}));
}

TEST(ReadFormatTest, DecodesIdAndLostSamplesOfEachCounter) {
  const std::uint64_t group = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_LOST;
  const std::uint64_t single = PERF_FORMAT_ID | PERF_FORMAT_LOST | kTimes;
  const auto of_group = RecordEncoder().reading(group, kReading).body();
  const auto of_one = RecordEncoder().reading(single, kReading).body();

  const auto group_values = decode_values(layout_of(group), of_group);
  const auto one_value = decode_values(layout_of(single), of_one);

  ASSERT_TRUE(group_values);
  EXPECT_THAT(group_values->counters,
              ElementsAre(CounterValue{11, 1, 0}, CounterValue{22, 2, 5}, CounterValue{33, 3, 6}));
  ASSERT_TRUE(one_value);
  EXPECT_THAT(one_value->counters, ElementsAre(CounterValue{11, 1, 0}));
}

TEST(ReadFormatTest, TakesNoBytesForAGroupOffThePmu) {
  const auto values = decode_values(layout_of(kAllFormats), {});

  ASSERT_TRUE(values);
  EXPECT_EQ(values->state, ReadValues::State::kOffPmu);
  EXPECT_TRUE(values->counters.empty());
}

TEST(ReadFormatTest, RefusesEveryTruncationAndEveryExtension) {
  for (std::uint64_t format = 0; format <= kAllFormats; ++format) {
    const auto whole = RecordEncoder().reading(format, kReading).body();
    const ReadLayout layout = layout_of(format);
    for (std::size_t size = 1; size < whole.size(); ++size) {
      const test::Bytes exact(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));

      EXPECT_FALSE(decode_values(layout, exact)) << "format " << format << " size " << size;
    }
    test::Bytes longer = whole;
    longer.push_back({});

    const auto values = decode_values(layout, longer);

    ASSERT_FALSE(values);
    EXPECT_EQ(values.error().reason, DecodeError::Reason::kLeftOver);
  }
}

TEST(ReadFormatTest, RefusesCountsOfCountersThatDoNotFit) {
  const std::uint64_t format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_LOST;
  // 3 * 8 bytes each: the products of the last two wrap to 0 and to what is there.
  for (const std::uint64_t nr :
       {std::uint64_t{2}, UINT64_MAX, std::uint64_t{1} << 61, UINT64_MAX / 24 + 2}) {
    const auto buffer = RecordEncoder().u64(nr).u64(1).u64(2).u64(3).body();

    const auto values = decode_values(layout_of(format), buffer);

    ASSERT_FALSE(values) << nr;
    EXPECT_EQ(values.error().field, "counters");
    EXPECT_GT(values.error().needed, values.error().left);
  }
}

TEST(ReadFormatTest, RefusesBitsThatMayAddWords) {
  const auto layout = ReadLayout::of(PERF_FORMAT_ID | 1u << 5);

  ASSERT_FALSE(layout);
  EXPECT_EQ(layout.error().code, EOPNOTSUPP);
  EXPECT_THAT(describe(layout.error()), HasSubstr("the bits 0x20 are not known"));
}

TEST(ReadFormatTest, HasARowForEachBit) {
  std::uint64_t bit = 1;
  for (const ReadFormatEntry& entry : read_formats()) {
    EXPECT_EQ(entry.bit, bit) << entry.abi.name;
    bit <<= 1;
  }
  EXPECT_EQ(bit, kAllFormats + 1);
}

TEST(ReadFormatExample, PrintsTheCountersOfAGroup) {
  testing::internal::CaptureStdout();

  const std::array<std::uint64_t, 4> buffer{2, 1000, 50, 7};  // GROUP | TOTAL_TIME_ENABLED
  const auto layout = ReadLayout::of(PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED);
  const auto values = decode_values(*layout, std::as_bytes(std::span(buffer)));
  for (const CounterValue& counter : values->counters) std::cout << counter.value << '\n';

  EXPECT_EQ(testing::internal::GetCapturedStdout(), "50\n7\n");
}

}  // namespace
}  // namespace pex::perf
