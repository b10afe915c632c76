#include "count/snapshot.h"

#include <cerrno>
#include <limits>

#include "count/descriptor_source.h"
#include "count/joining.h"
#include "support/cgroups.h"
#include "support/events.h"
#include "support/scripted_kernel.h"
#include "support/test_headers.h"

namespace pex::collect {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;
using Answer = test::ScriptedKernel::Answer;
using Value = GroupRow::Value;

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

Answer counts(std::vector<std::uint64_t> numbers) {
  return {Answer::Kind::kCounts, 1ms, 1ms, std::move(numbers), 0};
}
Answer starved() { return {Answer::Kind::kCounts, 9ms, 0ms, {}, 0}; }
Answer never_ran() { return {Answer::Kind::kCounts, 0ms, 0ms, {}, 0}; }

/// What is published of `column` at `row`.
std::optional<std::uint64_t> published(const PublishedEvent& column,
                                       std::span<const GroupTable> tables, std::size_t row) {
  const std::optional<EventTotal> total = value_of(column, tables, row);
  return total ? std::optional(total->value) : std::nullopt;
}

/// Polls some CPUs over a scripted kernel, one after the other, and joins their parts.
class SnapshotTest : public testing::Test {
 protected:
  SnapshotTest() : kernel_(tree_.root()) {}

  void plan_cycles(Aggregation aggregation) {
    plan_->cpu =
        test::scope_plan({{.name = "g", .events = {"cycles"}, .aggregation = aggregation}});
  }
  void set_cpus(MachineCpus cpus) {
    cpus_ = std::make_shared<const MachineCpus>(std::move(cpus));
    for (const int cpu : cpus_->online) {
      const auto known = std::find_if(cycles_.begin(), cycles_.end(),
                                      [&](const auto& cycle) { return cycle->cpu() == cpu; });
      if (known == cycles_.end()) {
        cycles_.push_back(std::make_unique<PollCycle>(
            std::make_unique<DescriptorSource>(kernel_, cpu), plan_, cpu));
      }
    }
  }

  void make_cgroup(const std::string& path) {
    cgroups_.push_back({cgroups_.size() + 1, path, test::make_cgroup(tree_, path)});
  }

  Snapshot poll() {
    const EventModels models{*plan_};
    if (!ledger_) ledger_.emplace(plan_);
    const auto targets = follow_targets();
    std::vector<PollCycle*> parts;
    for (const auto& cycle : cycles_) {
      ledger_->add_cpu(cycle->cpu());
      if (late_.contains(cycle->cpu())) {
        missing_.insert(cycle->cpu());
        continue;
      }
      cycle->set_missed_targets(missing_.erase(cycle->cpu()) > 0);
      (void)cycle->run(targets, models);
      parts.push_back(cycle.get());
    }
    Joining joining{*ledger_, parts};
    (void)joining.work();
    return joining.take(models);
  }

  std::shared_ptr<const TargetSet> follow_targets() {
    auto targets = std::make_shared<TargetSet>();
    targets->cpus = cpus_;
    targets->cgroups = cgroups_;
    ledger_->follow(targets);
    return targets;
  }

  /// A reconciliation on all CPUs.
  void reconcile() {
    const auto targets = follow_targets();
    for (const auto& cycle : cycles_) {
      (void)cycle->reconcile(targets, EventModels{*plan_});
      ledger_->add(*cycle);
    }
  }

  void forget_polls() {
    cycles_.clear();
    ledger_.reset();
  }

  test::TempTree tree_;
  test::ScriptedKernel kernel_;
  std::shared_ptr<CountingPlan> plan_ = std::make_shared<CountingPlan>();  // filled before set_cpus
  std::shared_ptr<const MachineCpus> cpus_;
  std::vector<std::unique_ptr<PollCycle>> cycles_;
  std::optional<Ledger> ledger_;
  std::set<int> late_;     ///< CPUs whose part does not come in
  std::set<int> missing_;  ///< those that were late in the last poll
  std::vector<CgroupTarget> cgroups_;
};

/// One cgroup on two CPUs.
class SnapshotOfACgroupTest : public SnapshotTest {
 protected:
  SnapshotOfACgroupTest() {
    plan_->cgroup = test::scope_plan({{"software", {"context-switches"}}});
    make_cgroup("/a");
    set_cpus({{0, 1}, {}, {}});
  }

  struct Counted {
    const char* where;  ///< CPU and cgroup
    std::uint64_t switches;
  };
  void set(std::initializer_list<Counted> all) {
    for (const auto& [where, switches] : all) {
      kernel_.answer(std::string{where} + " context-switches", counts({switches}));
    }
  }
  std::optional<std::uint64_t> switches(const Snapshot& snapshot, std::size_t row = 0) const {
    return published(plan_->cgroup.columns[0], snapshot.cgroup, row);
  }
  /// After a poll: the only total there is; nothing when it has no value.
  std::optional<std::uint64_t> published_switches() { return switches(poll()); }
};

TEST_F(SnapshotOfACgroupTest, HasTheLastTotalsWhileTheCgroupIsIdleAndGoesOnFromThere) {
  set({{"cpu0 /a", 5}});
  EXPECT_EQ(published_switches(), 5U);

  cgroups_[0].is_idle = true;
  EXPECT_EQ(published_switches(), 5U);
  for (const auto& cycle : cycles_) EXPECT_FALSE(cycle->groups_of_cgroups()[0].is_open(0));

  set({{"cpu0 /a", 3}});
  cgroups_[0].is_idle = false;
  ledger_->add_passed_over(0, 7ms);
  const Snapshot snapshot = poll();
  EXPECT_EQ(switches(snapshot), 8U);
  const GroupTimes& times = snapshot.cgroup[0].rows[0].times;
  EXPECT_EQ(times.unmeasured, 7ms);
  EXPECT_EQ(times.enabled, times.running + 7ms);
}

TEST_F(SnapshotOfACgroupTest, OfOneThatExistsAndIsNotCountedHasNothingAndGoesOnFromThere) {
  set({{"cpu0 /a", 5}});
  (void)poll();

  const auto cgroup = std::exchange(cgroups_[0].cgroup, nullptr);
  cgroups_[0].is_published = false;
  const Snapshot uncounted = poll();
  EXPECT_EQ(uncounted.cgroup[0].rows[0].value, Value::kNotHere);
  EXPECT_FALSE(uncounted.cgroup[0].rows[0].has_times);

  set({{"cpu0 /a", 3}});
  cgroups_[0].cgroup = cgroup;
  cgroups_[0].is_published = true;
  ledger_->add_passed_over(0, 7ms);
  const Snapshot again = poll();
  EXPECT_EQ(switches(again), 8U);
  EXPECT_EQ(again.cgroup[0].rows[0].times.unmeasured, 7ms);
  EXPECT_FALSE(uncounted.cgroup[0].is_estimated);
  EXPECT_TRUE(again.cgroup[0].is_estimated) << "its evidence is published";
}

/// As seen on Linux 6.18: the clock of the cgroup goes on, since before the groups were opened.
TEST_F(SnapshotTest, TheTimeOfACgroupWhoseClockIsStuckBeginsWhenItRuns) {
  plan_->cgroup = test::scope_plan({{"software", {"context-switches"}}, {"core", {"cycles"}}});
  plan_->cgroup.groups[1].shares_pmu = true;
  make_cgroup("/a");
  set_cpus({{0}, {}, {}});
  const auto poll_after = [&](std::chrono::milliseconds enabled, std::chrono::milliseconds ran,
                              std::chrono::milliseconds on_pmu, std::uint64_t count) {
    using Kind = test::ScriptedKernel::Answer::Kind;
    kernel_.answer("cpu0 /a context-switches", {Kind::kCounts, enabled, ran, {count}});
    kernel_.answer("cpu0 /a cycles", {Kind::kCounts, enabled, on_pmu, {count}});
    return poll();
  };

  for (const auto enabled : {300ms, 1300ms}) {
    const Snapshot idle = poll_after(enabled, 0ms, 0ms, 0);
    for (std::size_t group = 0; group < 2; ++group) {
      EXPECT_EQ(published(plan_->cgroup.columns[group], idle.cgroup, 0), 0U);
      EXPECT_EQ(idle.cgroup[group].rows[0].times.enabled, 0ns);
      EXPECT_EQ(idle.cgroup[group].rows[0].times.unmeasured, 0ns);
    }
  }
  const Snapshot first = poll_after(1430ms, 130ms, 130ms, 9);
  const Snapshot second = poll_after(1530ms, 230ms, 180ms, 11);

  for (std::size_t group = 0; group < 2; ++group) {
    EXPECT_EQ(published(plan_->cgroup.columns[group], first.cgroup, 0), 9U);
    EXPECT_EQ(first.cgroup[group].rows[0].times.enabled, 130ms);
    EXPECT_EQ(second.cgroup[group].rows[0].times.enabled, 230ms);
  }
  EXPECT_EQ(second.cgroup[0].rows[0].times.running, 230ms);
  EXPECT_EQ(second.cgroup[1].rows[0].times.running, 180ms);
}

/// The first cgroup has the same number as the CPU.
TEST_F(SnapshotTest, ACgroupWhoseClockIsStuckHidesNoTimeOfItsCpu) {
  plan_->cpu = test::scope_plan({{"core", {"cycles"}}});
  plan_->cpu.groups[0].shares_pmu = true;
  plan_->cgroup = test::scope_plan({{"software", {"context-switches"}}});
  make_cgroup("/a");
  set_cpus({{0}, {}, {}});
  kernel_.answer("cpu0 /a context-switches", starved());
  kernel_.answer("cpu0 cycles", starved());

  const Snapshot snapshot = poll();

  EXPECT_EQ(snapshot.cgroup[0].rows[0].times.enabled, 0ns);
  EXPECT_GT(snapshot.cpu[0].rows[0].times.enabled, 0ns);
}

/// As after a reload that adds the group.
TEST_F(SnapshotOfACgroupTest, OfAGroupThatWasNeverOpenedAsTheCgroupIsIdleCountsFrom0) {
  cgroups_[0].is_idle = true;
  EXPECT_EQ(published_switches(), 0U);

  set({{"cpu0 /a", 3}});
  cgroups_[0].is_idle = false;
  EXPECT_EQ(published_switches(), 3U);
}

TEST_F(SnapshotOfACgroupTest, IsTheSumOverTheCpusIfNoneIsLacking) {
  struct Row {
    const char* what;
    Answer on_cpu0, on_cpu1;
    int refused_on_cpu1;
    std::optional<std::uint64_t> published;
  };
  const Row rows[] = {
      {"both count", counts({5}), counts({7}), 0, 12},
      {"an exact zero: it never ran", counts({0}), never_ran(), 0, 0},
      {"it wanted the PMU and never had it", never_ran(), starved(), 0, {}},
      {"a CPU is lacking", counts({5}), {}, EMFILE, {}},
  };
  plan_->cgroup.groups[0].shares_pmu = true;

  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    forget_polls();
    kernel_.answer("cpu0 /a context-switches", row.on_cpu0);
    kernel_.answer("cpu1 /a context-switches", row.on_cpu1);
    kernel_.refuse("cpu1 /a context-switches", row.refused_on_cpu1);
    set_cpus({{0, 1}, {}, {}});

    EXPECT_EQ(published_switches(), row.published);
  }
}

TEST_F(SnapshotOfACgroupTest, ReportsOnHowManyOfItsCpusItIsCounted) {
  kernel_.refuse("cpu1 /a context-switches", EBUSY);

  const GroupRow lacking = poll().cgroup[0].rows[0];
  cgroups_[0].cgroup = nullptr;
  const GroupRow gone = poll().cgroup[0].rows[0];

  EXPECT_EQ(lacking.wanted_on, 2U);
  EXPECT_EQ(lacking.counted_on, 1U);
  EXPECT_TRUE(lacks_coverage(lacking));
  EXPECT_TRUE(lacking.has_times);
  EXPECT_FALSE(lacks_coverage(gone));
  EXPECT_FALSE(gone.has_times);
}

TEST_F(SnapshotOfACgroupTest, OfOneThatWentBeforeItWasOpenOnAllCpusIsNotPublished) {
  set({{"cpu0 /a", 5}});
  set_cpus({{0}, {}, {}});
  (void)poll();
  set_cpus({{0, 1}, {}, {}});
  kernel_.refuse("context-switches", ENOENT);  // as it does once the cgroup is gone
  tree_.remove("a");
  (void)poll();
  cgroups_[0].cgroup = nullptr;

  const Snapshot snapshot = poll();

  EXPECT_EQ(switches(snapshot), std::nullopt);
  EXPECT_FALSE(snapshot.cgroup[0].rows[0].has_times);
}

TEST_F(SnapshotOfACgroupTest, HasARowForEachCpuWhenAskedFor) {
  plan_->cgroup_per_cpu = true;
  make_cgroup("/b");
  set({{"cpu0 /a", 3}, {"cpu1 /a", 4}, {"cpu1 /b", 6}});
  kernel_.refuse("cpu0 /b context-switches", EBUSY);

  const Snapshot snapshot = poll();

  ASSERT_EQ(snapshot.cgroup_rows.size(), 4U);
  EXPECT_EQ(snapshot.cgroup_rows[1].target, 0U);
  EXPECT_EQ(snapshot.cgroup_rows[1].cpu, 1);
  EXPECT_EQ(switches(snapshot), 3U);
  EXPECT_EQ(switches(snapshot, 1), 4U);
  EXPECT_EQ(switches(snapshot, 2), std::nullopt);  // costs no other row
  EXPECT_EQ(switches(snapshot, 3), 6U);
}

TEST_F(SnapshotOfACgroupTest, KeepsTheRowsOfTheOtherCpusWhenACpuAppears) {
  plan_->cgroup_per_cpu = true;
  forget_polls();
  set_cpus({{0, 2}, {}, {}});
  set({{"cpu0 /a", 3}, {"cpu1 /a", 4}, {"cpu2 /a", 5}});
  (void)poll();

  set_cpus({{0, 1, 2}, {}, {}});
  const Snapshot snapshot = poll();

  EXPECT_EQ(switches(snapshot), 3U);
  EXPECT_EQ(switches(snapshot, 1), 4U);
  EXPECT_EQ(switches(snapshot, 2), 5U);
}

TEST_F(SnapshotOfACgroupTest, DoesNotLackACpuThatIsOffline) {
  set({{"cpu0 /a", 5}});
  kernel_.refuse("cpu1 /a context-switches", EMFILE);
  (void)poll();
  set_cpus({{0}, {}, {}});

  EXPECT_EQ(published_switches(), 5U);
}

TEST_F(SnapshotOfACgroupTest, StillLacksACpuWhenItIsGone) {
  set({{"cpu0 /a", 5}});
  kernel_.refuse("cpu1 /a context-switches", EMFILE);
  (void)poll();
  cgroups_[0].cgroup = nullptr;  // it lingers

  EXPECT_EQ(published_switches(), std::nullopt);
}

TEST_F(SnapshotOfACgroupTest, GoesOnWithTheLastTotalsOfALateCpu) {
  set({{"cpu0 /a", 5}, {"cpu1 /a", 7}});
  (void)poll();
  set({{"cpu0 /a", 6}, {"cpu1 /a", 70}});
  late_ = {1};

  EXPECT_EQ(published_switches(), 6U + 7U);

  late_ = {};
  EXPECT_EQ(published_switches(), 6U + 70U);
}

TEST_F(SnapshotOfACgroupTest, ThatCameWhileACpuIsLateWaitsForIt) {
  set({{"cpu0 /a", 5}});
  (void)poll();
  make_cgroup("/b");
  late_ = {1};

  const Snapshot snapshot = poll();

  EXPECT_EQ(switches(snapshot), 5U);
  EXPECT_EQ(switches(snapshot, 1), std::nullopt);
  EXPECT_EQ(snapshot.cgroup[0].rows[1].wanted_on, 2U);
  EXPECT_EQ(snapshot.cgroup[0].rows[1].counted_on, 1U);
  late_ = {};
  EXPECT_EQ(switches(poll(), 1), 0U);
}

TEST_F(SnapshotOfACgroupTest, ThatCameAndEndedWhileACpuIsLateHasNoValue) {
  (void)poll();
  late_ = {1};
  make_cgroup("/b");
  set({{"cpu0 /b", 5}});
  (void)poll();
  cgroups_[1].cgroup = nullptr;

  const Snapshot ended = poll();
  late_ = {};
  const Snapshot back = poll();

  for (const Snapshot* const snapshot : {&ended, &back}) {
    EXPECT_EQ(switches(*snapshot, 1), std::nullopt);
    EXPECT_FALSE(snapshot->cgroup[0].rows[1].has_times);
    EXPECT_EQ(switches(*snapshot), 0U) << "the other one";
  }
}

TEST_F(SnapshotOfACgroupTest, ThatALateCpuHasOpenedAndNotReadHasNoValue) {
  (void)poll();
  make_cgroup("/b");
  set({{"cpu0 /b", 5}, {"cpu1 /b", 7}});
  reconcile();
  late_ = {1};

  const Snapshot late = poll();
  late_ = {};
  const Snapshot back = poll();

  EXPECT_EQ(switches(late, 1), std::nullopt);
  EXPECT_EQ(late.cgroup[0].rows[1].wanted_on, 2U);
  EXPECT_EQ(late.cgroup[0].rows[1].counted_on, 1U);
  EXPECT_EQ(switches(back, 1), 12U);
}

TEST_F(SnapshotOfACgroupTest, KeepsItsOwnTotalsWhenAnotherOneGoesWhileACpuIsLate) {
  make_cgroup("/b");
  set({{"cpu1 /a", 7}, {"cpu1 /b", 9}});
  (void)poll();
  late_ = {1};
  cgroups_[0] = {};  // its series has expired

  EXPECT_EQ(switches(poll(), 1), 9U);
}

TEST_F(SnapshotTest, HasNoSumWhileACpuIsLateThatHasNeverBeenIn) {
  plan_->cpu =
      test::scope_plan({{"g", {"cycles"}},
                        {.name = "h", .events = {"branches"}, .aggregation = Aggregation::kHost}});
  set_cpus({{0, 1}, {}, {}});
  late_ = {1};

  const Snapshot snapshot = poll();

  EXPECT_EQ(snapshot.cpu[0].rows[0].value, Value::kKnown);
  EXPECT_EQ(snapshot.cpu[0].rows[1].value, Value::kNone);
  EXPECT_EQ(snapshot.cpu[1].rows[0].value, Value::kNone);
}

TEST_F(SnapshotOfACgroupTest, StandsStillAtTheEndOfItsNumbers) {
  // A total is made of increments, and of each of them the upper half would be a fall.
  set({{"cpu0 /a", kMax / 2}, {"cpu1 /a", kMax / 2}});
  (void)poll();
  set({{"cpu0 /a", kMax - 10}, {"cpu1 /a", kMax - 10}});

  EXPECT_EQ(published_switches(), kMax);
}

/// Eight CPUs: two packages of two dies of one core each, whose threads are CPUs n and n + 4; nodes
/// cross the packages.
MachineCpus eight_cpus() {
  MachineCpus cpus;
  for (int cpu = 0; cpu < 8; ++cpu) {
    cpus.online.push_back(cpu);
    const int core = cpu % 4;
    cpus.places[cpu] = {
        .cpu = cpu, .core = 0, .die = core % 2, .package = core / 2, .numa_node = core % 2};
  }
  return cpus;
}

std::vector<std::uint64_t> totals_of(const Snapshot& snapshot) {
  std::vector<std::uint64_t> totals;
  for (std::size_t row = 0; row < snapshot.cpu[0].rows.size(); ++row) {
    totals.push_back(snapshot.cpu[0].total(row, 0).value);
  }
  return totals;
}

TEST_F(SnapshotTest, SumsTheCpusOfEachPartOfTheMachine) {
  struct Row {
    Aggregation aggregation;
    std::vector<std::uint64_t> totals;
  };
  const Row rows[] = {
      {Aggregation::kCpu, {1, 2, 4, 8, 16, 32, 64, 128}},
      {Aggregation::kCore, {1 + 16, 2 + 32, 4 + 64, 8 + 128}},
      {Aggregation::kDie, {1 + 16, 2 + 32, 4 + 64, 8 + 128}},
      {Aggregation::kPackage, {1 + 16 + 2 + 32, 4 + 64 + 8 + 128}},
      {Aggregation::kNumaNode, {1 + 16 + 4 + 64, 2 + 32 + 8 + 128}},
      {Aggregation::kHost, {255}},
  };

  for (const Row& row : rows) {
    forget_polls();
    plan_cycles(row.aggregation);
    set_cpus(eight_cpus());
    for (int cpu = 0; cpu < 8; ++cpu) {
      kernel_.answer("cpu" + std::to_string(cpu) + " cycles", counts({std::uint64_t{1} << cpu}));
    }

    EXPECT_EQ(totals_of(poll()), row.totals) << "aggregation " << static_cast<int>(row.aggregation);
  }
}

TEST_F(SnapshotTest, DistinguishesCoresOfOneNumberInTwoPackages) {
  plan_cycles(Aggregation::kCore);
  set_cpus(eight_cpus());

  const Snapshot snapshot = poll();

  const HostRows& rows = snapshot.rows_of(Aggregation::kCore);
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[2].place, (host::CpuPlace{.core = 0, .die = 0, .package = 1}));
  EXPECT_EQ(rows[2].cpus, (std::vector{2, 6}));
}

TEST_F(SnapshotTest, HasRowsOfThoseAggregationsThatAGroupHas) {
  plan_->cpu =
      test::scope_plan({{"g", {"cycles"}},
                        {.name = "h", .events = {"branches"}, .aggregation = Aggregation::kHost}});
  set_cpus(eight_cpus());

  const Snapshot snapshot = poll();

  EXPECT_EQ(snapshot.rows_of(Aggregation::kCpu).size(), 8U);
  EXPECT_EQ(snapshot.rows_of(Aggregation::kHost).size(), 1U);
  EXPECT_TRUE(snapshot.rows_of(Aggregation::kPackage).empty());
}

TEST_F(SnapshotTest, KnowsACpuWithoutAPlaceByItsNumber) {
  plan_->cpu = test::scope_plan({{"g", {"cycles"}}});
  set_cpus({{3}, {}, {}});

  EXPECT_EQ(poll().rows_of(Aggregation::kCpu).front().place.cpu, 3);
}

TEST_F(SnapshotTest, SumsTheTimesOfTheCpusOfARow) {
  plan_cycles(Aggregation::kHost);
  set_cpus({{0, 1}, {}, {}});
  kernel_.answer("cpu0 cycles", counts({1}));
  kernel_.answer("cpu1 cycles", starved());

  const GroupRow host = poll().cpu[0].rows[0];

  EXPECT_TRUE(host.has_times);
  EXPECT_EQ(host.times.enabled, 10ms);
  EXPECT_EQ(host.times.running, 1ms);
}

/// What is known of a row is as good as the worst of its parts.
TEST_F(SnapshotTest, HasNoValueOfARowOfWhichAPartIsNotKnown) {
  struct Row {
    const char* what;
    Answer on_cpu0, on_cpu1;
    int refused_on_cpu1;
    Value value;
  };
  const Row rows[] = {
      {"both count", counts({1}), counts({1}), 0, Value::kKnown},
      {"one cannot be opened", counts({1}), {}, EMFILE, Value::kNone},
      {"one stands still", counts({1}), never_ran(), 0, Value::kNone},
      {"both stand still", never_ran(), never_ran(), 0, Value::kNone},
      {"one cannot be read", counts({1}), {Answer::Kind::kError, {}, {}, {}, EIO}, 0, Value::kNone},
      {"one starves", counts({1}), starved(), 0, Value::kNone},
      {"both starve", starved(), starved(), 0, Value::kNone},
      {"one is off the PMU from the start",
       counts({1}),
       {Answer::Kind::kEof, {}, {}, {}, 0},
       0,
       Value::kNone},
  };

  for (const Row& row : rows) {
    forget_polls();
    plan_cycles(Aggregation::kHost);
    kernel_.refuse("cpu1 cycles", row.refused_on_cpu1);
    kernel_.answer("cpu0 cycles", row.on_cpu0);
    kernel_.answer("cpu1 cycles", row.on_cpu1);
    set_cpus({{0, 1}, {}, {}});

    const Snapshot snapshot = poll();

    EXPECT_EQ(snapshot.cpu[0].rows[0].value, row.value) << row.what;
  }
}

TEST_F(SnapshotTest, ReportsOnHowManyCpusARowCanBeRead) {
  plan_->cpu = test::scope_plan(
      {{.name = "g", .events = {"page-faults"}, .aggregation = Aggregation::kHost}});
  kernel_.answer("cpu1 page-faults", {Answer::Kind::kError, {}, {}, {}, EIO});
  set_cpus({{0, 1}, {}, {}});

  const Snapshot unreadable = poll();
  kernel_.answer("cpu1 page-faults", counts({5}));
  const Snapshot readable = poll();

  EXPECT_EQ(unreadable.cpu[0].rows[0].wanted_on, 2U);
  EXPECT_EQ(unreadable.cpu[0].rows[0].counted_on, 1U);
  EXPECT_FALSE(lacks_coverage(readable.cpu[0].rows[0]));
  EXPECT_EQ(readable.cpu[0].rows[0].value, Value::kKnown);
}

/// A row of the whole host, of a group that can lose the PMU.
class SnapshotOfASharedPmuTest : public SnapshotTest {
 protected:
  SnapshotOfASharedPmuTest() {
    plan_cycles(Aggregation::kHost);
    plan_->cpu.groups[0].shares_pmu = true;
  }

  struct Reading {
    int cpu;
    std::chrono::seconds enabled, running;
    std::uint64_t cycles;
  };
  /// After so much time, and with these readings; nothing when it has no value.
  std::optional<std::uint64_t> published_after(std::chrono::seconds time,
                                               const std::vector<Reading>& readings = {}) {
    for (const auto& [cpu, enabled, running, cycles] : readings) {
      kernel_.answer("cpu" + std::to_string(cpu) + where_ + " cycles",
                     {Answer::Kind::kCounts, enabled, running, {cycles}, 0});
    }
    kernel_.pass(time);
    const Snapshot snapshot = poll();
    return where_.empty() ? published(plan_->cpu.columns[0], snapshot.cpu, 0)
                          : published(plan_->cgroup.columns[0], snapshot.cgroup, 0);
  }

  std::string where_;  ///< " /a" if it is of that cgroup
};

TEST_F(SnapshotOfASharedPmuTest, GoesOnWhileANewCpuWaitsForItsFirstTimeOnThePmu) {
  set_cpus({{0}, {}, {}});
  EXPECT_EQ(published_after(1s, {{0, 1s, 1s, 100}}), 100U);
  EXPECT_EQ(published_after(1s, {{0, 2s, 2s, 200}}), 200U);

  set_cpus({{0, 1}, {}, {}});
  EXPECT_EQ(published_after(1s, {{0, 3s, 3s, 300}, {1, 1s, 0s, 0}}), 300U);
  EXPECT_EQ(published_after(1s, {{0, 4s, 4s, 400}, {1, 2s, 1s, 7}}),
            414U);  // with the second before its first turn
}

TEST_F(SnapshotOfASharedPmuTest, HasNoValueWhenThatCpuWaitsForMoreThanAMinute) {
  set_cpus({{0}, {}, {}});
  (void)published_after(1s, {{0, 1s, 1s, 100}});
  (void)published_after(1s, {{0, 2s, 2s, 200}});

  set_cpus({{0, 1}, {}, {}});
  EXPECT_EQ(published_after(60s, {{0, 62s, 62s, 300}, {1, 60s, 0s, 0}}), 300U);
  EXPECT_EQ(published_after(1s, {{0, 63s, 63s, 310}, {1, 61s, 0s, 0}}), std::nullopt);
}

TEST_F(SnapshotOfASharedPmuTest, HasNoValueWhileACpuWaitsForItsFirstTimeOnThePmuFromTheStart) {
  set_cpus({{0, 1}, {}, {}});
  for (int second = 1; second <= 5; ++second) {
    const std::chrono::seconds now{second};
    EXPECT_EQ(published_after(1s, {{0, now, now, 100}, {1, now, 0s, 0}}), std::nullopt);
  }
}

TEST_F(SnapshotOfASharedPmuTest, HasNoValueAfterAMinuteWithoutThePmuAndThenGoesOn) {
  set_cpus({{0, 1}, {}, {}});
  EXPECT_EQ(published_after(1s, {{0, 1s, 1s, 100}, {1, 1s, 1s, 100}}), 200U);
  EXPECT_EQ(published_after(60s, {{0, 61s, 61s, 6'100}, {1, 61s, 1s, 100}}),
            12'200U);  // filled from history
  EXPECT_EQ(published_after(1s, {{0, 62s, 62s, 6'200}, {1, 62s, 1s, 100}}), std::nullopt);
  EXPECT_EQ(published_after(1s, {{0, 63s, 63s, 6'300}, {1, 63s, 2s, 200}}), 12'500U);
}

TEST_F(SnapshotOfASharedPmuTest, HasNoValueWhenAGroupStandsStillForMoreThanAMinute) {
  set_cpus({{0}, {}, {}});
  EXPECT_EQ(published_after(1s, {{0, 1s, 1s, 100}}), 100U);
  EXPECT_EQ(published_after(60s), 100U);

  EXPECT_EQ(published_after(1s, {{0, 0s, 0s, 0}}), std::nullopt) << "although it was opened again";
}

/// A cgroup on two CPUs, with a group that can lose the PMU.
class SnapshotOfASharedPmuInACgroupTest : public SnapshotOfASharedPmuTest {
 protected:
  SnapshotOfASharedPmuInACgroupTest() {
    where_ = " /a";
    std::swap(plan_->cpu, plan_->cgroup);
    make_cgroup("/a");
    set_cpus({{0, 1}, {}, {}});
    EXPECT_EQ(published_after(1s, {{0, 1s, 1s, 100}, {1, 1s, 1s, 100}}), 200U);
  }
};

TEST_F(SnapshotOfASharedPmuInACgroupTest, HasNoValueAfterAMinuteWithoutThePmuWhileNothingCounts) {
  EXPECT_EQ(published_after(61s, {{1, 62s, 1s, 100}}), std::nullopt);
  EXPECT_EQ(published_after(1s), std::nullopt);  // idle for a moment: nobody knows of what
  EXPECT_EQ(published_after(1s, {{0, 2s, 2s, 200}, {1, 63s, 1s, 100}}),
            6'300U);  // the other CPU counts: what lacks is unmeasured
}

TEST_F(SnapshotOfASharedPmuInACgroupTest, IsKnownAgainWhenItHasNotWantedThePmuForAMinute) {
  EXPECT_EQ(published_after(61s, {{1, 62s, 1s, 100}}), std::nullopt);
  EXPECT_EQ(published_after(60s), std::nullopt);
  EXPECT_EQ(published_after(1s), 6'200U);
}

TEST_F(SnapshotOfASharedPmuInACgroupTest, IsStillAnExactCountWhenIdle) {
  EXPECT_EQ(published_after(600s), 200U);
}

/// Four CPUs: cycles on the two of each kind of core, and a clock next to both.
class SnapshotOfAHybridTest : public SnapshotTest {
 protected:
  static MachineCpus hybrid() {
    return {.online = {0, 1, 2, 3}, .pmus = {{"big", {0, 1}}, {"little", {2, 3}}}, .places = {}};
  }

  /// PublishedEvent 0 is the clock, in two parts; 1 and 2 are the cycles of each kind of core.
  void plan_hybrid(Aggregation aggregation) {
    plan_->cpu = test::scope_plan({{"g", {"task-clock", "cycles"}, {}, "big", aggregation},
                                   {"g", {"task-clock", "cycles"}, {}, "little", aggregation}});
    std::vector<PublishedEvent>& columns = plan_->cpu.columns;
    columns[0].parts.push_back(columns[2].parts[0]);
    columns.erase(columns.begin() + 2);
    set_cpus(hybrid());
  }

  std::optional<std::uint64_t> value(const Snapshot& snapshot, std::size_t column,
                                     std::size_t row) const {
    return published(plan_->cpu.columns[column], snapshot.cpu, row);
  }
};

TEST_F(SnapshotOfAHybridTest, HasEachEventWhereItsPmuIs) {
  plan_hybrid(Aggregation::kCpu);
  kernel_.answer("cpu0 task-clock", counts({1, 10}));
  kernel_.answer("cpu3 task-clock", counts({2, 20}));

  const Snapshot snapshot = poll();

  EXPECT_EQ(value(snapshot, 0, 0), 1U);
  EXPECT_EQ(value(snapshot, 0, 3), 2U);
  EXPECT_EQ(value(snapshot, 1, 0), 10U);
  EXPECT_EQ(value(snapshot, 1, 3), std::nullopt);
  EXPECT_EQ(value(snapshot, 2, 3), 20U);
  EXPECT_EQ(snapshot.cpu[0].rows[3].value, Value::kNotHere);
  EXPECT_FALSE(snapshot.cpu[0].rows[3].has_times);
}

TEST_F(SnapshotOfAHybridTest, SumsOverTheHostWhatEachPmuCounts) {
  plan_hybrid(Aggregation::kHost);
  for (int cpu = 0; cpu < 4; ++cpu) {
    kernel_.answer("cpu" + std::to_string(cpu) + " task-clock", counts({1, 10}));
  }

  const Snapshot snapshot = poll();

  EXPECT_EQ(value(snapshot, 0, 0), 4U);
  EXPECT_EQ(value(snapshot, 1, 0), 20U);
  EXPECT_EQ(value(snapshot, 2, 0), 20U);
}

TEST_F(SnapshotOfAHybridTest, HasNoSumOfWhatOneOfItsPartsCannotCount) {
  plan_hybrid(Aggregation::kHost);
  kernel_.refuse("cpu2 task-clock", EMFILE);

  const Snapshot snapshot = poll();

  EXPECT_EQ(value(snapshot, 0, 0), std::nullopt);
  EXPECT_EQ(value(snapshot, 1, 0), 0U);
  EXPECT_EQ(value(snapshot, 2, 0), std::nullopt);
}

TEST_F(SnapshotOfAHybridTest, OfACgroupIsTheSumOverBothKindsOfCores) {
  plan_hybrid(Aggregation::kCpu);
  forget_polls();
  std::swap(plan_->cpu, plan_->cgroup);
  make_cgroup("/a");
  set_cpus(hybrid());
  kernel_.answer("cpu1 /a task-clock", counts({1, 10}));
  kernel_.answer("cpu2 /a task-clock", counts({2, 20}));

  const Snapshot snapshot = poll();

  EXPECT_EQ(published(plan_->cgroup.columns[0], snapshot.cgroup, 0), 3U);
  EXPECT_EQ(published(plan_->cgroup.columns[1], snapshot.cgroup, 0), 10U);
  EXPECT_EQ(published(plan_->cgroup.columns[2], snapshot.cgroup, 0), 20U);
}

TEST_F(SnapshotTest, OfAPackageGoesOnWhenAnotherCpuReadsItsPmu) {
  plan_->cpu = test::scope_plan({{.name = "memory",
                                  .events = {"cycles"},
                                  .pmu = "imc",
                                  .aggregation = Aggregation::kPackage}});
  MachineCpus cpus = eight_cpus();
  cpus.pmus["imc"] = {0};
  set_cpus(cpus);
  kernel_.answer("cpu0 cycles", counts({100}));
  const Snapshot before = poll();
  kernel_.answer("cpu0 cycles", counts({130}));
  kernel_.answer("cpu4 cycles", counts({0}));
  cpus.online.erase(cpus.online.begin());
  cpus.pmus["imc"] = {4};
  set_cpus(cpus);

  const Snapshot moved = poll();
  kernel_.answer("cpu4 cycles", {Answer::Kind::kCounts, 2ms, 2ms, {7}, 0});
  const Snapshot after = poll();

  EXPECT_EQ(totals_of(before).front(), 100U);
  EXPECT_EQ(totals_of(moved).front(), 130U);
  EXPECT_EQ(totals_of(after).front(), 137U);
  EXPECT_EQ(after.cpu[0].rows[1].value, Value::kNotHere);  // the other package
}

/// Package 0 is read on CPUs 0 and 1, and package 1 on CPU 2.
class SnapshotWithoutAReaderTest : public SnapshotTest {
 protected:
  SnapshotWithoutAReaderTest() {
    machine_.pmus["imc"] = {0, 1, 2};
    machine_.uncore = {"imc"};
    plan_->cpu = test::scope_plan(
        {{.name = "all", .events = {"cycles"}, .pmu = "imc", .aggregation = Aggregation::kHost},
         {.name = "each",
          .events = {"cycles"},
          .pmu = "imc",
          .aggregation = Aggregation::kPackage}});
    for (const char* const cpu : {"cpu0", "cpu1", "cpu2"}) {
      kernel_.answer(std::string{cpu} + " cycles", counts({100}));
    }
  }

  void expect_its_rows_have_no_value() {
    set_cpus(machine_);
    const Snapshot snapshot = poll();
    EXPECT_EQ(snapshot.cpu[0].rows[0].value, Value::kNone);
    EXPECT_EQ(snapshot.cpu[1].rows[0].value, Value::kNone);
    EXPECT_EQ(snapshot.cpu[1].rows[1].value, Value::kKnown) << "the other package";
  }

  MachineCpus machine_ = eight_cpus();
};

TEST_F(SnapshotWithoutAReaderTest, HasNoRowThatLacksOneThatAllGroupsLeaveOut) {
  machine_.online.erase(machine_.online.begin() + 1);
  machine_.left_out = {1};

  expect_its_rows_have_no_value();
}

TEST_F(SnapshotWithoutAReaderTest, HasNoRowThatLacksOneThatItsGroupLeavesOut) {
  for (GroupPlan& group : plan_->cpu.groups) group.left_out_cpus = {1};

  expect_its_rows_have_no_value();
}

/// A table of one group with one event; rows are as good as `values` say, and count 1, 2, 4, ...
GroupTable table(std::initializer_list<Value> values) {
  GroupTable table;
  table.events = 1;
  table.reference_weights.resize(1);
  for (const Value value : values) {
    table.totals.push_back({.value = std::uint64_t{1} << table.rows.size()});
    table.rows.push_back({value, false, {}});
  }
  return table;
}

TEST(ValueTest, OfAColumnIsTheSumOfItsPartsThatAreHere) {
  struct Row {
    Value one, other;
    std::optional<std::uint64_t> sum;
  };
  const Row rows[] = {
      {Value::kKnown, Value::kKnown, 2},   {Value::kKnown, Value::kNotHere, 1},
      {Value::kNotHere, Value::kKnown, 1}, {Value::kNotHere, Value::kNotHere, {}},
      {Value::kKnown, Value::kNone, {}},   {Value::kNone, Value::kKnown, {}},
      {Value::kNone, Value::kNotHere, {}}, {Value::kNotHere, Value::kNone, {}},
  };
  const PublishedEvent column{{}, Aggregation::kCpu, {{0, 0}, {1, 0}}};

  for (const Row& row : rows) {
    const GroupTable tables[] = {table({row.one}), table({row.other})};

    EXPECT_EQ(published(column, tables, 0), row.sum)
        << static_cast<int>(row.one) << " and " << static_cast<int>(row.other);
  }
}

TEST(ValueTest, OfAColumnStandsStillAtTheEndOfItsNumbers) {
  GroupTable full = table({Value::kKnown});
  full.totals[0].value = kMax;
  const GroupTable tables[] = {full, table({Value::kKnown})};

  EXPECT_EQ(published({{}, Aggregation::kCpu, {{0, 0}, {1, 0}}}, tables, 0), kMax);
}

TEST(SeriesTest, AreTheValuesAndTheTwoTimesOfEachGroupAndWhatIsReportedOfCgroups) {
  Snapshot snapshot;
  auto plan = std::make_shared<CountingPlan>();
  plan->cpu = test::scope_plan({{"g", {"cycles"}}});
  plan->cgroup = plan->cpu;
  snapshot.plan = plan;
  snapshot.cpu = {table({Value::kKnown, Value::kNone, Value::kNotHere})};
  snapshot.cpu[0].rows[0].has_times = snapshot.cpu[0].rows[1].has_times = true;
  snapshot.cgroup = {table({Value::kKnown, Value::kNone})};
  snapshot.cgroup[0].rows[1].wanted_on = 2;  // and counted on none
  auto targets = std::make_shared<TargetSet>();
  targets->cgroups = {{1, "/a", nullptr}, {2, "/b", nullptr}, {}};
  snapshot.targets = targets;

  constexpr std::size_t kDescriptions = 2;
  constexpr std::size_t kCoverage = 1;
  EXPECT_EQ(count_series(snapshot), 1U + 2U + 2U + 1U + kDescriptions + kCoverage);
}

TEST(SeriesTest, OfEvidenceThatIsNotPlannedArePublishedOnlyWhereThereIsRoom) {
  Snapshot snapshot;
  auto plan = std::make_shared<CountingPlan>();
  plan->cpu = test::scope_plan({{"soft", {"page-faults"}}, {"core", {"cycles"}}});
  plan->cpu.groups[1].shares_pmu = true;
  snapshot.plan = plan;
  snapshot.targets = std::make_shared<TargetSet>();
  snapshot.cpu = {table({Value::kKnown}), table({Value::kKnown})};
  for (GroupTable& each : snapshot.cpu) {
    each.rows[0].has_times = true;
    each.is_estimated = true;
  }
  constexpr std::size_t kSeries = 2 * (2 + 4);  // value and observed, four times

  EXPECT_EQ(count_series(snapshot), kSeries);
  EXPECT_FALSE(limit_evidence(snapshot, kSeries));
  EXPECT_TRUE(snapshot.cpu[0].is_estimated);

  EXPECT_TRUE(limit_evidence(snapshot, kSeries - 1));

  EXPECT_FALSE(snapshot.cpu[0].is_estimated);
  EXPECT_TRUE(snapshot.cpu[1].is_estimated);
  EXPECT_EQ(count_series(snapshot), kSeries - 3);
}

TEST(CountedTimesTest, AreThoseOfTheGroupWithMostAndOfGroupsOfEachKindOfCoreTheirSum) {
  Snapshot snapshot;
  auto plan = std::make_shared<CountingPlan>();
  plan->cgroup = test::scope_plan({{"soft", {"page-faults"}},
                                   {"big", {"cycles"}},
                                   {"more", {"branches"}},
                                   {"little", {"cycles"}}});
  plan->cgroup.groups[1].pmu = plan->cgroup.groups[2].pmu = "cpu_core";
  plan->cgroup.groups[3].pmu = "cpu_atom";
  snapshot.plan = plan;
  auto targets = std::make_shared<TargetSet>();
  targets->cgroups.resize(2);
  snapshot.targets = targets;
  snapshot.cgroup_rows = {{0, {}}, {1, 0}, {1, 1}};  // the second one by CPU
  const std::vector<std::vector<milliseconds>> enabled = {
      {1ms, 50ms, 60ms}, {5ms, 10ms, 0ms}, {4ms, 0ms, 0ms}, {7ms, 0ms, 20ms}};
  for (const std::vector<milliseconds>& of_group : enabled) {
    GroupTable& group = snapshot.cgroup.emplace_back();
    for (const milliseconds each : of_group) group.rows.emplace_back().times.enabled = each;
  }

  EXPECT_EQ(counted_times(snapshot), (std::vector<std::chrono::nanoseconds>{12ms, 110ms}));
}

}  // namespace
}  // namespace pex::collect
