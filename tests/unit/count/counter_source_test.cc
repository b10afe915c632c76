#include "count/counter_source.h"

#include <atomic>
#include <future>

#include "count/collector.h"
#include "count/descriptor_source.h"
#include "count/joining.h"
#include "count/poll_cycle.h"
#include "records/record_cost.h"
#include "records/record_source.h"
#include "support/events.h"
#include "support/scripted_source.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"
#include "targets/budget.h"

namespace pex::collect {
namespace {

std::shared_ptr<const CountingPlan> software_plan() {
  auto plan = std::make_shared<CountingPlan>();
  plan->cgroup = test::scope_plan({{"software", {"context-switches", "page-faults"}}});
  return plan;
}

std::shared_ptr<const TargetSet> targets(int cpus, std::size_t cgroups) {
  auto machine = std::make_shared<MachineCpus>();
  for (int cpu = 0; cpu < cpus; ++cpu) machine->online.push_back(cpu);
  auto set = std::make_shared<TargetSet>();
  set->cpus = std::move(machine);
  for (std::uint64_t number = 1; number <= cgroups; ++number) {
    auto cgroup = std::make_shared<cgroup::Cgroup>();
    cgroup->path = "/" + std::to_string(number);
    set->cgroups.push_back({number, cgroup->path, cgroup});
  }
  return set;
}

/// All CPUs over scripted sources, polled one after the other.
class Machine {
 public:
  Machine(int cpus, std::size_t cgroups, std::set<std::string> resting = {})
      : targets_(targets(cpus, cgroups)) {
    const auto all_resting = std::make_shared<const std::set<std::string>>(std::move(resting));
    ledger_.follow(targets_);
    for (int cpu = 0; cpu < cpus; ++cpu) {
      cycles_.push_back(std::make_unique<PollCycle>(
          std::make_unique<test::ScriptedSource>(all_resting), plan_, cpu));
      ledger_.add_cpu(cpu);
    }
  }

  void poll() {
    for (const auto& cycle : cycles_) {
      ledger_.add(*cycle);  // of the poll before
      (void)cycle->run(targets_, models_);
    }
  }
  PollCycle& cycle(std::size_t cpu) { return *cycles_[cpu]; }
  Joining joining() {
    std::vector<PollCycle*> parts;
    for (const auto& cycle : cycles_) parts.push_back(cycle.get());
    return {ledger_, std::move(parts)};
  }
  Snapshot join() {
    Joining joining = this->joining();
    (void)joining.work();
    return joining.take(models_);
  }

 private:
  std::shared_ptr<const CountingPlan> plan_ = software_plan();
  EventModels models_{*plan_};
  std::shared_ptr<const TargetSet> targets_;
  std::vector<std::unique_ptr<PollCycle>> cycles_;
  Ledger ledger_{plan_};
};

TEST(CounterSourceTest, AnySourceIsCountedAsDescriptorsAre) {
  Machine machine{2, 1};

  for (int poll = 0; poll < 3; ++poll) machine.poll();  // opened in the first one

  const Snapshot snapshot = machine.join();
  EXPECT_EQ(snapshot.cgroup[0].total(0, 0).value, 2U * 2);
  EXPECT_EQ(snapshot.cgroup[0].total(0, 1).value, 2U * 4);
  EXPECT_EQ(snapshot.cgroup[0].rows[0].times.running, std::chrono::milliseconds{4});
}

TEST(CounterSourceTest, WhatHasNotChangedIsPassedOver) {
  Machine machine{1, 2, {"/2"}};

  for (int poll = 0; poll < 3; ++poll) machine.poll();

  const Snapshot snapshot = machine.join();
  EXPECT_EQ(snapshot.cgroup[0].total(0, 0).value, 2U);
  EXPECT_EQ(snapshot.cgroup[0].total(1, 0).value, 0U);  // a zero that is known
  EXPECT_EQ(snapshot.cgroup[0].rows[1].value, GroupRow::Value::kKnown);
}

TEST(CounterSourceTest, ItsProgressIsThatOfTheCycle) {
  Machine machine{1, 3};
  machine.poll();
  const std::uint64_t before = machine.cycle(0).source().progress();

  machine.poll();

  EXPECT_EQ(machine.cycle(0).source().progress(), before + 3);
}

/// What software_plan() costs on four CPUs.
class CounterCostTest : public testing::Test {
 protected:
  CountingPlan plan_ = *software_plan();
  MachineCpus cpus_ = *targets(4, 0)->cpus;
};

TEST_F(CounterCostTest, TheBudgetAsksTheSourceWhatACgroupCosts) {
  const Budget budget{.max_open_events = 1000, .max_open_files = 100'000};

  const Need by_descriptors = need_of(plan_, cpus_, descriptor_cost(plan_, cpus_));
  const Need by_rings = need_of(plan_, cpus_, {.cpus = 12});

  EXPECT_EQ(by_descriptors.counters.cgroup, 2U * 4);
  EXPECT_EQ(cgroup_capacity(budget, by_descriptors).cgroups, (1000U - 4) / 8);
  EXPECT_EQ(by_rings.counters.cpus, 12U);
  EXPECT_EQ(cgroup_capacity(budget, by_rings).bound, "max");
  EXPECT_EQ(by_rings.cgroup_files(), 2U) << "its directory, and that of one before it";
}

TEST_F(CounterCostTest, RecordsCostGroupsOfTheCpusAndDescriptorsOnlyWhereTheyAreNeeded) {
  const CounterCost descriptors = descriptor_cost(plan_, cpus_);

  const CounterCost none = record_cost(plan_, cpus_, 4);
  const CounterCost one = record_cost(plan_, cpus_, 3);
  const CounterCost all = record_cost(plan_, cpus_, 0);

  EXPECT_EQ(none.cgroup, 0U);
  EXPECT_GT(none.cpus, descriptors.cpus);
  EXPECT_EQ(one.cgroup, descriptors.cgroup / 4);
  EXPECT_LT(one.cpus, none.cpus);
  EXPECT_EQ(all, descriptors);
}

TEST_F(CounterCostTest, PartsOfCountersAreRoundedUp) {
  plan_.cgroup.groups[0].pmu = "cpu_core";
  cpus_.pmus["cpu_core"] = {0};

  EXPECT_EQ(descriptor_cost(plan_, cpus_).cgroup, 2U);
  EXPECT_EQ(record_cost(plan_, cpus_, 3).cgroup, 1U) << "2 / 4";
}

TEST_F(CounterCostTest, AGroupOfScopeCpuThatIsRecordedCostsNothingMore) {
  CountingPlan both = plan_;
  both.cpu = both.cgroup;
  both.cpu.groups[0].events.pop_back();  // it has no clock

  EXPECT_EQ(record_cost(both, cpus_, 4).cpus, record_cost(plan_, cpus_, 4).cpus);
  EXPECT_GT(record_cost(both, cpus_, 3).cpus, record_cost(plan_, cpus_, 3).cpus);
}

TEST(CounterSourceTest, ACpuThatWentOfflineIsNotAmongThoseThatAreRecorded) {
  RecordedCpus recorded;
  recorded.set(0, true);
  recorded.set(3, true);

  EXPECT_EQ(recorded.among(std::array{0, 1, 2, 3}), 2U);
  EXPECT_EQ(recorded.among(std::array{0, 1, 2}), 1U);
  recorded.set(0, false);
  EXPECT_EQ(recorded.among(std::array{0, 1, 2}), 0U);
}

TEST_F(CounterCostTest, GroupsThatRecordsCannotHaveCostDescriptorsWhereOthersAreRecorded) {
  for (const perf::GroupMode mode :
       {perf::GroupMode{.pinned = true}, perf::GroupMode{.exclusive = true}}) {
    CountingPlan plan = plan_;
    plan.cgroup.groups.push_back(
        test::scope_plan({{"own", {"cycles", "instructions"}, mode}}).groups[0]);

    const CounterCost all_recorded = record_cost(plan, cpus_, 4);
    const CounterCost one_not = record_cost(plan, cpus_, 3);

    EXPECT_EQ(all_recorded.cgroup, 2U * 4);
    EXPECT_EQ(all_recorded.cgroup_on_a_cpu, 2U);
    EXPECT_EQ(one_not.cgroup, 2U * 4 + 2);
    EXPECT_EQ(one_not.cgroup_on_a_cpu, 4U);
    EXPECT_EQ(all_recorded.cpus, record_cost(plan_, cpus_, 4).cpus);
  }
}

void expect_equal(const GroupTable& one, const GroupTable& other) {
  ASSERT_EQ(one.rows.size(), other.rows.size());
  for (std::size_t row = 0; row < one.rows.size(); ++row) {
    EXPECT_EQ(one.rows[row].value, other.rows[row].value);
    EXPECT_EQ(one.rows[row].times.enabled, other.rows[row].times.enabled);
    EXPECT_EQ(one.rows[row].counted_on, other.rows[row].counted_on);
    for (std::size_t event = 0; event < one.events; ++event) {
      EXPECT_EQ(one.total(row, event).value, other.total(row, event).value);
    }
  }
}

TEST(JoiningTest, PiecesJoinedAtTheSameTimeAreTheWhole) {
  Machine machine{128, 300};
  machine.poll();

  Joining joining = machine.joining();
  ASSERT_GT(joining.pieces(), 1U);
  std::atomic<int> last = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&] { last += joining.work() ? 1 : 0; });
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(last, 1);
  Machine other{128, 300};
  other.poll();
  expect_equal(joining.take(EventModels{*software_plan()}).cgroup[0], other.join().cgroup[0]);
}

/// So many CPUs and cgroups that the workers join together.
TEST(CollectorOfManyCpusTest, JoinsAllOfThem) {
  constexpr std::size_t kCgroups = 150;
  test::TempTree tree;
  tree.write("sys/devices/system/cpu/online", "0-127");
  for (std::size_t i = 0; i < kCgroups; ++i) {
    tree.write("cgroup/" + std::to_string(i) + "/cgroup.procs", "");
  }
  cgroup::Selection all;
  all.include.push_back(*cgroup::Pattern::parse("/*"));
  TargetTracker tracker{{tree.path("sys"), {}, {}},
                        software_plan(),
                        {cgroup::Discovery({tree.path("cgroup")}, std::move(all))},
                        {.max_open_events = 1'000'000, .max_open_files = 10'000'000},
                        descriptor_cost};
  const CounterSources sources{[](int) { return std::make_unique<test::ScriptedSource>(); },
                               descriptor_cost};
  const auto counting =
      *Collector::create(sources, std::move(tracker),
                         {.late = std::chrono::minutes{10}, .end = std::chrono::minutes{10}});

  std::shared_ptr<const Snapshot> last;
  for (int poll = 0; poll < 4; ++poll) {  // opened in the first one
    std::promise<std::shared_ptr<const Snapshot>> published;
    counting->poll([&](const PollReport&, std::shared_ptr<const Snapshot> snapshot) {
      published.set_value(std::move(snapshot));
    });
    last = published.get_future().get();
  }

  ASSERT_EQ(last->cgroup[0].rows.size(), kCgroups);
  for (std::size_t row = 0; row < kCgroups; ++row) {
    EXPECT_EQ(last->cgroup[0].total(row, 1).value, 128U * 3 * 2);
  }
}

}  // namespace
}  // namespace pex::collect
