#include "plan/clock_trial.h"

#include <cerrno>
#include <cstdlib>

#include "perf/linux_perf_kernel.h"
#include "plan/plan.h"
#include "support/planning.h"
#include "support/scripted_kernel.h"
#include "support/test_headers.h"

namespace pex::plan {
namespace {

using namespace std::chrono_literals;
using test::ScriptedKernel;
using testing::Contains;
using testing::IsEmpty;

constexpr const char* kTrial = "pid0 cpu-clock";

/// As Linux 6.16 answers.
void let_cpu_clock_stand_still(ScriptedKernel& kernel) {
  kernel.answer(kTrial, {ScriptedKernel::Answer::Kind::kCounts, 2ms, 2ms, {3'000, 1'900'000}, 0});
}

TEST(ClockTrialTest, FindsThatTheCpuClockOfATaskStandsStill) {
  ScriptedKernel kernel;
  EXPECT_TRUE(counts_cpu_clock(kernel));

  let_cpu_clock_stand_still(kernel);

  EXPECT_FALSE(counts_cpu_clock(kernel));
  EXPECT_THAT(kernel.open_groups(), IsEmpty());
}

TEST(ClockTrialTest, AcceptsAClockOfWhichTheKernelSaysNothing) {
  ScriptedKernel kernel;
  kernel.refuse("task-clock", EACCES);

  EXPECT_TRUE(counts_cpu_clock(kernel));
}

TEST(ClockTrialTest, SaysTheSameOfThisKernelEachTime) {
  perf::LinuxPerfKernel kernel;
  int votes = 0;
  for (int trial = 0; trial < 5; ++trial) votes += counts_cpu_clock(kernel) ? 1 : -1;

  EXPECT_EQ(std::abs(votes), 5);
}

TEST(ClockTrialTest, WhereItStandsStillTaskClockIsTheClockOfCgroups) {
  const host::HostRoots roots = test::machine("");
  ScriptedKernel kernel{roots.cgroupfs};
  const Result<events::EventResolver> resolver = events::EventResolver::create(roots);
  Machine machine{*resolver, kernel, {0}};
  machine.knows_cpu_clock = false;
  const config::Loaded loaded = config::load_text(R"(groups:
  - {name: core, events: [cycles], scope: cgroup}
  - {name: more, events: [instructions], scope: cgroup}
  - {name: clocks, events: [cpu-clock, task-clock], scope: [cpu, cgroup]})",
                                                  "c.yaml");

  const auto plan = make_plan(loaded.config, machine);

  ASSERT_TRUE(plan);
  EXPECT_THAT(test::groups_of(plan->counting.cpu), Contains("clocks: cpu-clock, task-clock"));
  EXPECT_THAT(test::groups_of(plan->counting.cgroup), Contains("clocks: task-clock"));
  std::size_t clocks = 0;
  for (const collect::GroupPlan& group : plan->counting.cgroup.groups) {
    for (const perf::CounterSpec& event : group.events) {
      EXPECT_NE(event.name, "cpu-clock");
      clocks += event.name == "task-clock" ? 1 : 0;
    }
  }
  EXPECT_EQ(clocks, 4U) << "of each hardware group, of the target, and the configured one";

  machine.knows_cpu_clock.reset();
  kernel.refuse("cpu-clock", EACCES);
  const auto reloaded = make_plan(loaded.config, machine, &*plan);
  ASSERT_TRUE(reloaded);
  EXPECT_EQ(reloaded->knows_cpu_clock, false) << "a right that was lost meanwhile changes no clock";
}

}  // namespace
}  // namespace pex::plan
