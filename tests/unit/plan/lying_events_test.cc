#include "plan/lying_events.h"

#include "support/forwarding_kernel.h"
#include "support/planning.h"
#include "support/scripted_kernel.h"
#include "support/test_headers.h"

namespace pex::plan::lying_events_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// A PMU that counts nothing, whatever is done, next to software events that are right.
class DeadPmu : public test::ForwardingKernel {
 public:
  using ForwardingKernel::ForwardingKernel;
  std::optional<perf::WorkDone> work(const perf::KnownWork& work) override {
    if (!does_work) return {};
    perf::WorkDone done;
    done.instructions = {4 * work.iterations, 4 * work.iterations};
    done.branches = {work.iterations, work.iterations};
    return done;
  }

  bool does_work = true;
};

const std::string kGroups =
    "groups:\n"
    "  - {name: core, events: [cycles, instructions, cache-misses], scope: [cpu, cgroup]}\n"
    "  - {name: mixed, events: ['instructions:u', page-faults], scope: cpu}\n";

class LyingEventsTest : public testing::Test {
 protected:
  test::PlanOrErrors plan(const std::string& text, const Plan* in_force = nullptr) {
    return test::plan_of(config::load_text(text, "c.yaml").config, test::machine("intel_server"),
                         kernel_, in_force);
  }

  test::ScriptedKernel scripted_{test::machine("").cgroupfs};
  DeadPmu kernel_{scripted_};
};

TEST_F(LyingEventsTest, AreNotCountedLikeThoseThatTheKernelRefuses) {
  const Plan planned = plan(kGroups);

  EXPECT_THAT(test::groups_of(planned.counting.cpu),
              ElementsAre("core: cache-misses", "mixed: page-faults"));
  EXPECT_THAT(test::groups_of(planned.counting.cgroup), ElementsAre("core: cache-misses"));
  const EventAvailability& lying = planned.events[1];
  EXPECT_EQ(lying.event, "instructions");
  EXPECT_FALSE(lying.available);
  EXPECT_EQ(lying.truth, perf::Truth::kStuck);
  EXPECT_EQ(lying.reason.attempted,
            "it counted 0 where at least 400000 happened (stuck) in the calling thread on CPU 0");
}

TEST_F(LyingEventsTest, AreCountedIfTheyAreNotCheckedAtTheStartNorAtPolls) {
  const Plan planned = plan(kGroups + "truth_check: off\n");

  EXPECT_THAT(test::groups_of(planned.counting.cpu),
              ElementsAre("core: cycles, instructions, cache-misses",
                          "mixed: instructions:u, page-faults"));
  EXPECT_FALSE(planned.counting.cpu.groups.back().refuses_impossible);
}

TEST_F(LyingEventsTest, LeaveOthersThatMustBePossibleAtEachPoll) {
  EXPECT_TRUE(plan(kGroups).counting.cgroup.groups.back().refuses_impossible);
}

TEST_F(LyingEventsTest, StayAwayAsLongAsNothingElseIsKnownOfThem) {
  const Plan before = plan(kGroups);
  kernel_.does_work = false;

  EXPECT_THAT(test::groups_of(plan(kGroups, &before).counting.cpu),
              ElementsAre("core: cache-misses", "mixed: page-faults"));
  EXPECT_FALSE(have_lies_changed(kernel_, before.checked));
}

TEST_F(LyingEventsTest, AreFoundWhenTheyBeginToLie) {
  kernel_.does_work = false;
  const Plan before = plan(kGroups);
  EXPECT_FALSE(has_lies(before.checked));

  kernel_.does_work = true;

  EXPECT_TRUE(have_lies_changed(kernel_, before.checked));
}

TEST_F(LyingEventsTest, AreNoReferenceOfOthers) {
  scripted_.share_counters(2);
  const Plan planned = plan(kGroups);

  EXPECT_THAT(planned.reference.counters, IsEmpty());
}

}  // namespace
}  // namespace pex::plan::lying_events_test
