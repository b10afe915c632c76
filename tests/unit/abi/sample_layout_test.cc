#include "abi/record/sample_layout.h"

#include <linux/perf_event.h>

#include <cerrno>
#include <iostream>

#include "abi/record/record.h"
#include "support/record_encoder.h"
#include "support/record_layout.h"
#include "support/results.h"
#include "support/test_headers.h"

namespace pex::perf::sample_layout_test {
namespace {

using test::Bytes;
using test::EncodedSample;
using test::FailsWith;
using test::layout_of;
using test::RecordEncoder;

using testing::HasSubstr;

class SampleLayoutTest : public testing::Test {
 protected:
  /// Of full_sample(), as `format_` has it. What it views is valid until the next call.
  Sample decode(std::uint64_t sample_type) {
    format_.sample_type = sample_type;
    return decode(test::full_sample(format_));
  }

  Sample decode(const EncodedSample& sample) {
    record_ = RecordEncoder(PERF_RECORD_SAMPLE).sample(format_, sample).record();
    const auto decoded = decode_record(layout_of(format_), record_);
    if (decoded) return std::get<Sample>(*decoded);
    ADD_FAILURE() << describe(decoded.error());
    return {};
  }

  DecodeError error_of(const Bytes& record) {
    const auto decoded = decode_record(layout_of(format_), record);
    EXPECT_FALSE(decoded);
    return decoded ? DecodeError{} : decoded.error();
  }

  SampleFormat format_;
  Bytes record_;
};

TEST_F(SampleLayoutTest, FindsARegisterByItsBit) {
  format_.sample_regs_user = 1u << 5 | 1u << 8 | std::uint64_t{1} << 63;

  const Registers registers = *decode(PERF_SAMPLE_REGS_USER).user_registers;

  EXPECT_EQ(registers.value_of(5), 1000u);
  EXPECT_EQ(registers.value_of(63), 1002u);
  EXPECT_EQ(registers.value_of(6), std::nullopt);
}

TEST_F(SampleLayoutTest, HasNoRegistersOfAThreadWithoutUserSpace) {
  format_.sample_type = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
  format_.sample_regs_user = 0xff;
  EncodedSample kernel_thread = test::full_sample(format_);
  kernel_thread.user_registers.abi = PERF_SAMPLE_REGS_ABI_NONE;
  kernel_thread.stack.clear();

  EXPECT_EQ(decode(kernel_thread).user_registers->value_of(0), std::nullopt);
}

TEST_F(SampleLayoutTest, RefusesRegistersOfAnUnknownAbi) {
  format_.sample_type = PERF_SAMPLE_REGS_USER;
  format_.sample_regs_user = 1;
  EncodedSample younger = test::full_sample(format_);
  younger.user_registers.abi = 4;

  const DecodeError error =
      error_of(RecordEncoder(PERF_RECORD_SAMPLE).sample(format_, younger).record());

  EXPECT_EQ(error.reason, DecodeError::Reason::kUnknownValue);
  EXPECT_EQ(error.needed, 4u);
}

TEST_F(SampleLayoutTest, KnowsHowMuchOfAStackDumpIsValid) {
  const Sample sample = decode(PERF_SAMPLE_STACK_USER);

  EXPECT_EQ(sample.user_stack->bytes.size(), 32u);
  EXPECT_EQ(sample.user_stack->valid_bytes().size(), 24u);
}

/// As Linux writes it for a task that is about to execute a program.
TEST_F(SampleLayoutTest, RefusesWhatIsAfterAStackWhoseSizeWasWrittenTwice) {
  format_.sample_type = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_CGROUP;
  EncodedSample sample = test::full_sample(format_);
  sample.stack.clear();
  sample.cgroup = 0;  // that is the second size; the cgroup itself did not fit

  const Bytes record = RecordEncoder(PERF_RECORD_SAMPLE).sample(format_, sample).record();
  EXPECT_EQ(error_of(record).reason, DecodeError::Reason::kShifted);
}

TEST_F(SampleLayoutTest, HasNoMoreOfAStackThanThereIs) {
  format_.sample_type = PERF_SAMPLE_STACK_USER;
  EncodedSample hostile = test::full_sample(format_);
  hostile.dyn_size = UINT64_MAX;

  EXPECT_EQ(decode(hostile).user_stack->valid_bytes().size(), 32u);
}

TEST_F(SampleLayoutTest, DecodesTheTransaction) {
  const Sample sample = decode(PERF_SAMPLE_TRANSACTION);

  EXPECT_TRUE(sample.transaction->transaction());
  EXPECT_FALSE(sample.transaction->elision());
  EXPECT_EQ(sample.transaction->abort_code(), 0x2au);
}

TEST_F(SampleLayoutTest, KnowsEachReasonOfAnAbort) {
  EXPECT_TRUE(Transaction{PERF_TXN_ELISION}.elision());
  EXPECT_TRUE(Transaction{PERF_TXN_SYNC}.by_this_instruction());
  EXPECT_TRUE(Transaction{PERF_TXN_ASYNC}.by_another_event());
  EXPECT_TRUE(Transaction{PERF_TXN_RETRY}.may_retry());
  EXPECT_TRUE(Transaction{PERF_TXN_CONFLICT}.by_conflict());
  EXPECT_TRUE(Transaction{PERF_TXN_CAPACITY_WRITE}.by_write_capacity());
  EXPECT_TRUE(Transaction{PERF_TXN_CAPACITY_READ}.by_read_capacity());
}

TEST_F(SampleLayoutTest, RefusesALengthBeyondTheRecord) {
  for (const std::uint64_t field : {PERF_SAMPLE_CALLCHAIN, PERF_SAMPLE_BRANCH_STACK,
                                    PERF_SAMPLE_STACK_USER, PERF_SAMPLE_AUX, PERF_SAMPLE_RAW}) {
    format_.sample_type = field;
    for (const std::uint64_t length : {std::uint64_t{17}, UINT64_MAX, std::uint64_t{1} << 61}) {
      RecordEncoder record(PERF_RECORD_SAMPLE);
      if (field == PERF_SAMPLE_RAW) {
        record.u32(static_cast<std::uint32_t>(length | 17)).u32(0);
      } else {
        record.u64(length);
      }

      const DecodeError error = error_of(record.u64(0).record());

      EXPECT_EQ(error.reason, DecodeError::Reason::kTooShort) << field << " " << length;
      EXPECT_GT(error.needed, error.left);
    }
  }
}

TEST_F(SampleLayoutTest, NamesTheUnknownBitsOfAFormat) {
  format_.sample_type = PERF_SAMPLE_TIME | 1u << 25;

  const auto layout = SampleLayout::of(format_);

  ASSERT_THAT(layout, FailsWith(EOPNOTSUPP));
  EXPECT_THAT(describe(layout.error()),
              HasSubstr("sample_type 0x2000004: the bits 0x2000000 are not known"));
}

TEST_F(SampleLayoutTest, RefusesBothKindsOfWeight) {
  format_.sample_type = PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT;

  EXPECT_THAT(SampleLayout::of(format_), FailsWith(EINVAL));
}

TEST_F(SampleLayoutTest, HasEachFieldOnce) {
  std::uint64_t seen = 0;
  for (const SampleField& field : sample_fields()) {
    EXPECT_EQ(seen & field.bit, 0u) << field.abi.name;
    seen |= field.bit;
  }
  EXPECT_EQ(seen, (1u << 25) - 1);
  EXPECT_EQ(sample_fields().front().bit, PERF_SAMPLE_IDENTIFIER);
  EXPECT_EQ(sample_fields().back().bit, PERF_SAMPLE_AUX);
}

TEST_F(SampleLayoutTest, FindsTheEventOfEachRecord) {
  for (const std::uint64_t id : {PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_ID}) {
    format_.sample_type = id | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                          PERF_SAMPLE_ADDR | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
                          PERF_SAMPLE_CALLCHAIN;
    format_.sample_id_all = true;
    const SampleLayout layout = layout_of(format_);
    for (const auto& [type, record] : test::one_record_of_each_type(format_)) {
      EXPECT_EQ(layout.event_id(record), 0x1du) << type;
    }
  }
}

TEST_F(SampleLayoutTest, FindsNoEventWhereThereIsNoId) {
  const Bytes sample = RecordEncoder(PERF_RECORD_SAMPLE).u64(1).record();
  const Bytes lost = RecordEncoder(PERF_RECORD_LOST).u64(1).u64(2).record();
  format_.sample_type = PERF_SAMPLE_TIME;
  const SampleLayout without_id = layout_of(format_);
  format_.sample_type = PERF_SAMPLE_IDENTIFIER;
  const SampleLayout only_in_samples = layout_of(format_);
  format_.sample_id_all = true;
  const SampleLayout everywhere = layout_of(format_);

  EXPECT_EQ(without_id.event_id(sample), std::nullopt);
  EXPECT_EQ(only_in_samples.event_id(sample), 1u);
  EXPECT_EQ(only_in_samples.event_id(lost), std::nullopt);
  EXPECT_EQ(everywhere.event_id(lost), 2u);
  for (std::size_t size = 0; size < 16; ++size) {
    EXPECT_EQ(everywhere.event_id(std::span(sample).first(size)), std::nullopt);
    EXPECT_EQ(everywhere.event_id(std::span(lost).first(size)), std::nullopt);
  }
}

TEST(SampleLayoutExample, IsMadeOnceForAnEvent) {
  SampleFormat format;
  format.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME | PERF_SAMPLE_CGROUP;
  const Result<SampleLayout> layout = SampleLayout::of(format);
  if (!layout) std::cerr << describe(layout.error()) << '\n';

  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->format(), format);
}

TEST(SampleExample, PrintsTheCgroupOfASample) {
  SampleFormat format;
  format.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_CGROUP;
  const SampleLayout layout = layout_of(format);
  const Bytes encoded =
      RecordEncoder(PERF_RECORD_SAMPLE).sample(format, test::full_sample(format)).record();
  testing::internal::CaptureStdout();

  const Sample sample = std::get<Sample>(*decode_record(layout, encoded));
  if (sample.cgroup && sample.time) {
    std::cout << sample.time->count() << " ns: cgroup " << *sample.cgroup << '\n';
  }

  EXPECT_EQ(testing::internal::GetCapturedStdout(), "123456789 ns: cgroup 77\n");
}

TEST(SampleFormatExample, IsThatOfACgroupsSamples) {
  SampleFormat format;
  format.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_READ | PERF_SAMPLE_CGROUP;
  format.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
  format.sample_id_all = true;  // other records than samples have their time as well

  EXPECT_EQ(format.sample_type, 0x200014u);
  EXPECT_EQ(format, SampleFormat(format));
}

}  // namespace
}  // namespace pex::perf::sample_layout_test
