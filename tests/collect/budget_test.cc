#include "collect/budget.h"

#include <gtest/gtest.h>

#include "support/events.h"

namespace pex::collect {
namespace {

/// Room for everything, so that each test tightens one bound.
Budget roomy() {
  return {.max_cgroups = 1'000'000,
          .max_open_events = 1'000'000'000,
          .max_series = 1'000'000'000,
          .max_open_files = 1'000'000'000};
}

/// Two CPUs with six events each, and the one that tells of the CPU.
constexpr Need kNeed{.cpu_events = 14, .cpu_series = 20, .cgroup_events = 12, .cgroup_series = 10};

TEST(BudgetTest, CgroupsAreBoundByTheConfiguredNumber) {
  Budget budget = roomy();
  budget.max_cgroups = 256;

  const Capacity capacity = cgroup_capacity(budget, kNeed);

  EXPECT_EQ(capacity.cgroups, 256U);
  EXPECT_EQ(capacity.bound, "max");
}

TEST(BudgetTest, EventsOfTheCpusComeFirstAndTheRestIsForCgroups) {
  Budget budget = roomy();
  budget.max_open_events = 100;

  const Capacity capacity = cgroup_capacity(budget, kNeed);

  EXPECT_EQ(capacity.cgroups, 7U);  // (100 - 14) / 12
  EXPECT_EQ(capacity.bound, "max_open_events");
}

TEST(BudgetTest, SeriesOfTheCpusComeFirstAndTheRestIsForCgroups) {
  Budget budget = roomy();
  budget.max_series = 120;

  const Capacity capacity = cgroup_capacity(budget, kNeed);

  EXPECT_EQ(capacity.cgroups, 10U);  // (120 - 20) / 10
  EXPECT_EQ(capacity.bound, "max_series");
}

TEST(BudgetTest, FilesOfTheProcessItselfAreReserved) {
  Budget budget = roomy();
  budget.max_open_files = 320;

  const Capacity capacity = cgroup_capacity(budget, kNeed);

  EXPECT_EQ(capacity.cgroups, 13U);  // (320 - 128 - 14) / (12 + 1 directory)
  EXPECT_EQ(capacity.bound, "open_files");
}

TEST(BudgetTest, NothingFitsWhenTheCpusAloneNeedMore) {
  Budget budget = roomy();
  budget.max_open_events = 5;

  EXPECT_EQ(cgroup_capacity(budget, kNeed).cgroups, 0U);
}

TEST(BudgetTest, TheCpusAloneMustFit) {
  Budget budget = roomy();
  EXPECT_TRUE(check_cpu_groups(budget, kNeed));
  budget.max_series = 19;

  const Result<> checked = check_cpu_groups(budget, kNeed);

  ASSERT_FALSE(checked);
  EXPECT_EQ(describe(checked.error()),
            "the groups of the CPUs need 20 series, and 19 are allowed. Remedy: raise "
            "limits.max_series, or count fewer events");
}

TEST(BudgetTest, CgroupsThatNeedNoEventsAreBoundByTheirNumberAlone) {
  Budget budget = roomy();
  budget.max_cgroups = 5;

  EXPECT_EQ(cgroup_capacity(budget, {.cpu_events = 14, .cpu_series = 20}).cgroups, 5U);
}

/// Four CPUs: two of each kind of core, and memory that is read on the first one.
MachineCpus hybrid_machine() {
  return {.online = {0, 1, 2, 3},
          .pmus = {{"big", {0, 1}}, {"little", {2, 3}}, {"imc_0", {0}}, {"imc_1", {0}}},
          .places = {}};
}

/// Twice in one column: on each PMU its part.
ScopePlan shared_by(const std::string& one, const std::string& other) {
  ScopePlan plan = test::scope_plan({{.name = "g", .events = {"cycles"}, .pmu = one},
                                     {.name = "g", .events = {"cycles"}, .pmu = other}});
  plan.columns.pop_back();
  plan.columns.front().parts.push_back({1, 0});
  return plan;
}

TEST(NeedTest, OfTheCpusIsThatOfEachGroupWhereItIsCounted) {
  struct Row {
    const char* what;
    ScopePlan cpu;
    std::size_t events;
    std::size_t series;
  };
  const Row rows[] = {
      {"nothing but what tells of the CPUs", {}, 4, 0},
      {"one group", test::scope_plan({{"g", {"cycles", "instructions"}}}), 4 + 8, 8 + 8},
      {"two groups", test::scope_plan({{"g", {"cycles"}}, {"h", {"branches"}}}), 4 + 8, 8 + 16},
      {"some CPUs", test::scope_plan({{"g", {"cycles"}, {}, "big"}}), 4 + 2, 2 + 4},
      {"one CPU", test::scope_plan({{"g", {"cycles"}, {}, "imc_0"}}), 4 + 1, 1 + 2},
      {"an unknown PMU", test::scope_plan({{"g", {"cycles"}, {}, "gone"}}), 4, 0},
      {"a part on each half of the CPUs", shared_by("big", "little"), 4 + 4, 4 + 8},
      {"two parts on one CPU", shared_by("imc_0", "imc_1"), 4 + 2, 2 + 4},
  };

  for (const Row& row : rows) {
    const Need need = need_of({row.cpu, {}}, hybrid_machine());

    EXPECT_EQ(need.cpu_events, row.events) << row.what;
    EXPECT_EQ(need.cpu_series, row.series) << row.what;
    EXPECT_EQ(need.cgroup_events + need.cgroup_series, 0U) << row.what;
  }
}

TEST(NeedTest, OfSeriesIsNeverMoreThanOneRowForEachCpu) {
  const MachineCpus two_of_one_place{
      .online = {0, 1}, .pmus = {{"imc_0", {0, 1}}, {"imc_1", {0, 1}}}, .places = {}};

  const Need need = need_of({shared_by("imc_0", "imc_1"), {}}, two_of_one_place);

  EXPECT_EQ(need.cpu_series, 2U + 8U);  // one sum on each CPU, two times of each of two groups
}

TEST(NeedTest, OfACgroupHasItsEventsOnEveryCpuAndItsSeriesOnce) {
  CountingPlan plan;
  plan.cgroup = test::scope_plan(
      {{"g", {"cycles", "instructions"}, {}, "big"}, {"soft", {"context-switches"}}});

  const Need need = need_of(plan, hybrid_machine());

  EXPECT_EQ(need.cgroup_events, 2U * 2 + 4U);
  EXPECT_EQ(need.cgroup_series, 3U + 2U * 2);
  EXPECT_EQ(need.cpu_series, 0U);
}

TEST(NeedTest, DoesNotCountCpusThatAreOffline) {
  MachineCpus cpus = hybrid_machine();
  cpus.online = {0, 2};
  CountingPlan plan;
  plan.cpu = test::scope_plan({{"g", {"cycles"}, {}, "big"}});
  plan.cgroup = plan.cpu;

  const Need need = need_of(plan, cpus);

  EXPECT_EQ(need.cpu_events, 2U + 1U);
  EXPECT_EQ(need.cgroup_events, 1U);
}

}  // namespace
}  // namespace pex::collect
