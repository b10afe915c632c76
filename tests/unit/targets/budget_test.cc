#include "targets/budget.h"

#include <cerrno>

#include "count/snapshot.h"
#include "support/events.h"
#include "support/test_headers.h"

namespace pex::collect {
namespace {

/// With one descriptor for each counter.
Need need_of(const CountingPlan& plan, const MachineCpus& cpus) {
  return collect::need_of(plan, cpus, descriptor_cost(plan, cpus));
}

/// Room for everything, so that each test tightens one bound.
Budget roomy() {
  return {.max_cgroups = 1'000'000,
          .max_open_events = 1'000'000'000,
          .max_series = 1'000'000'000,
          .max_open_files = 1'000'000'000};
}

/// Two CPUs with six events each, and the one that tells of the CPU.
constexpr Need kNeed{.counters = {.cpus = 14, .cgroup = 12},
                     .fixed_series = 20,
                     .counts_cgroups = true,
                     .cgroup_series = 10};

TEST(BudgetTest, CountersFitTheMemoryOfTheMachineAndTheLimitOfTheProcess) {
  constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
  struct Row {
    std::optional<std::uint64_t> memory, limit;
    std::size_t events;
  };
  for (const Row& row : std::initializer_list<Row>{
           {{}, {}, 65'536},
           {16 * kGiB, {}, 599'186},
           {16 * kGiB, kGiB / 8, 75'915},
           {{}, kGiB, 607'320},
           {4096 * kGiB, {}, 10'000'000},
           {kGiB / 1024, {}, 1024},
       }) {
    EXPECT_EQ(Budget::open_events_for(row.memory, row.limit), row.events);
  }
}

TEST(BudgetTest, CgroupsHaveWhatTheCpusAndTheProcessItselfLeaveOfTheTightestLimit) {
  constexpr Need kWithoutCgroupEvents{.counters = {.cpus = 14}, .fixed_series = 20};
  const auto with = [](auto limit, std::size_t value) {
    Budget budget = roomy();
    budget.*limit = value;
    return budget;
  };
  struct Row {
    Budget budget;
    Need need;
    std::size_t cgroups;
    const char* bound;
    std::size_t open_files = *roomy().max_open_files;
  };
  const Row rows[] = {
      {with(&Budget::max_cgroups, 256), kNeed, 256, "max"},
      {with(&Budget::max_cgroups, 5), kWithoutCgroupEvents, 5, "max", 0},
      {with(&Budget::max_open_events, 100), kNeed, 7, "max_open_events"},  // (100 - 14) / 12
      {with(&Budget::max_open_events, 5), kNeed, 0, "max_open_events"},
      {with(&Budget::max_series, 120), kNeed, 10, "max_series"},  // (120 - 20) / 10
      // (320 - 128 - 14) / (12 + 2 directories)
      {with(&Budget::max_open_files, 320), kNeed, 12, "open_files", 320},
      {with(&Budget::max_open_files, 5), kWithoutCgroupEvents, 1'000'000, "max", 0},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(std::to_string(row.cgroups) + " for " + row.bound);

    const Capacity capacity = cgroup_capacity(row.budget, row.need);

    EXPECT_EQ(capacity.cgroups, row.cgroups);
    EXPECT_EQ(capacity.bound, row.bound);
    EXPECT_EQ(capacity.open_files, row.open_files);
  }
}

TEST(BudgetTest, EachLimitThatTheCpusAloneExceedIsNamed) {
  Budget budget = roomy();
  EXPECT_THAT(excess_of_cpu_groups(budget, kNeed), testing::IsEmpty());
  EXPECT_TRUE(check_cpu_groups(budget, kNeed));
  budget.max_open_events = 13;
  budget.max_series = 19;
  budget.max_open_files = 141;

  std::vector<std::string> texts;
  for (const Error& error : excess_of_cpu_groups(budget, kNeed)) texts.push_back(describe(error));
  EXPECT_EQ(describe(check_cpu_groups(budget, kNeed).error()), texts.front());

  EXPECT_THAT(texts,
              testing::ElementsAre(
                  "the groups of scope cpu need 14 open events, and 13 are allowed. Remedy: raise "
                  "limits.max_open_events, or count fewer events",
                  "the groups of scope cpu need 20 series, and 19 are allowed. Remedy: raise "
                  "limits.max_series, or count fewer events",
                  "the groups of scope cpu need 142 open files, and 141 are allowed. Remedy: raise "
                  "RLIMIT_NOFILE, or count fewer events"));
}

TEST(BudgetTest, SumsThatTakeTooManySeriesAreNamed) {
  Budget budget = roomy();
  budget.max_series = 100;
  CountingPlan plan;
  plan.cgroup = test::scope_plan({{"g", {"cycles"}}});
  plan.sums.emplace_back().name = "workload";
  plan.sums.back().max = 25;
  const Need need = need_of(plan, {.online = {0, 1}, .pmus = {}, .places = {}});

  const Result<> checked = check_cpu_groups(budget, need);

  EXPECT_EQ(need.sum_series, 125U);  // cycles, two times, a coverage, the number of cgroups
  ASSERT_FALSE(checked);
  EXPECT_EQ(describe(checked.error()),
            "the sums of cgroups need 125 series, as many as their 'max' allows, and the groups of "
            "scope cpu 0; 100 are allowed. Remedy: raise limits.max_series, or lower 'max' in "
            "cgroups.sums");
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
      // what has two parts may have to tell of the coverage of each
      {"a part on each half of the CPUs", shared_by("big", "little"), 4 + 4, 2 * 4 + 8},
      {"two parts on one CPU", shared_by("imc_0", "imc_1"), 4 + 2, 2 * 2 + 4},
  };

  for (const Row& row : rows) {
    const Need need = need_of({row.cpu, {}}, hybrid_machine());

    EXPECT_EQ(need.counters.cpus, row.events) << row.what;
    EXPECT_EQ(need.fixed_series, row.series) << row.what;
    EXPECT_EQ(need.counters.cgroup + need.cgroup_series, 0U) << row.what;
  }
}

TEST(NeedTest, OfSeriesIsNeverMoreThanOneRowForEachCpu) {
  const MachineCpus two_of_one_place{
      .online = {0, 1}, .pmus = {{"imc_0", {0, 1}}, {"imc_1", {0, 1}}}, .places = {}};

  const Need need = need_of({shared_by("imc_0", "imc_1"), {}}, two_of_one_place);

  EXPECT_EQ(need.fixed_series, 2U * 2 + 8U);  // a sum on each CPU, or two coverages; two times each
}

TEST(NeedTest, OfACgroupHasItsEventsOnEveryCpuAndItsSeriesOnceUnlessEachCpuIsAskedFor) {
  CountingPlan plan;
  plan.cgroup = test::scope_plan(
      {{"g", {"cycles", "instructions"}, {}, "big"}, {"soft", {"context-switches"}}});

  const Need need = need_of(plan, hybrid_machine());
  EXPECT_EQ(need.counters.cgroup, 2U * 2 + 4U);
  EXPECT_EQ(need.counters.cgroup_on_a_cpu, 2U + 1U);
  EXPECT_EQ(need.cgroup_series, 3U + 2U * 2 + 1U);  // and its description
  EXPECT_EQ(need.fixed_series, 0U);

  plan.cgroup_per_cpu = true;
  EXPECT_EQ(need_of(plan, hybrid_machine()).cgroup_series, 2U * (2 + 2) + 4U * (1 + 2) + 1U);
}

TEST(NeedTest, LeavesRoomForTheRowsOfCpusThatWentOffline) {
  MachineCpus cpus = hybrid_machine();
  for (const int cpu : cpus.online) cpus.places[cpu] = {};
  cpus.online = {0, 2};
  CountingPlan plan;
  plan.cpu = test::scope_plan({{"soft", {"context-switches"}}});

  EXPECT_EQ(need_of(plan, cpus).fixed_series, 4U * (1 + 2));
}

TEST(BoundTest, IsReportedByTheErrnoOfARefusal) {
  EXPECT_EQ(bound_met_by(EMFILE), "open_files");
  EXPECT_EQ(bound_met_by(ENFILE), "open_files");
  EXPECT_EQ(bound_met_by(ENOMEM), "memory");
  EXPECT_EQ(bound_met_by(EACCES), "");
  EXPECT_EQ(bound_met_by(0), "");
}

TEST(BoundTest, IsExplainedInNumbers) {
  Budget budget = roomy();
  budget.max_open_files = 320;

  EXPECT_EQ(describe(too_many_cgroups(budget, kNeed, cgroup_capacity(budget, kNeed), 500)),
            "counting 12 of 500 matching cgroups: all of them need 7142 file descriptors, and the "
            "limit is 320. Remedy: raise RLIMIT_NOFILE, or ulimit -n, or select fewer in "
            "cgroups.include");
  EXPECT_EQ(
      describe(too_many_cgroups(budget, kNeed, {3, "memory"}, 5)),
      "counting 3 of 5 matching cgroups: the kernel gives no more memory. Remedy: free some, or "
      "select fewer in cgroups.include");
  budget.max_cgroups = 2;
  EXPECT_EQ(
      describe(too_many_cgroups(budget, kNeed, cgroup_capacity(budget, kNeed), 5)),
      "counting 2 of 5 matching cgroups: cgroups.max is 2. Remedy: raise cgroups.max, or select "
      "fewer in cgroups.include");
}

TEST(BoundTest, ThatWasMetAlthoughThereShouldHaveBeenRoomIsNotExplainedByNumbers) {
  EXPECT_TRUE(describe(too_many_cgroups(roomy(), kNeed, {3, "open_files"}, 5))
                  .starts_with("counting 3 of 5 matching cgroups: the kernel gives no more file "
                               "descriptors. Remedy: "));
}

TEST(NeedTest, DoesNotCountCpusThatAreOffline) {
  MachineCpus cpus = hybrid_machine();
  cpus.online = {0, 2};
  CountingPlan plan;
  plan.cpu = test::scope_plan({{"g", {"cycles"}, {}, "big"}});
  plan.cgroup = plan.cpu;

  const Need need = need_of(plan, cpus);

  EXPECT_EQ(need.counters.cpus, 2U + 1U);
  EXPECT_EQ(need.counters.cgroup, 1U);
  EXPECT_EQ(need.counters.cgroup_on_a_cpu, 1U);
}

std::size_t below(std::size_t end) { return *rc::gen::inRange<std::size_t>(0, end); }

/// Up to three groups of any kind, on any PMU of hybrid_machine().
ScopePlan any_scope() {
  std::vector<test::GroupOf> groups(below(4));
  for (test::GroupOf& group : groups) {
    group.name = "g";
    group.events.resize(below(3) + 1, "cycles");
    group.pmu = *rc::gen::element<std::string>("", "big", "little", "imc_0");
    group.aggregation = *rc::gen::element(Aggregation::kCpu, Aggregation::kHost);
  }
  ScopePlan plan = test::scope_plan(groups);
  for (GroupPlan& group : plan.groups) {
    group.shares_pmu = below(2) == 0;
    group.is_published = below(4) != 0;
    if (below(2) == 0) continue;
    group.auxiliary.reference = group.events.size();
    group.events.push_back(test::counter("cycles"));
    group.auxiliary_events = 1;
  }
  return plan;
}

/// Now and then a column gets a part in another group, as PMUs that share the work have it.
void share_columns(ScopePlan& plan) {
  for (std::size_t i = 0; i + 1 < plan.columns.size(); ++i) {
    if (plan.columns[i].aggregation != plan.columns[i + 1].aggregation || below(3) != 0) continue;
    plan.columns[i].parts.push_back(plan.columns[i + 1].parts.front());
  }
}

/// `here` tells whether the group is counted at a row. Of each row all is known, or some of it.
template <typename Here>
GroupTable table_of(const GroupPlan& group, std::size_t rows, bool is_all_known, Here here) {
  using Value = GroupRow::Value;
  const auto is_known = [&] { return is_all_known || below(2) == 0; };
  GroupTable table{group.estimated(), group.shares_pmu, std::vector<GroupRow>(rows), {}, {}};
  table.totals.resize(rows * table.events);
  table.reference_weights.resize(table.events);
  for (std::size_t row = 0; row < rows; ++row) {
    if (!here(row)) continue;
    const Value value = is_all_known
                            ? Value::kKnown
                            : *rc::gen::element(Value::kNotHere, Value::kNone, Value::kKnown);
    table.rows[row] = {value, is_known(), {}};
    // As join() has it: what lacks a CPU has no value.
    const bool lacks = group.is_published && value == Value::kNone;
    table.rows[row].wanted_on = lacks && is_known() ? 2 : 0;
  }
  for (auto& weight : table.reference_weights) {
    if (group.auxiliary.reference && is_known()) weight = 0.5;
  }
  return table;
}

/// All CPUs of the machine, one row each or all in one, and `cgroups`.
Snapshot snapshot_of(const CountingPlan& plan, const MachineCpus& cpus, std::size_t cgroups,
                     bool is_all_known) {
  Snapshot snapshot;
  for (const GroupPlan& group : plan.cpu.groups) {
    const bool is_host = group.aggregation == Aggregation::kHost;
    snapshot.cpu.push_back(table_of(
        group, is_host ? 1 : cpus.online.size(), is_all_known,
        [&](std::size_t row) { return is_host || cpus.counts_on(group.pmu, cpus.online[row]); }));
  }
  for (const GroupPlan& group : plan.cgroup.groups) {
    snapshot.cgroup.push_back(
        table_of(group, cgroups, is_all_known, [](std::size_t) { return true; }));
  }
  auto targets = std::make_shared<TargetSet>();
  for (std::size_t i = 0; !plan.cgroup.empty() && i < cgroups; ++i) {
    targets->cgroups.push_back({i + 1, "/" + std::to_string(i), nullptr});
  }
  snapshot.targets = std::move(targets);
  snapshot.plan = std::make_shared<const CountingPlan>(plan);
  return snapshot;
}

RC_GTEST_PROP(NeedTest, OfSeriesIsNeverLessThanASnapshotHas, ()) {
  CountingPlan plan{any_scope(), any_scope(), {below(2) == 0, below(2) == 0}};
  share_columns(plan.cpu);
  share_columns(plan.cgroup);
  const MachineCpus cpus = hybrid_machine();
  const std::size_t cgroups = below(4);

  const Need need = need_of(plan, cpus);

  const Snapshot snapshot = snapshot_of(plan, cpus, cgroups, below(2) == 0);
  RC_ASSERT(need.fixed_series + cgroups * need.cgroup_series >= count_series(snapshot));
}

RC_GTEST_PROP(NeedTest, OfSeriesIsNeverLessThanASnapshotOfSumsHas, ()) {
  CountingPlan plan{{}, any_scope(), {below(2) == 0, below(2) == 0}};
  share_columns(plan.cgroup);
  plan.sums.emplace_back().max = below(4);

  const Need need = need_of(plan, hybrid_machine());

  Snapshot snapshot = snapshot_of(plan, hybrid_machine(), 0, /*is_all_known=*/true);
  SumTable& sums = snapshot.sums.emplace_back();
  sums.rows.resize(plan.sums[0].max);
  for (const GroupPlan& group : plan.cgroup.groups) {
    sums.groups.push_back(
        table_of(group, sums.rows.size(), true, [](std::size_t) { return true; }));
    // What was counted is published, and that a part of the sum is not counted now.
    for (GroupRow& row : sums.groups.back().rows) row.wanted_on = below(2);
  }
  RC_ASSERT(need.fixed_series >= count_series(snapshot));
}

RC_GTEST_PROP(NeedTest, OfSeriesIsJustMetWhenEveryRowHasAllItsValues, ()) {
  CountingPlan plan{any_scope(), any_scope(), {below(2) == 0, below(2) == 0}};
  for (GroupPlan& group : plan.cpu.groups) group.aggregation = Aggregation::kCpu;
  const MachineCpus cpus = hybrid_machine();
  const std::size_t cgroups = below(4);

  const Need need = need_of(plan, cpus);

  const Snapshot snapshot = snapshot_of(plan, cpus, cgroups, /*is_all_known=*/true);
  RC_ASSERT(need.fixed_series + cgroups * need.cgroup_series == count_series(snapshot));
}

TEST(BudgetTest, ClientsHaveATwelfthOfTheDescriptorsWithinBounds) {
  EXPECT_EQ(client_files(128), 96U);
  EXPECT_EQ(client_files(1'152), 96U);
  EXPECT_EQ(client_files(4'096), 341U);
  EXPECT_EQ(client_files(7'680), 640U);
  EXPECT_EQ(client_files(1'048'576), 640U);
}

}  // namespace
}  // namespace pex::collect
