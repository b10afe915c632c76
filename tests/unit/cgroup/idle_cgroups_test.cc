#include "cgroup/use/idle_cgroups.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace pex::cgroup {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

/// Updates once a second, in which the CPU times are those of `cpu_times_`.
class IdleCgroupsTest : public ::testing::Test {
 protected:
  const Cgroup& add(std::uint64_t id) {
    auto cgroup = std::make_shared<Cgroup>();
    cgroup->id = id;
    cgroup->path = "/" + std::to_string(id);
    cpu_times_[id] = 0ns;
    present_.push_back(cgroup);
    return *present_.back();
  }
  bool update() { return idle_.update(present_, now_ += 1s); }
  /// The number of updates after which it is idle.
  int updates_until_idle(const Cgroup& cgroup) {
    for (int updates = 1; updates < 10'000; ++updates) {
      update();
      if (idle_.is_idle(cgroup)) return updates;
    }
    return 0;
  }

  std::map<std::uint64_t, std::optional<nanoseconds>> cpu_times_;
  int reads_ = 0;
  IdleCgroups::Cgroups present_;
  IdleCgroups::Clock::time_point now_ = IdleCgroups::Clock::now();
  IdleCgroups idle_{{.close_after = 60s, .open_after = 5ms}, [this](const std::string& path) {
                      ++reads_;
                      return cpu_times_.at(std::stoull(path.substr(1)));
                    }};
};

TEST_F(IdleCgroupsTest, ACgroupWithoutCpuTimeIsIdleAfterAWhile) {
  const Cgroup& works = add(1);
  const Cgroup& rests = add(2);
  for (int i = 0; i < 60; ++i) {
    *cpu_times_[1] += 1us;
    EXPECT_FALSE(update());
  }
  *cpu_times_[1] += 1us;

  EXPECT_TRUE(update());

  EXPECT_FALSE(idle_.is_idle(works));
  EXPECT_TRUE(idle_.is_idle(rests));
  EXPECT_EQ(idle_.idle(), 1u);
}

TEST_F(IdleCgroupsTest, WhatItHasUsedSinceItsCpuTimeWasResetMakesItBusyAgain) {
  const Cgroup& cgroup = add(1);
  cpu_times_[1] = 1h;
  updates_until_idle(cgroup);
  cpu_times_[1] = 0ms;
  EXPECT_FALSE(update());
  cpu_times_[1] = 7ms;

  EXPECT_TRUE(update());

  EXPECT_FALSE(idle_.is_idle(cgroup));
  EXPECT_EQ(idle_.take_passed_over(cgroup), 7ms);
}

TEST_F(IdleCgroupsTest, ItIsBusyAgainOnceItHasUsedEnoughCpuTimeAndSaysHowMuchOnce) {
  const Cgroup& cgroup = add(1);
  cpu_times_[1] = 1h;
  updates_until_idle(cgroup);
  cpu_times_[1] = 1h + 4ms;
  EXPECT_FALSE(update());
  EXPECT_EQ(idle_.take_passed_over(cgroup), 0ns);
  cpu_times_[1] = 1h + 7ms;

  EXPECT_TRUE(update());

  EXPECT_FALSE(idle_.is_idle(cgroup));
  EXPECT_EQ(idle_.idle(), 0u);
  EXPECT_EQ(idle_.take_passed_over(cgroup), 7ms);
  EXPECT_EQ(idle_.take_passed_over(cgroup), 0ns);
}

TEST_F(IdleCgroupsTest, OneThatWorksNowAndThenStaysBusyForTwiceAsLongEachTime) {
  const Cgroup& cgroup = add(1);
  EXPECT_EQ(updates_until_idle(cgroup), 61);
  for (const int longer : {120, 240, 480}) {
    *cpu_times_[1] += 1s;
    update();
    EXPECT_EQ(updates_until_idle(cgroup), longer);
  }
}

TEST_F(IdleCgroupsTest, OneThatWorksNowAndThenStaysBusyForAWeekAtMost) {
  const Cgroup& cgroup = add(1);
  updates_until_idle(cgroup);
  for (int i = 0; i < 20; ++i) {
    *cpu_times_[1] += 1s;
    update();
    ASSERT_FALSE(idle_.is_idle(cgroup));
    now_ += 7 * 24h;
    update();
    ASSERT_TRUE(idle_.is_idle(cgroup)) << i;
  }
}

TEST_F(IdleCgroupsTest, OneWhoseCpuTimeCannotBeReadIsBusy) {
  const Cgroup& cgroup = add(1);
  updates_until_idle(cgroup);
  cpu_times_[1] = std::nullopt;

  EXPECT_TRUE(update());

  EXPECT_FALSE(idle_.is_idle(cgroup));
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(update());
}

TEST_F(IdleCgroupsTest, OneThatIsGoneIsForgotten) {
  const Cgroup& cgroup = add(1);
  const std::shared_ptr<const Cgroup> held = present_.front();
  updates_until_idle(cgroup);
  present_.clear();

  EXPECT_FALSE(update());

  EXPECT_EQ(idle_.idle(), 0u);
  EXPECT_FALSE(idle_.is_idle(*held));
}

TEST_F(IdleCgroupsTest, ManyAreReadInTurn) {
  for (std::uint64_t id = 0; id < 200; ++id) add(id);
  update();
  EXPECT_EQ(reads_, 64);
  idle_.update(present_, now_ + 1ms);
  EXPECT_EQ(reads_, 64) << "twice a second";
  for (int i = 0; i < 4 * 60; ++i) update();
  EXPECT_EQ(idle_.idle(), 200u);
}

TEST_F(IdleCgroupsTest, BusyOnesAreReadLessOftenThanIdleOnes) {
  for (std::uint64_t id = 0; id < 50; ++id) add(id);
  const auto work = [&] {
    for (std::uint64_t id = 1; id < 50; ++id) *cpu_times_[id] += 1ms;
    update();
  };
  for (int i = 0; i < 100; ++i) work();
  ASSERT_EQ(idle_.idle(), 1u);
  reads_ = 0;
  for (int i = 0; i < 40; ++i) work();
  EXPECT_EQ(reads_, 40 + 49 * 10) << "a sixteenth of 60 s is reached in the fourth second";
}

TEST_F(IdleCgroupsTest, AllAreBusyWhereNothingNeedsToBeClosed) {
  const Cgroup& cgroup = add(1);
  updates_until_idle(cgroup);
  cpu_times_[1] = 2ms;

  EXPECT_TRUE(idle_.wake_all(present_, now_));
  EXPECT_FALSE(idle_.wake_all(present_, now_));

  EXPECT_FALSE(idle_.is_idle(cgroup));
  EXPECT_EQ(idle_.take_passed_over(cgroup), 2ms);
}

TEST_F(IdleCgroupsTest, OneThatIsGoneMeanwhileIsNotWaitedFor) {
  updates_until_idle(add(1));
  present_.clear();
  EXPECT_TRUE(idle_.wake_all(present_, now_));
  EXPECT_FALSE(idle_.wake_all(present_, now_));
}

TEST_F(IdleCgroupsTest, CpuTimeThatFallsIsNone) {
  const Cgroup& cgroup = add(1);
  cpu_times_[1] = 10s;
  updates_until_idle(cgroup);
  cpu_times_[1] = 1s;  // of another one at its path
  EXPECT_FALSE(update());
  EXPECT_TRUE(idle_.wake_all(present_, now_));
  EXPECT_EQ(idle_.take_passed_over(cgroup), 0ns);
}

TEST_F(IdleCgroupsTest, RulesThatChangeHoldForAll) {
  const Cgroup& cgroup = add(1);
  updates_until_idle(cgroup);
  idle_.set_rules({.close_after = 0s});
  EXPECT_TRUE(update());
  EXPECT_FALSE(idle_.is_idle(cgroup));
  idle_.set_rules({.close_after = 7s});
  EXPECT_EQ(updates_until_idle(cgroup), 7);
}

TEST_F(IdleCgroupsTest, NoneIsIdleWhereCountersAreNeverClosed) {
  IdleCgroups never{{.close_after = 0s}, [](const std::string&) { return 0ns; }};
  const Cgroup& cgroup = add(1);
  for (int i = 0; i < 10'000; ++i) EXPECT_FALSE(never.update(present_, now_ += 1s));
  EXPECT_FALSE(never.is_idle(cgroup));
}

}  // namespace
}  // namespace pex::cgroup
