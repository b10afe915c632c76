#include "plan/load_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "support/scripted_kernel.h"
#include "support/temp_tree.h"

namespace pex::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
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
  for (const char* cgroups : {"{max: 3, include: [/a]}", "{max: 3, exclude: [/a]}",
                              "{max: 3, labels: [{match: /a, set: {team: web}}], include: [/a]}",
                              "{max: 3, sums: [{name: all, by: []}]}"}) {
    for (const std::string scope : {"cpu", "cgroup"}) {
      tree_.write("c.yaml", "cgroups: " + std::string(cgroups) +
                                "\ngroups: [{name: soft, events: [cs], scope: " + scope + "}]\n");
      const auto loaded = load_and_plan(tree_.path("c.yaml"), roots_, kernel_);
      ASSERT_TRUE(loaded) << describe(loaded.error().front());
      std::vector<std::string> warnings;
      for (const Error& warning : loaded->plan.warnings) warnings.push_back(warning.attempted);
      EXPECT_EQ(std::count_if(warnings.begin(), warnings.end(),
                              [this](const std::string& warning) {
                                return warning.starts_with(tree_.path("c.yaml:1:")) &&
                                       warning.ends_with("nothing is counted by cgroup");
                              }),
                scope == "cpu" ? 1 : 0)
          << cgroups;
    }
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
  tree_.write("sys/bus/event_source/devices/cpu/type", "4\n");
  for (const Case& each : kCases) {
    tree_.write("sys/module/kvm_amd/parameters/enable_mediated_pmu", each.is_given ? "Y\n" : "N\n");
    tree_.write("c.yaml",
                std::string("guests: ") + each.guests +
                    "\ngroups: [{name: core, scope: cpu, events: [cycles, branches, cs]}]\n");
    kernel_.refuse_with_guests(each.is_refused ? EOPNOTSUPP : 0);
    const auto loaded = load_and_plan(tree_.path("c.yaml"), roots_, kernel_);
    ASSERT_TRUE(loaded) << describe(loaded.error().front());

    const std::string what = std::string(each.guests) + (each.is_given ? ", given" : "") +
                             (each.is_refused ? ", refused" : "");
    const auto& events = loaded->plan.counting.cpu.groups.front().events;
    ASSERT_EQ(events.size(), 3U) << what;
    EXPECT_EQ(events[0].name, "cycles") << "the same name and series, " << what;
    EXPECT_EQ(events[0].attributes.exclude_guest, each.leaves_out) << what;
    EXPECT_EQ(events[1].attributes.exclude_guest, each.leaves_out) << what;
    EXPECT_FALSE(events[2].attributes.exclude_guest) << "no PMU counts it";
    EXPECT_EQ(loaded->plan.guests_left_out, each.why) << what;
    EXPECT_EQ(loaded->plan.warnings.size(),
              each.leaves_out && each.why != GuestsLeftOut::kConfigured ? 1U : 0U)
        << what;
  }
}

TEST_F(LoadPlanTest, WarnsOfEachGroupThatLacksAPartOfAnUncorePmu) {
  for (const char* const cpu : {"0", "1"}) {
    const std::string topology = std::string{"sys/devices/system/cpu/cpu"} + cpu + "/topology/";
    tree_.write(topology + "physical_package_id", cpu);
  }
  tree_.write("sys/bus/event_source/devices/power/type", "9\n");
  tree_.write("sys/bus/event_source/devices/power/cpumask", "0-1\n");
  tree_.write("sys/bus/event_source/devices/power/format/event", "config:0-7\n");
  tree_.write("sys/bus/event_source/devices/power/events/energy-pkg", "event=0x02\n");
  tree_.write("c.yaml",
              "groups:\n"
              "  - {name: whole, scope: cpu, events: [power/energy-pkg/, cs]}\n"
              "  - name: part\n"
              "    scope: cpu\n"
              "    cpus: {exclude: [\"1\"]}\n"
              "    events: [{event: power/energy-pkg/, name: of_a_part}, task-clock]\n");

  const auto loaded = load_and_plan(tree_.path("c.yaml"), roots_, kernel_);

  ASSERT_TRUE(loaded) << describe(loaded.error().front());
  std::vector<std::string> warnings;
  for (const Error& warning : loaded->plan.warnings) warnings.push_back(describe(warning));
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("group 'part' lacks what PMU 'power' would read on "
                                              "the excluded CPUs 1: sums")));
}

TEST_F(LoadPlanTest, SaysNothingOfGuestsWhereModifiersLeaveThemOut) {
  tree_.write("sys/bus/event_source/devices/cpu/type", "4\n");
  tree_.write("sys/module/kvm_amd/parameters/enable_mediated_pmu", "Y\n");
  tree_.write("c.yaml", "groups: [{name: core, scope: cpu, events: ['cycles:H', 'branches:G']}]\n");

  const auto loaded = load_and_plan(tree_.path("c.yaml"), roots_, kernel_);

  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->plan.guests_left_out, GuestsLeftOut::kNot);
  EXPECT_TRUE(loaded->plan.warnings.empty());
  EXPECT_FALSE(loaded->plan.counting.cpu.groups.front().events[1].attributes.exclude_guest);
}

/// As KVM is loaded while its groups are counted: neither the reference nor what is split is kept
/// as it was counted.
TEST_F(LoadPlanTest, LeavesOutGuestsInEveryCounterOfAPlanThatIsMadeAgain) {
  tree_.write("sys/bus/event_source/devices/cpu/type", "4\n");
  tree_.write("c.yaml",
              "groups:\n"
              "  - {name: a, scope: cpu, events: [instructions, branches], estimator: reference}\n"
              "  - {name: b, scope: cpu, events: [cache-misses], estimator: reference}\n");
  const auto first = load_and_plan(tree_.path("c.yaml"), roots_, kernel_);
  ASSERT_TRUE(first) << describe(first.error().front());
  ASSERT_FALSE(first->plan.reference.counters.empty()) << "or this shows nothing";

  tree_.write("sys/module/kvm_amd/parameters/enable_mediated_pmu", "Y\n");
  const auto again = load_and_plan(tree_.path("c.yaml"), roots_, kernel_, &first->plan);

  ASSERT_TRUE(again) << describe(again.error().front());
  std::size_t counters = 0;
  for (const collect::GroupPlan& group : again->plan.counting.cpu.groups) {
    for (const perf::CounterSpec& event : group.events) {
      if (event.attributes.type == PERF_TYPE_SOFTWARE) continue;
      ++counters;
      EXPECT_TRUE(event.attributes.exclude_guest) << group.name << ": " << event.name;
    }
  }
  EXPECT_GE(counters, 4U) << "with cycles";
}

TEST_F(LoadPlanTest, RefusesEventsThatMustCountGuestsWhileAGuestHasThePmu) {
  tree_.write("sys/bus/event_source/devices/cpu/type", "4\n");
  kernel_.refuse_with_guests(EOPNOTSUPP);
  tree_.write("c.yaml",
              "guests: count\ngroups: [{name: core, scope: cpu, events: [cycles, cs]}]\n");

  const auto loaded = load_and_plan(tree_.path("c.yaml"), roots_, kernel_);

  ASSERT_TRUE(loaded);
  EXPECT_FALSE(loaded->plan.events[0].available);
  EXPECT_EQ(loaded->plan.events[0].reason.code, EOPNOTSUPP);
  EXPECT_TRUE(loaded->plan.events[1].available);
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
  const std::string group = "groups: [{name: core, events: [cycles], scope: [cpu, cgroup]}]\n";
  tree_.write("c.yaml", "enabled: false\n" + group);

  const auto loaded = load_and_plan(tree_.path("c.yaml"), roots_, kernel_);

  ASSERT_TRUE(loaded);
  EXPECT_TRUE(loaded->plan.counting.cpu.empty());
  EXPECT_TRUE(loaded->plan.counting.cgroup.empty());
  ASSERT_EQ(loaded->plan.left_out_groups.size(), 1U);
  EXPECT_EQ(loaded->plan.left_out_groups[0].name, "core");
  EXPECT_EQ(loaded->plan.warnings[0].attempted,
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
