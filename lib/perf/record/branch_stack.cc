#include "perf/record/branch_stack.h"

#include <linux/perf_event.h>

#include <array>

namespace pex::perf {
namespace {

constexpr std::string_view kInBranchStack = "perf/record/branch_stack.h";
constexpr std::string_view kFilterTest = "BranchStackTest.AFilterChangesNoLayout";
constexpr std::string_view kFlagsTest = "BranchStackTest.HasTheFlagsOfAnEntry";

constexpr std::array kBranchOptions = {
    BranchOption{
        {"PERF_SAMPLE_BRANCH_USER", "3.4", "branches to user space", kInBranchStack, kFilterTest},
        PERF_SAMPLE_BRANCH_USER},
    BranchOption{
        {"PERF_SAMPLE_BRANCH_KERNEL", "3.4", "branches to the kernel", kInBranchStack, kFilterTest},
        PERF_SAMPLE_BRANCH_KERNEL},
    BranchOption{
        {"PERF_SAMPLE_BRANCH_HV", "3.4", "branches to the hypervisor", kInBranchStack, kFilterTest},
        PERF_SAMPLE_BRANCH_HV},
    BranchOption{{"PERF_SAMPLE_BRANCH_ANY", "3.4", "all branches", kInBranchStack, kFilterTest},
                 PERF_SAMPLE_BRANCH_ANY},
    BranchOption{
        {"PERF_SAMPLE_BRANCH_ANY_CALL", "3.4",
         "all calls: direct, indirect and far, such as system calls", kInBranchStack, kFilterTest},
        PERF_SAMPLE_BRANCH_ANY_CALL},
    BranchOption{
        {"PERF_SAMPLE_BRANCH_ANY_RETURN", "3.4", "all returns", kInBranchStack, kFilterTest},
        PERF_SAMPLE_BRANCH_ANY_RETURN},
    BranchOption{
        {"PERF_SAMPLE_BRANCH_IND_CALL", "3.4", "indirect calls", kInBranchStack, kFilterTest},
        PERF_SAMPLE_BRANCH_IND_CALL},
    BranchOption{{"PERF_SAMPLE_BRANCH_ABORT_TX", "3.11", "aborts of transactions", kInBranchStack,
                  kFilterTest},
                 PERF_SAMPLE_BRANCH_ABORT_TX},
    BranchOption{{"PERF_SAMPLE_BRANCH_IN_TX", "3.11", "branches in transactions", kInBranchStack,
                  kFilterTest},
                 PERF_SAMPLE_BRANCH_IN_TX},
    BranchOption{{"PERF_SAMPLE_BRANCH_NO_TX", "3.11", "branches outside of transactions",
                  kInBranchStack, kFilterTest},
                 PERF_SAMPLE_BRANCH_NO_TX},
    BranchOption{
        {"PERF_SAMPLE_BRANCH_COND", "3.16", "conditional branches", kInBranchStack, kFilterTest},
        PERF_SAMPLE_BRANCH_COND},
    BranchOption{{"PERF_SAMPLE_BRANCH_CALL_STACK", "4.1", "the calls that have not returned yet",
                  kInBranchStack, kFilterTest},
                 PERF_SAMPLE_BRANCH_CALL_STACK},
    BranchOption{
        {"PERF_SAMPLE_BRANCH_IND_JUMP", "4.2", "indirect jumps", kInBranchStack, kFilterTest},
        PERF_SAMPLE_BRANCH_IND_JUMP},
    BranchOption{{"PERF_SAMPLE_BRANCH_CALL", "4.4", "direct calls", kInBranchStack, kFilterTest},
                 PERF_SAMPLE_BRANCH_CALL},
    BranchOption{{"PERF_SAMPLE_BRANCH_NO_FLAGS", "4.5",
                  "entries without mispredicted, predicted and the bits of transactions",
                  kInBranchStack, kFlagsTest},
                 PERF_SAMPLE_BRANCH_NO_FLAGS},
    BranchOption{{"PERF_SAMPLE_BRANCH_NO_CYCLES", "4.5", "entries without cycles", kInBranchStack,
                  kFlagsTest},
                 PERF_SAMPLE_BRANCH_NO_CYCLES},
    BranchOption{{"PERF_SAMPLE_BRANCH_TYPE_SAVE", "4.14", "entries have the type of the branch",
                  kInBranchStack, kFlagsTest},
                 PERF_SAMPLE_BRANCH_TYPE_SAVE},
    BranchOption{{"PERF_SAMPLE_BRANCH_HW_INDEX", "5.7",
                  "the hardware's index of the last branch, before the entries", kInBranchStack,
                  "BranchStackTest.HasTheHardwareIndex"},
                 PERF_SAMPLE_BRANCH_HW_INDEX,
                 BranchOption::Adds::kHwIndex},
    BranchOption{
        {"PERF_SAMPLE_BRANCH_PRIV_SAVE", "6.1",
         "entries have the privilege level of the branch's target", kInBranchStack, kFlagsTest},
        PERF_SAMPLE_BRANCH_PRIV_SAVE},
    BranchOption{{"PERF_SAMPLE_BRANCH_COUNTERS", "6.8",
                  "how often the group's events happened before each branch, after the entries",
                  kInBranchStack, "BranchStackTest.HasTheCountersOfEachEntry"},
                 kBranchCounters,
                 BranchOption::Adds::kCounters},
};

}  // namespace

std::span<const BranchOption> branch_options() { return kBranchOptions; }

}  // namespace pex::perf
