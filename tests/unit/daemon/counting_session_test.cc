#include "daemon/run/counting_session.h"

#include <gtest/gtest.h>

#include <string>

#include "config/load.h"
#include "support/scripted_kernel.h"
#include "support/temp_tree.h"

namespace pex::daemon {
namespace {

/// One configuration in force, and another one that takes its place.
class CountingSessionTest : public testing::Test {
 protected:
  CountingSession start(const std::string& text, CountingSession* in_force = nullptr) {
    return start(text, in_force, roots_);
  }

  CountingSession start(const std::string& text, CountingSession* in_force,
                        const host::HostRoots& roots) {
    config::Loaded loaded = config::load_text(text, "c.yaml");
    EXPECT_FALSE(loaded.diagnostics.has_errors());
    Result<plan::LoadedPlan, std::vector<yaml::Diagnostic>> planned = plan_for_machine(
        std::move(loaded.config), roots, kernel_, in_force ? &in_force->plan : nullptr);
    Result<CountingSession> counting =
        start_counting(std::move(*planned), roots, kernel_, in_force);
    if (!counting->collector) take_over(*in_force, *counting);
    return std::move(*counting);
  }

  /// Whether the collector of the one goes on counting for the other.
  bool is_taken_over(const std::string& before, const std::string& after) {
    CountingSession in_force = start(before);
    const collect::Collector* collector = in_force.collector.get();
    return start(after, &in_force).collector.get() == collector;
  }

  const test::TempTree tree_{{"sys/devices/system/cpu/online", "0\n"},
                             {"cgroup/cgroup.controllers", ""}};
  const host::HostRoots roots_{tree_.path("sys"), tree_.path("proc"), tree_.path("cgroup")};
  test::ScriptedKernel kernel_;
};

const std::string kGroups =
    "groups:\n  - {name: core, events: [cycles, cpu-clock], scope: [cpu, cgroup]}\n";

TEST_F(CountingSessionTest, CountersRunOnWhenNothingHasChanged) {
  EXPECT_TRUE(is_taken_over(kGroups, kGroups));
}

TEST_F(CountingSessionTest, TheyDoWhereOnlyTheTextHas) {
  EXPECT_TRUE(is_taken_over(kGroups, "# what is counted\n\n" + kGroups));
  EXPECT_TRUE(is_taken_over(kGroups, kGroups + "cgroups: {max: 256}\n"));
}

TEST_F(CountingSessionTest, TheyDoWhereItIsPolledOrServedInAnotherWay) {
  const std::string after = kGroups + "collection: {interval: 250ms, max_age: 2s}\n";
  CountingSession in_force = start(kGroups);
  const collect::Collector* collector = in_force.collector.get();

  const CountingSession counting = start(after, &in_force);

  EXPECT_EQ(counting.collector.get(), collector);
  EXPECT_EQ(counting.interval(), std::chrono::milliseconds{250});
  EXPECT_EQ(counting.config.collection.max_age, std::chrono::seconds{2});
}

TEST_F(CountingSessionTest, TheyDoWhereTheSameIsPublishedInAnotherWay) {
  for (const std::string more :
       {"cgroups: {linger: 1s}\n", "cgroups: {close_after: 1m}\n", "cgroups: {max: 7}\n",
        "cgroups: {labels: [{match: \"/a\", set: {team: x}}]}\n", "cgroups: {series: none}\n",
        "cgroups: {sums: [{name: app, by: [unit]}]}\n", "evidence: {variance: true}\n",
        "openmetrics: {created: true}\n", "limits: {max_series: 1000, opens_per_second: 9}\n",
        "kubernetes: {metadata: log_links}\n"}) {
    CountingSession in_force = start(kGroups);
    const collect::Collector* collector = in_force.collector.get();
    CountingSession counting = start(kGroups + more, &in_force);
    EXPECT_EQ(counting.collector.get(), collector) << more;
  }
}

TEST_F(CountingSessionTest, TheyDoWhereOtherEventsOrCgroupsAreCounted) {
  for (const std::string after : {
           "groups:\n  - {name: core, events: [cycles], scope: [cpu, cgroup]}\n",
           "groups:\n  - {name: core, events: [cycles:u, cpu-clock], scope: [cpu, cgroup]}\n",
           "groups:\n  - {name: else, events: [cycles, cpu-clock], scope: [cpu, cgroup]}\n",
       }) {
    EXPECT_TRUE(is_taken_over(kGroups, after)) << after;
  }
  for (const std::string more : {"cgroups: {include: [\"/a/*\"]}\n",
                                 "cgroups: {exclude: [\"/a/*\"]}\n", "cgroups: {nesting: all}\n"}) {
    EXPECT_TRUE(is_taken_over(kGroups, kGroups + more)) << more;
  }
}

TEST_F(CountingSessionTest, OtherCpusOrAnotherTreeOfCgroupsStartAgain) {
  for (const std::string more : {"cgroups: {per_cpu: true}\n", "cpus: {exclude: [\"7\"]}\n",
                                 "limits: {max_cgroup_directories: 7}\n"}) {
    EXPECT_FALSE(is_taken_over(kGroups, kGroups + more)) << more;
  }
  const std::string cpus_only =
      "groups:\n  - {name: core, events: [cycles, cpu-clock], scope: [cpu]}\n";
  EXPECT_FALSE(is_taken_over(kGroups, cpus_only));
}

TEST_F(CountingSessionTest, CountsTheGroupsThatAreKeptOpenedAndClosed) {
  const std::string two = kGroups + "  - {name: other, events: [page-faults], scope: [cpu]}\n";
  const auto is = [](const GroupChanges& groups, std::size_t kept, std::size_t opened,
                     std::size_t closed) {
    EXPECT_EQ(groups.kept, kept);
    EXPECT_EQ(groups.opened, opened);
    EXPECT_EQ(groups.closed, closed);
  };
  CountingSession first = start(kGroups);
  is(first.groups, 0, 2, 0);
  CountingSession second = start(two, &first);
  is(second.groups, 2, 1, 0);
  CountingSession third = start(kGroups, &second);
  is(third.groups, 2, 0, 1);
  is(start(kGroups + "cpus: {exclude: [\"7\"]}\n", &third).groups, 0, 2, 2);
}

TEST_F(CountingSessionTest, AProbeInAFileThatMayHaveBeenReplacedIsOpenedAgain) {
  CountingSession in_force = start(kGroups);
  in_force.plan.counting.cpu.groups.front().events.front().attributes.probe = "/usr/bin/app";
  EXPECT_EQ(start(kGroups, &in_force).groups.kept, 1U);
}

TEST_F(CountingSessionTest, CgroupsThatCanBeCountedByNowRestartIt) {
  const test::TempTree bare{{"sys/devices/system/cpu/online", "0\n"}, {"proc/self/mountinfo", ""}};
  const host::HostRoots without{bare.path("sys"), bare.path("proc"), {}};
  CountingSession in_force = start(kGroups, nullptr, without);
  const collect::Collector* collector = in_force.collector.get();
  ASSERT_EQ(in_force.warnings.size(), 1U);

  EXPECT_NE(start(kGroups, &in_force).collector.get(), collector);
}

TEST_F(CountingSessionTest, AnEventThatTheMachineHasGainedIsOpened) {
  kernel_.refuse("cycles", ENOENT);
  CountingSession in_force = start(kGroups);
  kernel_.refuse("cycles", 0);

  EXPECT_GT(start(kGroups, &in_force).groups.opened, 0U);
}

}  // namespace
}  // namespace pex::daemon
