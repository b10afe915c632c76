#include "abi/record/branch_stack.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <array>
#include <bit>
#include <iostream>

#include "abi/record/record.h"
#include "support/record_encoder.h"
#include "support/record_layout.h"

namespace pex::perf {
namespace {

using test::Bytes;
using test::EncodedSample;
using test::layout_of;
using test::RecordEncoder;

/// The records must live as long as what is decoded of them.
class BranchStackTest : public testing::Test {
 protected:
  BranchStackTest() { format_.sample_type = PERF_SAMPLE_BRANCH_STACK; }

  const Bytes& encode(const EncodedSample& sample) {
    return record_ = RecordEncoder(PERF_RECORD_SAMPLE).sample(format_, sample).record();
  }

  SampleFormat format_;
  Bytes record_;
};

// A PMU that had no stack for the sample writes nr = 0 alone; one that had an empty stack writes
// its index as well. The fields after it are at other places then.
TEST_F(BranchStackTest, HasNoHardwareIndexIfTheKernelWroteNone) {
  format_.sample_type |= PERF_SAMPLE_STACK_USER | PERF_SAMPLE_CGROUP;
  format_.branch_sample_type = PERF_SAMPLE_BRANCH_HW_INDEX | kBranchCounters;
  EncodedSample sample = test::full_sample(format_);
  sample.branches.clear();
  sample.branch_counters.clear();
  for (const bool has_branch_stack : {true, false}) {
    sample.has_branch_stack = has_branch_stack;

    const auto record = decode_record(layout_of(format_), encode(sample));

    ASSERT_TRUE(record) << describe(record.error());
    const Sample& decoded = std::get<Sample>(*record);
    EXPECT_EQ(decoded.branches->hw_index.has_value(), has_branch_stack);
    EXPECT_TRUE(decoded.branches->entries.empty());
    EXPECT_EQ(decoded.user_stack->bytes.size(), 32u);
    EXPECT_EQ(decoded.cgroup, 77u);
  }
}

TEST_F(BranchStackTest, KeepsTheErrorOfAnEmptyStackWithItsIndex) {
  format_.sample_type |= PERF_SAMPLE_CGROUP;
  format_.branch_sample_type = PERF_SAMPLE_BRANCH_HW_INDEX;
  const Bytes record = RecordEncoder(PERF_RECORD_SAMPLE).u64(0).record();

  const auto decoded = decode_record(layout_of(format_), record);

  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().field, "hw_idx");
}

TEST_F(BranchStackTest, RefusesBytesAfterAnEmptyStackWhoseSizeShowsWhetherItHasAnIndex) {
  format_.branch_sample_type = PERF_SAMPLE_BRANCH_HW_INDEX;
  const Bytes record = RecordEncoder(PERF_RECORD_SAMPLE).u64(0).u64(7).u64(8).record();

  const auto decoded = decode_record(layout_of(format_), record);

  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().reason, DecodeError::Reason::kLeftOver);
  EXPECT_EQ(decoded.error().left, 8u);
}

TEST_F(BranchStackTest, HasTheFlagsOfAnEntry) {
  perf_branch_entry kernel{};
  kernel.mispred = 1;
  kernel.abort = 1;
  kernel.cycles = 0xabcd;
  kernel.type = PERF_BR_EXTEND_ABI;
  kernel.spec = PERF_BR_SPEC_CORRECT_PATH;
  kernel.new_type = PERF_BR_NEW_ARCH_5;
  kernel.priv = PERF_BR_PRIV_HV;

  const auto entry = std::bit_cast<BranchEntry>(kernel);

  EXPECT_TRUE(entry.mispredicted());
  EXPECT_FALSE(entry.predicted());
  EXPECT_FALSE(entry.in_transaction());
  EXPECT_TRUE(entry.aborts_transaction());
  EXPECT_EQ(entry.cycles(), 0xabcd);
  EXPECT_EQ(entry.type(), BranchType::kExtended);
  EXPECT_EQ(entry.speculation(), BranchSpeculation::kCorrectPath);
  EXPECT_EQ(entry.extended_type(), ExtendedBranchType::kArchitecture5);
  EXPECT_EQ(entry.privilege(), BranchPrivilege::kHypervisor);
}

TEST_F(BranchStackTest, HasTheNumbersOfTheKernel) {
  EXPECT_EQ(int(BranchType::kReturn), PERF_BR_RET);
  EXPECT_EQ(int(BranchType::kConditionalReturn), PERF_BR_COND_RET);
  EXPECT_EQ(int(BranchType::kInterrupt), PERF_BR_IRQ);
  EXPECT_EQ(int(BranchType::kNotInTransaction), PERF_BR_NO_TX);
  EXPECT_EQ(int(ExtendedBranchType::kInstructionFault), PERF_BR_NEW_FAULT_INST);
  EXPECT_EQ(int(BranchSpeculation::kNotSpeculative), PERF_BR_NON_SPEC_CORRECT_PATH);
  EXPECT_EQ(int(BranchPrivilege::kKernel), PERF_BR_PRIV_KERNEL);
}

TEST_F(BranchStackTest, HasARowForEachOption) {
  std::uint64_t bit = 1;
  for (const BranchOption& option : branch_options()) {
    EXPECT_EQ(option.bit, bit) << option.abi.name;
    bit <<= 1;
  }
  EXPECT_EQ(bit, 1u << 20);
}

TEST(BranchStackExample, PrintsTheCyclesOfTheLastBranch) {
  testing::internal::CaptureStdout();

  const std::array<std::uint64_t, 3> words{0x401000, 0x402000, 0b10 | 7 << 4};
  const BranchStack stack{.entries = PackedSpan<BranchEntry>(std::as_bytes(std::span(words)))};
  const BranchEntry last = stack.entries[0];
  if (last.predicted()) std::cout << last.cycles() << " cycles\n";

  EXPECT_EQ(testing::internal::GetCapturedStdout(), "7 cycles\n");
}

}  // namespace
}  // namespace pex::perf
