#include "collect/budget.h"

#include <gtest/gtest.h>

namespace pex::collect {
namespace {

/// Room for everything, so that each test tightens one bound.
Budget roomy() {
  return {.max_cgroups = 1'000'000,
          .max_open_events = 1'000'000'000,
          .max_series = 1'000'000'000,
          .max_open_files = 1'000'000'000,
          .cpu_events = 6,
          .cgroup_events = 6,
          .cpu_series = 10,
          .cgroup_series = 10};
}

TEST(BudgetTest, CgroupsAreBoundByTheConfiguredNumber) {
  Budget budget = roomy();
  budget.max_cgroups = 256;

  const Capacity capacity = cgroup_capacity(budget, 2);

  EXPECT_EQ(capacity.cgroups, 256U);
  EXPECT_EQ(capacity.bound, "max");
}

TEST(BudgetTest, EventsOfTheCpusComeFirstAndTheRestIsForCgroups) {
  Budget budget = roomy();
  budget.max_open_events = 100;

  const Capacity capacity = cgroup_capacity(budget, 2);

  EXPECT_EQ(capacity.cgroups, 7U);  // (100 - 2 * (6 + 1)) / (2 * 6)
  EXPECT_EQ(capacity.bound, "max_open_events");
}

TEST(BudgetTest, SeriesOfOneCgroupDoNotDependOnTheNumberOfCpus) {
  Budget budget = roomy();
  budget.max_series = 120;

  const Capacity capacity = cgroup_capacity(budget, 2);

  EXPECT_EQ(capacity.cgroups, 10U);  // (120 - 2 * 10) / 10
  EXPECT_EQ(capacity.bound, "max_series");
}

TEST(BudgetTest, FilesOfTheProcessItselfAreReserved) {
  Budget budget = roomy();
  budget.max_open_files = 320;

  const Capacity capacity = cgroup_capacity(budget, 2);

  EXPECT_EQ(capacity.cgroups, 13U);  // (320 - 128 - 2 * (6 + 1)) / (2 * 6 + 1 directory)
  EXPECT_EQ(capacity.bound, "open_files");
}

TEST(BudgetTest, NothingFitsWhenTheCpusAloneNeedMore) {
  Budget budget = roomy();
  budget.max_open_events = 5;

  EXPECT_EQ(cgroup_capacity(budget, 2).cgroups, 0U);
}

TEST(BudgetTest, TheCpusAloneMustFit) {
  Budget budget = roomy();
  EXPECT_TRUE(check_cpu_groups(budget, 2));
  budget.max_series = 19;

  const Result<> checked = check_cpu_groups(budget, 2);

  ASSERT_FALSE(checked);
  EXPECT_EQ(describe(checked.error()),
            "the groups of 2 CPUs need 20 series, and 19 are allowed. Remedy: raise "
            "limits.max_series, or count fewer events");
}

TEST(BudgetTest, CgroupsThatNeedNoEventsAreBoundByTheirNumberAlone) {
  Budget budget = roomy();
  budget.cgroup_events = budget.cgroup_series = 0;
  budget.max_cgroups = 5;

  EXPECT_EQ(cgroup_capacity(budget, 2).cgroups, 5U);
}

}  // namespace
}  // namespace pex::collect
