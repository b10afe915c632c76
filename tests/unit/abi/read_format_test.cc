#include "abi/record/read_format.h"

#include <linux/perf_event.h>

#include <cerrno>
#include <iostream>

#include "support/record_encoder.h"
#include "support/results.h"
#include "support/test_headers.h"

namespace pex::perf {
namespace {

using test::EncodedReading;
using test::FailsWith;
using test::RecordEncoder;

using testing::HasSubstr;

constexpr std::uint64_t kAllFormats = (1u << 5) - 1;
const EncodedReading kReading{2000, 1000, {{11, 1, 0}, {22, 2, 5}, {33, 3, 6}}};

ReadLayout layout_of(std::uint64_t read_format) {
  const auto layout = ReadLayout::of(read_format);
  EXPECT_TRUE(layout);
  return layout ? *layout : ReadLayout{};
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

  ASSERT_THAT(layout, FailsWith(EOPNOTSUPP));
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
