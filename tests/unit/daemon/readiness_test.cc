#include "daemon/run/readiness.h"

#include <cerrno>

#include "support/events.h"
#include "support/scripted_kernel.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"
#include "unit/daemon/commands.h"
#include "unit/daemon/polled_app.h"
#include "unit/exposition/snapshots.h"

namespace pex::daemon {
namespace {

using collect::Snapshot;

/// One group on two CPUs, of which `counted_on` are counted.
Snapshot snapshot_of_cpus(std::size_t counted_on) {
  Snapshot snapshot =
      exposition::cpu_snapshot(test::scope_plan({{"core", {"cycles"}}}), {0, 1}, {1, 2});
  for (collect::GroupRow& row : snapshot.cpu[0].rows) {
    row.wanted_on = 1;
    row.counted_on = counted_on > 0 ? 1 : 0;
    if (counted_on > 0) --counted_on;
  }
  return snapshot;
}

TEST(ReadinessTest, ComesWithTheFirstPoll) {
  const Snapshot idle = snapshot_of_cpus(0);

  EXPECT_EQ(why_not_ready(nullptr, false), "the first poll is not complete");
  EXPECT_EQ(why_not_ready(nullptr, true), "the first poll is not complete");
  EXPECT_EQ(why_not_ready(&idle, false), "");
}

TEST(ReadinessTest, TakesOneCountedEventWhereEventsAreNeeded) {
  const Snapshot none = snapshot_of_cpus(0);
  const Snapshot one = snapshot_of_cpus(1);

  EXPECT_EQ(why_not_ready(&none, true), "no configured event is counted anywhere");
  EXPECT_EQ(why_not_ready(&one, true), "");
}

TEST(ReadinessTest, DoesNotTakeAuxiliaryGroupsForEvents) {
  Snapshot snapshot = snapshot_of_cpus(2);
  collect::CountingPlan plan = *snapshot.plan;
  plan.cpu.groups[0].is_published = false;
  snapshot.plan = std::make_shared<const collect::CountingPlan>(plan);

  EXPECT_EQ(why_not_ready(&snapshot, true), "this machine can count none of the configured events");
}

TEST(ReadinessTest, NeedsNoCgroupWhereThereIsNone) {
  const Snapshot snapshot = exposition::cgroup_snapshot(test::scope_plan({{"core", {"cycles"}}}),
                                                        exposition::targets({}), {});

  EXPECT_EQ(why_not_ready(&snapshot, true), "");
}

/// The status and the body of /-/ready of a program whose kernel refuses cycles, after one poll.
std::pair<unsigned, std::string> ask(const std::string& events, bool needs_events) {
  const test::TempTree tree{
      {"sys/devices/system/cpu/online", "0\n"},
      {"config.yaml", "groups: [{name: core, events: [" + events + "], scope: cpu}]\n"}};
  test::ScriptedKernel kernel;
  kernel.refuse("cycles", ENOENT);
  Options options = options_in(tree);
  options.ready_needs_events = needs_events;
  PolledApp app{options, kernel};
  EXPECT_THAT(app.start(), testing::IsEmpty());
  app.poll();
  const http::Fetched answer = app.get("/-/ready");
  return {answer.status, answer.body};
}

TEST(ReadinessOverHttpTest, IsRefusedWithItsReasonWhereEventsAreNeededAndNoneIsCounted) {
  using Answer = std::pair<unsigned, std::string>;

  EXPECT_EQ(ask("cycles", true),
            (Answer{503, "not ready: this machine can count none of the configured events\n"}));
  EXPECT_EQ(ask("cycles, page-faults", true), (Answer{200, "ready\n"}));
  EXPECT_EQ(ask("cycles", false), (Answer{200, "ready\n"}));
}

}  // namespace
}  // namespace pex::daemon
