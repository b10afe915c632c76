#include "perf/possible_counts.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <vector>

namespace pex::perf::possible_counts_test {
namespace {

using namespace std::chrono_literals;
using Counts = std::vector<std::uint64_t>;

CounterSpec hardware(std::uint64_t config) { return {"", {PERF_TYPE_HARDWARE, config}}; }

const std::vector<CounterSpec> kCore = {
    hardware(PERF_COUNT_HW_CPU_CYCLES), hardware(PERF_COUNT_HW_INSTRUCTIONS),
    hardware(PERF_COUNT_HW_BRANCH_INSTRUCTIONS), hardware(PERF_COUNT_HW_BRANCH_MISSES)};

TEST(PossibleCountsTest, AreThoseOfAFastCpuAndOfNoTimeAtAll) {
  const PossibleCounts possible{kCore};

  EXPECT_TRUE(possible.contain(Counts{6'000'000'000, 48'000'000'000, 12'000'000'000, 0}, 1s));
  EXPECT_TRUE(possible.contain(Counts{10'000'000, 9'000'000, 800'000, 700'000}, 0s));
  EXPECT_TRUE(possible.contain(Counts{0, 5'000, 900, 900}, 1s));
}

TEST(PossibleCountsTest, DoNotJump) {
  const PossibleCounts possible{kCore};

  for (const unsigned bits : {47U, 48U, 62U}) {
    EXPECT_FALSE(possible.contain(Counts{0, 0, std::uint64_t{1} << bits, 0}, 10s));
  }
}

TEST(PossibleCountsTest, AreNotMoreInstructionsThanTheCyclesAllow) {
  EXPECT_FALSE(PossibleCounts{kCore}.contain(Counts{1'000'000, 17'000'000, 0, 0}, 1s));
}

TEST(PossibleCountsTest, AreNotMoreMissesThanReferences) {
  EXPECT_FALSE(PossibleCounts{kCore}.contain(Counts{90'000'000, 0, 1'000'000, 2'100'000}, 1s));
}

TEST(PossibleCountsTest, AreAllOfEventsThatAreNotKnown) {
  const std::vector<CounterSpec> others = {{"power/energy-pkg/", {10, 2}},
                                           {"page-faults", {PERF_TYPE_SOFTWARE, 2}}};

  EXPECT_TRUE(PossibleCounts{others}.contain(Counts{~std::uint64_t{0}, ~std::uint64_t{0}}, 0s));
}

TEST(PossibleCountsTest, ComparesOnlyEventsOfTheSameModes) {
  std::vector<CounterSpec> events = {kCore[0], kCore[1]};
  events[0].attributes.exclude_kernel = true;

  EXPECT_TRUE(PossibleCounts{events}.contain(Counts{0, 17'000'000}, 1s));
}

}  // namespace
}  // namespace pex::perf::possible_counts_test
