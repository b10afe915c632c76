#include "plan/event_selector.h"

#include <cerrno>

#include "plan/availability.h"
#include "support/file_shortage.h"
#include "support/forwarding_kernel.h"
#include "support/planning.h"
#include "support/scripted_kernel.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"

namespace pex::plan {
namespace {

using test::errors_of;
using test::group_of;
using test::plan_on;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

host::HostRoots roots_of(const test::TempTree& tree) {
  return {tree.path("sys"), tree.path("proc"), tree.path("cgroup")};
}

/// The only event that is published.
events::EventIdentity published(const test::PlanOrErrors& plan) {
  EXPECT_THAT(errors_of(plan), IsEmpty());
  EXPECT_EQ(plan.counting.cpu.columns.size(), 1U);
  return plan.counting.cpu.columns.empty() ? events::EventIdentity{}
                                           : plan.counting.cpu.columns.front().event;
}

TEST(EventSelectorTest, ReportsWhatIsWrongWithAnEventAndWhereInItsText) {
  struct Row {
    const char* event;
    const char* error;
    const char* keys = "";
  };
  const Row rows[] = {
      {"instuctions", "there is no event 'instuctions'. Remedy: did you mean 'instructions'?"},
      {"'cycles,instuctions'",
       "at character 8 of 'cycles,instuctions': there is no event 'instuctions'. Remedy: did you "
       "mean 'instructions'?"},
      {"'{cycles,instuctions}:u'",
       "at character 9 of '{cycles,instuctions}:u': there is no event 'instuctions'. Remedy: did "
       "you mean 'instructions'?"},
      {"'cycles,,branches'", "at character 8 of 'cycles,,branches': "},
      {"'cpu/event=0x3c,umask=/'",
       "at character 22 of 'cpu/event=0x3c,umask=/': a number is missing before '/'. Remedy: "},
      {"'task-clock:u'",
       "'task-clock:u': the kernel ignores modifiers of this event. Remedy: write 'task-clock'"},
      {"'cycles,page-faults:G'",
       "at character 8 of 'cycles,page-faults:G': 'page-faults:G': the kernel ignores H, G and I "
       "of this event. Remedy: write 'page-faults'"},
      {"'{cycles,instructions}', branches",
       "a group in braces next to other events. Remedy: give it a separate entry under 'groups'"},
      {"'cycles:W'", "'cycles:W' is weak, and its group is not. Remedy: remove the W",
       "weak: false"},
  };

  for (const Row& row : rows) {
    EXPECT_THAT(
        errors_of(plan_on("", group_of(row.event, row.keys))),
        ElementsAre(StartsWith(std::string("c.yaml:2:39: groups[0].events[0]: ") + row.error)))
        << row.event;
  }
}

TEST(EventSelectorTest, ReportsWhatIsWrongWithTheKeysOfAnEventOrItsGroup) {
  struct Row {
    const char* event;
    const char* error;
    const char* keys = "";
  };
  constexpr const char* kOneAtATime =
      "several events cannot share a name, help, unit or filter. Remedy: give each event a "
      "separate entry";
  const Row rows[] = {
      {"task-clock", "Remedy: count it in a group without 'exclude_...'", "exclude_kernel: true"},
      {"{event: task-clock, unit: bytes}",
       "'task-clock' is counted in another unit. Remedy: leave out the unit, or set"},
      {"{event: 'cycles,branches', name: x}", kOneAtATime},
      {"{event: 'cycles,branches', help: x}", kOneAtATime},
      {"{event: 'cycles,branches', unit: bytes}", kOneAtATime},
      {"{event: 'cycles,branches', scale: 2}", kOneAtATime},
      {"{event: 'cycles,branches', filter: x}", kOneAtATime},
      {"{event: cycles, filter: prev_prio < 100}",
       "'cycles' has a filter, and is not a tracepoint. Remedy: remove the filter"},
      {"{event: uncore_x/y/, filter: prev_prio < 100}", "has a filter, and is not a tracepoint"},
  };

  for (const Row& row : rows) {
    EXPECT_THAT(errors_of(plan_on("", group_of(row.event, row.keys))),
                ElementsAre(HasSubstr(row.error)))
        << row.event;
  }
}

TEST(EventSelectorTest, ReportsAllThatIsWrong) {
  const auto wrong = plan_on("",
                             "  - {name: core, events: [cycels, 'branches:', cycles], scope: cpu}\n"
                             "  - {name: more, events: [instuctions], scope: cgroup}");

  EXPECT_THAT(errors_of(wrong), ElementsAre(HasSubstr("c.yaml:2:27: groups[0].events[0]"),
                                            HasSubstr("c.yaml:2:35: groups[0].events[1]"),
                                            HasSubstr("c.yaml:3:27: groups[1].events[0]")));
}

TEST(EventSelectorTest, WhatThisMachineDoesNotKnowIsNoError) {
  struct Row {
    const char* machine;
    const char* event;
    const char* name;  ///< under which it is not available
    const char* why;
  };
  const Row rows[] = {
      {"", "uncore_imc/clockticks/", "uncore_imc/clockticks/",
       "this machine has no PMU 'uncore_imc'"},
      {"intel_client", "cpu/bogus/", "cpu/bogus/",
       "at character 5 of 'cpu/bogus/': PMU 'cpu' has no term 'bogus'"},
      {"intel_client", "'cycles,cpu/umask=0x100/u'", "cpu/umask=0x100/u",
       "at character 12 of 'cycles,cpu/umask=0x100/u': 0x100 is too large for 'umask' of PMU "
       "'cpu'"},
      {"intel_client", "'sched:nothing'", "sched:nothing", ""},
      {"arm_biglittle", "'kprobe:do_exit'", "kprobe:do_exit", "this machine has no PMU 'kprobe'"},
  };

  for (const Row& row : rows) {
    SCOPED_TRACE(row.event);
    const auto lacking = plan_on(row.machine, group_of(row.event));

    EXPECT_THAT(errors_of(lacking), IsEmpty());
    ASSERT_FALSE(lacking.events.empty());
    EXPECT_EQ(lacking.events.back().event, row.name);
    EXPECT_FALSE(lacking.events.back().available);
    EXPECT_THAT(lacking.events.back().reason.attempted, StartsWith(row.why));
  }
}

TEST(EventSelectorTest, WhatCannotBeFoundForLackOfDescriptorsIsAnErrorWithItsCode) {
  const config::Loaded loaded =
      config::load_text("groups:\n" + group_of("'sched:sched_switch'"), "c.yaml");
  const auto resolver = events::EventResolver::create(test::machine("intel_client"));
  ASSERT_TRUE(resolver);
  test::ScriptedKernel kernel;
  const Machine machine{*resolver, kernel, {0}};
  Result<Plan, std::vector<yaml::Diagnostic>> plan{Plan{}};
  if (!test::without_files([&] { plan = make_plan(loaded.config, machine); })) {
    GTEST_SKIP() << "no seccomp filter is allowed here: NOT tested";
  }

  ASSERT_FALSE(plan);
  ASSERT_EQ(plan.error().size(), 1U);
  EXPECT_EQ(plan.error()[0].code, EMFILE);
  EXPECT_THAT(
      describe(plan.error()[0]),
      HasSubstr(
          "c.yaml:2:39: groups[0].events[0]: could not read tracepoint 'sched:sched_switch'"));
}

TEST(EventSelectorTest, TakesTheEventsOfAListOrOfBracesFromOneText) {
  const auto list = plan_on("", group_of("'cycles:u, instructions', branches"));
  const auto braces = plan_on("", group_of("'{cycles,instructions}:k'"));

  EXPECT_THAT(test::groups_of(list.counting.cpu),
              ElementsAre("core: cycles:u, instructions, branches"));
  EXPECT_THAT(test::groups_of(braces.counting.cpu), ElementsAre("core: cycles:k, instructions:k"));
}

TEST(EventSelectorTest, RefusesAnEventTwiceInAGroupThatCanLoseThePmu) {
  const auto plan = plan_on("", group_of("{event: cycles, name: a}, {event: cycles, name: b}"));

  EXPECT_THAT(errors_of(plan),
              ElementsAre("c.yaml:2:73: groups[0].events[1].event: 'cycles' is in group 'core' "
                          "twice. Remedy: count it in a separate group under its other name"));
}

/// To count it in another group would not be enough.
TEST(EventSelectorTest, TwoSpellingsOfOneEventInAGroupAreOneError) {
  const auto plan = plan_on("", "  - {name: g, events: [cycles, cpu-cycles], scope: cpu}\n");

  EXPECT_THAT(test::errors_of(plan),
              ElementsAre(AllOf(HasSubstr("'cycles' would be a second perf_cpu_cycles_total"),
                                HasSubstr("Remedy: remove one of them, or"))));
}

TEST(EventSelectorTest, AllowsAPatternOverPmusOfSeveralKindsInAGroup) {
  const auto plan = plan_on(
      "intel_server", "  - {name: g, events: ['uncore_*/event=0x1,umask=0x1/'], scope: cpu}\n");

  EXPECT_THAT(test::errors_of(plan), IsEmpty());
  EXPECT_GT(plan.counting.cpu.columns.size(), 1U);
}

TEST(EventSelectorTest, TakesTheModeOfTheGroupFromTheModifiersOfItsEvents) {
  struct Row {
    const char* events;
    const char* keys;
    bool pinned, exclusive;
  };
  const Row rows[] = {
      {"cycles, instructions", "", false, false},    {"cycles, 'instructions:D'", "", true, false},
      {"'cycles:e', instructions", "", false, true}, {"'{cycles,instructions}:De'", "", true, true},
      {"'cycles:e'", "pinned: true", true, true},    {"cycles", "exclusive: true", false, true},
  };

  for (const Row& row : rows) {
    const auto plan = plan_on("", group_of(row.events, row.keys));

    ASSERT_EQ(test::groups_of(plan.counting.cpu).size(), 1U) << row.events;
    EXPECT_EQ(plan.counting.cpu.groups.back().mode.pinned, row.pinned) << row.events;
    EXPECT_EQ(plan.counting.cpu.groups.back().mode.exclusive, row.exclusive) << row.events;
    EXPECT_EQ(plan.counting.cpu.columns[0].event.name, "cycles") << row.events;
  }
}

TEST(EventSelectorTest, MakesModifiersOfWhatTheGroupExcludes) {
  struct Row {
    const char* event;
    const char* keys;
    const char* name;
  };
  const Row rows[] = {
      {"cycles", "exclude_kernel: true", "cycles:uh"},
      {"cycles", "exclude_user: true", "cycles:kh"},
      {"cycles", "exclude_hypervisor: true", "cycles:uk"},
      {"cycles", "exclude_user: true, exclude_hypervisor: true", "cycles:k"},
      {"cycles", "exclude_guest: true", "cycles:H"},
      {"cycles", "exclude_host: true", "cycles:G"},
      {"cycles", "exclude_idle: true", "cycles:I"},
      {"cycles", "exclude_kernel: true, exclude_guest: true, exclude_idle: true", "cycles:uhHI"},
      {"cycles", "exclude_kernel: false", "cycles"},
      {"'cycles:u'", "exclude_kernel: true", "cycles:u"},
      {"'cycles:uk'", "exclude_kernel: true", "cycles:u"},
      {"'cycles:G'", "exclude_host: true", "cycles:G"},
      {"page-faults", "exclude_hypervisor: true", "page-faults:uk"},
  };

  for (const Row& row : rows) {
    EXPECT_EQ(published(plan_on("", group_of(row.event, row.keys))).name, row.name)
        << row.event << " with " << row.keys;
  }
}

TEST(EventSelectorTest, RefusesAnEventOfWhichItsGroupExcludesEverything) {
  for (const auto& [event, keys] :
       {std::pair<std::string, const char*>{"cycles:k", "exclude_kernel: true"},
        {"cycles:uk", "exclude_kernel: true, exclude_user: true"},
        {"cycles:H", "exclude_host: true"},
        {"cycles:kG", "exclude_guest: true"}}) {
    EXPECT_THAT(errors_of(plan_on("", group_of("'" + event + "'", keys))),
                ElementsAre("c.yaml:2:39: groups[0].events[0]: '" + event +
                            "' counts only what its group excludes. Remedy: remove its modifiers, "
                            "or count it in another group"));
  }
}

TEST(EventSelectorTest, PublishesAnEventAsItIsDescribed) {
  struct Row {
    const char* entry;
    const char* metric;
    Unit unit;
    double scale;
  };
  const Row rows[] = {
      {"{event: cycles}", "cycles", Unit::kEvents, 1},
      {"{event: cycles, name: 'Core Cycles!'}", "core_cycles", Unit::kEvents, 1},
      {"{event: 'cycles:u', name: mine}", "mine", Unit::kEvents, 1},
      {"{event: cycles, unit: bytes}", "cycles", Unit::kBytes, 1},
      {"{event: cycles, unit: bytes, scale: 64}", "cycles", Unit::kBytes, 64},
      {"{event: cycles, scale: 0.5}", "cycles", Unit::kEvents, 0.5},
      {"{event: task-clock}", "task_clock", Unit::kSeconds, 1e-9},
      {"{event: task-clock, unit: seconds}", "task_clock", Unit::kSeconds, 1e-9},
      {"{event: task-clock, scale: 2}", "task_clock", Unit::kSeconds, 2},
      {"{event: task-clock, unit: events, scale: 1}", "task_clock", Unit::kEvents, 1},
      {"{event: power/energy-psys/, unit: joules}", "energy", Unit::kJoules,
       2.3283064365386962890625e-10},
  };

  for (const Row& row : rows) {
    const events::EventIdentity event = published(plan_on("intel_client", group_of(row.entry)));

    EXPECT_EQ(event.metric, row.metric) << row.entry;
    EXPECT_EQ(event.unit, row.unit) << row.entry;
    EXPECT_EQ(event.scale, row.scale) << row.entry;
  }
}

TEST(EventSelectorTest, PublishesAnEventWithTheHelpThatItWasGiven) {
  const auto event = published(plan_on("", group_of("{event: cycles, help: What I count}")));

  EXPECT_EQ(event.help, "What I count.");
  EXPECT_EQ(event.name, "cycles");
}

TEST(EventSelectorTest, FiltersATracepoint) {
  const auto plan =
      plan_on("intel_client", group_of("{event: 'sched:sched_switch', filter: prev_prio < 100}"));

  (void)published(plan);
  EXPECT_EQ(plan.counting.cpu.groups[0].events[0].attributes.filter, "prev_prio < 100");
}

TEST(EventSelectorTest, FiltersATracepointThatIsCalledAsOtherEvents) {
  for (const char* name : {"MyGroup:open", "mygroup:keep", "mygroup:hup", "MyGroup:a-b:k"}) {
    const std::string point = name;
    const std::string folder =
        point.substr(0, point.find(':')) + "/" +
        point.substr(point.find(':') + 1, point.find(":k") - point.find(':') - 1);
    const test::TempTree tree{{"sys/devices/system/cpu/online", "0\n"},
                              {"sys/kernel/tracing/events/" + folder + "/id", "77\n"}};
    const std::string group = group_of("{event: '" + point + "', filter: a == 1}");
    test::ScriptedKernel kernel{tree.root()};
    const auto here = plan_on(roots_of(tree), group, kernel);
    const auto elsewhere = plan_on("intel_client", group, kernel);

    EXPECT_THAT(left_out_lines(here), IsEmpty()) << point;
    EXPECT_EQ(here.counting.cpu.groups.at(0).events.at(0).attributes.filter, "a == 1");
    EXPECT_THAT(errors_of(elsewhere), IsEmpty()) << point;
    EXPECT_EQ(elsewhere.events.size(), 1U);
  }
}

/// Refuses some requests with EINVAL.
class RefusingKernel final : public test::ForwardingKernel {
 public:
  using Refuses = std::function<bool(const perf::CounterRequest&)>;

  RefusingKernel(perf::PerfKernel& kernel, Refuses refuses)
      : ForwardingKernel(kernel), refuses_(std::move(refuses)) {}

  Result<perf::OpenCounter> open(const perf::CounterRequest& request) override {
    if (refuses_(request)) return Error{EINVAL, {}, {}};
    return ForwardingKernel::open(request);
  }

 private:
  Refuses refuses_;
};

TEST(EventSelectorTest, TriesATracepointWithEachOfItsFilters) {
  test::ScriptedKernel scripted;
  RefusingKernel kernel{scripted, [](const auto& request) {  // it has no such field
                          return request.event.filter == "bogus";
                        }};

  const auto plan = plan_on("intel_client",
                            group_of("{event: 'sched:sched_switch', filter: a < 100, name: one}, "
                                     "{event: 'sched:sched_switch', filter: bogus, name: other}"),
                            kernel);

  ASSERT_EQ(plan.events.size(), 2U);
  EXPECT_TRUE(plan.events[0].available);
  EXPECT_FALSE(plan.events[1].available);
  EXPECT_EQ(plan.events[1].reason.code, EINVAL);
  EXPECT_THAT(plan.events[1].reason.cause, HasSubstr("filter"));
}

TEST(EventSelectorTest, CountsAnUncoreEventOnCpusOnly) {
  const auto planned = [](const std::string& scope) {
    return plan_on("intel_server",
                   "  - {name: memory, events: [uncore_imc/clockticks/], scope: " + scope + "}");
  };
  const char* const left_out =
      "c.yaml:2:5: groups[0]: it is counted by a part of the package, which does not distinguish "
      "cgroups. Remedy: write scope: cpu";

  EXPECT_THAT(left_out_lines(planned("cgroup")), ElementsAre(HasSubstr(left_out)));
  EXPECT_THAT(left_out_lines(planned("[cpu, cgroup]")), ElementsAre(HasSubstr(left_out)));
  EXPECT_EQ(planned("[cpu, cgroup]").counting.cpu.columns.size(), 1U);
  EXPECT_THAT(planned("[cpu, cgroup]").counting.cgroup.columns, IsEmpty());
}

TEST(EventSelectorTest, CountsTimeThatBelongsToAnotherTaskThanTheCurrentOneOnCpusOnly) {
  const auto lines_of = [](const std::string& event, const std::string& scope) {
    return left_out_lines(plan_on(
        "intel_client", "  - {name: waiting, events: ['" + event + "'], scope: " + scope + "}"));
  };

  EXPECT_THAT(lines_of("sched:sched_stat_wait", "[cpu, cgroup]"),
              ElementsAre(HasSubstr("it is counted while another task runs than the one that it "
                                    "belongs to: the cgroup would be the wrong one. Remedy: write "
                                    "scope: cpu")));
  EXPECT_THAT(lines_of("sched:sched_stat_wait", "cpu"), IsEmpty());
  EXPECT_THAT(lines_of("sched:sched_stat_runtime", "cgroup"), IsEmpty());
}

TEST(EventSelectorTest, NoGroupIsCalledWhatStandsForTheExportersOwnMetrics) {
  const auto plan = plan_on("", "  - {name: exporter, events: [cycles], scope: cpu}");

  EXPECT_THAT(errors_of(plan),
              ElementsAre("c.yaml:2:5: groups[0]: 'exporter' selects the exporter's metrics "
                          "in a scrape. Remedy: give the group another name"));
}

TEST(EventSelectorTest, NoFamilyIsCalledWhatASampleOrAPartOfAnotherIsCalled) {
  const auto named = [](const std::string& first, const std::string& second) {
    return errors_of(
        plan_on("", "  - {name: core, scope: [cgroup], events: [{event: cycles, name: " + first +
                        "}, {event: branches, name: " + second + "}]}"));
  };

  EXPECT_THAT(named("a", "b_created"), IsEmpty());
  EXPECT_THAT(named("a", "b_observed"), IsEmpty());
  for (const auto& [name, family] : {std::pair<const char*, std::string>{"a_created", "a_created"},
                                     {"a_total_total", "a_total"},
                                     {"a_observed", "a_observed"}}) {
    EXPECT_THAT(named("a", name),
                ElementsAre(HasSubstr("'branches' would be perf_cgroup_" + family +
                                      "_total next to perf_cgroup_a_total, "
                                      "groups[0].events[0].event in line 2")));
  }
  for (const char* family : {"a_created", "a_total_total", "a_variance"}) {
    EXPECT_THAT(named(family, "a"), ElementsAre(HasSubstr("give it another name"))) << family;
  }
  EXPECT_THAT(named("a", "info"), ElementsAre(HasSubstr("is the exporter's")));
}

TEST(EventSelectorTest, NoFamilyIsOfTwoScopes) {
  const auto plan =
      plan_on("intel_server",
              "  - {name: a, events: [{event: cycles, name: joules, unit: joules, scale: 1}], "
              "scope: cgroup}\n"
              "  - {name: b, events: [{event: power/energy-pkg/, name: cgroup_joules}], "
              "scope: cpu}");

  EXPECT_THAT(left_out_lines(plan),
              ElementsAre(HasSubstr("with what is counted by cgroup as groups[0].events[0]")));
}

TEST(EventSelectorTest, TwoEventsOfOneSeriesAreAnErrorThatNamesBothLines) {
  const auto twice = plan_on("",
                             "  - {name: core, events: [cycles], scope: [cpu, cgroup]}\n"
                             "  - {name: more, events: [cpu-cycles], scope: cpu}");

  EXPECT_THAT(
      errors_of(twice),
      ElementsAre("c.yaml:3:27: groups[1].events[0]: 'cycles' would be a second "
                  "perf_cpu_cycles_total; the first is groups[0].events[0] in line 2. "
                  "Remedy: remove one of them, or count it in a separate group with a 'name'"));
}

TEST(EventSelectorTest, TwoSpellingsOfOneEventOfThisMachineAreNoErrorAndTheSecondIsLeftOut) {
  const auto twice = plan_on("intel_client",
                             "  - {name: core, events: [mem-loads], scope: cpu}\n"
                             "  - {name: more, events: [cpu/mem-loads/, branches], scope: cpu}");

  ASSERT_THAT(errors_of(twice), IsEmpty());
  EXPECT_EQ(twice.counting.cpu.columns.size(), 2U);
  EXPECT_THAT(left_out_lines(twice), ElementsAre(HasSubstr("the first is groups[0].events[0]")));
}

TEST(EventSelectorTest, WhatTheKernelCountsWithoutGuestsOnlyIsCountedSoAndReportedOnce) {
  test::ScriptedKernel kernel{test::machine("").cgroupfs};
  kernel.refuse_with_guests(EOPNOTSUPP);

  const auto plan = plan_on("intel_client", group_of("cycles, instructions, page-faults"), kernel);

  EXPECT_THAT(left_out_lines(plan), IsEmpty());
  ASSERT_THAT(test::groups_of(plan.counting.cpu),
              ElementsAre("core: cycles, instructions, page-faults"));
  const auto& events = plan.counting.cpu.groups.front().events;
  EXPECT_TRUE(events[0].attributes.exclude_guest && events[1].attributes.exclude_guest);
  EXPECT_FALSE(events[2].attributes.exclude_guest);
  ASSERT_EQ(plan.warnings.size(), 1U);
  EXPECT_THAT(plan.warnings.front().attempted,
              HasSubstr("cycles, instructions with exclude_guest"));
}

TEST(EventSelectorTest, APmuAndTheSumOverItsKindAreNotInOneFamilyUnlessTheyAreNamed) {
  const std::string sum = "  - {name: a, events: [uncore_cbox/event=0x34/], scope: cpu}\n";
  const auto both =
      plan_on("intel_client", sum + "  - {name: b, events: [cbox_0/event=0x34/], scope: cpu}");
  const auto named =
      plan_on("intel_client", sum +
                                  "  - {name: b, events: [{event: cbox_0/event=0x34/, name: one}], "
                                  "scope: cpu}");

  EXPECT_THAT(left_out_lines(both), ElementsAre(HasSubstr("one of them is a part of the other")));
  EXPECT_THAT(left_out_lines(named), IsEmpty());
}

TEST(EventSelectorTest,
     AnEventOfOneCorePmuBesideAGenericNameIsLeftOutWithItsLineAndTheRestCounted) {
  const auto plan = plan_on("apple_m1",
                            "  - {name: one, events: [cycles], scope: [cpu, cgroup]}\n"
                            "  - {name: two, events: [apple_icestorm_pmu/cycles/, "
                            "{event: apple_firestorm_pmu/cycles/, name: big_cycles}, "
                            "apple_icestorm_pmu/instructions/], scope: cpu}");
  const auto other_order =
      plan_on("apple_m1",
              "  - {name: one, events: [apple_icestorm_pmu/cycles/], scope: cpu}\n"
              "  - {name: two, events: [cycles], scope: cpu}");

  ASSERT_THAT(errors_of(plan), IsEmpty());
  EXPECT_THAT(left_out_lines(plan),
              ElementsAre("not counted here: apple_icestorm_pmu/cycles/: "
                          "'apple_icestorm_pmu/cycles/' would be a second perf_cpu_cycles_total; "
                          "the first is groups[0].events[0] in line 2. Remedy: remove one of "
                          "them, or count it in a separate group with a 'name'"));
  EXPECT_THAT(test::columns_of(plan.counting.cpu),
              ::testing::SizeIs(4));  // cycles of both, big_cycles, instructions
  ASSERT_THAT(errors_of(other_order), IsEmpty());
  EXPECT_THAT(left_out_lines(other_order),
              ElementsAre(StartsWith("not counted here: cycles on apple_icestorm_pmu: ")));
  EXPECT_THAT(test::columns_of(other_order.counting.cpu), ::testing::SizeIs(2));
}

/// A kernel refuses the events of a PMU on other CPUs.
TEST(EventSelectorTest, EventsOfAPmuWithoutAnOnlineCpuWaitAndAreReported) {
  const test::TempTree tree{{"sys/devices/system/cpu/online", "0-1\n"},
                            {"sys/bus/event_source/devices/cpu_core/type", "4\n"},
                            {"sys/bus/event_source/devices/cpu_core/cpus", "0-1\n"},
                            {"sys/bus/event_source/devices/cpu_atom/type", "10\n"},
                            {"sys/bus/event_source/devices/cpu_atom/cpus", "\n"},
                            {"sys/bus/event_source/devices/cpu_atom/format/event", "config:0-7\n"},
                            {"sys/bus/event_source/devices/imc_0/type", "20\n"},
                            {"sys/bus/event_source/devices/imc_0/cpumask", "3\n"},
                            {"sys/bus/event_source/devices/imc_0/format/event", "config:0-7\n"}};
  test::ScriptedKernel kernel{tree.root()};
  kernel.refuse("cpu_atom/event=0x1/", ENOENT);
  kernel.refuse("imc/event=0x2/", ENODEV);

  const auto plan = plan_on(roots_of(tree),
                            "  - {name: atom, events: [cpu_atom/event=1/], scope: cpu}\n"
                            "  - {name: imc, events: [imc/event=2/], scope: cpu, pinned: true}\n",
                            kernel);

  ASSERT_THAT(errors_of(plan), IsEmpty());
  EXPECT_THAT(test::groups_of(plan.counting.cpu),
              ElementsAre(StartsWith("atom on cpu_atom:"), StartsWith("imc on imc_0:")));
  EXPECT_THAT(left_out_lines(plan), IsEmpty());
  std::vector<std::string> warnings;
  for (const Error& warning : plan.warnings) warnings.push_back(warning.attempted);
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("PMU 'cpu_atom' wait"), HasSubstr("'imc_0' wait")));
}

TEST(EventSelectorTest, TwoEventsOfOneSeriesAreAnErrorInEachScope) {
  struct Row {
    const char* one;
    const char* other;
    std::vector<std::string> families;
  };
  const Row rows[] = {
      {"cpu", "cgroup", {}},
      {"cpu", "cpu", {"perf_cpu_cycles_total"}},
      {"cgroup", "cgroup", {"perf_cgroup_cycles_total"}},
      {"[cpu, cgroup]", "cgroup", {"perf_cgroup_cycles_total"}},
      {"[cpu, cgroup]", "[cgroup, cpu]", {"perf_cpu_cycles_total", "perf_cgroup_cycles_total"}},
  };

  for (const Row& row : rows) {
    const auto plan =
        plan_on("", std::string("  - {name: a, events: [cycles], scope: ") + row.one +
                        "}\n  - {name: b, events: [cycles], scope: " + row.other + "}");

    std::vector<::testing::Matcher<std::string>> errors;
    for (const std::string& family : row.families) errors.push_back(HasSubstr(family + ";"));
    EXPECT_THAT(errors_of(plan), ElementsAreArray(errors)) << row.one << " and " << row.other;
  }
}

TEST(EventSelectorTest, KnowsWhichEventsAreOneSeries) {
  struct Row {
    const char* machine;
    const char* one;
    const char* other;
    bool is_one_series;
  };
  const Row rows[] = {
      {"", "cycles", "{event: cycles, name: more}", false},
      {"", "cycles", "{event: branches, name: cycles}", true},
      {"", "cycles", "{event: branches, name: Cycles}", true},
      {"", "cycles", "{event: branches, name: cycles, unit: bytes}", false},
      {"", "cycles", "'cycles:u'", false},
      {"", "'cycles:u'", "{event: branches, name: cycles_user}", true},
      {"", "task-clock", "{event: branches, name: task_clock, unit: seconds}", true},
      {"intel_hybrid", "cycles", "cpu_core/cycles/", true},
      {"intel_hybrid", "cpu_atom/cycles/", "cpu_core/cycles/", false},
      {"intel_client", "power/energy-pkg/", "power/energy-ram/", false},
      {"intel_client", "power/energy-pkg/", "power/energy-pkg/", true},
      {"intel_client", "cycles",
       "{event: uncore_imc/data_reads/, name: cpu_cycles, unit: events, scale: 1}", true},
      {"intel_client", "cycles",
       "{event: uncore_imc/data_reads/, name: cycles, unit: events, scale: 1}", false},
  };

  for (const Row& row : rows) {
    const auto plan = plan_on(row.machine, std::string("  - {name: a, events: [") + row.one +
                                               "], scope: cpu}\n  - {name: b, events: [" +
                                               row.other + "], scope: cpu}");

    const std::size_t said = plan.errors.empty() ? left_out_lines(plan).size() : plan.errors.size();
    EXPECT_EQ(said, row.is_one_series ? 1U : 0U) << row.one << " and " << row.other;
  }
}

TEST(EventSelectorTest, KeepsTheNamesOfItsOwnFamilies) {
  struct Row {
    std::string name;
    const char* unit;
    const char* family;
  };
  const Row rows[] = {
      {"group_enabled", "seconds", "perf_group_enabled_seconds_total"},
      {"group_running_seconds", "seconds", "perf_group_running_seconds_total"},
      {"event_exporter_polls", "events", "perf_event_exporter_polls_total"},
      {"machine", "events", "perf_machine_total"},
      {"machine_info", "events", "perf_machine_info_total"},
  };

  for (const auto& [name, unit, family] : rows) {
    const auto clash =
        plan_on("intel_client", group_of("{event: uncore_imc/data_reads/, name: " + name +
                                         ", unit: " + unit + ", scale: 1}"));

    EXPECT_THAT(
        left_out_lines(clash),
        ElementsAre(HasSubstr("'uncore_imc/data_reads/' would be a second " + std::string(family) +
                              "; the first is the exporter's. Remedy: give it another name")));
  }
}

/// As one text: "r0,r1,r2,..."
std::string many_events(unsigned number) {
  std::ostringstream events;
  for (unsigned i = 0; i < number; ++i) events << (i == 0 ? "'r" : ",r") << std::hex << i;
  return events.str() + "'";
}

TEST(EventSelectorTest, TakesAsManyEventsIntoAGroupAsOneReadCanHoldOnEveryMachine) {
  const auto full = plan_on("", group_of(many_events(64)));
  const auto hybrid = plan_on("intel_hybrid", group_of(many_events(64)));
  const auto overfull = plan_on("", group_of(many_events(64) + ", branches, cycles"));

  EXPECT_THAT(errors_of(full), IsEmpty());
  EXPECT_EQ(full.counting.cpu.groups.size(), 1U);
  EXPECT_THAT(errors_of(hybrid), IsEmpty());
  ASSERT_EQ(hybrid.counting.cpu.groups.size(), 2U);
  EXPECT_EQ(hybrid.counting.cpu.groups[0].events.size(), 64U);
  EXPECT_THAT(errors_of(overfull),
              ElementsAre(HasSubstr("groups[0].events[1]: more than 64 events in one group. "
                                    "Remedy: split them into several groups")));
}

TEST(EventSelectorTest, ReportsWhereSlotsAreMissing) {
  const auto plan =
      plan_on("intel_server", group_of("cpu/topdown-retiring/, cpu/topdown-be-bound/, cycles"));

  EXPECT_THAT(errors_of(plan), IsEmpty());
  EXPECT_THAT(
      left_out_lines(plan),
      ElementsAre("not counted here: cpu/topdown-retiring/, cpu/topdown-be-bound/: c.yaml:2:5: "
                  "groups[0]: the kernel counts it only after 'cpu/slots/' in its group: Invalid "
                  "argument (EINVAL). Remedy: add cpu/slots/ to the group"));
  EXPECT_EQ(plan.counting.cpu.columns.size(), 1U);
}

/// All of them are counted in the modes of the one that starts the counter.
TEST(EventSelectorTest, RefusesTopDownEventsInOtherModesThanThoseOfTheirSlots) {
  const auto plan = plan_on("intel_server",
                            group_of("cpu/slots/u, cpu/topdown-retiring/u, cpu/topdown-be-bound/, "
                                     "cpu/topdown-bad-spec/k"));

  EXPECT_THAT(errors_of(plan), IsEmpty());
  EXPECT_THAT(left_out_lines(plan),
              ElementsAre(HasSubstr("cpu/topdown-be-bound/, cpu/topdown-bad-spec/k: c.yaml:2:5: "
                                    "groups[0]: it is counted in the modes of 'cpu/slots/u'")));
  EXPECT_EQ(plan.counting.cpu.columns.size(), 2U);
}

TEST(EventSelectorTest, LeavesOutWhatTheKernelRefusesForGood) {
  for (const int code : {EADDRNOTAVAIL, EILSEQ, ENOEXEC, EIO, kErrnoNotSupported}) {
    test::ScriptedKernel kernel;
    kernel.refuse("branches", code);

    const auto plan = plan_on("", group_of("branches, cycles"), kernel);

    ASSERT_EQ(plan.events.size(), 2U);
    EXPECT_FALSE(plan.events[0].available) << errno_name(code);
    EXPECT_EQ(plan.events[0].reason.code, code);
  }
}

/// A machine with one memory channel of type 20, which is read on these CPUs.
class MemoryChannel {
 public:
  explicit MemoryChannel(std::string_view cpus)
      : tree_{{"sys/devices/system/cpu/online", "0-7\n"},
              {"sys/bus/event_source/devices/uncore_imc_0/type", "20\n"},
              {"sys/bus/event_source/devices/uncore_imc_0/cpumask", cpus},
              {"sys/bus/event_source/devices/uncore_imc_0/format/event", "config:0-7\n"}} {}

  test::PlanOrErrors plan(const std::string& groups, RefusingKernel::Refuses refuses) const {
    test::ScriptedKernel scripted{tree_.root()};
    RefusingKernel kernel{scripted, std::move(refuses)};
    return plan_on(roots_of(tree_), groups, kernel);
  }

 private:
  test::TempTree tree_;
};

TEST(EventSelectorTest, APmuThatAPackageLacksIsCountedWhereItIsAndRefusedIfItIsNowhere) {
  const MemoryChannel channel{"0,2,4\n"};
  const std::string groups =
      "  - {name: one, events: [imc/event=1/], scope: cpu}\n"
      "  - {name: two, events: [imc/event=2/, imc/event=3/], scope: cpu, pinned: true}\n";
  struct Row {
    std::vector<int> cpus;
    bool is_counted;
  };
  for (const Row& row : {Row{{4}, true}, {{2}, true}, {{0, 4}, true}, {{}, false}, {{3}, false}}) {
    const auto plan = channel.plan(groups, [&](const auto& request) {
      return request.event.type == 20 && std::ranges::count(row.cpus, request.cpu) == 0;
    });

    EXPECT_EQ(left_out_lines(plan).empty(), row.is_counted) << ::testing::PrintToString(row.cpus);
    EXPECT_EQ(plan.counting.cpu.columns.size(), row.is_counted ? 3U : 0U);
  }
}

TEST(EventSelectorTest, AnEventThatAPackageLacksDoesNotTakeTheOthersOfItsGroupAlongThere) {
  const MemoryChannel channel{"0,4\n"};

  const auto plan = channel.plan(group_of("imc/event=1/, imc/event=2/, imc/event=3/"),
                                 [](const auto& request) {  // event 2 is on CPU 4 only
                                   return request.event.type == 20 && request.event.config == 2 &&
                                          request.cpu != 4;
                                 });

  EXPECT_THAT(left_out_lines(plan), IsEmpty());
  EXPECT_THAT(
      test::groups_of(plan.counting.cpu),
      ElementsAre("core on uncore_imc_0: imc/event=0x1/", "core/2 on uncore_imc_0: imc/event=0x2/",
                  "core/3 on uncore_imc_0: imc/event=0x3/"));
}

TEST(EventSelectorTest, BlamesTheLeaderThatCannotBeCounted) {
  test::ScriptedKernel kernel;
  kernel.refuse("type4:0x400", EBUSY);
  kernel.refuse("type4:0x8000", EINVAL);
  kernel.refuse("type4:0x8300", EACCES);

  const auto plan = plan_on(
      "intel_server", group_of("cpu/slots/, cpu/topdown-retiring/, cpu/topdown-be-bound/"), kernel);

  ASSERT_EQ(plan.events.size(), 3U);
  EXPECT_TRUE(plan.events[0].available) << "that may pass";
  EXPECT_TRUE(plan.events[1].available) << "as may what keeps its leader away";
  EXPECT_EQ(plan.events[2].reason.code, EACCES);
}

TEST(EventSelectorTest, WantsSlotsOnTheCoresThatHaveThem) {
  const auto plan =
      plan_on("intel_hybrid", group_of("'cpu_*/topdown-retiring/', cpu_core/slots/, task-clock"));
  const auto without = plan_on("intel_hybrid", group_of("'cpu_*/topdown-retiring/'"));

  EXPECT_THAT(left_out_lines(plan), IsEmpty());
  EXPECT_THAT(
      test::groups_of(plan.counting.cpu),
      ElementsAre("core on cpu_atom: cpu_*/topdown-retiring/, task-clock",
                  "core on cpu_core: cpu_core/slots/, cpu_*/topdown-retiring/, task-clock"));
  EXPECT_THAT(left_out_lines(without), ElementsAre(HasSubstr("after 'cpu_core/slots/'")));
  EXPECT_THAT(test::groups_of(without.counting.cpu),
              ElementsAre("core on cpu_atom: cpu_*/topdown-retiring/"));
}

TEST(EventSelectorTest, TriesLoadsByLatencyBehindTheirAuxiliaryEvent) {
  test::ScriptedKernel kernel;
  kernel.refuse_unless_behind("type4:0x1cd", "type4:0x8203", ENODATA);

  const auto plan =
      plan_on("intel_hybrid",
              group_of("cpu_core/mem-loads/, instructions, cpu_core/mem-loads-aux/"), kernel);

  EXPECT_THAT(left_out_lines(plan), IsEmpty());
  EXPECT_THAT(test::groups_of(plan.counting.cpu),
              ElementsAre("core on cpu_core: cpu_core/mem-loads-aux/, cpu_core/mem-loads/, "
                          "instructions",
                          "core on cpu_atom: instructions"));
}

TEST(EventSelectorTest, CountsOnCpusWhatIsRefusedInCgroups) {
  test::ScriptedKernel kernel;
  kernel.refuse_in_cgroups("branches", EINVAL);

  const auto plan =
      plan_on("", "  - {name: core, events: [branches, cycles], scope: [cpu, cgroup]}", kernel);

  EXPECT_THAT(test::groups_of(plan.counting.cpu), ElementsAre("core: branches, cycles"));
  EXPECT_THAT(test::groups_of(plan.counting.cgroup), ElementsAre("core: cycles"));
  EXPECT_THAT(
      left_out_lines(plan),
      ElementsAre("not counted here: branches: c.yaml:2:5: groups[0]: its PMU counts whole CPUs "
                  "only, so it cannot be counted by cgroup: Invalid argument (EINVAL). Remedy: "
                  "write 'scope: cpu' for it"));
}

TEST(EventSelectorTest, DoesNotCountWhatIsRefusedInTheOnlyScopeOfItsGroup) {
  test::ScriptedKernel kernel;
  kernel.refuse_in_cgroups("branches", EOPNOTSUPP);

  const auto plan =
      plan_on("", "  - {name: core, events: [branches, cycles], scope: cgroup}", kernel);

  EXPECT_THAT(test::groups_of(plan.counting.cgroup), ElementsAre("core: cycles"));
  EXPECT_THAT(plan.events, ::testing::SizeIs(2));
  EXPECT_FALSE(plan.events[0].available);
}

TEST(EventSelectorTest, TriesNothingInCgroupsForTheScopeCpu) {
  test::ScriptedKernel kernel;
  kernel.refuse_in_cgroups("branches", EINVAL);

  const auto plan = plan_on("", group_of("branches"), kernel);

  EXPECT_THAT(kernel.opened_groups(), ::testing::Each(::testing::StartsWith("cpu0 branches")));
  EXPECT_THAT(left_out_lines(plan), IsEmpty());
}

}  // namespace
}  // namespace pex::plan
