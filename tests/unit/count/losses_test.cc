#include "count/losses.h"

#include "support/events.h"
#include "support/test_headers.h"

namespace pex::collect {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

/// One group of one event at two cgroups on one CPU. In each poll "/a" runs for 400 ms with 1000
/// events a second, and "/b" does nothing.
class LossesTest : public testing::Test {
 protected:
  static constexpr std::size_t kA = 0;
  static constexpr std::size_t kB = 1;

  LossesTest() {
    plan_ = test::scope_plan({{"software", {"context-switches"}}});
    targets_.cpus = std::make_shared<const MachineCpus>(MachineCpus{{0}, {}, {}});
    table_.events = 1;
    for (const char* path : {"/a", "/b"}) add_cgroup(path);
  }
  void add_cgroup(const std::string& path) {
    const std::size_t slot = targets_.cgroups.size();
    targets_.cgroups.emplace_back().cgroup =
        std::make_shared<const cgroup::Cgroup>(cgroup::Cgroup{path, slot + 10, {}});
    table_.rows.resize(slot + 1);
    table_.totals.resize(slot + 1);
    losses_.resize(slot + 1);
  }

  /// A poll in which "/a" ran for 400 ms, of which this was not counted.
  void poll(nanoseconds not_counted, nanoseconds lost, bool is_whole = true) {
    used_ += 400ms;
    const nanoseconds counted = 400ms - not_counted;
    table_.rows[kA].times.add({.enabled = counted, .running = counted});
    const auto events = static_cast<std::uint64_t>(counted / 1ms);
    table_.total(kA, 0).add({events, events, 0});
    for (const std::size_t slot : {kA, kB}) {
      if (lost.count() > 0) losses_.add(slot, 0, lost);
    }
    std::vector<GroupTable*> tables{&table_};
    losses_.settle(
        plan_, targets_, tables, is_whole,
        [this](const std::string& path) -> std::optional<nanoseconds> {
          ++reads_;
          if (!has_account_) return {};
          return path == "/a" ? used_ : 3s;
        },
        [this](std::size_t slot, std::size_t, const GroupSum& more) {
          table_.rows[slot].times.add(more.times);
          if (!more.totals.empty()) table_.total(slot, 0).add(more.totals[0]);
        });
  }
  /// In a poll that lost 600 ms.
  nanoseconds unmeasured_in_a_loss(std::size_t slot, bool is_whole = true) {
    const nanoseconds before = table_.rows[slot].times.unmeasured;
    poll(100ms, 600ms, is_whole);
    return table_.rows[slot].times.unmeasured - before;
  }
  void learn() {
    poll(0ms, 1ms);  // the first loss: the account of each is read from then on
    for (int i = 0; i < 20; ++i) poll(0ms, 0ms);
  }

  ScopePlan plan_;
  TargetSet targets_;
  GroupTable table_;
  Losses losses_{1};
  nanoseconds used_{};
  int reads_ = 0;
  bool has_account_ = true;
};

TEST_F(LossesTest, TheFirstOneIsUnmeasured) {
  used_ = 1s;
  poll(100ms, 600ms);
  for (const std::size_t slot : {kA, kB}) EXPECT_EQ(table_.rows[slot].times.unmeasured, 600ms);
}

TEST_F(LossesTest, TheFirstOneOfANewCgroupIsUnmeasuredAsFarAsItEverRan) {
  poll(100ms, 600ms);
  EXPECT_GE(table_.rows[kA].times.unmeasured, 400ms);
  EXPECT_LT(table_.rows[kA].times.unmeasured, 460ms) << "the clocks differ, and by a tick";
}

TEST_F(LossesTest, ACgroupThatDidNothingLacksNothing) {
  learn();
  const GroupTimes before = table_.rows[kB].times;
  poll(100ms, 600ms);
  EXPECT_EQ(table_.rows[kB].times.enabled, before.enabled);
  EXPECT_EQ(table_.total(kB, 0).value, 0U);
}

TEST_F(LossesTest, TheOneThatRanIsEstimatedAndHasTheTimeAsNotCounted) {
  learn();
  const GroupTimes before = table_.rows[kA].times;
  const EventTotal counted = table_.total(kA, 0);
  poll(100ms, 600ms);
  const GroupTimes& now = table_.rows[kA].times;
  EXPECT_EQ(now.running - before.running, 300ms);
  const nanoseconds unsure = now.unmeasured - before.unmeasured;
  EXPECT_EQ(now.enabled - before.enabled, 400ms + unsure);
  EXPECT_GT(unsure, 0ms);
  EXPECT_LT(unsure, 10ms) << "a tick of the kernel";
  EXPECT_NEAR(static_cast<double>(table_.total(kA, 0).value - counted.value), 400, 1);
  EXPECT_EQ(table_.total(kA, 0).observed - counted.observed, 300U);
  EXPECT_GT(table_.total(kA, 0).variance, 0);
}

TEST_F(LossesTest, AllOfAPollIsEstimatedByThePollsBefore) {
  learn();
  const EventTotal counted = table_.total(kA, 0);
  poll(400ms, 1s);
  EXPECT_NEAR(static_cast<double>(table_.total(kA, 0).value - counted.value), 400, 1);
  EXPECT_EQ(table_.total(kA, 0).observed, counted.observed);
  EXPECT_EQ(table_.rows[kA].times.imputed, 400ms);
}

TEST_F(LossesTest, WhileACpuIsLateAllIsUnmeasured) {
  learn();
  EXPECT_EQ(unmeasured_in_a_loss(kB, /*is_whole=*/false), 600ms);
}

TEST_F(LossesTest, WithoutTheAccountOfTheKernelAllIsUnmeasured) {
  learn();
  has_account_ = false;
  EXPECT_EQ(unmeasured_in_a_loss(kA), 600ms);
}

TEST_F(LossesTest, AnotherCgroupOfTheSameSeriesBeginsAnew) {
  learn();
  targets_.cgroups[kA].cgroup =
      std::make_shared<const cgroup::Cgroup>(cgroup::Cgroup{"/a", 99, {}});
  EXPECT_EQ(unmeasured_in_a_loss(kA), 600ms);
}

TEST_F(LossesTest, BeyondTheReadingsOfAPollAllIsUnmeasured) {
  const std::size_t many = Losses::kMaxReads + 2;
  while (targets_.cgroups.size() < many) add_cgroup("/more");
  const auto lose = [&] {
    for (std::size_t slot = 0; slot < many; ++slot) losses_.add(slot, 0, 5ms);
    poll(0ms, 0ms);
  };
  lose();
  EXPECT_EQ(reads_, static_cast<int>(Losses::kMaxReads));
  lose();
  EXPECT_EQ(table_.rows[2].times.unmeasured, 5ms) << "it stood still in the second one";
  EXPECT_EQ(table_.rows[many - 1].times.unmeasured, 10ms);
}

/// Not at each poll, so that it is not estimated: no rate is known.
TEST_F(LossesTest, OneLongAfterTheLastIsUnmeasuredAsFarAsTheCgroupRan) {
  learn();
  for (int i = 0; i < 100; ++i) poll(0ms, 0ms);
  const GroupTimes before = table_.rows[kB].times;
  const nanoseconds ran = unmeasured_in_a_loss(kA);
  EXPECT_GE(ran, 100ms);
  EXPECT_LT(ran, 120ms);
  EXPECT_EQ(table_.rows[kB].times.enabled, before.enabled) << "it did nothing";
}

TEST_F(LossesTest, CgroupsAreReadInTurnsOnceSomethingWasLost) {
  poll(0ms, 0ms);
  EXPECT_EQ(reads_, 0);
  learn();
  EXPECT_EQ(reads_, 2 + 20) << "\"/b\" stands still";
  for (int i = 0; i < 100; ++i) poll(0ms, 0ms);
  const int read = reads_;
  for (int i = 0; i < 4 * static_cast<int>(Losses::kPollsOfATurn); ++i) poll(0ms, 0ms);
  EXPECT_EQ(reads_ - read, 4);
}

TEST_F(LossesTest, ALateCpuWithoutALossCostsNoAccount) {
  learn();
  poll(0ms, 0ms, /*is_whole=*/false);
  poll(0ms, 0ms);
  EXPECT_LT(unmeasured_in_a_loss(kA), 10ms);
}

}  // namespace
}  // namespace pex::collect
