#include "abi/record/byte_reader.h"

#include <linux/perf_event.h>

#include <cstdint>
#include <iostream>
#include <iterator>
#include <numeric>
#include <ranges>

#include "abi/record/packed_span.h"
#include "abi/record/read_format.h"
#include "support/test_headers.h"

namespace pex::perf {
namespace {

using Reason = DecodeError::Reason;
using testing::ElementsAre;

template <std::size_t N>
std::array<std::byte, N> counting_bytes() {
  std::array<std::byte, N> bytes;
  for (std::size_t at = 0; at < N; ++at) bytes[at] = static_cast<std::byte>(at);
  return bytes;
}

TEST(ByteReaderTest, RefusesANumberOfWhichABitIsMissing) {
  const auto bytes = counting_bytes<7>();
  ByteReader reader(bytes);
  std::uint64_t number = 5;

  EXPECT_FALSE(reader.read("number", number));

  EXPECT_EQ(number, 5u);
  EXPECT_EQ(reader.left(), 7u);
  EXPECT_EQ(reader.error(9), (DecodeError{Reason::kTooShort, 9, "number", 0, 8, 7}));
}

TEST(ByteReaderTest, BeginsAtAnOffset) {
  const auto bytes = counting_bytes<8>();
  ByteReader reader(bytes, 6);
  std::uint32_t number = 0;

  EXPECT_EQ(reader.left(), 2u);
  EXPECT_FALSE(reader.read("number", number));

  EXPECT_EQ(reader.error(9).offset, 6u);
}

TEST(ByteReaderTest, ReadsArraysWithoutCopying) {
  const auto bytes = counting_bytes<12>();
  ByteReader reader(bytes);
  PackedSpan<std::uint32_t> array;

  EXPECT_TRUE(reader.read_array("array", 2, array));

  EXPECT_EQ(array.size(), 2u);
  EXPECT_EQ(array.bytes().data(), bytes.data());
  EXPECT_EQ(reader.left(), 4u);
}

TEST(ByteReaderTest, RefusesCountsWhoseSizeWraps) {
  const auto bytes = counting_bytes<16>();
  for (const std::uint64_t count : {std::uint64_t{3}, std::uint64_t{1} << 61, UINT64_MAX}) {
    ByteReader reader(bytes);
    PackedSpan<std::uint64_t> array;

    EXPECT_FALSE(reader.read_array("array", count, array));

    EXPECT_EQ(reader.error(9).needed, count == 3 ? 24 : UINT64_MAX);
    EXPECT_TRUE(array.empty());
  }
}

TEST(ByteReaderTest, RefusesMoreBytesThanThereAre) {
  const auto bytes = counting_bytes<4>();
  ByteReader reader(bytes);
  std::span<const std::byte> taken;

  EXPECT_TRUE(reader.read_bytes("all", 4, taken));
  EXPECT_FALSE(reader.read_bytes("more", UINT64_MAX, taken));

  EXPECT_EQ(taken.size(), 4u);
  EXPECT_EQ(reader.error(9), (DecodeError{Reason::kTooShort, 9, "more", 4, UINT64_MAX, 0}));
}

TEST(ByteReaderTest, ReadsATextUpToItsZeroByte) {
  const std::string padded("comm\0\0\0\0", 8);
  ByteReader reader(std::as_bytes(std::span(padded)));
  std::string_view text;

  EXPECT_TRUE(reader.read_text("text", text));

  EXPECT_EQ(text, "comm");
  EXPECT_EQ(reader.left(), 0u);
}

TEST(ByteReaderTest, RefusesATextWithoutAZeroByte) {
  const std::string cut = "/usr/bin";
  ByteReader reader(std::as_bytes(std::span(cut)));
  ByteReader empty(std::span<const std::byte>{});
  std::string_view text;

  EXPECT_FALSE(reader.read_text("text", text));
  EXPECT_FALSE(empty.read_text("text", text));

  EXPECT_EQ(reader.error(9), (DecodeError{Reason::kUnterminated, 9, "text", 0, 0, 8}));
}

TEST(ByteReaderTest, GivesItsEndToAnotherReader) {
  const auto bytes = counting_bytes<4>();
  ByteReader reader(bytes);

  ByteReader end = reader.split_end(1);

  EXPECT_EQ(reader.left(), 3u);
  EXPECT_EQ(end.left(), 1u);
  std::uint16_t number = 0;
  EXPECT_FALSE(end.read("number", number));
  EXPECT_EQ(end.error(9).offset, 3u);
}

TEST(ByteReaderTest, ReportsWhatIsLeftOver) {
  const auto bytes = counting_bytes<4>();
  ByteReader reader(bytes, 1);

  EXPECT_FALSE(reader.expect_end("last"));

  EXPECT_EQ(reader.error(9), (DecodeError{Reason::kLeftOver, 9, "last", 1, 0, 3}));
}

TEST(ByteReaderExample, ReportsAnArrayThatIsTooLong) {
  testing::internal::CaptureStderr();

  const std::array<std::byte, 8> buffer{std::byte{7}};
  ByteReader reader(buffer);
  std::uint8_t count = 0;
  PackedSpan<std::uint16_t> values;
  if (!reader.read("count", count) || !reader.read_array("values", count, values)) {
    std::cerr << describe(reader.error(PERF_RECORD_SAMPLE)) << '\n';  // 14 bytes, 7 left
  }

  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "PERF_RECORD_SAMPLE cannot be decoded: 'values' at byte 1 needs 14 bytes, and 7 are "
            "left\n");
}

TEST(DecodeErrorTest, SaysWhichFieldOfWhichRecordIsWrong) {
  EXPECT_EQ(describe({Reason::kTooShort, PERF_RECORD_SAMPLE, "callchain", 24, 800, 16}),
            "PERF_RECORD_SAMPLE cannot be decoded: 'callchain' at byte 24 needs 800 bytes, and 16 "
            "are left");
  EXPECT_EQ(describe({Reason::kUnterminated, PERF_RECORD_COMM, "comm", 16, 0, 8}),
            "PERF_RECORD_COMM cannot be decoded: 'comm' at byte 16 has no zero byte within the 8 "
            "bytes that are left");
  EXPECT_EQ(describe({Reason::kUnknownValue, PERF_RECORD_SAMPLE, "abi of registers", 24, 4, 16}),
            "PERF_RECORD_SAMPLE cannot be decoded: 'abi of registers' at byte 24 has the unknown "
            "value 4");
  EXPECT_EQ(describe({Reason::kLeftOver, PERF_RECORD_SAMPLE, "the sample", 24, 0, 16}),
            "PERF_RECORD_SAMPLE cannot be decoded: 'the sample' at byte 24 is followed by 16 bytes "
            "that belong to no field");
  EXPECT_EQ(describe({Reason::kWrongSize, PERF_RECORD_EXIT, "size of header", 0, 32, 24}),
            "PERF_RECORD_EXIT cannot be decoded: 'size of header' at byte 0 is 32, and the record "
            "has 24 bytes");
}

TEST(DecodeErrorTest, NamesWhatHasNoTypeOrAnUnknownOne) {
  EXPECT_EQ(describe({Reason::kTooShort, 0, "value", 0, 8, 4}),
            "the buffer cannot be decoded: 'value' at byte 0 needs 8 bytes, and 4 are left");
  EXPECT_EQ(describe({Reason::kTooShort, 99, "header", 0, 8, 4}),
            "a record of type 99 cannot be decoded: 'header' at byte 0 needs 8 bytes, and 4 are "
            "left");
}

TEST(DecodeErrorExample, DescribesABufferThatIsTooShort) {
  testing::internal::CaptureStderr();

  const std::array<std::byte, 4> four_bytes{};
  const auto values = decode_values(ReadLayout{}, four_bytes);
  if (!values) std::cerr << describe(values.error()) << '\n';

  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "the buffer cannot be decoded: 'value' at byte 0 needs 8 bytes, and 4 are left\n");
}

static_assert(std::ranges::random_access_range<PackedSpan<std::uint64_t>>);
static_assert(std::is_trivially_copyable_v<PackedSpan<std::uint64_t>>);

TEST(PackedSpanTest, LeavesOutBytesThatAreNoWholeElement) {
  const std::array<std::byte, 7> buffer{};

  const PackedSpan<std::uint32_t> numbers{std::span(buffer)};

  EXPECT_EQ(numbers.size(), 1u);
  EXPECT_EQ(numbers.bytes().size(), 4u);
}

TEST(PackedSpanTest, IsEmptyWithoutABuffer) {
  const PackedSpan<std::uint64_t> numbers;

  EXPECT_TRUE(numbers.empty());
  EXPECT_EQ(numbers.begin(), numbers.end());
}

TEST(PackedSpanTest, IsWalkedInBothDirections) {
  const std::array<std::uint16_t, 3> source{10, 20, 30};
  const PackedSpan<std::uint16_t> numbers{std::as_bytes(std::span(source))};

  std::vector<int> backwards;
  std::reverse_copy(numbers.begin(), numbers.end(), std::back_inserter(backwards));
  EXPECT_THAT(backwards, ElementsAre(30, 20, 10));
  EXPECT_EQ(numbers.end() - numbers.begin(), 3);
  EXPECT_EQ(numbers.begin()[2], 30);
  EXPECT_LT(numbers.begin(), numbers.end());
}

TEST(PackedSpanExample, AddsWordsThatAreNotAligned) {
  const std::array<std::byte, 17> buffer{std::byte{9}, std::byte{1}};
  const PackedSpan<std::uint64_t> words{std::span(buffer).subspan(1)};
  const std::uint64_t sum = std::accumulate(words.begin(), words.end(), std::uint64_t{0});

  EXPECT_EQ(words.size(), 2u);
  EXPECT_EQ(sum, 1u);
}

}  // namespace
}  // namespace pex::perf
