#include "plan/plan.h"

#include <cerrno>

#include "plan/availability.h"
#include "plan/event_trial.h"
#include "support/planning.h"
#include "support/scripted_kernel.h"
#include "support/test_headers.h"

namespace pex::plan {
namespace {

using test::errors_of;
using test::group_of;
using test::groups_of;
using test::plan_on;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

TEST(PlanTest, AGroupOfBothScopesIsCountedInBoth) {
  const auto both =
      plan_on("", "  - {name: core, events: [cycles, cpu-clock], scope: [cpu, cgroup]}");

  EXPECT_THAT(groups_of(both.counting.cpu), ElementsAre("core: cycles, cpu-clock"));
  EXPECT_THAT(groups_of(both.counting.cgroup), ElementsAre("core: cycles, cpu-clock"));
  EXPECT_TRUE(both.events[0].cpu_scope);
  EXPECT_TRUE(both.events[0].cgroup_scope);
}

TEST(PlanTest, TakesItsLimitsFromTheConfiguration) {
  config::Config config;
  config.limits.max_open_events = 2;
  config.limits.max_series = 3;
  config.limits.opens_per_second = 4;
  config.limits.max_cgroup_directories = 5;
  config.cgroups.max = 1;
  config.cgroups.include = {{"/a/*"}, {"/b"}};
  config.cgroups.exclude = {{"/c"}};
  config.cgroups.per_cpu = true;
  test::ScriptedKernel kernel;

  const auto plan = test::plan_of(config, test::machine(""), kernel);

  EXPECT_EQ(plan.budget.max_cgroups, 1U);
  EXPECT_EQ(plan.budget.max_open_events, 2U);
  EXPECT_EQ(plan.budget.max_series, 3U);
  EXPECT_EQ(plan.budget.opens_per_second, 4U);
  EXPECT_EQ(plan.budget.max_directories, 5U);
  EXPECT_EQ(plan.cgroups.selection.include.size(), 2U);
  EXPECT_EQ(plan.cgroups.selection.exclude.front().text(), "/c");
  EXPECT_TRUE(plan.counting.cgroup_per_cpu);
}

/// A file serves a fleet: the names are the same where an event cannot be counted.
TEST(PlanTest, NamesOfSumsAreCheckedAlsoForEventsThatThisMachineLacks) {
  const auto errors_with = [](const std::string& events, const std::string& sums) {
    const config::Config config =
        config::load_text("groups:\n  - {name: g, events: [" + events +
                              "], scope: cgroup}\ncgroups: {sums: [" + sums + "]}\n",
                          "c.yaml")
            .config;
    test::ScriptedKernel kernel;
    kernel.refuse("cache-misses", ENOENT);
    std::vector<std::string> texts;
    for (const yaml::Diagnostic& error : test::plan_of(config, test::machine(""), kernel).errors) {
      texts.push_back(describe(error));
    }
    return texts;
  };

  EXPECT_THAT(
      errors_with("{event: cache-misses, name: cache_misses}, {event: page-faults, name: misses}",
                  "{name: web, by: []}, {name: web_cache, by: [unit]}"),
      ElementsAre(HasSubstr("would be a second perf_web_cache_misses_total")));
  EXPECT_THAT(errors_with("{event: page-faults, name: cgroups}", "{name: workload, by: []}"),
              ElementsAre(AllOf(HasSubstr("perf_workload_cgroups_total would have the name of"),
                                HasSubstr("give the event another name"))));
  EXPECT_THAT(errors_with("{event: page-faults, name: b_cgroups}",
                          "{name: a, by: []}, {name: a_b, by: []}"),
              ElementsAre(HasSubstr("would be a second perf_a_b_cgroups_total")));
  EXPECT_THAT(errors_with("page-faults, cache-misses", "{name: a, by: []}, {name: b, by: []}"),
              IsEmpty());
}

TEST(PlanTest, AMissingEventCostsItsGroupThatEventAlone) {
  test::ScriptedKernel kernel;
  kernel.refuse("branches", ENOENT);
  const auto partial = plan_on("", group_of("cycles, branches, instructions"), kernel);

  EXPECT_THAT(groups_of(partial.counting.cpu), ElementsAre("core: cycles, instructions"));
  EXPECT_FALSE(partial.events[1].available);
  EXPECT_EQ(partial.events[1].reason.code, ENOENT);
}

TEST(PlanTest, WhatIsMissingForAMomentIsLeftToThePolls) {
  test::ScriptedKernel kernel;
  kernel.refuse("cycles", EMFILE);
  const auto later = plan_on("", group_of("cycles"), kernel);

  EXPECT_TRUE(later.events[0].available);
  EXPECT_THAT(groups_of(later.counting.cpu), ElementsAre("core: cycles"));
}

TEST(PlanTest, TryingAnEventLeavesNothingOpen) {
  test::ScriptedKernel kernel;
  (void)plan_on("", group_of("cycles, instructions"), kernel);

  EXPECT_EQ(kernel.opened(), 4U);  // each on its own, and both as a group
  EXPECT_EQ(kernel.still_open(), 0U);
}

/// "cycles by cpu", or "not branches by cgroup", of each event whose availability is known.
std::vector<std::string> availabilities(const Plan& plan) {
  std::vector<std::string> lines;
  for (const auto& [event, available] : availability(plan)) {
    lines.push_back((available.everywhere ? "" : "not ") + event.first +
                    (event.second == Scope::kCpu ? " by cpu" : " by cgroup"));
  }
  return lines;
}

TEST(AvailabilityTest, IsThatOfAllGroupsOfAScopeTogether) {
  test::ScriptedKernel kernel;
  kernel.refuse_groups_larger_than(1, EINVAL);
  const auto half =
      plan_on("",
              "  - {name: large, events: [cycles, branches], scope: cpu, weak: false}\n"
              "  - {name: small, events: [cycles], scope: cgroup}",
              kernel);

  EXPECT_THAT(availabilities(half),
              UnorderedElementsAre("not cycles by cpu", "not branches by cpu", "cycles by cgroup"));
}

TEST(AvailabilityTest, IsNoneOfAnEventThatOneOfItsGroupsLacks) {
  test::ScriptedKernel kernel;
  kernel.refuse_groups_larger_than(1, EINVAL);
  const auto half =
      plan_on("",
              "  - {name: large, events: [cycles, branches], scope: [cpu, cgroup], weak: false}\n"
              "  - {name: small, events: [{event: cycles, name: more}], scope: cgroup}",
              kernel);

  EXPECT_THAT(errors_of(half), IsEmpty());
  EXPECT_THAT(availabilities(half), Contains("not cycles by cgroup"));
}

TEST(AvailabilityTest, ReportsBothKindsOfCores) {
  test::ScriptedKernel kernel;
  kernel.refuse("type0:0xa00000001", ENOENT);  // instructions of cpu_atom, whose type is 10
  const auto hybrid = plan_on("intel_hybrid", group_of("cycles, instructions"), kernel);

  EXPECT_THAT(availabilities(hybrid),
              UnorderedElementsAre("cycles on cpu_atom by cpu", "cycles on cpu_core by cpu",
                                   "not instructions on cpu_atom by cpu",
                                   "instructions on cpu_core by cpu"));
}

TEST(LeftOutLinesTest, WhatTheKernelReportsOfManyEventsIsOneLine) {
  test::ScriptedKernel kernel;
  kernel.refuse("cycles", ENOENT);
  kernel.refuse("branches", ENOENT);
  kernel.refuse("instructions", EACCES);
  const auto none = plan_on("", group_of("cycles, branches, instructions"), kernel);

  EXPECT_THAT(
      left_out_lines(none),
      ElementsAre(StartsWith("nothing is counted here: cycles, branches: this machine has no such "
                             "hardware counter (ENOENT)"),
                  StartsWith("nothing is counted here: instructions: CAP_PERFMON is missing")));
}

TEST(LeftOutLinesTest, SayWhatThisMachineLacks) {
  const auto some = plan_on("intel_client", group_of("cycles, uncore_upi/event=1/"));

  EXPECT_THAT(left_out_lines(some),
              ElementsAre(AllOf(StartsWith("not counted here: uncore_upi/event=0x1/: this machine "
                                           "has no PMU 'uncore_upi': No such file or directory "
                                           "(ENOENT). Remedy: "),
                                HasSubstr("uncore_imc"))));
}

TEST(LeftOutLinesTest, NameAnEventOfTwoGroupsOnce) {
  test::ScriptedKernel kernel;
  kernel.refuse("cycles", ENOENT);
  const auto some = plan_on("",
                            "  - {name: host, events: [cycles, branches], scope: cpu}\n"
                            "  - {name: services, events: [cycles], scope: cgroup}",
                            kernel);

  EXPECT_THAT(left_out_lines(some),
              ElementsAre(StartsWith("not counted here: cycles: this machine")));
}

TEST(PlanTest, EveryShippedFileCanBeCountedOnEveryMachine) {
  for (const char* machine : {"", "intel_client", "intel_hybrid", "intel_server", "amd_zen",
                              "arm_neoverse", "arm_biglittle"}) {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(PEX_SOURCE_DIR "/config")) {
      if (entry.path().extension() != ".yaml" || entry.path().stem() == "web") continue;
      test::ScriptedKernel kernel;
      const Result<config::Loaded> shipped = config::load_file(entry.path());

      const auto planned = test::plan_of(shipped->config, test::machine(machine), kernel);

      ASSERT_TRUE(shipped && !shipped->diagnostics.has_errors()) << entry.path();
      EXPECT_THAT(errors_of(planned), IsEmpty()) << entry.path() << " on " << machine;
      EXPECT_FALSE(planned.events.empty()) << entry.path() << " on " << machine;
      if (entry.path().stem() == "probes") continue;  // the machines have hardly any tracepoint
      EXPECT_FALSE(planned.counting.cpu.empty() && planned.counting.cgroup.empty())
          << entry.path() << " on " << machine;
    }
  }
}

TEST(AvailabilityTest, IsNoneInCgroupsOfAnEventThatCountsOnCpusOnly) {
  test::ScriptedKernel kernel;
  kernel.refuse_in_cgroups("branches", EINVAL);
  const auto plan =
      plan_on("", "  - {name: core, events: [branches, cycles], scope: [cpu, cgroup]}", kernel);

  EXPECT_THAT(availabilities(plan),
              UnorderedElementsAre("branches by cpu", "not branches by cgroup", "cycles by cpu",
                                   "cycles by cgroup"));
}

TEST(AvailabilityTest, IsNotReportedInCgroupsWhereThereAreNone) {
  test::ScriptedKernel kernel;
  kernel.refuse("branches", ENOENT);
  const auto plan =
      plan_on(host::HostRoots{"/nonexistent", "/nonexistent", {}},
              "  - {name: core, events: [branches, cycles], scope: [cpu, cgroup]}", kernel);

  EXPECT_THAT(availabilities(plan), IsSupersetOf({"not branches by cgroup", "cycles by cpu"}));
  EXPECT_FALSE(availability(plan).contains({"cycles", Scope::kCgroup}));
}

TEST(AvailabilityTest, IsNotReportedWhereTheRootOfTheCgroupsIsWhatFails) {
  test::ScriptedKernel kernel;
  kernel.refuse_in_cgroups("cycles", EBADF);
  const auto plan = plan_on("", "  - {name: core, events: [cycles], scope: cgroup}", kernel);

  EXPECT_THAT(test::groups_of(plan.counting.cgroup), ElementsAre("core: cycles"));
  EXPECT_THAT(availability(plan), IsEmpty());
}

TEST(IsLastingTest, IsFalseOfShortagesAndOfWhatComesBackAndTrueOfAllOtherErrors) {
  for (const int code : {EMFILE, ENFILE, ENOMEM, EAGAIN, EINTR, EBUSY, ENOSPC, ENODEV, ESRCH}) {
    EXPECT_FALSE(is_lasting(code)) << errno_name(code);
  }
  for (const int code : {ENOENT, EOPNOTSUPP, EINVAL, EACCES, EPERM, ENOSYS, E2BIG, ENODATA,
                         EADDRNOTAVAIL, EILSEQ, ENOEXEC, EIO, ENXIO, kErrnoNotSupported}) {
    EXPECT_TRUE(is_lasting(code)) << errno_name(code);
  }
}

}  // namespace
}  // namespace pex::plan
