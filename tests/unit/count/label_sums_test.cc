#include "count/label_sums.h"

#include <fcntl.h>

#include <cerrno>
#include <limits>

#include "count/joining.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"

namespace pex::collect::label_sums_test {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;
using Value = GroupRow::Value;

using Labels = std::vector<std::pair<std::string, std::string>>;
using Values = std::vector<std::string>;  ///< of labels
using Sums = std::map<Values, std::uint64_t>;

/// A cgroup of a Machine.
struct Counted {
  std::string path;
  Labels labels = {};
  bool is_present = true;
  bool is_idle = false;
  std::set<int> unopened_on = {};  ///< CPUs on which its counters cannot be opened now
  std::set<int> unreadable_on = {};
  std::string series_path = {};
  Labels series_labels = {};
};

/// What the cgroups did on one CPU.
struct Doing {
  std::uint64_t events = 0;
  std::uint64_t closed_at = 0;  ///< the events when its counters were closed last
};

/// The counters of one CPU. As by records, they may have what a cgroup did before they were opened.
class MachineSource final : public CounterSource {
 public:
  MachineSource(int cpu, bool by_records, const std::map<std::uint64_t, Counted>& cgroups,
                std::map<std::string, Doing>& doing)
      : cpu_(cpu), by_records_(by_records), cgroups_(cgroups), doing_(doing) {}

  std::unique_ptr<GroupCounters> counters_of(const GroupPlan& group) override {
    return std::make_unique<Group>(*this, group.name == "new");
  }
  std::optional<nanoseconds> detect_cpu_offline(bool) override { return {}; }
  std::size_t own_events() const override { return 0; }
  nanoseconds now() override { return {}; }
  std::uint64_t progress() const override { return 0; }

 private:
  /// `is_new`: it counts nothing.
  class Group final : public GroupCounters {
   public:
    Group(MachineSource& source, bool is_new) : source_(source), is_new_(is_new) {}

    Result<Opened, perf::OpenFailure> open(
        std::size_t target, const GroupPlan&, std::span<const perf::CounterSpec>,
        const std::shared_ptr<const cgroup::Cgroup>& cgroup) override {
      if (source_.is_among(cgroup->path, &Counted::unopened_on)) {
        return perf::OpenFailure{0, Error{ENODEV, "open", {}}};
      }
      const Doing& doing = source_.doing_[cgroup->path];
      open_[target] = {cgroup->path, source_.by_records_ ? doing.closed_at : doing.events};
      return Opened{.events = 1};
    }
    void close(std::size_t target) override {
      Doing& doing = source_.doing_[open_.at(target).path];
      if (!is_new_) doing.closed_at = doing.events;
      open_.erase(target);
    }
    Result<State> read(std::size_t target, perf::GroupInterval& since) override {
      Open& open = open_.at(target);
      if (source_.is_among(open.path, &Counted::unreadable_on)) return Error{EIO, "read", {}};
      const std::uint64_t now = source_.doing_[open.path].events;
      const std::uint64_t events = is_new_ ? 0 : now - std::exchange(open.read_at, now);
      since = {};
      since.enabled = since.running = std::chrono::milliseconds{events};
      since.counts = {events};
      return State::kCounting;
    }
    Result<State> read_off_pmu(std::size_t, perf::GroupInterval&) override {
      return State::kOffPmu;
    }
    Result<> set_enabled(std::size_t, bool) override { return {}; }

   private:
    struct Open {
      std::string path;
      std::uint64_t read_at = 0;  ///< the events then
    };

    MachineSource& source_;
    bool is_new_;
    std::map<std::size_t, Open> open_;
  };

  bool is_among(const std::string& path, std::set<int> Counted::*cpus) const {
    return std::any_of(cgroups_.begin(), cgroups_.end(), [&](const auto& each) {
      return each.second.path == path && (each.second.*cpus).contains(cpu_);
    });
  }

  int cpu_;
  bool by_records_;
  const std::map<std::uint64_t, Counted>& cgroups_;
  std::map<std::string, Doing>& doing_;
};

/// Cgroups with one group of one event on two CPUs.
class Machine {
 public:
  explicit Machine(std::vector<SumPlan> sums, bool by_records = true, bool per_cpu = false)
      : per_cpu_(per_cpu) {
    plan_ = plan_with(std::move(sums));
    ledger_.emplace(plan_);
    for (const int cpu : {0, 1}) {
      auto& doing = doing_.emplace_back(std::make_unique<std::map<std::string, Doing>>());
      cycles_.push_back(std::make_unique<PollCycle>(
          std::make_unique<MachineSource>(cpu, by_records, cgroups, *doing), plan_, cpu));
      ledger_->add_cpu(cpu);
    }
  }

  void change(std::vector<SumPlan> sums) { follow(plan_with(std::move(sums))); }
  void set_nesting(bool nest) {
    CountingPlan plan = *plan_;
    plan.cgroups_nest = nest;
    follow(std::make_shared<const CountingPlan>(std::move(plan)));
    nested_before_ = nest ? kAlways : cgroups.empty() ? 0 : cgroups.rbegin()->first + 1;
  }
  /// One more group of one event comes first, which counts nothing.
  void add_group() {
    CountingPlan plan = *plan_;
    plan.cgroup.groups.insert(plan.cgroup.groups.begin(), plan.cgroup.groups.front());
    plan.cgroup.groups.front().name = "new";
    continue_plan(*plan_, plan);
    follow(std::make_shared<const CountingPlan>(std::move(plan)));
  }

  std::map<std::uint64_t, Counted> cgroups;  ///< by series
  std::set<int> late;                        ///< CPUs that do not come in

  void count(std::uint64_t series, std::uint64_t events, std::size_t cpu = 0) {
    (*doing_[cpu])[cgroups.at(series).path].events += events;
  }
  bool is_open(std::uint64_t series, std::size_t cpu) const {
    const TargetGroups& group = cycles_[cpu]->groups_of_cgroups().front();
    return group.size() >= series && group.is_open(series - 1);
  }
  /// It is another one at the same path.
  void create_again(std::uint64_t series) {
    directories_.erase(series);
    cgroups.at(series).is_present = true;
  }
  /// It was idle, and did something for this time nevertheless.
  void pass_over(std::uint64_t series, nanoseconds time) {
    ledger_->add_passed_over(series - 1, time);
  }

  /// One poll, so long after the one before.
  void poll(nanoseconds later = 1s) {
    now_ += later;
    const auto targets = find_targets();
    std::vector<PollCycle*> parts;
    for (const auto& cycle : cycles_) {
      if (late.contains(cycle->cpu())) continue;
      (void)cycle->run(targets, EventModels{*plan_});
      parts.push_back(cycle.get());
    }
    Joining joining{*ledger_, parts};
    (void)joining.work();
    last = joining.take(EventModels{*plan_});
    report = {};
    ledger_->publish_sums(last, now_, report);
  }
  struct Work {
    std::uint64_t series = 0;
    std::uint64_t events = 0;
    std::size_t cpu = 0;
  };
  /// Each has done so much since the poll before.
  void poll_after(const std::vector<Work>& done) {
    for (const auto& [series, events, cpu] : done) count(series, events, cpu);
    poll();
  }
  void reconcile() {
    const auto targets = find_targets();
    for (const auto& cycle : cycles_) {
      if (late.contains(cycle->cpu())) continue;
      (void)cycle->reconcile(targets, EventModels{*plan_});
      ledger_->add(*cycle);
    }
  }

  const SumTable& table(std::size_t sum = 0) const { return last.sums[sum]; }
  /// Published, by the values of the labels; only what has a value.
  Sums published(std::size_t sum = 0) const {
    Sums published;
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
  static constexpr std::uint64_t kAlways = std::numeric_limits<std::uint64_t>::max();

  std::shared_ptr<const CountingPlan> plan_with(std::vector<SumPlan> sums) const {
    CountingPlan plan;
    plan.cgroup.groups.push_back({.name = "core", .pmu = {}, .events = {perf::CounterSpec{}}});
    continue_plan(plan_ ? *plan_ : CountingPlan{}, plan);
    plan.sums = std::move(sums);
    plan.cgroup_per_cpu = per_cpu_;
    return std::make_shared<const CountingPlan>(std::move(plan));
  }

  void follow(std::shared_ptr<const CountingPlan> plan) {
    plan_ = std::move(plan);
    ledger_->follow(plan_);
    for (const auto& cycle : cycles_) (void)cycle->change(plan_);
  }

  std::shared_ptr<const TargetSet> find_targets() {
    auto targets = std::make_shared<TargetSet>();
    targets->cpus = std::make_shared<const MachineCpus>(MachineCpus{{0, 1}, {}, {}});
    if (!cgroups.empty()) targets->cgroups.resize(cgroups.rbegin()->first);
    for (const auto& [series, counted] : cgroups) {
      cgroup::Description description;
      description.information = counted.labels;
      if (!counted.series_path.empty()) {
        description.series_path = counted.series_path;
        auto of_series = std::make_shared<cgroup::Description>();
        of_series->identity = counted.series_labels;
        description.of_series = std::move(of_series);
      }
      targets->cgroups[series - 1] = {
          series, counted.path, counted.is_present ? cgroup_at(series) : nullptr,
          std::make_shared<const cgroup::Description>(std::move(description))};
      targets->cgroups[series - 1].is_idle = counted.is_idle;
    }
    targets->find_nesting(nested_before_);
    ledger_->follow(targets);
    return targets;
  }

  std::shared_ptr<const cgroup::Cgroup> cgroup_at(std::uint64_t series) {
    std::shared_ptr<cgroup::Cgroup>& cgroup = directories_[series];
    if (!cgroup) {
      cgroup = std::make_shared<cgroup::Cgroup>();
      cgroup->path = cgroups.at(series).path;
      cgroup->directory.reset(::open(directory_.root().c_str(), O_PATH | O_CLOEXEC));
    }
    return cgroup;
  }

  test::TempTree directory_{{"cgroup.procs"}};  ///< of all of them: they exist
  std::map<std::uint64_t, std::shared_ptr<cgroup::Cgroup>> directories_;
  std::vector<std::unique_ptr<std::map<std::string, Doing>>> doing_;  ///< by CPU, by path
  const bool per_cpu_;
  std::shared_ptr<const CountingPlan> plan_;
  std::uint64_t nested_before_ = kAlways;
  std::vector<std::unique_ptr<PollCycle>> cycles_;
  std::optional<Ledger> ledger_;
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

Counted session(const std::string& number) {
  return {.path = "/session-" + number + ".scope", .series_path = "/session-*.scope"};
}

class LabelSumsTest : public testing::Test {
 protected:
  Machine machine{{by({"workload"})}};
};
class SumOfAllTest : public testing::Test {
 protected:
  Machine machine{{by({})}};
};
/// Of a plan that had no sums.
class FirstSumTest : public testing::Test {
 protected:
  Machine machine{{}};
};
class SharedSeriesTest : public testing::Test {
 protected:
  Machine machine{{sum_of_shared_series()}};
};

TEST_F(SharedSeriesTest, HasWhatAllItsCgroupsHaveCountedAndNothingOfOthers) {
  machine.cgroups = {{1, session("1")}, {2, session("2")}, {3, {.path = "/a.service"}}};
  machine.poll_after({{1, 10}, {2, 5, 1}, {3, 100}});

  EXPECT_EQ(machine.published(), (Sums{{{"/session-*.scope"}, 15}}));
}

TEST_F(SharedSeriesTest, GoesOnWhileAnyOfItsCgroupsHasASeriesAndBeginsAgainAtZero) {
  machine.cgroups = {{1, session("1")}};
  machine.poll_after({{1, 10}});
  machine.cgroups.emplace(2, session("2"));
  machine.poll();
  machine.cgroups.erase(1);
  machine.poll_after({{2, 1}});
  EXPECT_EQ(machine.published("/session-*.scope"), 11U);

  machine.cgroups.clear();
  machine.poll();
  EXPECT_TRUE(machine.published().empty());

  machine.cgroups = {{3, session("3")}};
  machine.poll_after({{3, 2}});
  EXPECT_EQ(machine.published("/session-*.scope"), 2U);
}

TEST_F(SharedSeriesTest, GetsTheLabelsOfOtherRules) {
  machine.cgroups = {{1, session("1")}};
  machine.poll();
  const std::uint64_t layout = machine.last.sums_layout;
  machine.cgroups.at(1).series_labels = {{"team", "people"}};
  machine.poll();

  EXPECT_EQ(machine.table().rows.front().of_series->identity, (Labels{{"team", "people"}}));
  EXPECT_NE(machine.last.sums_layout, layout);
}

TEST_F(LabelSumsTest, GoOnWhereAnotherGroupIsCountedAsWell) {
  machine.cgroups = {{1, of("web", "/a")}, {2, of("web", "/b")}};
  machine.poll_after({{1, 10}, {2, 5}});
  machine.cgroups.erase(2);
  machine.poll();

  machine.add_group();
  machine.poll_after({{1, 1}});

  ASSERT_EQ(machine.table().groups.size(), 2U);
  EXPECT_EQ(machine.table().groups[0].total(0, 0).value, 0U);
  EXPECT_EQ(machine.table().groups[1].total(0, 0).value, 16U);
}

TEST_F(LabelSumsTest, GoOnWhereOthersAreAddedOrRemoved) {
  SumPlan other = by({"team"});
  other.name = "team";
  machine.cgroups = {{1, of("web", "/a")}};
  machine.cgroups.at(1).labels.push_back({"team", "x"});
  machine.poll_after({{1, 10}});
  machine.cgroups.emplace(2, of("web", "/b"));
  machine.poll_after({{2, 5}});
  machine.cgroups.erase(2);
  machine.poll();

  machine.change({other, by({"workload"})});
  machine.poll_after({{1, 1}});

  EXPECT_EQ(machine.published(1), (Sums{{{"web"}, 16}}));
  EXPECT_EQ(machine.published(0), (Sums{{{"x"}, 1}})) << "without what was counted before";

  machine.change({by({"workload"})});
  machine.poll_after({{1, 1}});
  EXPECT_EQ(machine.published(0), (Sums{{{"web"}, 17}}));

  machine.change({});
  machine.poll_after({{1, 1}});
  EXPECT_TRUE(machine.last.sums.empty());
}

TEST_F(FirstSumTest, TheFirstSumOfAPlanBeginsWithoutWhatItsCgroupsHadCounted) {
  machine.cgroups = {{1, of("web", "/a")}};
  machine.poll_after({{1, 100}});

  machine.change({by({"workload"})});
  machine.cgroups.emplace(2, of("web", "/b"));
  machine.poll_after({{1, 1}, {2, 5}});

  EXPECT_EQ(machine.published("web"), 6U);
  EXPECT_EQ(machine.table().groups[0].rows[0].times.enabled, 6ms);
}

TEST_F(LabelSumsTest, OneThatIsRemovedAndAddedAgainBeginsWithoutWhatWasCountedMeanwhile) {
  machine.cgroups = {{1, of("web", "/a")}};
  machine.poll_after({{1, 100}});
  machine.change({});
  machine.poll_after({{1, 20}});

  machine.change({by({"workload"})});
  machine.poll_after({{1, 1}});

  EXPECT_EQ(machine.published("web"), 1U);
}

TEST(LabelSumsOfAPlanTest, TheFirstSumBeginsInThisWayWhereverItsGroupsWereInThePlansBefore) {
  for (const bool has_polled_between : {true, false}) {
    Machine machine{{}};
    machine.cgroups = {{1, of("web", "/a")}};
    machine.poll_after({{1, 100}});
    machine.add_group();
    if (has_polled_between) machine.poll();

    machine.change({by({"workload"})});  // without that group
    machine.poll_after({{1, 1}});

    EXPECT_EQ(machine.published("web"), 1U);
  }
}

TEST_F(FirstSumTest, TheFirstSumHasNestedCgroupsOnce) {
  machine.cgroups = {{1, of("web", "/a")}, {2, of("web", "/a/b")}};
  machine.poll_after({{1, 100}, {2, 60}});

  machine.change({by({"workload"})});
  machine.poll_after({{1, 10}, {2, 6}});

  EXPECT_EQ(machine.published("web"), 10U);
}

TEST_F(FirstSumTest, TheFirstSumHasTheInnerCgroupIfTheOuterOneLackedACpuBefore) {
  machine.cgroups = {{1, of("web", "/a")}, {2, of("web", "/a/b")}};
  machine.cgroups.at(1).unopened_on = {1};
  machine.poll();

  machine.change({by({"workload"})});
  machine.cgroups.at(1).unopened_on = {};
  machine.poll_after({{1, 10, 1}, {2, 60, 1}});

  EXPECT_EQ(machine.published("web"), 60U);
}

TEST_F(FirstSumTest, TheFirstSumHasTheLastReadingOfAnOuterCgroupThatIsDeselectedWithIt) {
  machine.cgroups = {{1, of("web", "/a")}, {2, of("web", "/a/b")}};
  machine.poll();

  machine.change({by({"workload"})});
  machine.set_nesting(false);
  machine.cgroups.at(1).is_present = false;
  machine.poll_after({{1, 10}, {2, 6}});

  EXPECT_EQ(machine.published("web"), 10U);
}

TEST_F(LabelSumsTest, AddsUpTheCgroupsWithTheSameValues) {
  machine.cgroups = {{1, of("web", "/a")}, {2, of("web", "/b")}, {3, of("batch", "/c")}};

  machine.poll_after({{1, 10}, {2, 20}, {3, 5}});

  EXPECT_EQ(machine.published("web"), 30U);
  EXPECT_EQ(machine.published("batch"), 5U);
  EXPECT_THAT(machine.table().rows, testing::SizeIs(2));
  EXPECT_EQ(machine.table().groups[0].rows[1].times.enabled, 30ms);
}

TEST_F(LabelSumsTest, KeepsWhatACgroupHadCountedWhenItIsGone) {
  machine.cgroups = {{1, of("batch", "/a")}};
  machine.poll_after({{1, 10}});
  machine.cgroups.at(1).is_present = false;
  machine.poll_after({{1, 7}});  // its last reading
  machine.cgroups.erase(1);
  machine.poll();
  machine.cgroups = {{2, of("batch", "/a")}};
  machine.poll_after({{2, 3}});

  EXPECT_EQ(machine.published("batch"), 20U);
}

TEST_F(LabelSumsTest, CountsTheCgroupsThatArePresent) {
  machine.cgroups = {{1, of("batch", "/a")}, {2, of("batch", "/b")}};
  machine.poll();
  EXPECT_EQ(machine.table().rows[0].cgroups, 2U);

  machine.cgroups.at(1).is_present = false;
  machine.poll();

  EXPECT_EQ(machine.table().rows[0].cgroups, 1U);
}

TEST(LabelSumsOfAPlanTest, ACgroupThatLacksALabelIsInNoSum) {
  Machine machine{{by({"namespace", "workload"})}};
  machine.cgroups = {{1, of("batch")}};

  machine.poll_after({{1, 10}});

  EXPECT_THAT(machine.table().rows, testing::IsEmpty());
}

TEST_F(SumOfAllTest, WithoutLabelsAllCgroupsAreInOneSum) {
  machine.cgroups = {{1, of("web", "/a")}, {2, {.path = "/b"}}, {3, {.path = "/b/inner"}}};
  machine.poll();

  machine.poll_after({{1, 10}, {2, 5}, {3, 4}});
  EXPECT_EQ(machine.published(), (Sums{{{}, 15}}));
  EXPECT_EQ(machine.table().rows.front().cgroups, 3U);

  machine.cgroups.clear();
  machine.poll();
  EXPECT_EQ(machine.published(), (Sums{{{}, 15}}));
}

TEST_F(LabelSumsTest, AllThatWasCountedBeforeTheLabelsWereKnownIsAdded) {
  machine.cgroups = {{1, {.path = "/a"}}};
  machine.poll_after({{1, 10}});
  machine.cgroups.at(1).labels = {{"workload", "web"}};
  machine.poll_after({{1, 5}});
  EXPECT_EQ(machine.published("web"), 15U);

  machine.poll();

  EXPECT_EQ(machine.published("web"), 15U) << "once";
}

TEST_F(LabelSumsTest, ACgroupThatGetsOtherLabelsLeavesWhatItHadCountedInItsOldSum) {
  machine.cgroups = {{1, of("old")}};
  machine.poll_after({{1, 10}});
  machine.cgroups.at(1).labels = {{"workload", "new"}};

  machine.poll_after({{1, 5}});

  EXPECT_EQ(machine.published("old"), 10U);
  EXPECT_EQ(machine.published("new"), 5U);
}

TEST_F(LabelSumsTest, OfNestedCgroupsInOneSumTheOutermostContainsTheOthers) {
  machine.cgroups = {{1, of("web", "/a")}, {2, of("web", "/a/b/c")}, {3, of("other", "/a/d")}};
  machine.poll_after({{1, 100}, {2, 60}, {3, 30}});
  EXPECT_EQ(machine.published("web"), 100U);
  EXPECT_EQ(machine.published("other"), 30U);

  machine.cgroups.at(1).is_present = false;  // it cannot be removed before the inner one in truth
  machine.poll();
  machine.poll_after({{2, 5}});

  EXPECT_EQ(machine.published("web"), 105U) << "not what the outer one had counted already";
}

TEST_F(LabelSumsTest, OfNestedCgroupsThatEndTogetherTheLastReadingsAreAddedOnce) {
  machine.cgroups = {{1, of("web", "/a")}, {2, of("web", "/a/b")}};
  machine.poll_after({{1, 100}, {2, 60}});

  for (auto& [series, cgroup] : machine.cgroups) cgroup.is_present = false;
  machine.late = {1};
  machine.poll_after({{1, 5}, {2, 5}, {1, 1, 1}, {2, 1, 1}});
  EXPECT_EQ(machine.published("web"), 105U);

  machine.late.clear();
  machine.poll();
  EXPECT_EQ(machine.published("web"), 106U);
}

TEST_F(SumOfAllTest, NestedCgroupsThatBeginAndEndBetweenTwoPollsAreAddedOnce) {
  machine.poll();
  machine.cgroups = {{1, {.path = "/a"}}, {2, {.path = "/a/b"}}};
  machine.reconcile();
  for (auto& [series, cgroup] : machine.cgroups) cgroup.is_present = false;

  machine.poll_after({{1, 62}, {2, 62}});

  EXPECT_EQ(machine.published().at({}), 62U);
}

TEST(LabelSumsOfAPlanTest, WhatALateCpuHasCountedOfNestedCgroupsThatHaveEndedIsAddedOnce) {
  for (const bool was_late_before : {true, false}) {
    Machine machine{{by({})}};
    machine.cgroups = {{1, {.path = "/a"}}, {2, {.path = "/a/b"}}};
    const auto work = [&](std::uint64_t outer, std::uint64_t inner) {
      machine.poll_after({{1, outer}, {2, inner}, {1, outer, 1}, {2, inner, 1}});
    };
    if (was_late_before) machine.late = {1};
    work(60, 60);
    machine.late.clear();
    work(1, 1);
    EXPECT_EQ(machine.published().at({}), 122U);
    for (auto& [series, cgroup] : machine.cgroups) cgroup.is_present = false;
    machine.late = {1};
    work(10, 8);
    EXPECT_EQ(machine.published().at({}), 132U);

    machine.late.clear();
    machine.poll();
    EXPECT_EQ(machine.published().at({}), 142U);
  }
}

TEST_F(SumOfAllTest, AnInnerCgroupThatIsCountedIsNoPartOfAnOuterOneThatLingers) {
  machine.cgroups = {{1, {.path = "/a"}}, {2, {.path = "/a/b"}}};
  machine.poll();
  machine.cgroups.at(1).is_present = false;
  machine.late = {1};
  machine.poll();

  machine.late.clear();
  machine.poll_after({{1, 5, 1}, {2, 3, 1}, {2, 6}});

  EXPECT_EQ(machine.published().at({}), 11U) << "but where that was counted up to now";
}

TEST_F(SumOfAllTest, AnInnerCgroupIsAddedWhileTheOuterOneCannotBeCountedOnACpu) {
  machine.cgroups = {{1, {.path = "/a", .unopened_on = {1}}}, {2, {.path = "/a/b"}}};
  machine.poll();
  for (int poll = 1; poll <= 3; ++poll) {
    machine.poll_after({{1, 10}, {2, 6}, {2, 50, 1}});
    EXPECT_EQ(machine.published().at({}), 60U * static_cast<unsigned>(poll));
  }
  machine.cgroups.at(1).unopened_on = {};
  machine.poll_after({{1, 70, 1}, {2, 60, 1}});  // opened at the end: as by records
  EXPECT_EQ(machine.published().at({}), 250U);

  machine.poll_after({{1, 70, 1}, {2, 60, 1}});

  EXPECT_EQ(machine.published().at({}), 320U) << "that of the outer one again";
}

TEST_F(SumOfAllTest, WhereCgroupsDoNotNestALeafThatGetsOthersInsideOfItHidesNoneOfTheirCounts) {
  machine.set_nesting(false);
  machine.cgroups = {{1, {.path = "/a"}}};
  machine.poll_after({{1, 10}});
  machine.cgroups.at(1).is_present = false;
  machine.cgroups.emplace(2, Counted{.path = "/a/b"});
  machine.poll_after({{2, 40}});
  EXPECT_EQ(machine.published().at({}), 50U);

  machine.cgroups.at(2).is_present = false;
  machine.cgroups.emplace(3, Counted{.path = "/a"});
  machine.poll_after({{2, 27}, {3, 30}});

  EXPECT_EQ(machine.published().at({}), 107U);
}

TEST_F(LabelSumsTest, AnInnerCgroupIsAddedAfterTheLastReadingOfTheOuterOne) {
  machine.cgroups = {{1, of("web", "/a")}, {2, of("web", "/a/b")}};
  machine.poll_after({{1, 100}, {2, 60}});

  machine.cgroups.at(1).is_present = false;  // displaced or deselected
  machine.poll_after({{1, 5}, {2, 3}});
  EXPECT_EQ(machine.published("web"), 105U) << "the outer one contains the inner one until then";

  machine.poll_after({{2, 2}});
  EXPECT_EQ(machine.published("web"), 107U);
  machine.cgroups.erase(1);
  machine.poll_after({{2, 2}});
  EXPECT_EQ(machine.published("web"), 109U);
}

TEST_F(LabelSumsTest, AnIdleCgroupContainsNoOthers) {
  machine.cgroups = {{1, of("web", "/a")}, {2, of("web", "/a/b")}};
  machine.cgroups.at(1).is_idle = true;
  machine.poll();
  machine.poll_after({{2, 5}});
  EXPECT_EQ(machine.published("web"), 5U);

  machine.cgroups.at(1).is_idle = false;
  // Its counters are opened after those of the inner one were read last.
  machine.poll_after({{1, 3}, {2, 4}});
  EXPECT_EQ(machine.published("web"), 9U);
  machine.poll_after({{1, 10}, {2, 6}});
  EXPECT_EQ(machine.published("web"), 19U);

  machine.cgroups.at(1).is_idle = true;
  machine.poll_after({{1, 2}, {2, 1}});
  EXPECT_EQ(machine.published("web"), 21U);
  machine.poll_after({{2, 7}});
  EXPECT_EQ(machine.published("web"), 28U);
}

TEST(LabelSumsOfAPlanTest, AnOuterCgroupThatIsOpenedBetweenTwoPollsContainsTheInnerOnesFromThenOn) {
  Machine machine{{by({})}, /*by_records=*/false};
  machine.cgroups = {{1, {.path = "/a/b"}}};
  machine.poll();
  machine.count(1, 5);
  machine.cgroups.emplace(2, Counted{.path = "/a"});
  machine.reconcile();

  machine.poll_after({{1, 4}, {2, 6}});

  EXPECT_EQ(machine.published().at({}), 11U);
}

TEST(LabelSumsOfAPlanTest, AnOuterCgroupThatIsClosedBetweenTwoPollsContainsTheInnerOnesUpToThen) {
  Machine machine{{by({})}, /*by_records=*/false};
  machine.cgroups = {{1, {.path = "/a"}}, {2, {.path = "/a/b"}}};
  machine.poll();
  machine.count(1, 10);
  machine.count(2, 6);
  machine.cgroups.at(1).is_idle = true;
  machine.reconcile();

  machine.poll_after({{2, 4}});

  EXPECT_EQ(machine.published().at({}), 14U);
}

TEST_F(SumOfAllTest, TimeThatWasPassedOverInNestedCgroupsIsAddedOnce) {
  machine.cgroups = {{1, {.path = "/a"}}, {2, {.path = "/a/b"}}};
  machine.poll();

  machine.pass_over(1, 4ms);
  machine.pass_over(2, 3ms);
  machine.poll();

  EXPECT_EQ(machine.table().groups[0].rows[0].times.unmeasured, 4ms);
}

TEST_F(SumOfAllTest, ACgroupInsideOfOneThatIsCountedLeavesTheCoverageOfTheSumAsItIs) {
  machine.cgroups = {{1, {.path = "/a"}}, {2, {.path = "/a/b", .unopened_on = {1}}}};
  machine.poll();
  EXPECT_EQ(machine.table().groups[0].rows[0].wanted_on, 2U);
  EXPECT_EQ(machine.table().groups[0].rows[0].counted_on, 2U);

  machine.cgroups.at(1).is_idle = true;
  machine.poll();

  EXPECT_EQ(machine.table().groups[0].rows[0].wanted_on, 2U);
  EXPECT_EQ(machine.table().groups[0].rows[0].counted_on, 1U);
}

TEST_F(LabelSumsTest, AnOuterCgroupThatIsFoundLaterIsAddedWithoutTheInnerOnes) {
  machine.cgroups = {{1, of("web", "/a/b/c")}};
  machine.poll_after({{1, 5}});
  machine.cgroups.emplace(2, of("web", "/a/b"));  // both have it all, as with records
  machine.cgroups.emplace(3, of("web", "/a"));
  machine.poll_after({{1, 10}, {2, 11}, {3, 13}});
  EXPECT_EQ(machine.published("web"), 18U);

  machine.poll_after({{1, 1}, {2, 1}, {3, 1}});
  EXPECT_EQ(machine.published("web"), 19U);
}

TEST_F(LabelSumsTest, AnOuterCgroupThatGetsItsLabelsLateIsAddedWithoutWhatInnerOnesHaveAdded) {
  machine.cgroups = {{1, {.path = "/a"}}, {2, of("web", "/a/b")}, {3, of("web", "/a/c")}};
  machine.poll_after({{1, 100}, {2, 60}, {3, 10}});
  machine.cgroups.at(3).is_present = false;
  machine.poll_after({{1, 1}, {3, 1}});
  machine.cgroups.erase(3);
  machine.poll_after({{1, 4}, {2, 2}});
  EXPECT_EQ(machine.published("web"), 73U);

  machine.cgroups.at(1).labels = {{"workload", "web"}};
  machine.poll();
  EXPECT_EQ(machine.published("web"), 105U) << "the total of the outer one";
  EXPECT_EQ(machine.table().groups[0].rows[0].times.enabled, 105ms);

  machine.poll_after({{1, 7}, {2, 7}});
  EXPECT_EQ(machine.published("web"), 112U);
}

TEST(LabelSumsOfAPlanTest,
     NestedCgroupsThatGetTheirLabelsTogetherAreAddedOnceWhetherTheyAreCountedOrNot) {
  for (const bool is_idle : {false, true}) {
    Machine machine{{by({"workload"})}};
    machine.cgroups = {{1, {.path = "/a"}}, {2, {.path = "/a/b"}}, {3, {.path = "/a/b/c"}}};
    machine.poll();
    machine.poll_after({{1, 10}, {2, 6}, {3, 1}});

    for (auto& [series, cgroup] : machine.cgroups) {
      cgroup.is_idle = is_idle;
      cgroup.labels = {{"workload", "web"}};
    }
    machine.poll();
    machine.poll();

    EXPECT_EQ(machine.published("web"), 10U) << is_idle;
  }
}

TEST(LabelSumsOfAPlanTest,
     WithARowForEachCpuAnOuterCgroupContainsALateInnerOneOnTheCpusOnWhichItCounts) {
  Machine machine{{by({"workload"})}, true, true};
  machine.cgroups = {{1, of("web", "/a")}, {2, {.path = "/a/b"}}};
  machine.cgroups.at(1).unopened_on = {1};
  machine.poll();
  machine.poll_after({{1, 10, 0}, {2, 6, 0}, {1, 20, 1}, {2, 7, 1}});

  machine.cgroups.at(2).labels = {{"workload", "web"}};
  machine.poll();
  machine.poll();

  EXPECT_EQ(machine.published("web"), 17U);
}

TEST_F(LabelSumsTest, AnOuterCgroupIsAddedWholeToASumInWhichNoInnerOneIs) {
  machine.cgroups = {{1, {.path = "/a"}}, {2, of("web", "/a/b")}};
  machine.poll_after({{1, 100}, {2, 60}});
  machine.cgroups.at(1).labels = {{"workload", "all"}};
  machine.poll();

  EXPECT_EQ(machine.published("web"), 60U);
  EXPECT_EQ(machine.published("all"), 100U);
}

TEST(LabelSumsOfAPlanTest, GoOnWhenTheirLabelsComeInAnotherOrder) {
  Machine machine{{by({"team", "workload"})}};
  machine.cgroups = {{1, of("web", "/a")}};
  machine.cgroups.at(1).labels.emplace_back("team", "x");
  machine.poll_after({{1, 10}});
  const auto since = machine.table().rows[0].since;

  machine.change({by({"workload", "team"})});
  machine.poll_after({{1, 1}});

  EXPECT_EQ(machine.published(), (Sums{{{"web", "x"}, 11}}));
  EXPECT_EQ(machine.table().rows[0].since, since);
}

TEST_F(LabelSumsTest, OfASmallerMaximumTheNewestSumsEndAndTheirCgroupsAreInTheRest) {
  machine.cgroups = {{1, of("web", "/a")}};
  machine.poll_after({{1, 1}});
  machine.cgroups.emplace(2, of("batch", "/b"));
  machine.poll_after({{2, 10}});

  SumPlan smaller = by({"workload"});
  smaller.max = 1;
  machine.change({smaller});
  machine.poll_after({{1, 1}, {2, 1}});
  EXPECT_EQ(machine.published(), (Sums{{{"other"}, 1}, {{"web"}, 2}}));
  EXPECT_EQ(machine.table().left_out, 1U);
  EXPECT_THAT(machine.report.failures, testing::SizeIs(1));

  machine.change({by({"workload"})});
  machine.poll_after({{2, 3}});
  EXPECT_EQ(machine.published("web"), 2U);
  EXPECT_EQ(machine.published("batch"), 3U) << "what it had in its sum before is not added again";
}

TEST(LabelSumsOfAPlanTest, ANewSumIsPublishedAsZeroFirst) {
  SumPlan sum = by({"workload"});
  sum.zero_for = 60s;
  Machine machine{{sum}};
  machine.cgroups = {{1, of("web")}};
  machine.poll_after({{1, 10}});
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

TEST_F(LabelSumsTest, ASumThatWasPublishedDoesNotFallToZeroWhereThatTimeGetsLonger) {
  machine.cgroups = {{1, of("web")}};
  machine.poll_after({{1, 10}});
  SumPlan longer = by({"workload"});
  longer.zero_for = 60s;

  machine.change({longer});
  machine.poll_after({{1, 1}});

  EXPECT_EQ(machine.published("web"), 11U);
  EXPECT_FALSE(machine.table().rows[0].is_new);
}

TEST(LabelSumsOfAPlanTest, ASumWithoutACgroupEndsAfterItsTimeAndBeginsAgainAtZero) {
  SumPlan sum = by({"workload"});
  sum.idle = 1h;
  Machine machine{{sum}};
  machine.cgroups = {{1, of("web")}};
  machine.poll_after({{1, 10}});
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
  machine.poll_after({{2, 3}});
  EXPECT_EQ(machine.published("web"), 3U);
}

TEST(LabelSumsOfAPlanTest, CgroupsBeyondTheMaximumAreReportedAndInTheRestUntilThereIsRoom) {
  SumPlan sum = by({"workload"});
  sum.max = 1;
  sum.idle = 1min;
  Machine machine{{sum}};
  machine.cgroups = {{1, of("web", "/a")}, {2, of("batch", "/b")}};
  machine.poll_after({{1, 1}, {2, 10}});

  EXPECT_EQ(machine.published(), (Sums{{{"other"}, 10}, {{"web"}, 1}}));
  EXPECT_EQ(machine.table().left_out, 1U);
  ASSERT_THAT(machine.report.failures, testing::SizeIs(1));
  EXPECT_EQ(machine.report.failures.begin()->second.first.attempted,
            "sum 'workload' has its maximum of 1 combinations of labels: cgroups with others are "
            "added up as 'other', now 1");

  machine.cgroups.erase(1);
  machine.poll(2min);  // web is idle
  machine.poll_after({{2, 5}});

  EXPECT_EQ(machine.published(), (Sums{{{"batch"}, 5}, {{"other"}, 10}}));
  EXPECT_EQ(machine.table().left_out, 0U);
  EXPECT_THAT(machine.report.failures, testing::IsEmpty());
}

TEST_F(LabelSumsTest, ACgroupThatIsNamedLikeTheRestIsInItAndNotLeftOut) {
  machine.cgroups = {{1, of("other")}};
  machine.poll_after({{1, 5}});

  EXPECT_EQ(machine.published("other"), 5U);
  EXPECT_EQ(machine.table().left_out, 0U);
}

/// A tenant chooses how many names there are of its own cgroups.
TEST(LabelSumsOfAPlanTest, ATenantWithManyCombinationsTakesNoSumFromOneWithFew) {
  SumPlan sum = by({"workload"});
  sum.max = 2;
  Machine machine{{sum}};
  machine.cgroups = {
      {1, of("a", "/tenant/1")}, {2, of("b", "/tenant/2")}, {3, of("c", "/tenant/3")}};
  machine.poll_after({{1, 100}, {2, 100}, {3, 100}});
  machine.cgroups.emplace(4, of("d", "/others/1"));
  machine.cgroups.emplace(5, of("e", "/tenant/4"));
  machine.poll_after({{1, 7}, {2, 7}, {3, 7}, {4, 7}, {5, 7}});

  EXPECT_EQ(machine.published(), (Sums{{{"a"}, 107}, {{"d"}, 7}, {{"other"}, 100 + 7 + 7 + 7}}));
  EXPECT_EQ(machine.table().left_out, 3U);
}

TEST_F(LabelSumsTest, ACgroupWithoutAValueLeavesTheSumWithACoverageBelowOne) {
  machine.cgroups = {{1, of("web", "/a")}, {2, of("web", "/b")}};
  machine.cgroups.at(2).unreadable_on = {1};
  machine.poll_after({{1, 10}});

  const GroupRow& row = machine.table().groups[0].rows[0];
  EXPECT_EQ(row.value, Value::kKnown);
  EXPECT_EQ(row.wanted_on, 4U);
  EXPECT_EQ(row.counted_on, 3U);
}

TEST_F(LabelSumsTest, ASumOfWhichNoCgroupHasAValueHasNone) {
  machine.cgroups = {{1, of("web", "/a")}};
  machine.cgroups.at(1).unreadable_on = {1};
  machine.poll();
  EXPECT_EQ(machine.table().groups[0].rows[0].value, Value::kNone);

  machine.cgroups.at(1).unreadable_on = {};
  machine.poll();
  machine.cgroups.at(1).unreadable_on = {1};
  machine.poll();

  EXPECT_EQ(machine.table().groups[0].rows[0].value, Value::kKnown) << "what was counted stays";
}

/// Whatever cgroups come, work and go: the sums have all that was counted, and nothing falls.
RC_GTEST_PROP(LabelSumsProperty, HaveAllThatEverWasCountedAndNeverFall, ()) {
  Machine machine{{by({"workload"})}};
  std::map<std::string, std::uint64_t> counted;
  Sums last;
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
    machine.reconcile();
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

/// Cgroups inside of each other, which begin, end, are idle and lack a CPU at any time.
class Nested {
 public:
  void take_step() {
    const auto series = *rc::gen::inRange<std::uint64_t>(1, kPaths.size() + 1);
    const auto cpu = *rc::gen::inRange<std::size_t>(0, 2);
    const auto flip = [](std::set<int>& cpus, int number) {
      if (cpus.erase(number) == 0) cpus.insert(number);
    };
    const auto known = machine.cgroups.find(series);
    switch (*rc::gen::inRange(0, 8)) {
      case 0:
        return begin_or_end(series);
      case 1:
        if (known != machine.cgroups.end()) known->second.is_idle = !known->second.is_idle;
        return;
      case 2:
        if (known != machine.cgroups.end()) flip(known->second.unopened_on, static_cast<int>(cpu));
        return;
      case 3:
        return flip(machine.late, static_cast<int>(cpu));
      case 4:
        return machine.reconcile();
      case 5:
        return poll();
      default:
        return work(kPaths[series - 1], cpu, *rc::gen::inRange<std::uint64_t>(1, 100));
    }
  }
  void check() {
    machine.late.clear();
    poll();
    for (std::size_t sum = 0; sum < counted.size(); ++sum) {
      for (const auto& [values, events] : counted[sum]) {
        RC_ASSERT(machine.published(sum).at(values) == events);
      }
    }
  }

 private:
  inline static const std::vector<std::string> kPaths{"/a", "/a/b", "/a/b/c", "/a/b/c/d", "/a/e"};

  void begin_or_end(std::uint64_t series) {
    const auto known = machine.cgroups.find(series);
    if (known == machine.cgroups.end()) {
      machine.cgroups.emplace(series,
                              of(*rc::gen::element<std::string>("x", "y"), kPaths[series - 1]));
    } else if (known->second.is_present) {
      known->second.is_present = false;
    } else {
      machine.create_again(series);
    }
  }
  void poll() {
    machine.poll();
    if (!machine.late.empty()) return;
    std::erase_if(machine.cgroups, [](const auto& each) { return !each.second.is_present; });
  }
  void work(const std::string& path, std::size_t cpu, std::uint64_t events) {
    std::set<std::pair<std::size_t, std::vector<std::string>>> sums;
    for (const auto& [series, cgroup] : machine.cgroups) {
      if (!(path + "/").starts_with(cgroup.path + "/")) continue;
      machine.count(series, events, cpu);
      if (!machine.is_open(series, cpu)) continue;
      sums.emplace(0, Values{});
      sums.emplace(1, Values{cgroup.labels.front().second});
    }
    for (const auto& [sum, values] : sums) counted[sum][values] += events;
  }

  Machine machine{{by({}), by({"workload"})}, /*by_records=*/false};
  std::vector<Sums> counted{2};  ///< by sum, values
};

RC_GTEST_PROP(LabelSumsProperty, HaveWhatWasCountedInNestedCgroupsOnce, ()) {
  Nested nested;
  const int steps = *rc::gen::inRange(1, 60);
  for (int step = 0; step < steps; ++step) nested.take_step();
  nested.check();
}

}  // namespace
}  // namespace pex::collect::label_sums_test
