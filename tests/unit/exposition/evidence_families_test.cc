#include "exposition/evidence_families.h"

#include <limits>

#include "exposition/format_writer.h"
#include "snapshots.h"
#include "support/events.h"
#include "support/test_headers.h"

namespace pex::exposition {
namespace {

using namespace std::chrono_literals;
using collect::Evidence;
using collect::GroupTimes;
using test::scope_plan;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Value = collect::GroupRow::Value;

std::string written(const collect::Snapshot& snapshot) {
  const RowLabels rows{snapshot};
  std::vector<PublishedFamily> families;
  add_evidence(snapshot, rows, families);
  std::string text;
  FormatWriter writer{Format::kText, false, text};
  std::vector<Number> numbers;
  for (const PublishedFamily& family : families) {
    writer.begin(family.head);
    for (const SampleRun& run : family.runs) {
      read(run, snapshot, numbers);
      writer.write(run.before, *run.rows, run.behind, numbers);
    }
  }
  writer.finish();
  return text;
}

void ask_for(const Evidence& evidence, collect::Snapshot& snapshot) {
  collect::CountingPlan plan = *snapshot.plan;
  plan.evidence = evidence;
  snapshot.plan = std::make_shared<const collect::CountingPlan>(std::move(plan));
}

/// One group with an event, which takes turns; cycles with `scale` to the unit of their metric.
collect::ScopePlan one_that_shares(double scale = 1) {
  collect::ScopePlan plan = scope_plan({{"core", {"cycles"}}});
  plan.groups[0].shares_pmu = true;
  plan.columns[0].event.scale = scale;
  return plan;
}

/// That group on CPU 0, with `total` of its event.
collect::Snapshot snapshot_of(const collect::EventTotal& total, double scale = 1) {
  collect::Snapshot snapshot = cpu_snapshot(one_that_shares(scale), {0}, {0});
  snapshot.cpu[0].totals[0] = total;
  return snapshot;
}

TEST(EvidenceFamiliesTest, WritesEveryFamilyWithItsTypeAndAllThatItIsGiven) {
  collect::ScopePlan plan = one_that_shares();
  plan.groups[0].auxiliary.reference = 0;
  collect::Snapshot snapshot = cpu_snapshot(std::move(plan), {2}, {0});
  snapshot.cpu[0].rows[0].times = {.enabled = 4s,
                                   .running = 2500ms,
                                   .imputed = 500ms,
                                   .unmeasured = 1ns,
                                   .reference = 30.9,
                                   .reference_sampled = 15};
  snapshot.cpu[0].totals[0] = {.value = 12, .observed = 7, .variance = 2.25};
  snapshot.cpu[0].reference_weights[0] = 0.75;
  ask_for({.variance = true, .reference = true}, snapshot);

  EXPECT_EQ(
      written(snapshot),
      "# HELP perf_group_enabled_seconds_total Time for which a group of events was "
      "enabled.\n"
      "# TYPE perf_group_enabled_seconds_total counter\n"
      "perf_group_enabled_seconds_total{group=\"core\",cpu=\"2\"} 4\n"
      "# HELP perf_group_running_seconds_total Time for which a group of events was on the "
      "PMU.\n"
      "# TYPE perf_group_running_seconds_total counter\n"
      "perf_group_running_seconds_total{group=\"core\",cpu=\"2\"} 2.5\n"
      "# HELP perf_group_imputed_seconds_total Enabled time of polls for which recent rates of a "
      "group were used.\n"
      "# TYPE perf_group_imputed_seconds_total counter\n"
      "perf_group_imputed_seconds_total{group=\"core\",cpu=\"2\"} 0.5\n"
      "# HELP perf_group_unmeasured_seconds_total Enabled time that no count covers.\n"
      "# TYPE perf_group_unmeasured_seconds_total counter\n"
      "perf_group_unmeasured_seconds_total{group=\"core\",cpu=\"2\"} 0.000000001\n"
      "# HELP perf_group_reference_total Events of the activity reference while the group "
      "was enabled.\n"
      "# TYPE perf_group_reference_total counter\n"
      "perf_group_reference_total{group=\"core\",cpu=\"2\"} 30\n"
      "# HELP perf_group_reference_sampled_total Events of the activity reference while "
      "the group was on the PMU.\n"
      "# TYPE perf_group_reference_sampled_total counter\n"
      "perf_group_reference_sampled_total{group=\"core\",cpu=\"2\"} 15\n"
      "# HELP perf_cpu_cycles_observed_total The part of perf_cpu_cycles_total that was "
      "counted; the rest is extrapolated.\n"
      "# TYPE perf_cpu_cycles_observed_total counter\n"
      "perf_cpu_cycles_observed_total{cpu=\"2\"} 7\n"
      "# HELP perf_cpu_cycles_variance_total Sum of the squared standard errors of the "
      "increments of perf_cpu_cycles_total.\n"
      "# TYPE perf_cpu_cycles_variance_total counter\n"
      "perf_cpu_cycles_variance_total{cpu=\"2\"} 2.25\n"
      "# HELP perf_event_reference_weight_ratio Learned weight of the activity reference "
      "in an event's estimate: 1 scales by the reference, 0 scales by time.\n"
      "# TYPE perf_event_reference_weight_ratio gauge\n"
      "perf_event_reference_weight_ratio{scope=\"cpu\",group=\"core\",event=\"cycles\"} "
      "0.75\n");
}

TEST(EvidenceFamiliesTest, ReportsTimeWithoutThePmuOnlyForGroupsThatCanLoseIt) {
  collect::ScopePlan plan = scope_plan({{"core", {"cycles"}}, {"soft", {"task-clock"}}});
  plan.groups[0].shares_pmu = true;

  const std::string text = written(cgroup_snapshot(plan, targets({"/a"}), {1, 2}));

  for (const std::string time : {"imputed", "unmeasured"}) {
    const std::string name = "perf_group_" + time + "_seconds_total";
    EXPECT_THAT(text, HasSubstr(name + "{group=\"core\",cgroup=\"/a\"} 0\n"));
    EXPECT_THAT(text, Not(HasSubstr(name + "{group=\"soft\"")));
  }
  EXPECT_THAT(text, HasSubstr("perf_group_enabled_seconds_total{group=\"soft\",cgroup=\"/a\"} 1"));
}

TEST(EvidenceFamiliesTest, ReportsThemOfAGroupThatCannotLoseItOnceThatLacksCounts) {
  collect::Snapshot snapshot =
      cgroup_snapshot(scope_plan({{"soft", {"page-faults"}}}), targets({"/a", "/b"}), {5, 6});
  snapshot.cgroup[0].is_estimated = true;
  snapshot.cgroup[0].rows[0].times.imputed = 1s;
  snapshot.cgroup[0].totals[0].observed = 3;
  snapshot.cgroup[0].totals[1].observed = 6;
  ask_for({.variance = true}, snapshot);

  const std::string text = written(snapshot);

  EXPECT_THAT(text,
              HasSubstr("perf_group_imputed_seconds_total{group=\"soft\",cgroup=\"/a\"} 1\n"
                        "perf_group_imputed_seconds_total{group=\"soft\",cgroup=\"/b\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("perf_group_unmeasured_seconds_total{group=\"soft\""));
  EXPECT_THAT(text, HasSubstr("perf_cgroup_page_faults_observed_total{cgroup=\"/a\"} 3\n"
                              "perf_cgroup_page_faults_observed_total{cgroup=\"/b\"} 6\n"));
  EXPECT_THAT(text, HasSubstr("perf_cgroup_page_faults_variance_total{"));
}

TEST(EvidenceFamiliesTest, ReportsWhatWasObservedOnlyOfEventsThatCanLoseThePmu) {
  collect::ScopePlan plan = scope_plan({{"core", {"cycles"}}, {"soft", {"task-clock"}}});
  plan.groups[0].shares_pmu = true;
  collect::Snapshot snapshot = cpu_snapshot(plan, {0}, {1, 2});
  ask_for({.variance = true}, snapshot);

  const std::string text = written(snapshot);

  for (const std::string part : {"observed", "variance"}) {
    EXPECT_THAT(text, HasSubstr("perf_cpu_cycles_" + part + "_total{cpu=\"0\"} 0\n"));
    EXPECT_THAT(text, Not(HasSubstr("task_clock_" + part)));
  }
}

TEST(EvidenceFamiliesTest, WritesWhatWasObservedAndItsVarianceInTheUnitOfTheMetric) {
  struct Row {
    double scale;
    collect::EventTotal total;
    const char* observed;
    const char* variance;
  };
  const Row rows[] = {
      {1, {.value = 9, .observed = 7, .variance = 0.1}, "7", "0.1"},
      {64, {.value = 9, .observed = 3, .variance = 2}, "192", "8192"},
      {0.5, {.value = 9, .observed = 3, .variance = 3}, "1.5", "0.75"},
      {1e-9, {.value = 9, .observed = 1'500'000'000, .variance = 0}, "1.5", "0"},
      {1, {.variance = std::numeric_limits<double>::infinity()}, "0", "+Inf"},
      {64, {.variance = std::numeric_limits<double>::infinity()}, "0", "+Inf"},
  };

  for (const Row& row : rows) {
    collect::Snapshot snapshot = snapshot_of(row.total, row.scale);
    ask_for({.variance = true}, snapshot);

    const std::string text = written(snapshot);

    const std::string labels = "_total{cpu=\"0\"} ";
    EXPECT_THAT(text, HasSubstr("perf_cpu_cycles_observed" + labels + row.observed + "\n"));
    EXPECT_THAT(text, HasSubstr("perf_cpu_cycles_variance" + labels + row.variance + "\n"));
  }
}

TEST(EvidenceFamiliesTest, WritesVarianceAndReferenceOnlyWhenAskedFor) {
  collect::ScopePlan plan = one_that_shares();
  plan.groups[0].auxiliary.reference = 0;
  for (const bool variance : {false, true}) {
    for (const bool reference : {false, true}) {
      collect::Snapshot snapshot = cpu_snapshot(plan, {0}, {1});
      ask_for({.variance = variance, .reference = reference}, snapshot);

      const std::string text = written(snapshot);

      const auto has = [&text](const char* part) { return text.find(part) != std::string::npos; };
      EXPECT_EQ(has("perf_cpu_cycles_variance_total"), variance);
      EXPECT_EQ(has("perf_group_reference_total{"), reference);
      EXPECT_EQ(has("perf_group_reference_sampled_total{"), reference);
      EXPECT_TRUE(has("perf_cpu_cycles_observed_total{"));
    }
  }
}

TEST(EvidenceFamiliesTest, WritesTheReferenceOnlyOfGroupsThatHaveOne) {
  collect::ScopePlan plan = scope_plan({{"core", {"cycles"}}, {"by_time", {"branches"}}});
  plan.groups[0].auxiliary.reference = 0;
  collect::Snapshot snapshot = cgroup_snapshot(plan, targets({"/a"}), {1, 2});
  snapshot.cgroup[0].rows[0].times.reference = 8;
  ask_for({.reference = true}, snapshot);

  const std::string text = written(snapshot);

  EXPECT_THAT(text, HasSubstr("perf_group_reference_total{group=\"core\",cgroup=\"/a\"} 8\n"));
  EXPECT_THAT(text, Not(HasSubstr("perf_group_reference_total{group=\"by_time\"")));
  EXPECT_THAT(text, Not(HasSubstr("perf_group_reference_sampled_total{group=\"by_time\"")));
}

TEST(EvidenceFamiliesTest, LeavesOutGroupsThatAreThereForTheSakeOfOthers) {
  collect::ScopePlan plan = one_that_shares();
  plan.groups.push_back(plan.groups[0]);
  plan.groups[1].name = "(clock)";
  plan.groups[1].is_published = false;
  plan.groups[1].auxiliary.reference = 0;
  for (collect::Snapshot snapshot :
       {cpu_snapshot(plan, {0}, {1, 2}), cgroup_snapshot(plan, targets({"/a"}), {1, 2})}) {
    ask_for({.variance = true, .reference = true}, snapshot);

    const std::string text = written(snapshot);

    EXPECT_THAT(text, HasSubstr("perf_group_unmeasured_seconds_total{group=\"core\""));
    EXPECT_THAT(text, Not(HasSubstr("(clock)")));
  }
}

TEST(EvidenceFamiliesTest, WritesOneWeightOfTheReferenceForEachEventOfEachScope) {
  const collect::ScopePlan plan = scope_plan({{"core", {"cycles", "branches"}}});
  collect::Snapshot snapshot = cpu_snapshot(plan, {0, 1}, {1, 2, 3, 4});
  snapshot.targets = targets({"/a"});
  snapshot.cgroup = tables(plan, 1, {5, 6});
  snapshot.cpu[0].reference_weights = {0, std::nullopt};
  snapshot.cgroup[0].reference_weights = {std::nullopt, 1};
  snapshot.plan = std::make_shared<const collect::CountingPlan>(collect::CountingPlan{plan, plan});

  const std::string text = written(snapshot);

  const std::string name = "perf_event_reference_weight_ratio";
  EXPECT_TRUE(text.ends_with("# TYPE " + name + " gauge\n" +                                 //
                             name + "{scope=\"cpu\",group=\"core\",event=\"cycles\"} 0\n" +  //
                             name + "{scope=\"cgroup\",group=\"core\",event=\"branches\"} 1\n"))
      << text;
}

TEST(EvidenceFamiliesTest, LeavesOutWhatWasObservedWhereThereIsNoValueButReportsTheTimes) {
  collect::Snapshot snapshot = cpu_snapshot(one_that_shares(), {0, 1}, {1, 2});
  snapshot.cpu[0].rows[1] = {Value::kNone, true, {.enabled = 2s, .unmeasured = 2s}};

  const std::string text = written(snapshot);

  EXPECT_THAT(text, HasSubstr("perf_cpu_cycles_observed_total{cpu=\"0\"}"));
  EXPECT_THAT(text, Not(HasSubstr("perf_cpu_cycles_observed_total{cpu=\"1\"}")));
  EXPECT_THAT(text, HasSubstr("perf_group_unmeasured_seconds_total{group=\"core\",cpu=\"1\"} 2\n"));
}

TEST(EvidenceFamiliesTest, GivesGroupsTheirLabelsAndPartsOfAnEventThoseOfItsMetric) {
  collect::ScopePlan plan = scope_plan({{"a\"b", {"cycles"}, {}, "big"}});
  plan.groups[0].shares_pmu = true;
  plan.columns[0].event.labels = {{"pmu", "big"}};

  const std::string text = written(cgroup_snapshot(plan, targets({"/x"}), {1}));

  EXPECT_THAT(
      text, AllOf(HasSubstr("_running_seconds_total{group=\"a\\\"b\",pmu=\"big\",cgroup=\"/x\"} "),
                  HasSubstr("perf_cgroup_cycles_observed_total{cgroup=\"/x\",pmu=\"big\"} ")));
}

}  // namespace
}  // namespace pex::exposition
