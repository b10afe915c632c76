#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <utility>

#include "count/descriptor_source.h"
#include "support/events.h"
#include "support/temp_tree.h"
#include "targets/targets.h"

namespace pex::collect {
namespace {

TEST(LingeringSeriesTest, ACgroupThatIsThereAgainDoesNotWaitForALateCpu) {
  using std::chrono::seconds;
  test::TempTree tree{{"sys/devices/system/cpu/online", "0\n"}, {"cgroup/a/cgroup.procs", ""}};
  auto plan = std::make_shared<CountingPlan>();
  plan->cgroup = test::scope_plan({{"software", {"context-switches"}}});
  cgroup::Selection selection;
  selection.include.push_back(*cgroup::Pattern::parse("/*"));
  TargetTracker::Cgroups cgroups{cgroup::Discovery({tree.path("cgroup")}, std::move(selection))};
  cgroups.linger = seconds{60};
  TargetTracker targets{
      {tree.path("sys"), tree.path("proc"), {}}, plan, std::move(cgroups), {}, descriptor_cost};
  const auto start = TargetTracker::Clock::now();
  PollReport report;
  const auto poll = [&](seconds at) {
    return targets.update(start + at, report, TargetTracker::Round::kPoll, false);
  };
  (void)poll(seconds{0});
  tree.remove("cgroup/a");
  (void)poll(seconds{1});
  tree.write("cgroup/a/cgroup.procs", "");

  EXPECT_NE(poll(seconds{2})->cgroups.at(0).cgroup, nullptr);
  EXPECT_NE(poll(seconds{3})->cgroups.at(0).cgroup, nullptr);
}

}  // namespace
}  // namespace pex::collect
