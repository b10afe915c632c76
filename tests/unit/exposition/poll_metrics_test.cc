#include "exposition/poll_metrics.h"

#include <cerrno>

#include "exposition/renderer.h"
#include "exposition/self_metrics.h"
#include "snapshots.h"
#include "support/events.h"
#include "support/test_headers.h"

namespace pex::exposition {
namespace {

using collect::CountingPlan;
using test::scope_plan;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string written(const PollMetrics& polls, const Selection& selection = {}) {
  SelfMetrics metrics{"1.0"};
  metrics.add(polls);
  const auto text = std::make_shared<std::string>();
  Renderer{}.render(nullptr, *metrics.read(), {Format::kText, selection, false}, text);
  return *text;
}

std::shared_ptr<const collect::Snapshot> snapshot_of(std::shared_ptr<const CountingPlan> plan) {
  auto snapshot = std::make_shared<collect::Snapshot>();
  snapshot->targets = targets({});
  snapshot->cpu = tables(plan->cpu, 0, {});
  snapshot->cgroup = tables(plan->cgroup, 0, {});
  snapshot->plan = std::move(plan);
  return snapshot;
}

std::shared_ptr<const collect::Snapshot> snapshot_of(CountingPlan plan) {
  return snapshot_of(std::make_shared<const CountingPlan>(std::move(plan)));
}

CountingPlan plan_of(const char* group) { return {scope_plan({{group, {"cycles"}}}), {}, {}}; }

CountingPlan plan_of_cgroups() { return {{}, scope_plan({{"core", {"cycles"}}}), {}}; }

std::string problem(const std::string& group, const std::string& problem, int times) {
  return "perf_group_problems_total{group=\"" + group + "\",problem=\"" + problem + "\"} " +
         std::to_string(times) + "\n";
}

TEST(PollMetricsTest, SayNothingOfAPollBeforeTheFirst) {
  const std::string text = written(PollMetrics{});

  for (const std::string name :
       {"last_poll_timestamp_seconds", "series{", "series ", "open_events", "cgroups{", "cpus{"}) {
    EXPECT_THAT(text, Not(HasSubstr("\nperf_event_exporter_" + name)));
  }
  EXPECT_THAT(text, HasSubstr("\nperf_event_exporter_polls_total 0\n"));
}

TEST(PollMetricsTest, HaveTheErrnosThatOccurred) {
  PollMetrics metrics;
  const std::string family = "\nperf_event_exporter_event_open_errors_total";
  EXPECT_THAT(written(metrics), Not(HasSubstr(family)));
  collect::PollReport report;
  report.refusals[{"cycles", EMFILE}] = 2;
  report.refusals[{"branches", EMFILE}] = 3;
  report.refusals[{"branches", EIO}] = 1;

  metrics.add(report, snapshot_of(plan_of("core")));

  EXPECT_THAT(written(metrics), HasSubstr(family + "{errno=\"EMFILE\"} 5\n"));
  EXPECT_THAT(written(metrics), HasSubstr(family + "{errno=\"EIO\"} 1\n"));
  EXPECT_THAT(written(metrics), Not(HasSubstr("EACCES")));
}

TEST(PollMetricsTest, CountPollsByTheirDurationFromTheStart) {
  PollMetrics metrics;
  const std::string family = "\nperf_event_exporter_poll_duration_seconds";
  EXPECT_THAT(written(metrics), HasSubstr(family + "_count 0\n"));
  collect::PollReport report;
  report.now.duration = std::chrono::milliseconds{25};
  metrics.add(report, snapshot_of(plan_of("core")));
  report.now.duration = std::chrono::seconds{4};
  metrics.add(report, snapshot_of(plan_of("core")));

  const std::string text = written(metrics);

  EXPECT_THAT(text, HasSubstr("# TYPE perf_event_exporter_poll_duration_seconds histogram\n"));
  EXPECT_THAT(text, HasSubstr(family + "_bucket{le=\"0.01\"} 0\n"));
  EXPECT_THAT(text, HasSubstr(family + "_bucket{le=\"0.1\"} 1\n"));
  EXPECT_THAT(text, HasSubstr(family + "_bucket{le=\"1.0\"} 1\n"));
  EXPECT_THAT(text, HasSubstr(family + "_bucket{le=\"+Inf\"} 2\n"));
  EXPECT_THAT(text, HasSubstr(family + "_sum 4.025\n"));
  EXPECT_THAT(text, HasSubstr(family + "_count 2\n"));
}

TEST(PollMetricsTest, GoWithTheGroupThatTheyAreAbout) {
  collect::PollReport report;
  report.of_group("core").read_failures = 3;
  report.of_group("(clock)").read_failures = 4;
  CountingPlan plan;
  plan.cpu = scope_plan({{"core", {"cycles"}}, {"(clock)", {"cpu-clock"}}});
  PollMetrics metrics;
  metrics.add(report, snapshot_of(plan));
  const auto only = [&](const char* group) {
    return written(metrics, {Selection::Rule::kOnly, {group}});
  };

  const std::string of_core = problem("core", "read_error", 3);
  const std::string of_clock = problem("(clock)", "read_error", 4);
  EXPECT_THAT(only("core"), AllOf(HasSubstr(of_core), Not(HasSubstr(of_clock))));
  EXPECT_THAT(only("core"), Not(HasSubstr("perf_event_exporter_polls_total")));
  EXPECT_THAT(only("core"), HasSubstr("perf_event_exporter_build_info{"));
  EXPECT_THAT(only("exporter"), AllOf(HasSubstr(of_clock), Not(HasSubstr(of_core))));
  EXPECT_THAT(only("exporter"), HasSubstr("perf_event_exporter_polls_total 1\n"));
}

TEST(PollMetricsTest, OfAPieceGoWithTheGroupThatWasConfigured) {
  CountingPlan plan;
  plan.cpu = scope_plan({{"core", {"cycles"}}, {"core/2", {"branches"}}, {"other", {"faults"}}});
  collect::PollReport report;
  report.of_group("core/2").anomalies = 3;
  report.of_group("other").anomalies = 1;
  PollMetrics metrics;
  metrics.add(report, snapshot_of(plan));
  const auto chosen = [&](Selection::Rule rule) { return written(metrics, {rule, {"core"}}); };

  const std::string with = chosen(Selection::Rule::kOnly);
  const std::string without = chosen(Selection::Rule::kAllBut);

  EXPECT_THAT(with, HasSubstr(problem("core/2", "anomaly", 3)));
  EXPECT_THAT(with, Not(HasSubstr("\"other\"")));
  EXPECT_THAT(without, Not(HasSubstr("\"core")));
  EXPECT_THAT(without, HasSubstr(problem("other", "anomaly", 1)));
}

TEST(PollMetricsTest, ForgetTheProblemsOfGroupsThatANewPlanDoesNotHave) {
  const auto plan = [](const char* first, const char* second) {
    CountingPlan made;
    made.cpu = scope_plan({{first, {"cycles"}}, {second, {"branches"}}});
    return snapshot_of(made);
  };
  collect::PollReport report;
  report.of_group("stays").anomalies = 2;
  report.of_group("before").anomalies = 1;
  PollMetrics metrics;
  metrics.add(report, plan("stays", "before"));

  metrics.add({}, plan("after", "stays"));

  const std::string text = written(metrics);
  EXPECT_THAT(text, HasSubstr(problem("stays", "anomaly", 2)));
  EXPECT_THAT(text, Not(HasSubstr("\"before\"")));
}

TEST(PollMetricsTest, ReportWhichCpusAreLateAndHowOftenTheyWere) {
  auto snapshot = std::make_shared<collect::Snapshot>(*snapshot_of(plan_of("core")));
  auto with_cpus = std::make_shared<collect::TargetSet>(*snapshot->targets);
  with_cpus->cpus = std::make_shared<const collect::MachineCpus>(
      collect::MachineCpus{.online = {0, 1, 2, 3}, .pmus = {}, .places = {}, .left_out = {4, 5}});
  snapshot->targets = with_cpus;
  collect::PollReport report;
  report.now.late_cpus = {1, 3};
  PollMetrics metrics;

  metrics.add(report, snapshot);
  report.now.late_cpus = {3};
  metrics.add(report, snapshot);

  const std::string text = written(metrics);
  EXPECT_THAT(text, HasSubstr("perf_event_exporter_cpus{state=\"counted\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("perf_event_exporter_cpus{state=\"late\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("perf_event_exporter_cpus{state=\"left_out\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("perf_event_exporter_cpu_late_polls_total{cpu=\"1\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("perf_event_exporter_cpu_late_polls_total{cpu=\"3\"} 2\n"));
  EXPECT_THAT(text, Not(HasSubstr("late_polls_total{cpu=\"0\"}")));
}

TEST(PollMetricsTest, CountTheCgroupsInEachState) {
  collect::TargetSet set = *targets({"/a.service", "/b.service", "/c.service"});
  set.present = 2;
  set.waiting = 4;
  cgroup::DiscoveryResult found;
  found.left_out = 5;
  found.unreadable.resize(6);
  set.found = std::make_shared<const cgroup::DiscoveryResult>(std::move(found));
  auto snapshot = std::make_shared<collect::Snapshot>(*snapshot_of(plan_of_cgroups()));
  snapshot->targets = std::make_shared<const collect::TargetSet>(std::move(set));
  PollMetrics metrics;

  metrics.add({}, snapshot);

  const std::string text = written(metrics);
  const std::string family = "perf_event_exporter_cgroups{state=";
  EXPECT_THAT(text, HasSubstr(family + "\"counted\"} 2\n"));
  EXPECT_THAT(text, HasSubstr(family + "\"lingering\"} 1\n"));
  EXPECT_THAT(text, HasSubstr(family + "\"waiting\"} 4\n"));
  EXPECT_THAT(text, HasSubstr(family + "\"left_out\"} 5\n"));
  EXPECT_THAT(text, HasSubstr(family + "\"unreadable\"} 6\n"));
}

TEST(PollMetricsTest, CountTheDirectoriesOfCgroupsInEachState) {
  collect::PollReport report;
  report.now.cgroup_directories = {
      .followed = 1, .unwatched = 2, .beyond_limit = 3, .path_too_long = 4};
  PollMetrics metrics;

  metrics.add(report, snapshot_of(plan_of_cgroups()));

  const std::string text = written(metrics);
  const std::string family = "perf_event_exporter_cgroup_directories{state=";
  EXPECT_THAT(text, HasSubstr(family + "\"followed\"} 1\n"));
  EXPECT_THAT(text, HasSubstr(family + "\"unwatched\"} 2\n"));
  EXPECT_THAT(text, HasSubstr(family + "\"beyond_limit\"} 3\n"));
  EXPECT_THAT(text, HasSubstr(family + "\"path_too_long\"} 4\n"));
}

TEST(PollMetricsTest, HaveTheGaugesOfTheLastPollAndTheSumsOfAll) {
  const auto snapshot = snapshot_of(plan_of_cgroups());
  collect::PollReport report;
  report.now.targets_rotated_manually = 7;
  report.cgroups_missed = 2;
  report.cgroups_left_out = {{"max", 3}};
  PollMetrics metrics;
  metrics.add(report, snapshot);

  report.now.targets_rotated_manually = 1;
  metrics.add(report, snapshot);

  const std::string text = written(metrics);
  EXPECT_THAT(text, HasSubstr("perf_event_exporter_cgroups_rotated_manually 1\n"));
  EXPECT_THAT(text, HasSubstr("perf_event_exporter_cgroups_missed_total 4\n"));
  EXPECT_THAT(text, HasSubstr("perf_event_exporter_cgroups_left_out_total{reason=\"max\"} 6\n"));
}

TEST(PollMetricsTest, SayNothingOfCgroupsIfNoGroupCountsThem) {
  PollMetrics metrics;

  metrics.add({}, snapshot_of(plan_of("core")));

  for (const std::string family : {"cgroup", "series", "unnamed", "switch_record", "uncounted"}) {
    EXPECT_THAT(written(metrics), Not(HasSubstr("perf_event_exporter_" + family)));
  }
}

TEST(PollMetricsTest, SayNothingOfRecordsBeforeTheyAreUsed) {
  const auto snapshot = snapshot_of(plan_of_cgroups());
  const std::string family = "perf_event_exporter_switch_records_total{outcome=\"lost\"} 0\n";
  collect::PollReport report;
  PollMetrics metrics;
  metrics.add(report, snapshot);
  EXPECT_THAT(written(metrics), Not(HasSubstr(family)));

  report.now.cpus_by_records = 1;
  metrics.add(report, snapshot);

  EXPECT_THAT(written(metrics), HasSubstr(family));
}

TEST(PollMetricsTest, AddUpTheProblemsOfAllPollsAndHaveNoSeriesOfOthers) {
  const auto snapshot = snapshot_of(plan_of("core"));
  collect::PollReport report;
  report.of_group("core") = {.anomalies = 1, .mistimed = 2, .pinned_errors = 3, .read_failures = 4};
  PollMetrics metrics;

  metrics.add(report, snapshot);
  metrics.add(report, snapshot);

  const std::string text = written(metrics);
  EXPECT_THAT(text, HasSubstr(problem("core", "anomaly", 2)));
  EXPECT_THAT(text, HasSubstr(problem("core", "mistimed", 4)));
  EXPECT_THAT(text, HasSubstr(problem("core", "pinned_off_pmu", 6)));
  EXPECT_THAT(text, HasSubstr(problem("core", "read_error", 8)));
  EXPECT_THAT(text, Not(HasSubstr("standstill")));
}

}  // namespace
}  // namespace pex::exposition
