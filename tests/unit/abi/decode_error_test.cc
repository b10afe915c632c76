#include "abi/record/decode_error.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <array>
#include <iostream>

#include "abi/record/read_format.h"

namespace pex::perf {
namespace {

using Reason = DecodeError::Reason;

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

}  // namespace
}  // namespace pex::perf
