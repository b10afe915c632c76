// g++ 12 takes parts of std::regex's automaton for uninitialized where AddressSanitizer is in it.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#include "exposition/self_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <iterator>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "exposition/group_troubles.h"
#include "exposition/renderer.h"
#include "exposition/self_families.h"
#include "snapshots.h"
#include "support/events.h"

namespace pex::exposition {
namespace {

using collect::CountingPlan;
using test::scope_plan;
using ::testing::HasSubstr;
using ::testing::Not;

std::string written(const SelfMetrics& metrics) {
  std::string text;
  Renderer{}.render(nullptr, *metrics.read(), {}, text);
  return text;
}

collect::Snapshot snapshot_of(std::shared_ptr<const CountingPlan> plan) {
  collect::Snapshot snapshot;
  snapshot.targets = targets({});
  snapshot.cpu = tables(plan->cpu, 0, {});
  snapshot.plan = std::move(plan);
  return snapshot;
}

CountingPlan plan_of(const char* group) { return {scope_plan({{group, {"cycles"}}}), {}, {}}; }

TEST(SelfMetricsTest, SayNothingOfAPollBeforeTheFirst) {
  const std::string text = written(SelfMetrics{"1.0"});

  for (const std::string name : {"last_poll_timestamp_seconds", "poll_duration_seconds", "series{",
                                 "series ", "open_events", "cgroups{", "cpus{"}) {
    EXPECT_THAT(text, Not(HasSubstr("\nperf_event_exporter_" + name)));
  }
  EXPECT_THAT(text, HasSubstr("\nperf_event_exporter_polls_total 0\n"));
}

/// All that there can be at once.
std::string everything() {
  CountingPlan plan;
  plan.cpu = scope_plan({{"core", {"cycles"}}, {"(clock)", {"cpu-clock"}}});
  plan.cpu.groups[1].is_published = false;
  const collect::Snapshot snapshot = snapshot_of(std::make_shared<const CountingPlan>(plan));
  collect::PollReport report;
  report.refusals[{"cycles", EMFILE}] = 1;
  report.now.late_cpus = {1};
  SelfMetrics metrics{"1.0"};
  metrics.add_poll(report, snapshot);
  metrics.set_event_available("cycles", Scope::kCpu, true);
  metrics.set_series_limit(1);
  metrics.set_config_loaded(true);
  metrics.set_web_config_loaded(true);
  metrics.add_web_config_downgrades("users", "refused", 0);
  metrics.set_connections(1);
  metrics.set_http_troubles("slow_client", 1);
  host::SelfProcess process;
  process.open_fds = 3;
  metrics.set_process(process);
  return written(metrics);
}

/// "# TYPE name type", as the text format has it, which knows no info.
std::string type_line(const FamilyEntry& row) {
  const char* type = row.type == FamilyType::kCounter ? " counter\n" : " gauge\n";
  return "# TYPE " + std::string(row.name) + type;
}

TEST(SelfMetricsTest, AreThoseOfTheTables) {
  std::vector<FamilyEntry> rows = trouble_families();
  rows.insert(rows.end(), std::begin(kSelfFamilies), std::end(kSelfFamilies));
  rows.insert(rows.end(), std::begin(kProcessFamilies), std::end(kProcessFamilies));

  const std::string text = everything();

  for (const FamilyEntry& row : rows) EXPECT_THAT(text, HasSubstr(type_line(row)));
  std::size_t families = 0;
  for (std::size_t at = 0; (at = text.find("# TYPE ", at)) != text.npos; ++at) ++families;
  EXPECT_EQ(families, rows.size());
}

TEST(SelfMetricsTest, HaveTheLabelsThatTheTableTells) {
  const std::string text = everything();

  for (const FamilyEntry& row : kSelfFamilies) {
    const std::regex sample("\n" + std::string(row.name) + "\\{([a-z_]+)=\"([^\"]*)\"");
    for (std::sregex_iterator at(text.begin(), text.end(), sample), end; at != end; ++at) {
      EXPECT_THAT(std::string(row.labels), HasSubstr("`" + at->str(1) + "`"));
      const bool lists_values = row.labels.find(": ") != row.labels.npos;
      EXPECT_THAT(std::string(row.labels), HasSubstr(lists_values ? at->str(2) : ""));
    }
  }
}

TEST(SelfMetricsTest, SayNothingOfDescriptorsThatAreNotCountedYet) {
  SelfMetrics metrics{"1.0"};

  metrics.set_process({});

  EXPECT_THAT(written(metrics), Not(HasSubstr("process_open_fds")));
  EXPECT_THAT(written(metrics), HasSubstr("process_max_fds"));
}

TEST(SelfMetricsTest, GoWithTheGroupThatTheyAreAbout) {
  const collect::Snapshot snapshot =
      snapshot_of(std::make_shared<const CountingPlan>(plan_of("core")));
  SelfMetrics metrics{"1.0"};
  metrics.add_poll({}, snapshot);
  const auto only = [&](const char* group) {
    std::string text;
    const Wanted wanted{Format::kText, {Selection::Rule::kOnly, {group}}, false};
    Renderer{}.render(nullptr, *metrics.read(), wanted, text);
    return text;
  };

  EXPECT_THAT(only("core"), HasSubstr("perf_group_read_errors_total{group=\"core\"} 0\n"));
  EXPECT_THAT(only("core"), Not(HasSubstr("perf_event_exporter_")));
  EXPECT_THAT(only("exporter"), HasSubstr("perf_event_exporter_polls_total 1\n"));
  EXPECT_THAT(only("exporter"), Not(HasSubstr("perf_group_")));
}

TEST(SelfMetricsTest, OfAPieceGoWithTheGroupThatWasConfigured) {
  CountingPlan plan;
  plan.cpu = scope_plan({{"core", {"cycles"}}, {"core/2", {"branches"}}, {"other", {"faults"}}});
  const collect::Snapshot snapshot = snapshot_of(std::make_shared<const CountingPlan>(plan));
  collect::PollReport report;
  report.of_group("core/2").anomalies = 3;
  SelfMetrics metrics{"1.0"};
  metrics.add_poll(report, snapshot);
  const auto chosen = [&](Selection::Rule rule) {
    std::string text;
    Renderer{}.render(nullptr, *metrics.read(), {Format::kText, {rule, {"core"}}, false}, text);
    return text;
  };

  const std::string with = chosen(Selection::Rule::kOnly);
  const std::string without = chosen(Selection::Rule::kAllBut);

  EXPECT_THAT(with, HasSubstr("perf_group_anomalies_total{group=\"core/2\"} 3\n"));
  EXPECT_THAT(with, Not(HasSubstr("\"other\"")));
  EXPECT_THAT(without, Not(HasSubstr("\"core")));
  EXPECT_THAT(without, HasSubstr("perf_group_anomalies_total{group=\"other\"} 0\n"));
}

TEST(SelfMetricsTest, HaveTheErrorsOfAuxiliaryCountersInAFamilyOfTheExporter) {
  CountingPlan plan = plan_of("core");
  plan.cgroup = scope_plan({{"(clock)", {"cpu-clock"}}, {"(reference)", {"cycles"}}});
  for (collect::GroupPlan& group : plan.cgroup.groups) group.is_published = false;
  collect::Snapshot snapshot = snapshot_of(std::make_shared<const CountingPlan>(plan));
  snapshot.cgroup = tables(plan.cgroup, 0, {});
  collect::PollReport report;
  report.of_group("(reference)").pinned_errors = 7;
  SelfMetrics metrics{"1.0"};
  metrics.add_poll(report, snapshot);

  const std::string text = written(metrics);

  const std::string family = "perf_event_exporter_auxiliary_errors_total";
  EXPECT_THAT(text, HasSubstr(family + "{auxiliary=\"reference\",reason=\"pinned\"} 7\n"));
  for (const std::string reason : {"anomaly", "mistimed", "pinned", "read"}) {
    EXPECT_THAT(text, HasSubstr(family + "{auxiliary=\"clock\",reason=\"" + reason + "\"} 0\n"));
  }
  EXPECT_THAT(text, Not(HasSubstr("\"("))) << "a name in parentheses";
}

TEST(SelfMetricsTest, ForgetTheTroublesOfGroupsThatANewPlanDoesNotHave) {
  const auto plan = [](const char* first, const char* second) {
    CountingPlan made;
    made.cpu = scope_plan({{first, {"cycles"}}, {second, {"branches"}}});
    if (std::string_view(second) == "(clock)") made.cpu.groups[1].is_published = false;
    return snapshot_of(std::make_shared<const CountingPlan>(made));
  };
  collect::PollReport report;
  report.of_group("stays").anomalies = 2;
  report.of_group("before").anomalies = 1;
  SelfMetrics metrics{"1.0"};
  metrics.add_poll(report, plan("stays", "before"));
  metrics.add_poll({}, plan("stays", "(clock)"));

  metrics.add_poll({}, plan("after", "stays"));

  const std::string text = written(metrics);
  EXPECT_THAT(text, HasSubstr("perf_group_anomalies_total{group=\"stays\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("perf_group_anomalies_total{group=\"after\"} 0\n"));
  EXPECT_THAT(text, Not(HasSubstr("\"before\"")));
  EXPECT_THAT(text, Not(HasSubstr("auxiliary")));
}

TEST(SelfMetricsTest, StartTheTroublesOfEachPublishedGroupAtZero) {
  CountingPlan plan = plan_of("core");
  plan.cgroup = scope_plan({{"soft", {"task-clock"}}, {"(clock)", {"cpu-clock"}}});
  plan.cgroup.groups[1].is_published = false;
  collect::Snapshot snapshot = snapshot_of(std::make_shared<const CountingPlan>(plan));
  snapshot.cgroup = tables(plan.cgroup, 0, {});
  SelfMetrics metrics{"1.0"};

  metrics.add_poll({}, snapshot);

  const std::string text = written(metrics);
  for (const std::string name : {"anomalies", "mistimed_polls", "pinned_errors", "read_errors"}) {
    EXPECT_THAT(text, HasSubstr("perf_group_" + name + "_total{group=\"core\"} 0\n"));
    EXPECT_THAT(text, HasSubstr("perf_group_" + name + "_total{group=\"soft\"} 0\n"));
  }
  EXPECT_THAT(text, Not(HasSubstr("(clock)")));
}

TEST(SelfMetricsTest, TellWhichCpusAreLateAndHowOftenTheyWere) {
  collect::Snapshot snapshot = snapshot_of(std::make_shared<const CountingPlan>(plan_of("core")));
  auto with_cpus = std::make_shared<collect::TargetSet>(*snapshot.targets);
  with_cpus->cpus = std::make_shared<const collect::MachineCpus>(
      collect::MachineCpus{.online = {0, 1, 2, 3}, .pmus = {}, .places = {}, .left_out = {4, 5}});
  snapshot.targets = with_cpus;
  collect::PollReport report;
  report.now.late_cpus = {1, 3};
  SelfMetrics metrics{"1.0"};

  metrics.add_poll(report, snapshot);
  report.now.late_cpus = {3};
  metrics.add_poll(report, snapshot);

  const std::string text = written(metrics);
  EXPECT_THAT(text, HasSubstr("perf_event_exporter_cpus{state=\"counted\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("perf_event_exporter_cpus{state=\"late\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("perf_event_exporter_cpus{state=\"left_out\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("perf_event_exporter_cpu_late_polls_total{cpu=\"1\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("perf_event_exporter_cpu_late_polls_total{cpu=\"3\"} 2\n"));
  EXPECT_THAT(text, Not(HasSubstr("late_polls_total{cpu=\"0\"}")));
}

TEST(SelfMetricsTest, AddUpTheTroublesOfAllPolls) {
  const collect::Snapshot snapshot =
      snapshot_of(std::make_shared<const CountingPlan>(plan_of("core")));
  collect::PollReport report;
  report.of_group("core") = {.anomalies = 1, .mistimed = 2, .pinned_errors = 3, .read_failures = 4};
  SelfMetrics metrics{"1.0"};

  metrics.add_poll(report, snapshot);
  metrics.add_poll(report, snapshot);

  const std::string text = written(metrics);
  EXPECT_THAT(text, HasSubstr("perf_group_anomalies_total{group=\"core\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("perf_group_mistimed_polls_total{group=\"core\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("perf_group_pinned_errors_total{group=\"core\"} 6\n"));
  EXPECT_THAT(text, HasSubstr("perf_group_read_errors_total{group=\"core\"} 8\n"));
}

TEST(SelfMetricsTest, TellANewPlanFromAFreedOneThatLayInTheSamePlace) {
  std::optional<CountingPlan> place;
  const auto placed = [&place](CountingPlan plan) {
    place = std::move(plan);
    return std::shared_ptr<const CountingPlan>(&*place, [](const CountingPlan*) {});
  };
  SelfMetrics metrics{"1.0"};

  metrics.add_poll({}, snapshot_of(placed(plan_of("before"))));
  metrics.add_poll({}, snapshot_of(placed(plan_of("after"))));

  EXPECT_THAT(written(metrics), HasSubstr("perf_group_anomalies_total{group=\"after\"} 0\n"));
}

}  // namespace
}  // namespace pex::exposition
