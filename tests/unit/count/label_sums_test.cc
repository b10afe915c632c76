#include "count/sums/label_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace pex::collect::label_sums_test {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;
using testing::ElementsAre;
using Value = GroupRow::Value;

using Labels = std::vector<std::pair<std::string, std::string>>;

/// A cgroup, as the snapshots of a Machine have it.
struct Counted {
  std::string path;
  Labels labels = {};
  std::uint64_t events = 0;
  nanoseconds enabled{};
  Value value = Value::kKnown;
  bool is_present = true;
  std::size_t wanted_on = 2;
  std::size_t counted_on = 2;
  bool is_idle = false;
  nanoseconds unmeasured{};
};

/// Cgroups with one group of one event, whose snapshots are summed up.
class Machine {
 public:
  explicit Machine(std::vector<SumPlan> sums) {
    plan_ = plan_with(std::move(sums));
    label_sums_.emplace(plan_);
  }

  void change(std::vector<SumPlan> sums) {
    plan_ = plan_with(std::move(sums));
    change_sums();
  }
  void set_nesting(bool nest) {
    CountingPlan plan = *plan_;
    plan.cgroups_nest = nest;
    plan_ = std::make_shared<const CountingPlan>(std::move(plan));
    change_sums();
  }
  /// One more group of one event comes first, which has counted nothing yet.
  void add_group() {
    CountingPlan plan = *plan_;
    plan.cgroup.groups.insert(plan.cgroup.groups.begin(), plan.cgroup.groups.front());
    plan.cgroup.groups.front().name = "new";
    continue_plan(*plan_, plan);
    plan_ = std::make_shared<const CountingPlan>(std::move(plan));
    change_sums();
  }

  std::map<std::uint64_t, Counted> cgroups;  ///< by series

  void count(std::uint64_t series, std::uint64_t events) {
    cgroups.at(series).events += events;
    cgroups.at(series).enabled += std::chrono::milliseconds{events};
  }

  /// One poll, so long after the one before.
  void poll(nanoseconds later = 1s) {
    now_ += later;
    last = Snapshot{};
    last.plan = plan_;
    auto targets = std::make_shared<TargetSet>();
    GroupTable& table = last.cgroup.emplace_back();
    table.events = 1;
    if (!cgroups.empty()) targets->cgroups.resize(cgroups.rbegin()->first);
    table.rows.resize(targets->cgroups.size());
    table.totals.resize(targets->cgroups.size());
    for (std::size_t slot = 0; slot < targets->cgroups.size(); ++slot) {
      last.cgroup_rows.push_back({slot, {}});
    }
    for (const auto& [series, counted] : cgroups) {
      cgroup::Description description;
      description.information = counted.labels;
      const std::size_t slot = series - 1;
      targets->cgroups[slot] = {
          series, counted.path,
          counted.is_present ? std::make_shared<const cgroup::Cgroup>() : nullptr,
          std::make_shared<const cgroup::Description>(std::move(description))};
      targets->cgroups[slot].is_idle = counted.is_idle;
      GroupRow row{counted.value,
                   true,
                   {.enabled = counted.enabled,
                    .running = counted.enabled,
                    .unmeasured = counted.unmeasured}};
      row.wanted_on = counted.wanted_on;
      row.counted_on = counted.counted_on;
      table.rows[slot] = row;
      table.totals[slot] = {counted.events, counted.events, 0};
    }
    last.targets = std::move(targets);
    if (plan_->cgroup.groups.size() > 1) {
      GroupTable blank = last.cgroup.front();
      for (GroupRow& row : blank.rows) row.times = {};
      for (EventTotal& total : blank.totals) total = {};
      last.cgroup.insert(last.cgroup.begin(), std::move(blank));
    }
    report = {};
    label_sums_->add_to(last, now_, report);
  }

  const SumTable& table(std::size_t sum = 0) const { return last.sums[sum]; }
  /// Published, by the values of the labels; only what has a value.
  std::map<std::vector<std::string>, std::uint64_t> published(std::size_t sum = 0) const {
    std::map<std::vector<std::string>, std::uint64_t> published;
    for (std::size_t row = 0; row < table(sum).rows.size(); ++row) {
      if (table(sum).groups[0].rows[row].value != Value::kKnown) continue;
      published[table(sum).rows[row].values] = table(sum).groups[0].total(row, 0).value;
    }
    return published;
  }
  std::uint64_t published(const std::string& value) const { return published().at({value}); }

  Snapshot last;
  PollReport report;

 private:
  std::shared_ptr<const CountingPlan> plan_with(std::vector<SumPlan> sums) const {
    CountingPlan plan;
    plan.cgroup.groups.push_back({.name = "core", .pmu = {}, .events = {perf::CounterSpec{}}});
    continue_plan(plan_ ? *plan_ : CountingPlan{}, plan);
    plan.sums = std::move(sums);
    return std::make_shared<const CountingPlan>(std::move(plan));
  }

  void change_sums() { label_sums_->change(plan_, last.plan ? &last : nullptr); }

  std::shared_ptr<const CountingPlan> plan_;
  std::optional<LabelSums> label_sums_;
  LabelSums::Clock::time_point now_{};
};

SumPlan by(std::vector<std::string> labels) {
  SumPlan sum;
  sum.name = "workload";
  sum.labels = std::move(labels);
  sum.zero_for = 0s;
  return sum;
}

Counted of(const std::string& workload, const std::string& path = "/x") {
  return {.path = path, .labels = {{"workload", workload}}};
}

TEST(LabelSumsTest, GoOnWhereAnotherGroupIsCountedAsWell) {
  Machine machine{{by({"workload"})}};
  machine.cgroups = {{1, of("web", "/a")}, {2, of("web", "/b")}};
  machine.count(1, 10);
  machine.count(2, 5);
  machine.poll();
  machine.cgroups.erase(2);
  machine.poll();

  machine.add_group();
  machine.count(1, 1);
  machine.poll();

  ASSERT_EQ(machine.table().groups.size(), 2U);
  EXPECT_EQ(machine.table().groups[0].total(0, 0).value, 0U);
  EXPECT_EQ(machine.table().groups[1].total(0, 0).value, 16U);
}

TEST(LabelSumsTest, GoOnWhereOthersAreAddedOrRemoved) {
  SumPlan other = by({"team"});
  other.name = "team";
  Machine machine{{by({"workload"})}};
  machine.cgroups = {{1, of("web", "/a")}};
  machine.cgroups.at(1).labels.push_back({"team", "x"});
  machine.count(1, 10);
  machine.poll();
  machine.cgroups.emplace(2, of("web", "/b"));
  machine.count(2, 5);
  machine.poll();
  machine.cgroups.erase(2);
  machine.poll();

  machine.change({other, by({"workload"})});
  machine.count(1, 1);
  machine.poll();

  using Sums = std::map<std::vector<std::string>, std::uint64_t>;
  EXPECT_EQ(machine.published(1), (Sums{{{"web"}, 16}}));
  EXPECT_EQ(machine.published(0), (Sums{{{"x"}, 1}})) << "without what was counted before";

  machine.change({by({"workload"})});
  machine.count(1, 1);
  machine.poll();
  EXPECT_EQ(machine.published(0), (Sums{{{"web"}, 17}}));

  machine.change({});
  machine.count(1, 1);
  machine.poll();
  EXPECT_TRUE(machine.last.sums.empty());
}

TEST(LabelSumsTest, TheFirstSumOfAPlanBeginsWithoutWhatItsCgroupsHadCounted) {
  Machine machine{{}};
  machine.cgroups = {{1, of("web", "/a")}};
  machine.count(1, 100);
  machine.poll();

  machine.change({by({"workload"})});
  machine.count(1, 1);
  machine.cgroups.emplace(2, of("web", "/b"));
  machine.count(2, 5);
  machine.poll();

  EXPECT_EQ(machine.published("web"), 6U);
  EXPECT_EQ(machine.table().groups[0].rows[0].times.enabled, 6ms);
}

TEST(LabelSumsTest, OneThatIsRemovedAndAddedAgainBeginsWithoutWhatWasCountedMeanwhile) {
  Machine machine{{by({"workload"})}};
  machine.cgroups = {{1, of("web", "/a")}};
  machine.count(1, 100);
  machine.poll();
  machine.change({});
  machine.count(1, 20);
  machine.poll();

  machine.change({by({"workload"})});
  machine.count(1, 1);
  machine.poll();

  EXPECT_EQ(machine.published("web"), 1U);
}

TEST(LabelSumsTest, TheFirstSumBeginsInThisWayWhereverItsGroupsWereInThePlansBefore) {
  for (const bool has_polled_between : {true, false}) {
    Machine machine{{}};
    machine.cgroups = {{1, of("web", "/a")}};
    machine.count(1, 100);
    machine.poll();
    machine.add_group();
    if (has_polled_between) machine.poll();

    machine.change({by({"workload"})});  // without that group
    machine.count(1, 1);
    machine.poll();

    EXPECT_EQ(machine.published("web"), 1U);
  }
}

TEST(LabelSumsTest, TheFirstSumHasNestedCgroupsOnce) {
  Machine machine{{}};
  machine.cgroups = {{1, of("web", "/a")}, {2, of("web", "/a/b")}};
  machine.count(1, 100);
  machine.count(2, 60);
  machine.poll();

  machine.change({by({"workload"})});
  machine.count(1, 10);
  machine.count(2, 6);
  machine.poll();

  EXPECT_EQ(machine.published("web"), 10U);
}

TEST(LabelSumsTest, TheFirstSumHasTheInnerCgroupIfTheOuterOneLackedACpuBefore) {
  Machine machine{{}};
  machine.cgroups = {{1, of("web", "/a")}, {2, of("web", "/a/b")}};
  machine.cgroups.at(1).counted_on = 1;
  machine.poll();

  machine.change({by({"workload"})});
  machine.cgroups.at(1).counted_on = 2;
  machine.count(1, 10);
  machine.count(2, 60);
  machine.poll();

  EXPECT_EQ(machine.published("web"), 60U);
}

TEST(LabelSumsTest, TheFirstSumHasTheLastReadingOfAnOuterCgroupThatIsDeselectedWithIt) {
  Machine machine{{}};
  machine.cgroups = {{1, of("web", "/a")}, {2, of("web", "/a/b")}};
  machine.poll();

  machine.change({by({"workload"})});
  machine.set_nesting(false);
  machine.cgroups.at(1).is_present = false;
  machine.count(1, 10);
  machine.count(2, 6);
  machine.poll();

  EXPECT_EQ(machine.published("web"), 10U);
}

TEST(LabelSumsTest, AddsUpTheCgroupsWithTheSameValues) {
  Machine machine{{by({"workload"})}};
  machine.cgroups = {{1, of("web", "/a")}, {2, of("web", "/b")}, {3, of("batch", "/c")}};
  machine.count(1, 10);
  machine.count(2, 20);
  machine.count(3, 5);

  machine.poll();

  EXPECT_EQ(machine.published("web"), 30U);
  EXPECT_EQ(machine.published("batch"), 5U);
  EXPECT_THAT(machine.table().rows, testing::SizeIs(2));
  EXPECT_EQ(machine.table().groups[0].rows[1].times.enabled, 30ms);
}

TEST(LabelSumsTest, KeepsWhatACgroupHadCountedWhenItIsGone) {
  Machine machine{{by({"workload"})}};
  machine.cgroups = {{1, of("batch", "/a")}};
  machine.count(1, 10);
  machine.poll();
  machine.count(1, 7);  // its last reading
  machine.cgroups.at(1).is_present = false;
  machine.poll();
  machine.cgroups.erase(1);
  machine.poll();
  machine.cgroups = {{2, of("batch", "/a")}};
  machine.count(2, 3);
  machine.poll();

  EXPECT_EQ(machine.published("batch"), 20U);
}

TEST(LabelSumsTest, CountsTheCgroupsThatArePresent) {
  Machine machine{{by({"workload"})}};
  machine.cgroups = {{1, of("batch", "/a")}, {2, of("batch", "/b")}};
  machine.poll();
  EXPECT_EQ(machine.table().rows[0].cgroups, 2U);

  machine.cgroups.at(1).is_present = false;
  machine.poll();

  EXPECT_EQ(machine.table().rows[0].cgroups, 1U);
}

TEST(LabelSumsTest, ACgroupThatLacksALabelIsInNoSum) {
  Machine machine{{by({"namespace", "workload"})}};
  machine.cgroups = {{1, of("batch")}};
  machine.count(1, 10);

  machine.poll();

  EXPECT_THAT(machine.table().rows, testing::IsEmpty());
}

TEST(LabelSumsTest, WithoutLabelsAllCgroupsAreInOneSum) {
  Machine machine{{by({})}};
  machine.cgroups = {{1, of("web", "/a")}, {2, {.path = "/b"}}, {3, {.path = "/b/inner"}}};
  machine.poll();
  machine.count(1, 10);
  machine.count(2, 5);
  machine.count(3, 4);

  machine.poll();
  EXPECT_EQ(machine.published(), (std::map<std::vector<std::string>, std::uint64_t>{{{}, 15}}));
  EXPECT_EQ(machine.table().rows.front().cgroups, 3U);

  machine.cgroups.clear();
  machine.poll();
  EXPECT_EQ(machine.published(), (std::map<std::vector<std::string>, std::uint64_t>{{{}, 15}}));
}

TEST(LabelSumsTest, AllThatWasCountedBeforeTheLabelsWereKnownIsAdded) {
  Machine machine{{by({"workload"})}};
  machine.cgroups = {{1, {.path = "/a"}}};
  machine.count(1, 10);
  machine.poll();
  machine.cgroups.at(1).labels = {{"workload", "web"}};
  machine.count(1, 5);
  machine.poll();
  EXPECT_EQ(machine.published("web"), 15U);

  machine.poll();

  EXPECT_EQ(machine.published("web"), 15U) << "once";
}

TEST(LabelSumsTest, ACgroupThatGetsOtherLabelsLeavesWhatItHadCountedInItsOldSum) {
  Machine machine{{by({"workload"})}};
  machine.cgroups = {{1, of("old")}};
  machine.count(1, 10);
  machine.poll();
  machine.cgroups.at(1).labels = {{"workload", "new"}};
  machine.count(1, 5);

  machine.poll();

  EXPECT_EQ(machine.published("old"), 10U);
  EXPECT_EQ(machine.published("new"), 5U);
}

TEST(LabelSumsTest, OfNestedCgroupsInOneSumTheOutermostContainsTheOthers) {
  Machine machine{{by({"workload"})}};
  machine.cgroups = {{1, of("web", "/a")}, {2, of("web", "/a/b/c")}, {3, of("other", "/a/d")}};
  machine.count(1, 100);
  machine.count(2, 60);
  machine.count(3, 30);
  machine.poll();
  EXPECT_EQ(machine.published("web"), 100U);
  EXPECT_EQ(machine.published("other"), 30U);

  machine.cgroups.at(1).is_present = false;  // it cannot be removed before the inner one in truth
  machine.poll();
  machine.count(2, 5);
  machine.poll();

  EXPECT_EQ(machine.published("web"), 105U) << "not what the outer one had counted already";
}

TEST(LabelSumsTest, OfNestedCgroupsThatEndTogetherTheLastReadingsAreAddedOnce) {
  Machine machine{{by({"workload"})}};
  machine.cgroups = {{1, of("web", "/a")}, {2, of("web", "/a/b")}};
  machine.count(1, 100);
  machine.count(2, 60);
  machine.poll();

  for (const std::uint64_t series : {1, 2}) {
    machine.count(series, 5);
    machine.cgroups.at(series).is_present = false;
  }
  machine.poll();
  EXPECT_EQ(machine.published("web"), 105U);

  machine.count(2, 1);  // on a CPU that was late
  machine.count(1, 1);
  machine.poll();
  EXPECT_EQ(machine.published("web"), 106U);
}

TEST(LabelSumsTest, NestedCgroupsThatBeginAndEndBetweenTwoPollsAreAddedOnce) {
  Machine machine{{by({})}};
  machine.poll();
  machine.cgroups = {{1, {.path = "/a"}}, {2, {.path = "/a/b"}}};
  for (const std::uint64_t series : {1, 2}) {
    machine.count(series, 62);
    machine.cgroups.at(series).is_present = false;
  }

  machine.poll();

  EXPECT_EQ(machine.published().at({}), 62U);
}

TEST(LabelSumsTest, WhatALateCpuHasCountedOfNestedCgroupsThatHaveEndedIsAddedOnce) {
  for (const std::size_t counted_on : {1, 2}) {  // another CPU may have been late before
    Machine machine{{by({})}};
    machine.cgroups = {{1, {.path = "/a"}}, {2, {.path = "/a/b"}}};
    for (const std::uint64_t series : {1, 2}) machine.cgroups.at(series).counted_on = counted_on;
    const auto work = [&](std::uint64_t outer, std::uint64_t inner) {
      machine.count(1, outer);
      machine.count(2, inner);
      machine.poll();
    };
    if (counted_on == 1) work(60, 60);
    for (auto& [series, cgroup] : machine.cgroups) cgroup.is_present = false;
    work(10, 8);
    const std::uint64_t ended = machine.published().at({});

    work(5, 4);
    EXPECT_EQ(machine.published().at({}), ended + 5);
    work(7, 7);
    EXPECT_EQ(machine.published().at({}), ended + 12);
  }
}

TEST(LabelSumsTest, AnInnerCgroupThatIsCountedIsNoPartOfAnOuterOneThatLingers) {
  Machine machine{{by({})}};
  machine.cgroups = {{1, {.path = "/a"}}, {2, {.path = "/a/b"}}};
  machine.poll();
  machine.cgroups.at(1).is_present = false;
  machine.poll();

  machine.count(1, 5);  // on a CPU that was late
  machine.count(2, 6);
  machine.poll();

  EXPECT_EQ(machine.published().at({}), 11U);
}

TEST(LabelSumsTest, AnInnerCgroupIsAddedWhileTheOuterOneCannotBeCountedOnACpu) {
  Machine machine{{by({})}};
  machine.cgroups = {{1, {.path = "/a", .counted_on = 1}}, {2, {.path = "/a/b"}}};
  machine.poll();
  for (int poll = 1; poll <= 3; ++poll) {
    machine.count(1, 10);
    machine.count(2, 60);
    machine.poll();
    EXPECT_EQ(machine.published().at({}), 60U * static_cast<unsigned>(poll));
  }
  machine.cgroups.at(1).counted_on = 2;
  machine.count(1, 70);
  machine.count(2, 60);
  machine.poll();
  EXPECT_EQ(machine.published().at({}), 250U);

  machine.count(1, 70);
  machine.count(2, 60);
  machine.poll();

  EXPECT_EQ(machine.published().at({}), 320U) << "that of the outer one again";
}

TEST(LabelSumsTest, WhereCgroupsDoNotNestALeafThatGetsOthersInsideOfItHidesNoneOfTheirCounts) {
  Machine machine{{by({})}};
  machine.set_nesting(false);
  machine.cgroups = {{1, {.path = "/a"}}};
  machine.count(1, 10);
  machine.poll();
  machine.cgroups.at(1).is_present = false;
  machine.cgroups.emplace(2, Counted{.path = "/a/b"});
  machine.count(2, 40);
  machine.poll();
  EXPECT_EQ(machine.published().at({}), 50U);

  machine.count(2, 27);
  machine.cgroups.at(2).is_present = false;
  machine.cgroups.emplace(3, Counted{.path = "/a"});
  machine.count(3, 30);
  machine.poll();

  EXPECT_EQ(machine.published().at({}), 107U);
}

TEST(LabelSumsTest, AnInnerCgroupIsAddedAfterTheLastReadingOfTheOuterOne) {
  Machine machine{{by({"workload"})}};
  machine.cgroups = {{1, of("web", "/a")}, {2, of("web", "/a/b")}};
  machine.count(1, 100);
  machine.count(2, 60);
  machine.poll();

  machine.cgroups.at(1).is_present = false;  // displaced or deselected
  machine.count(1, 5);
  machine.count(2, 3);
  machine.poll();
  EXPECT_EQ(machine.published("web"), 105U) << "the outer one contains the inner one until then";

  machine.count(2, 2);
  machine.poll();
  EXPECT_EQ(machine.published("web"), 107U);
  machine.cgroups.erase(1);
  machine.count(2, 2);
  machine.poll();
  EXPECT_EQ(machine.published("web"), 109U);
}

TEST(LabelSumsTest, AnIdleCgroupContainsNoOthers) {
  Machine machine{{by({"workload"})}};
  machine.cgroups = {{1, of("web", "/a")}, {2, of("web", "/a/b")}};
  machine.cgroups.at(1).is_idle = true;
  machine.poll();
  machine.count(2, 5);
  machine.poll();
  EXPECT_EQ(machine.published("web"), 5U);

  machine.cgroups.at(1).is_idle = false;
  machine.count(1, 3);  // its counters were opened after those of the inner one were read last
  machine.count(2, 4);
  machine.poll();
  EXPECT_EQ(machine.published("web"), 9U);
  machine.count(1, 10);
  machine.count(2, 6);
  machine.poll();
  EXPECT_EQ(machine.published("web"), 19U);

  machine.cgroups.at(1).is_idle = true;
  machine.count(1, 2);
  machine.count(2, 1);
  machine.poll();
  EXPECT_EQ(machine.published("web"), 21U);
  machine.count(2, 7);
  machine.poll();
  EXPECT_EQ(machine.published("web"), 28U);
}

TEST(LabelSumsTest, AnOuterCgroupThatIsFoundLaterIsAddedWithoutTheInnerOnes) {
  Machine machine{{by({"workload"})}};
  machine.cgroups = {{1, of("web", "/a/b/c")}};
  machine.count(1, 5);
  machine.poll();
  machine.cgroups.emplace(2, of("web", "/a/b"));  // both have it all, as with records
  machine.cgroups.emplace(3, of("web", "/a"));
  machine.count(1, 10);
  machine.count(2, 11);
  machine.count(3, 13);
  machine.poll();
  EXPECT_EQ(machine.published("web"), 18U);

  for (const std::uint64_t series : {1, 2, 3}) machine.count(series, 1);
  machine.poll();
  EXPECT_EQ(machine.published("web"), 19U);
}

TEST(LabelSumsTest, AnOuterCgroupThatGetsItsLabelsLateIsAddedWithoutWhatInnerOnesHaveAdded) {
  Machine machine{{by({"workload"})}};
  machine.cgroups = {{1, {.path = "/a"}}, {2, of("web", "/a/b")}, {3, of("web", "/a/c")}};
  machine.count(1, 100);
  machine.count(2, 60);
  machine.count(3, 10);
  machine.poll();
  machine.count(1, 1);
  machine.count(3, 1);
  machine.cgroups.at(3).is_present = false;
  machine.poll();
  machine.cgroups.erase(3);
  machine.count(1, 4);
  machine.count(2, 2);
  machine.poll();
  EXPECT_EQ(machine.published("web"), 73U);

  machine.cgroups.at(1).labels = {{"workload", "web"}};
  machine.poll();
  EXPECT_EQ(machine.published("web"), 105U) << "the total of the outer one";
  EXPECT_EQ(machine.table().groups[0].rows[0].times.enabled, 105ms);

  machine.count(1, 7);
  machine.count(2, 7);
  machine.poll();
  EXPECT_EQ(machine.published("web"), 112U);
}

TEST(LabelSumsTest, AnOuterCgroupIsAddedWholeToASumInWhichNoInnerOneIs) {
  Machine machine{{by({"workload"})}};
  machine.cgroups = {{1, {.path = "/a"}}, {2, of("web", "/a/b")}};
  machine.count(1, 100);
  machine.count(2, 60);
  machine.poll();
  machine.cgroups.at(1).labels = {{"workload", "all"}};
  machine.poll();

  EXPECT_EQ(machine.published("web"), 60U);
  EXPECT_EQ(machine.published("all"), 100U);
}

TEST(LabelSumsTest, GoOnWhenTheirLabelsComeInAnotherOrder) {
  Machine machine{{by({"team", "workload"})}};
  machine.cgroups = {{1, of("web", "/a")}};
  machine.cgroups.at(1).labels.emplace_back("team", "x");
  machine.count(1, 10);
  machine.poll();
  const auto since = machine.table().rows[0].since;

  machine.change({by({"workload", "team"})});
  machine.count(1, 1);
  machine.poll();

  using Sums = std::map<std::vector<std::string>, std::uint64_t>;
  EXPECT_EQ(machine.published(), (Sums{{{"web", "x"}, 11}}));
  EXPECT_EQ(machine.table().rows[0].since, since);
}

TEST(LabelSumsTest, OfASmallerMaximumTheNewestSumsEndAndTheirCgroupsAreInTheRest) {
  Machine machine{{by({"workload"})}};
  machine.cgroups = {{1, of("web", "/a")}};
  machine.count(1, 1);
  machine.poll();
  machine.cgroups.emplace(2, of("batch", "/b"));
  machine.count(2, 10);
  machine.poll();

  SumPlan smaller = by({"workload"});
  smaller.max = 1;
  machine.change({smaller});
  machine.count(1, 1);
  machine.count(2, 1);
  machine.poll();
  EXPECT_THAT(machine.published(), ElementsAre(std::pair(std::vector<std::string>{"other"}, 1U),
                                               std::pair(std::vector<std::string>{"web"}, 2U)));
  EXPECT_EQ(machine.table().left_out, 1U);
  EXPECT_THAT(machine.report.failures, testing::SizeIs(1));

  machine.change({by({"workload"})});
  machine.count(2, 3);
  machine.poll();
  EXPECT_EQ(machine.published("web"), 2U);
  EXPECT_EQ(machine.published("batch"), 3U) << "what it had in its sum before is not added again";
}

TEST(LabelSumsTest, UnmeasuredTimeIsAddedWhereNothingElseHasChanged) {
  Machine machine{{by({"workload"})}};
  machine.cgroups = {{1, of("web")}};
  machine.count(1, 10);
  machine.poll();

  machine.cgroups.at(1).unmeasured = 4ms;
  machine.poll();

  EXPECT_EQ(machine.table().groups[0].rows[0].times.unmeasured, 4ms);
}

TEST(LabelSumsTest, ANewSumIsPublishedAsZeroFirst) {
  SumPlan sum = by({"workload"});
  sum.zero_for = 60s;
  Machine machine{{sum}};
  machine.cgroups = {{1, of("web")}};
  machine.count(1, 10);
  machine.poll();
  EXPECT_EQ(machine.published("web"), 0U);
  EXPECT_EQ(machine.table().groups[0].rows[0].times.enabled, 0s);
  EXPECT_TRUE(machine.table().rows[0].is_new);
  machine.cgroups.clear();
  machine.poll(59s);
  EXPECT_EQ(machine.published("web"), 0U);

  machine.poll(1s);

  EXPECT_EQ(machine.published("web"), 10U);
  EXPECT_FALSE(machine.table().rows[0].is_new);
}

TEST(LabelSumsTest, ASumThatWasPublishedDoesNotFallToZeroWhereThatTimeGetsLonger) {
  Machine machine{{by({"workload"})}};
  machine.cgroups = {{1, of("web")}};
  machine.count(1, 10);
  machine.poll();
  SumPlan longer = by({"workload"});
  longer.zero_for = 60s;

  machine.change({longer});
  machine.count(1, 1);
  machine.poll();

  EXPECT_EQ(machine.published("web"), 11U);
  EXPECT_FALSE(machine.table().rows[0].is_new);
}

TEST(LabelSumsTest, ASumWithoutACgroupEndsAfterItsTimeAndBeginsAgainAtZero) {
  SumPlan sum = by({"workload"});
  sum.idle = 1h;
  Machine machine{{sum}};
  machine.cgroups = {{1, of("web")}};
  machine.count(1, 10);
  machine.poll();
  machine.poll(2h);  // it has a cgroup, even if that does nothing
  EXPECT_EQ(machine.published("web"), 10U);
  const std::uint64_t layout = machine.last.sums_layout;

  machine.cgroups.clear();
  machine.poll(1h);
  EXPECT_EQ(machine.published("web"), 10U);
  EXPECT_EQ(machine.last.sums_layout, layout);
  machine.poll(1s);
  EXPECT_THAT(machine.table().rows, testing::IsEmpty());
  EXPECT_NE(machine.last.sums_layout, layout);

  machine.cgroups = {{2, of("web")}};
  machine.count(2, 3);
  machine.poll();
  EXPECT_EQ(machine.published("web"), 3U);
}

TEST(LabelSumsTest, CgroupsBeyondTheMaximumAreReportedAndInTheRestUntilThereIsRoom) {
  SumPlan sum = by({"workload"});
  sum.max = 1;
  sum.idle = 1min;
  Machine machine{{sum}};
  machine.cgroups = {{1, of("web")}, {2, of("batch")}};
  machine.count(1, 1);
  machine.count(2, 10);
  machine.poll();

  EXPECT_THAT(machine.published(), ElementsAre(std::pair(std::vector<std::string>{"other"}, 10U),
                                               std::pair(std::vector<std::string>{"web"}, 1U)));
  EXPECT_EQ(machine.table().left_out, 1U);
  ASSERT_THAT(machine.report.failures, testing::SizeIs(1));
  EXPECT_EQ(machine.report.failures.begin()->second.first.attempted,
            "sum 'workload' has its maximum of 1 combinations of labels: cgroups with others are "
            "added up as 'other', now 1");

  machine.cgroups.erase(1);
  machine.poll(2min);  // web is idle
  machine.count(2, 5);
  machine.poll();

  EXPECT_THAT(machine.published(), ElementsAre(std::pair(std::vector<std::string>{"batch"}, 5U),
                                               std::pair(std::vector<std::string>{"other"}, 10U)));
  EXPECT_EQ(machine.table().left_out, 0U);
  EXPECT_THAT(machine.report.failures, testing::IsEmpty());
}

TEST(LabelSumsTest, ACgroupThatIsNamedLikeTheRestIsInItAndNotLeftOut) {
  Machine machine{{by({"workload"})}};
  machine.cgroups = {{1, of("other")}};
  machine.count(1, 5);
  machine.poll();

  EXPECT_EQ(machine.published("other"), 5U);
  EXPECT_EQ(machine.table().left_out, 0U);
}

/// A tenant chooses how many names there are of its own cgroups.
TEST(LabelSumsTest, ATenantWithManyCombinationsTakesNoSumFromOneWithFew) {
  SumPlan sum = by({"workload"});
  sum.max = 2;
  Machine machine{{sum}};
  machine.cgroups = {
      {1, of("a", "/tenant/1")}, {2, of("b", "/tenant/2")}, {3, of("c", "/tenant/3")}};
  for (const std::uint64_t series : {1U, 2U, 3U}) machine.count(series, 100);
  machine.poll();
  machine.cgroups.emplace(4, of("d", "/others/1"));
  machine.cgroups.emplace(5, of("e", "/tenant/4"));
  for (const std::uint64_t series : {1U, 2U, 3U, 4U, 5U}) machine.count(series, 7);
  machine.poll();

  EXPECT_THAT(machine.published(),
              ElementsAre(std::pair(std::vector<std::string>{"a"}, 107U),
                          std::pair(std::vector<std::string>{"d"}, 7U),
                          std::pair(std::vector<std::string>{"other"}, 100U + 7U + 7U + 7U)));
  EXPECT_EQ(machine.table().left_out, 3U);
}

TEST(LabelSumsTest, ACgroupWithoutAValueLeavesTheSumWithACoverageBelowOne) {
  Machine machine{{by({"workload"})}};
  machine.cgroups = {{1, of("web", "/a")}, {2, of("web", "/b")}};
  machine.cgroups.at(2).value = Value::kNone;
  machine.cgroups.at(2).counted_on = 1;
  machine.count(1, 10);
  machine.poll();

  const GroupRow& row = machine.table().groups[0].rows[0];
  EXPECT_EQ(row.value, Value::kKnown);
  EXPECT_EQ(row.wanted_on, 4U);
  EXPECT_EQ(row.counted_on, 3U);
}

TEST(LabelSumsTest, ASumOfWhichNoCgroupHasAValueHasNone) {
  Machine machine{{by({"workload"})}};
  machine.cgroups = {{1, of("web", "/a")}};
  machine.cgroups.at(1).value = Value::kNone;
  machine.poll();
  EXPECT_EQ(machine.table().groups[0].rows[0].value, Value::kNone);

  machine.cgroups.at(1).value = Value::kKnown;
  machine.poll();
  machine.cgroups.at(1).value = Value::kNone;
  machine.poll();

  EXPECT_EQ(machine.table().groups[0].rows[0].value, Value::kKnown) << "what was counted stays";
}

TEST(LabelSumsTest, TotalsThatFallAndComeBackAreAddedOnce) {
  Machine machine{{by({"workload"})}};
  machine.cgroups = {{1, of("web")}};
  machine.count(1, 100);
  machine.poll();
  const Counted before = machine.cgroups.at(1);
  machine.cgroups.at(1).events = 40;  // a CPU is left out
  machine.cgroups.at(1).enabled = 40ms;
  machine.poll();
  machine.cgroups.at(1) = before;
  machine.count(1, 5);

  machine.poll();

  EXPECT_EQ(machine.published("web"), 105U);
}

TEST(LabelSumsTest, EachSumOfAPlanHasItsOwnLabels) {
  Machine machine{{by({"namespace"}), by({"workload"})}};
  machine.cgroups = {{1, of("web", "/a")}, {2, of("batch", "/b")}};
  for (auto& [series, counted] : machine.cgroups) counted.labels.emplace_back("namespace", "prod");
  machine.count(1, 1);
  machine.count(2, 2);

  machine.poll();

  EXPECT_EQ(machine.published(0),
            (std::map<std::vector<std::string>, std::uint64_t>{{{"prod"}, 3}}));
  EXPECT_EQ(machine.published(1),
            (std::map<std::vector<std::string>, std::uint64_t>{{{"web"}, 1}, {{"batch"}, 2}}));
}

/// Whatever cgroups come, work and go: the sums have all that was counted, and nothing falls.
RC_GTEST_PROP(LabelSumsProperty, HaveAllThatEverWasCountedAndNeverFall, ()) {
  Machine machine{{by({"workload"})}};
  std::map<std::string, std::uint64_t> counted;
  std::map<std::vector<std::string>, std::uint64_t> last;
  std::uint64_t next = 1;
  const int polls = *rc::gen::inRange(1, 30);
  for (int poll = 0; poll < polls; ++poll) {
    std::erase_if(machine.cgroups, [](const auto& each) { return !each.second.is_present; });
    const int born = *rc::gen::inRange(0, 4);
    for (int i = 0; i < born; ++i) {
      const std::string workload = *rc::gen::element<std::string>("a", "b", "c");
      machine.cgroups[next] = of(workload, "/" + std::to_string(next));
      ++next;
    }
    for (auto& [series, cgroup] : machine.cgroups) {
      const auto events = static_cast<std::uint64_t>(*rc::gen::inRange(0, 1000));
      machine.count(series, events);
      counted[cgroup.labels.front().second] += events;
      cgroup.is_present = *rc::gen::inRange(0, 4) != 0;
    }
    machine.poll();
    for (const auto& [values, value] : last) RC_ASSERT(machine.published().at(values) >= value);
    last = machine.published();
  }
  for (const auto& [workload, events] : counted) RC_ASSERT(machine.published(workload) == events);
}

}  // namespace
}  // namespace pex::collect::label_sums_test
