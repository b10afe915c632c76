#include "exposition/metric_names.h"

#include "support/events.h"
#include "support/test_headers.h"

namespace pex::exposition {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::Field;

events::EventIdentity event(const std::string& metric, Unit unit, bool is_uncore = false) {
  events::EventIdentity identity;
  identity.name = metric;
  identity.metric = metric;
  identity.unit = unit;
  identity.help = "A sentence.";
  identity.is_uncore = is_uncore;
  return identity;
}

TEST(FamilyNameTest, IsScopeEventUnitAndTotal) {
  struct Row {
    Scope scope;
    events::EventIdentity event;
    const char* name;
  };
  const Row rows[] = {
      {Scope::kCpu, event("cycles", Unit::kEvents), "perf_cpu_cycles_total"},
      {Scope::kCgroup, event("cycles", Unit::kEvents), "perf_cgroup_cycles_total"},
      {Scope::kCpu, event("task_clock", Unit::kSeconds), "perf_cpu_task_clock_seconds_total"},
      {Scope::kCpu, event("stalled_seconds", Unit::kSeconds), "perf_cpu_stalled_seconds_total"},
      {Scope::kCpu, event("energy", Unit::kJoules, true), "perf_energy_joules_total"},
      {Scope::kCpu, event("uncore_imc_read", Unit::kBytes, true),
       "perf_uncore_imc_read_bytes_total"},
      {Scope::kCpu, event("bytes", Unit::kBytes), "perf_cpu_bytes_total"},
      {Scope::kCpu, event("faults_total", Unit::kEvents), "perf_cpu_faults_total"},
      {Scope::kCpu, event("read_bytes_total", Unit::kBytes), "perf_cpu_read_bytes_total"},
  };

  for (const Row& row : rows) {
    EXPECT_EQ(family_name(row.scope, row.event), row.name);
  }
}

TEST(FamiliesTest, AreOneForEachNameInTheOrderOfTheirFirstColumns) {
  const collect::CountingPlan counting{
      test::scope_plan({{"g", {"cycles", "task-clock"}, {}, "big"},
                        {"g", {"cycles", "instructions"}, {}, "little"}}),
      {}};
  const collect::ScopePlan& plan = counting.cpu;

  const std::vector<EventFamily> families = families_of(Scope::kCpu, counting);

  ASSERT_EQ(families.size(), 3U);
  EXPECT_EQ(families[0].name, "perf_cpu_cycles_total");
  EXPECT_THAT(families[0].columns,
              ElementsAre(Field(&EventFamily::Member::column, &plan.columns[0]),
                          Field(&EventFamily::Member::column, &plan.columns[2])));
  EXPECT_EQ(families[1].name, "perf_cpu_task_clock_seconds_total");
  EXPECT_EQ(families[2].name, "perf_cpu_instructions_total");
}

TEST(FamiliesTest, SayWhatARowIs) {
  struct Row {
    Scope scope;
    Aggregation aggregation;
    const char* ending;
    bool per_cpu = false;
  };
  const Row rows[] = {
      {Scope::kCgroup, Aggregation::kCpu, " (event cycles, by cgroup with its children, and CPU).",
       true},
      {Scope::kCpu, Aggregation::kCpu, " (event cycles, by CPU)."},
      {Scope::kCpu, Aggregation::kCore, " (event cycles, by core)."},
      {Scope::kCpu, Aggregation::kDie, " (event cycles, by die)."},
      {Scope::kCpu, Aggregation::kPackage, " (event cycles, by package)."},
      {Scope::kCpu, Aggregation::kNumaNode, " (event cycles, by NUMA node)."},
      {Scope::kCpu, Aggregation::kHost, " (event cycles, over the whole host)."},
      {Scope::kCgroup, Aggregation::kCpu,
       " (event cycles, by cgroup with its children, over all CPUs)."},
      {Scope::kCgroup, Aggregation::kPackage,
       " (event cycles, by cgroup with its children, over all CPUs)."},
  };

  for (const Row& row : rows) {
    const collect::ScopePlan scope =
        test::scope_plan({{.name = "g", .events = {"cycles"}, .aggregation = row.aggregation}});
    const collect::CountingPlan plan{scope, scope, {}, row.per_cpu};

    EXPECT_THAT(families_of(row.scope, plan).front().help, EndsWith(row.ending));
  }
}

TEST(FamiliesTest, SayThatTheirRowsDifferWhereTheyDo) {
  const collect::ScopePlan plan =
      test::scope_plan({{.name = "a", .events = {"cycles"}, .aggregation = Aggregation::kPackage},
                        {.name = "b", .events = {"cycles"}, .aggregation = Aggregation::kHost}});

  EXPECT_THAT(families_of(Scope::kCpu, {plan, {}}).front().help,
              EndsWith(" (event cycles, by different parts of the machine)."));
}

TEST(FamiliesTest, NameEachOfTheirEventsOnce) {
  collect::ScopePlan plan;
  for (const char* name : {"energy-pkg", "energy-ram", "energy-pkg"}) {
    collect::PublishedEvent& column = plan.columns.emplace_back();
    column.event = event("energy", Unit::kJoules, true);
    column.event.name = std::string("power/") + name + "/";
  }

  EXPECT_EQ(families_of(Scope::kCpu, {plan, {}}).front().help,
            "A sentence (events power/energy-pkg/, power/energy-ram/, by CPU).");
}

TEST(MetricNamesTest, PutsThePartsOfACountBeforeItsUnit) {
  EXPECT_EQ(observed_family_name("perf_cpu_cycles_total"), "perf_cpu_cycles_observed_total");
  EXPECT_EQ(variance_family_name("perf_cpu_cycles_total"), "perf_cpu_cycles_variance_total");
  EXPECT_EQ(observed_family_name("perf_imc_read_bytes_total"),
            "perf_imc_read_observed_bytes_total");
  EXPECT_EQ(variance_family_name("perf_imc_read_bytes_total"),
            "perf_imc_read_variance_bytes_squared_total");
}

}  // namespace
}  // namespace pex::exposition
