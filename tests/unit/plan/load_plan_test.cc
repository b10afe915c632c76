#include "plan/load_plan.h"

#include <linux/perf_event.h>

#include <cerrno>

#include "support/scripted_kernel.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"

namespace pex::plan {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class LoadPlanTest : public ::testing::Test {
 protected:
  /// Everything that is wrong, without the name of the file.
  std::vector<std::string> errors(const std::string& text) {
    tree_.write("c.yaml", text);
    const auto loaded = load_and_plan(tree_.path("c.yaml"), roots_, kernel_);
    std::vector<std::string> lines;
    if (loaded) return lines;
    for (const yaml::Diagnostic& error : loaded.error()) {
      const std::string line = describe(error);
      const std::string file = tree_.path("c.yaml:");
      lines.push_back(line.starts_with(file) ? line.substr(file.size()) : line);
    }
    return lines;
  }

  /// What is expected to be right.
  LoadedPlan planned(const std::string& text, const Plan* in_force = nullptr) {
    tree_.write("c.yaml", text);
    auto loaded = load_and_plan(tree_.path("c.yaml"), roots_, kernel_, in_force);
    if (loaded) return *std::move(loaded);
    ADD_FAILURE() << describe(loaded.error().front());
    return {};
  }
  void give_guests_the_pmu(bool given = true) {
    tree_.write("sys/module/kvm_amd/parameters/enable_mediated_pmu", given ? "Y\n" : "N\n");
  }
  void have_core_pmu() { tree_.write("sys/bus/event_source/devices/cpu/type", "4\n"); }

  test::TempTree tree_{
      {"sys/devices/system/cpu/online", "0-1\n"},
      {"sys/bus/event_source/devices/software/type", "1\n"},
  };
  host::HostRoots roots_{
      .sysfs = tree_.path("sys"), .procfs = tree_.path("proc"), .cgroupfs = tree_.path("cgroup")};
  test::ScriptedKernel kernel_{tree_.path("cgroup")};
};

TEST_F(LoadPlanTest, ReportsErrorsOfFormAndOfNamesTogetherInTheOrderOfTheFile) {
  EXPECT_THAT(errors("cgroups:\n"
                     "  include: ['/a//b']\n"
                     "  labels: [{match: /a, set: {cgroup: x}}]\n"
                     "collection: {interval: 5}\n"
                     "cpus: {exclude: [\"5-2\"]}\n"
                     "groups:\n"
                     "  - {name: core, events: [cylces], scope: cpu}\n"
                     "  - {name: core, events: [cycles], scope: cup}\n"
                     "limts: {}\n"),
              ElementsAre(HasSubstr("2:13: cgroups.include[0]: '/a//b' matches no path"),
                          HasSubstr("3:38: cgroups.labels[0].set.cgroup: 'cgroup' is a label"),
                          HasSubstr("4:24: collection.interval: '5' has no unit"),
                          HasSubstr("5:18: cpus.exclude[0]: '5-2' is not a list of CPUs"),
                          HasSubstr("7:27: groups[0].events[0]: there is no event 'cylces'"),
                          HasSubstr("8:12: groups[1].name: 'core' is repeated"),
                          HasSubstr("8:43: groups[1].scope: 'cup' is not a scope"),
                          HasSubstr("9:1: limts: unknown key")));
}

TEST_F(LoadPlanTest, WarnsOfAnythingAboutCgroupsWhereNoGroupCountsThem) {
  const auto is_the_warning =
      Field(&Error::attempted,
            AllOf(StartsWith(tree_.path("c.yaml:1:")), EndsWith("nothing is counted by cgroup")));
  for (const std::string cgroups :
       {"{max: 3, include: [/a]}", "{max: 3, exclude: [/a]}",
        "{max: 3, labels: [{match: /a, set: {team: web}}], include: [/a]}",
        "{max: 3, sums: [{name: all, by: []}]}"}) {
    const std::string text =
        "cgroups: " + cgroups + "\ngroups: [{name: soft, events: [cs], scope: ";

    EXPECT_THAT(planned(text + "cpu}]\n").plan.warnings, Contains(is_the_warning).Times(1));
    EXPECT_THAT(planned(text + "cgroup}]\n").plan.warnings, Not(Contains(is_the_warning)));
  }
}

/// KVM gives guests the PMU, or a guest has it: who may count guests, and who is refused.
TEST_F(LoadPlanTest, LeavesOutGuestsWhereTheyNeedThePmuUnlessTheConfigurationDecides) {
  struct Case {
    const char* guests;
    bool is_given;    ///< to guests, by the parameter of the module
    bool is_refused;  ///< what counts guests, as one runs or the driver insists
    bool leaves_out;
    GuestsLeftOut why;
  };
  constexpr Case kCases[] = {{"auto", false, false, false, GuestsLeftOut::kNot},
                             {"auto", true, false, true, GuestsLeftOut::kMediatedPmu},
                             {"auto", true, true, true, GuestsLeftOut::kMediatedPmu},
                             {"auto", false, true, true, GuestsLeftOut::kRefused},
                             {"count", true, false, false, GuestsLeftOut::kNot},
                             {"exclude", false, true, true, GuestsLeftOut::kConfigured},
                             {"exclude", false, false, true, GuestsLeftOut::kConfigured}};
  have_core_pmu();
  for (const Case& each : kCases) {
    SCOPED_TRACE(std::string(each.guests) + (each.is_given ? ", given" : "") +
                 (each.is_refused ? ", refused" : ""));
    give_guests_the_pmu(each.is_given);
    kernel_.refuse_with_guests(each.is_refused ? EOPNOTSUPP : 0);
    (void)kernel_.could_give_guests_the_pmu();

    const Plan plan =
        planned(std::string("guests: ") + each.guests +
                "\ngroups: [{name: core, scope: cpu, events: [cycles, branches, cs]}]\n")
            .plan;

    const auto& events = plan.counting.cpu.groups.front().events;
    ASSERT_EQ(events.size(), 3U);
    EXPECT_EQ(events[0].name, "cycles") << "the same name and series";
    EXPECT_EQ(events[0].attributes.exclude_guest, each.leaves_out);
    EXPECT_EQ(events[1].attributes.exclude_guest, each.leaves_out);
    EXPECT_FALSE(events[2].attributes.exclude_guest) << "no PMU counts it";
    EXPECT_EQ(kernel_.could_give_guests_the_pmu(), each.leaves_out) << "also while it tried";
    EXPECT_EQ(plan.guests_left_out, each.why);
    EXPECT_EQ(plan.warnings.size(),
              each.leaves_out && each.why != GuestsLeftOut::kConfigured ? 1U : 0U);
  }
}

TEST_F(LoadPlanTest, WarnsOfEachGroupThatLacksAPartOfAnUncorePmu) {
  for (const char* const cpu : {"0", "1"}) {
    tree_.write(std::string{"sys/devices/system/cpu/cpu"} + cpu + "/topology/physical_package_id",
                cpu);
  }
  tree_.write("sys/bus/event_source/devices/power/type", "9\n");
  tree_.write("sys/bus/event_source/devices/power/cpumask", "0-1\n");
  tree_.write("sys/bus/event_source/devices/power/format/event", "config:0-7\n");
  tree_.write("sys/bus/event_source/devices/power/events/energy-pkg", "event=0x02\n");

  const LoadedPlan loaded = planned(
      "groups:\n"
      "  - {name: whole, scope: cpu, events: [power/energy-pkg/, cs]}\n"
      "  - name: part\n"
      "    scope: cpu\n"
      "    cpus: {exclude: [\"1\"]}\n"
      "    events: [{event: power/energy-pkg/, name: of_a_part}, task-clock]\n");

  EXPECT_THAT(loaded.plan.warnings,
              ElementsAre(Field(&Error::attempted,
                                HasSubstr("group 'part' lacks what PMU 'power' would read on the "
                                          "excluded CPUs 1: sums"))));
}

TEST_F(LoadPlanTest, SaysNothingOfGuestsWhereModifiersLeaveThemOut) {
  have_core_pmu();
  give_guests_the_pmu();

  const Plan plan =
      planned("groups: [{name: core, scope: cpu, events: ['cycles:H', 'branches:G']}]\n").plan;

  EXPECT_EQ(plan.guests_left_out, GuestsLeftOut::kNot);
  EXPECT_TRUE(plan.warnings.empty());
  EXPECT_FALSE(plan.counting.cpu.groups.front().events[1].attributes.exclude_guest);
}

/// As KVM is loaded while its groups are counted: neither the reference nor what is split is kept
/// as it was counted.
TEST_F(LoadPlanTest, LeavesOutGuestsInEveryCounterOfAPlanThatIsMadeAgain) {
  have_core_pmu();
  const std::string text =
      "groups:\n"
      "  - {name: a, scope: cpu, events: [instructions, branches], estimator: reference}\n"
      "  - {name: b, scope: cpu, events: [cache-misses], estimator: reference}\n";
  const LoadedPlan first = planned(text);
  ASSERT_FALSE(first.plan.reference.counters.empty()) << "or this shows nothing";

  give_guests_the_pmu();
  const LoadedPlan again = planned(text, &first.plan);

  std::size_t counters = 0;
  for (const collect::GroupPlan& group : again.plan.counting.cpu.groups) {
    for (const perf::CounterSpec& event : group.events) {
      if (event.attributes.type == PERF_TYPE_SOFTWARE) continue;
      ++counters;
      EXPECT_TRUE(event.attributes.exclude_guest) << group.name << ": " << event.name;
    }
  }
  EXPECT_GE(counters, 4U) << "with cycles";
}

TEST_F(LoadPlanTest, RefusesEventsThatMustCountGuestsWhileAGuestHasThePmu) {
  have_core_pmu();
  kernel_.refuse_with_guests(EOPNOTSUPP);

  const Plan plan =
      planned("guests: count\ngroups: [{name: core, scope: cpu, events: [cycles, cs]}]\n").plan;

  EXPECT_FALSE(plan.events[0].available);
  EXPECT_EQ(plan.events[0].reason.code, EOPNOTSUPP);
  EXPECT_TRUE(plan.events[1].available);
}

TEST_F(LoadPlanTest, ReportsNothingThatFollowsFromAnotherError) {
  EXPECT_THAT(
      errors("groups:\n"
             "  - {name: a, scope: cpu, events: [cycles, {event: cycles, name: []}]}\n"
             "  - {name: b, scope: cpu, events: [{event: task-clock, unit: bytes, scale: many}]}\n"
             "  - {name: c, scope: cpu, events: [{event: 'x,y', filter: ''}]}\n"
             "cgroups: {labels: [{match: [], set: {team: $1}}]}\n"),
      ElementsAre(
          StartsWith("2:66: groups[0].events[1].name: found a list"),
          StartsWith("3:76: groups[1].events[0].scale: 'many' is not a number"),
          StartsWith("4:44: groups[2].events[0].event: there is no event 'x'"),
          StartsWith("4:44: groups[2].events[0].event: at character 3 of 'x,y': there is no"),
          StartsWith("4:59: groups[2].events[0].filter: the filter is empty"),
          StartsWith("5:28: cgroups.labels[0].match: found a list")));
}

TEST_F(LoadPlanTest, OpensNothingWhereSomethingIsWrong) {
  EXPECT_EQ(errors("groups: [{name: a, events: [cycles, cylces], scope: cpu}]\n").size(), 1U);
  EXPECT_EQ(errors("groups: [{name: a, events: [cycles], scope: cpu, weak: no}]\n").size(), 1U);

  EXPECT_THAT(kernel_.opened_groups(), ElementsAre());
}

TEST_F(LoadPlanTest, OpensNothingWhereCountingIsDisabledAndStillChecksNames) {
  const Plan plan = planned(
                        "enabled: false\n"
                        "groups: [{name: core, events: [cycles], scope: [cpu, cgroup]}]\n")
                        .plan;

  EXPECT_TRUE(plan.counting.cpu.empty());
  EXPECT_TRUE(plan.counting.cgroup.empty());
  ASSERT_EQ(plan.left_out_groups.size(), 1U);
  EXPECT_EQ(plan.left_out_groups[0].name, "core");
  EXPECT_EQ(plan.warnings[0].attempted,
            "counting is disabled by the configuration (enabled: false)");
  EXPECT_EQ(kernel_.opened(), 0U);
  EXPECT_THAT(errors("enabled: false\ngroups: [{name: core, events: [cylces], scope: cpu}]\n"),
              ElementsAre(HasSubstr("there is no event 'cylces'")));
}

TEST_F(LoadPlanTest, NamesAFileThatCannotBeRead) {
  const auto loaded = load_and_plan(tree_.path("none.yaml"), roots_, kernel_);

  ASSERT_FALSE(loaded);
  ASSERT_EQ(loaded.error().size(), 1U);
  EXPECT_EQ(loaded.error().front().code, ENOENT);
  EXPECT_THAT(describe(loaded.error().front()), StartsWith("read the configuration '"));
}

TEST_F(LoadPlanTest, ReportsAMachineThatCannotBeReadNextToErrorsOfTheFile) {
  tree_.remove("sys/devices");

  EXPECT_THAT(errors("groups: [{name: a, events: [cycles], scope: cpu, weak: no}]\n"),
              ElementsAre(StartsWith("1:56: groups[0].weak: 'no' is not true or false"),
                          StartsWith("read the online CPUs from '")));
}

}  // namespace
}  // namespace pex::plan
