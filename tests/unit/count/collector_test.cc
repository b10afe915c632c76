#include "count/collector.h"

#include <condition_variable>
#include <future>
#include <mutex>

#include "base/boot_clock.h"
#include "count/descriptor_source.h"
#include "support/counting_kernel.h"
#include "support/events.h"
#include "support/scripted_kernel.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"

namespace pex::collect {
namespace {

/// Lets opens or reads wait until they are let go, so that a reconciliation or a poll can be caught
/// while it runs.
class SlowKernel final : public test::CountingKernel {
 public:
  explicit SlowKernel(std::string cgroup_root) : kernel_(std::move(cgroup_root)) {}

  Result<perf::OpenCounter> open(const perf::CounterRequest& request) override {
    opens_.pass();
    Result<perf::OpenCounter> counter = kernel_.open(request);
    const std::lock_guard lock{mutex_};
    if (counter) cpu_of_[counter->fd.get()] = request.cpu;
    return counter;
  }
  Result<> enable_group(int leader_fd) override { return kernel_.enable_group(leader_fd); }
  Result<> disable_group(int leader_fd) override { return kernel_.disable_group(leader_fd); }
  Result<std::size_t> read_group(int leader_fd, std::span<std::uint64_t> words) override {
    reads_.pass();
    (cpu_of(leader_fd) == 0 ? of_cpu0_ : of_others_).pass();
    return kernel_.read_group(leader_fd, words);
  }
  std::chrono::nanoseconds now() override { return kernel_.now(); }

  void hold(bool held) { reads_.hold(held); }
  void hold_cpu0(bool held) { of_cpu0_.hold(held); }
  void hold_other_cpus(bool held) { of_others_.hold(held); }
  void answer(const std::string& group, test::ScriptedKernel::Answer answer) {
    kernel_.answer(group, std::move(answer));
  }
  void hold_opening(bool held) { opens_.hold(held); }
  std::size_t still_open() { return kernel_.still_open(); }
  std::vector<std::string> open_groups() { return kernel_.open_groups(); }
  void wait_for_reads(int reads) { reads_.wait_for(reads); }
  void wait_for_opens(int opens) { opens_.wait_for(opens); }

 private:
  class Barrier {
   public:
    void pass() {
      std::unique_lock lock{mutex_};
      ++come_;
      changed_.notify_all();
      changed_.wait(lock, [this] { return !held_; });
    }
    void hold(bool held) {
      const std::lock_guard lock{mutex_};
      held_ = held;
      changed_.notify_all();
    }
    void wait_for(int calls) {
      std::unique_lock lock{mutex_};
      changed_.wait(lock, [&] { return come_ >= calls; });
    }

   private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool held_ = false;
    int come_ = 0;
  };

  int cpu_of(int fd) {
    const std::lock_guard lock{mutex_};
    return cpu_of_.at(fd);
  }

  test::ScriptedKernel kernel_;
  std::mutex mutex_;
  std::map<int, int> cpu_of_;  ///< of each descriptor
  Barrier opens_;
  Barrier reads_;
  Barrier of_cpu0_;
  Barrier of_others_;
};

class CollectorTest : public testing::Test {
 protected:
  CollectorTest() { set_online("0-1"); }

  void set_online(const std::string& cpus) { tree_.write("sys/devices/system/cpu/online", cpus); }

  void start() {
    plan_->cpu = test::scope_plan({{"core", {"cycles"}}});
    continue_plan({}, *plan_);
    collect::TargetTracker tracker{
        {tree_.path("sys"), {}, {}}, plan_, collect::TargetTracker::Cgroups{}, {}, descriptor_cost};
    collector_ = *Collector::create(descriptor_sources(kernel_), std::move(tracker), timeouts_);
  }

  /// One CPU gets no answer from now on, and the others do not wait for it for long.
  void use_short_timeouts() {
    timeouts_ = {std::chrono::milliseconds{1}, std::chrono::milliseconds{1}};
  }

  struct Published {
    collect::PollReport report;
    std::shared_ptr<const collect::Snapshot> snapshot;

    std::uint64_t cycles(std::size_t row) const { return snapshot->cpu[0].total(row, 0).value; }
    std::vector<int> cpus() const {
      std::vector<int> cpus;
      for (const collect::HostRow& row : snapshot->rows_of(Aggregation::kCpu)) {
        cpus.push_back(row.place.cpu);
      }
      return cpus;
    }
  };
  std::future<Published> poll() {
    auto promise = std::make_shared<std::promise<Published>>();
    EXPECT_TRUE(collector_->poll([promise](collect::PollReport report, auto snapshot) {
      promise->set_value({std::move(report), std::move(snapshot)});
    }));
    return promise->get_future();
  }

  /// Until kernel_.hold(false).
  std::future<Published> held_poll() {
    kernel_.hold(true);
    std::future<Published> running = poll();
    kernel_.wait_for_reads(2);
    return running;
  }

  std::future<void> reconcile() {
    auto promise = std::make_shared<std::promise<void>>();
    EXPECT_TRUE(collector_->reconcile([promise] { promise->set_value(); }));
    return promise->get_future();
  }

  /// Kept to the end of the program: a worker that was left behind before it has opened anything
  /// may come back to it at any time.
  static SlowKernel& kept_kernel(std::string cgroup_root) {
    static auto& all = *new std::vector<std::unique_ptr<SlowKernel>>;
    return *all.emplace_back(std::make_unique<SlowKernel>(std::move(cgroup_root)));
  }

  test::TempTree tree_;
  SlowKernel& kernel_ = kept_kernel(tree_.path("cgroup"));
  std::unique_ptr<Collector> collector_;
  std::shared_ptr<CountingPlan> plan_ = std::make_shared<CountingPlan>();
  /// Without end, so that a busy machine is not taken for one that hangs.
  Collector::Timeouts timeouts_ = {std::chrono::minutes{10}, std::chrono::minutes{10}};
};

TEST_F(CollectorTest, JoinsThePartsOfAllCpus) {
  start();

  const Published published = poll().get();

  EXPECT_EQ(published.cpus(), (std::vector{0, 1}));
  EXPECT_EQ(published.report.groups_opened, 2U);
  EXPECT_EQ(published.report.now.open_events, 4U);  // one each, and one each that tells of the CPU
}

TEST_F(CollectorTest, WhileAPollIsRunningAnotherOneAndAReconciliationAreRefused) {
  start();
  std::future<Published> running = held_poll();

  EXPECT_FALSE(collector_->poll([](auto, auto) { FAIL() << "must not be called"; }));
  EXPECT_FALSE(collector_->reconcile([] { FAIL() << "must not be called"; }));

  kernel_.hold(false);
  (void)running.get();
}

TEST_F(CollectorTest, AReconciliationOpensWhatIsNewAndPublishesNothing) {
  start();

  reconcile().get();
  const std::size_t opened = kernel_.open_groups().size();
  const Published published = poll().get();

  EXPECT_EQ(opened, 4U);
  EXPECT_EQ(published.report.groups_opened, 2U);  // told by the first poll after it
  EXPECT_EQ(published.report.groups_read, 2U);
  EXPECT_EQ(published.report.now.open_events, 4U);
}

TEST_F(CollectorTest, AReconciliationWhenNothingHasChangedReadsNothing) {
  start();
  (void)poll().get();
  kernel_.hold(true);  // a read would not return

  reconcile().get();

  kernel_.hold(false);
}

TEST_F(CollectorTest, APollThatIsDueDuringAReconciliationFollowsIt) {
  start();
  kernel_.hold_opening(true);
  std::future<void> reconciling = reconcile();
  kernel_.wait_for_opens(1);

  std::future<Published> polling = poll();
  EXPECT_FALSE(collector_->poll([](auto, auto) { FAIL() << "must not be called"; }));
  kernel_.hold_opening(false);

  reconciling.get();
  EXPECT_EQ(polling.get().report.groups_read, 2U);
}

TEST_F(CollectorTest, ACpuThatAppearsGetsItsWorker) {
  set_online("0");
  start();
  (void)poll().get();
  set_online("0-2");

  const Published published = poll().get();

  EXPECT_EQ(published.cpus(), (std::vector{0, 1, 2}));
  EXPECT_EQ(kernel_.open_groups(),
            (std::vector<std::string>{"cpu0 cycles", "cpu0 dummy", "cpu1 cycles", "cpu1 dummy",
                                      "cpu2 cycles", "cpu2 dummy"}));
}

TEST_F(CollectorTest, WhenTheMachineCannotReportTheTargetsOfBeforeHold) {
  start();
  (void)poll().get();
  set_online("none");

  const Published published = poll().get();

  EXPECT_EQ(published.report.failures.size(), 1U);
  EXPECT_EQ(kernel_.still_open(), 4U);
}

TEST_F(CollectorTest, IsBusyWhileAPollOrAReconciliationIsRunning) {
  start();
  EXPECT_FALSE(collector_->is_busy());
  kernel_.hold_opening(true);

  std::future<void> reconciling = reconcile();
  EXPECT_TRUE(collector_->is_busy());
  kernel_.hold_opening(false);
  reconciling.get();
  (void)poll().get();

  EXPECT_FALSE(collector_->is_busy());
}

TEST_F(CollectorTest, StepsStandStillOnlyWhileNobodyMakesProgress) {
  start();
  (void)poll().get();
  const std::uint64_t idle = collector_->steps();
  kernel_.hold(true);
  std::future<Published> running = poll();
  kernel_.wait_for_reads(4);  // two of the first poll, and both workers' of this one

  const std::uint64_t held = collector_->steps();
  EXPECT_EQ(held, collector_->steps());
  EXPECT_GE(held, idle);

  kernel_.hold(false);
  (void)running.get();
  EXPECT_GT(collector_->steps(), held);
}

TEST_F(CollectorTest, AReconciliationThatFindsNothingNewIsAStepAsWell) {
  start();
  (void)poll().get();
  const std::uint64_t before = collector_->steps();

  reconcile().get();

  EXPECT_EQ(collector_->steps(), before + 1);
}

TEST_F(CollectorTest, ItsEndWaitsForTheRunningPollAndClosesEverything) {
  start();
  std::future<Published> running = held_poll();
  std::thread end{[this] { collector_.reset(); }};

  kernel_.hold(false);
  end.join();

  EXPECT_EQ(running.wait_for(std::chrono::seconds{0}), std::future_status::ready);
  EXPECT_EQ(kernel_.still_open(), 0U);
}

test::ScriptedKernel::Answer cycles(std::uint64_t count) {
  const std::chrono::nanoseconds time{count};
  return {test::ScriptedKernel::Answer::Kind::kCounts, time, time, {count}, 0};
}

/// Two CPUs that have been counted once, 100 cycles each; then one of them hangs in a read, while
/// both have come to 250.
class LateCpuTest : public CollectorTest {
 protected:
  LateCpuTest() {
    use_short_timeouts();
    kernel_.answer("cpu0 cycles", cycles(100));
    kernel_.answer("cpu1 cycles", cycles(100));
    start();
    (void)in_time();
    kernel_.answer("cpu0 cycles", cycles(250));
    kernel_.answer("cpu1 cycles", cycles(250));
  }
  /// On a busy machine a worker may be left behind, and is still to come back to the kernel_.
  ~LateCpuTest() override {
    kernel_.hold(false);
    kernel_.hold_cpu0(false);
    kernel_.hold_other_cpus(false);
    collector_.reset();
    while (kernel_.still_open() > 0) std::this_thread::yield();
  }

  /// A poll in which no CPU is late, however busy the machine is.
  Published in_time() {
    for (;;) {
      Published published = poll().get();
      if (published.report.now.late_cpus.empty()) return published;
    }
  }
  Published poll_without_cpu1() {
    kernel_.hold_other_cpus(true);
    return poll_without(1);
  }
  /// Until no part is left that was begun in an earlier poll, or `late` alone has one.
  Published poll_without(int late) {
    for (;;) {
      Published published = poll().get();
      if (published.report.now.late_cpus == std::vector{late}) return published;
    }
  }
};

TEST_F(LateCpuTest, DoesNotHoldUpTheOthers) {
  const Published published = poll_without_cpu1();

  EXPECT_EQ(published.cpus(), (std::vector{0, 1}));
  EXPECT_EQ(published.cycles(0), 250U);
  EXPECT_EQ(published.cycles(1), 100U);
  EXPECT_EQ(published.report.now.open_events, 4U);
}

TEST_F(LateCpuTest, IsReportedByNumberWithARemedy) {
  const Published published = poll_without_cpu1();

  const auto failure = published.report.failures.find({"late CPUs", 0});
  ASSERT_NE(failure, published.report.failures.end());
  EXPECT_NE(describe(failure->second.first).find("CPU 1"), std::string::npos);
  EXPECT_NE(describe(failure->second.first).find("cpus.exclude"), std::string::npos);
}

TEST_F(LateCpuTest, MayBeTheFirstOne) {
  kernel_.hold_cpu0(true);

  const Published published = poll_without(0);

  EXPECT_EQ(published.cycles(0), 100U);
  EXPECT_EQ(published.cycles(1), 250U);
}

TEST_F(LateCpuTest, IsLateInEachPollUntilItIsIn) {
  (void)poll_without_cpu1();
  kernel_.answer("cpu0 cycles", cycles(300));

  const Published published = poll().get();

  EXPECT_EQ(published.report.now.late_cpus.back(), 1);
  EXPECT_EQ(published.cycles(1), 100U);
}

TEST_F(LateCpuTest, CountsInTheNextPollWhatItHasReadMeanwhile) {
  (void)poll_without_cpu1();
  kernel_.hold_other_cpus(false);

  const Published published = in_time();

  EXPECT_EQ(published.cycles(0), 250U);
  EXPECT_EQ(published.cycles(1), 250U);
}

TEST_F(LateCpuTest, DoesNotKeepAReconciliationFromItsEnd) {
  (void)poll_without_cpu1();
  set_online("0-2");

  reconcile().get();

  EXPECT_FALSE(collector_->is_busy());
}

TEST_F(LateCpuTest, IsStepsOnAsLongAsTheOthersCount) {
  (void)poll_without_cpu1();
  const std::uint64_t before = collector_->steps();

  (void)poll().get();

  EXPECT_GT(collector_->steps(), before);
}

TEST_F(LateCpuTest, WhenAllAreLateNothingIsPublishedUntilOneIsIn) {
  kernel_.hold(true);
  std::future<Published> polling = poll();

  EXPECT_EQ(polling.wait_for(std::chrono::milliseconds{50}), std::future_status::timeout);
  EXPECT_TRUE(collector_->is_busy());
  kernel_.hold(false);

  EXPECT_EQ(polling.get().snapshot->cpu[0].rows.size(), 2U);
}

TEST_F(LateCpuTest, IsLeftBehindAtTheEndAndClosesItsCountersWhenItIsBack) {
  (void)poll_without_cpu1();

  const std::vector<int> left_behind = collector_->end();
  EXPECT_EQ(left_behind.back(), 1);
  kernel_.hold_other_cpus(false);
  while (kernel_.still_open() > 0) std::this_thread::yield();
}

/// The cgroup /a, which has been counted on two CPUs. CPU 1 is late when it is told to hang.
class CgroupOfALateCpuTest : public CollectorTest {
 protected:
  CgroupOfALateCpuTest() {
    use_short_timeouts();
    make_cgroup("a");
    kernel_.answer("cpu0 /a context-switches", cycles(5));
    kernel_.answer("cpu1 /a context-switches", cycles(7));
  }
  ~CgroupOfALateCpuTest() override {
    kernel_.hold_other_cpus(false);
    collector_.reset();
    while (kernel_.still_open() > 0) std::this_thread::yield();
  }

  void make_cgroup(const std::string& name) { tree_.write("cgroup/" + name + "/cgroup.procs", ""); }
  void remove_cgroup(const std::string& name) { tree_.remove("cgroup/" + name); }

  void start(std::chrono::nanoseconds linger) {
    auto plan = std::make_shared<CountingPlan>();
    plan->cgroup = test::scope_plan({{"software", {"context-switches"}}});
    cgroup::Selection selection;
    selection.include.push_back(*cgroup::Pattern::parse("/*"));
    TargetTracker::Cgroups cgroups{cgroup::Discovery({tree_.path("cgroup")}, std::move(selection))};
    cgroups.linger = linger;
    TargetTracker tracker{
        {tree_.path("sys"), {}, {}}, plan, std::move(cgroups), {}, descriptor_cost};
    collector_ = *Collector::create(descriptor_sources(kernel_), std::move(tracker), timeouts_);
    (void)poll_with({});
  }
  /// Polls until just these CPUs are late, however busy the machine is.
  Published poll_with(const std::vector<int>& late) {
    for (;;) {
      Published published = poll().get();
      missed_ += published.report.cgroups_missed;
      if (published.report.now.late_cpus == late) return published;
    }
  }

  std::uint64_t missed_ = 0;  ///< cgroups, since the start
};

TEST_F(CgroupOfALateCpuTest, IsMissedIfItCameAndEndedMeanwhile) {
  start(std::chrono::minutes{10});
  kernel_.hold_other_cpus(true);
  (void)poll_with({1});
  make_cgroup("b");
  EXPECT_EQ(poll_with({1}).snapshot->cgroup[0].rows[1].value, GroupRow::Value::kNone);
  remove_cgroup("b");

  EXPECT_EQ(poll_with({1}).snapshot->cgroup[0].rows[1].value, GroupRow::Value::kNone);
  kernel_.hold_other_cpus(false);
  (void)poll_with({});
  const Published back = poll_with({});

  EXPECT_EQ(back.snapshot->cgroup[0].rows[0].value, GroupRow::Value::kKnown);
  EXPECT_EQ(back.snapshot->cgroup[0].rows[1].value, GroupRow::Value::kNone);
  EXPECT_EQ(missed_, 1U);
}

TEST_F(CgroupOfALateCpuTest, StaysUntilItsLastReadingThereIsPublishedHoweverShortItLingers) {
  start(std::chrono::nanoseconds{0});
  kernel_.hold_other_cpus(true);
  (void)poll_with({1});
  kernel_.answer("cpu1 /a context-switches", cycles(20));
  remove_cgroup("a");
  (void)poll_with({1});
  (void)poll_with({1});
  kernel_.hold_other_cpus(false);

  std::uint64_t last = 0;
  for (;;) {
    const Published published = poll().get();
    if (published.snapshot->targets->cgroups.empty()) break;
    last = published.snapshot->cgroup[0].total(0, 0).value;
  }

  EXPECT_EQ(last, 5U + 20U);
}

/// Changes of what is counted while a collector runs.
class CollectorChangeTest : public CollectorTest {
 protected:
  void change(const std::vector<test::GroupOf>& groups) {
    const auto before = std::exchange(plan_, std::make_shared<CountingPlan>());
    plan_->cpu = test::scope_plan(groups);
    continue_plan(*before, *plan_);
    TargetTracker::Changes changes;
    changes.plan = plan_;
    collector_->change(std::move(changes));
  }
  static test::ScriptedKernel::Answer counts(std::uint64_t count) {
    const std::chrono::milliseconds time(count);
    return {test::ScriptedKernel::Answer::Kind::kCounts, time, time, {count}, 0};
  }
  /// CPU 1, which was late, with the first group.
  Published poll_until_it_is_back() {
    for (;;) {
      Published published = poll().get();
      if (published.report.now.late_cpus.empty() &&
          published.snapshot->cpu[0].rows[1].value == GroupRow::Value::kKnown) {
        return published;
      }
    }
  }
};

TEST_F(CollectorChangeTest, TheNextPollHasTheTotalsOfGroupsThatStay) {
  start();
  (void)poll().get();
  kernel_.answer("cpu0 cycles", counts(100));
  kernel_.answer("cpu1 cycles", counts(200));
  const auto before = BootClock::now();
  change({{"new", {"page-faults"}}, {"core", {"cycles"}}});

  const Published published = poll().get();

  ASSERT_EQ(published.snapshot->plan->cpu.groups.size(), 2U);
  EXPECT_EQ(published.snapshot->cpu[1].total(0, 0).value, 100U);
  EXPECT_EQ(published.snapshot->cpu[1].total(1, 0).value, 200U);
  EXPECT_EQ(published.report.groups_opened, 2U);
  EXPECT_GE(published.snapshot->starts.cpu[0], before);
  EXPECT_LT(published.snapshot->starts.cpu[1], before);
}

TEST_F(CollectorChangeTest, AReconciliationMakesIt) {
  start();
  (void)poll().get();
  change({{"new", {"page-faults"}}});

  reconcile().get();

  EXPECT_EQ(kernel_.open_groups(), (std::vector<std::string>{"cpu0 dummy", "cpu0 page-faults",
                                                             "cpu1 dummy", "cpu1 page-faults"}));
  EXPECT_EQ(poll().get().report.groups_closed, 2U);
}

TEST_F(CollectorChangeTest, ALateCpuGoesOnWithTheGroupsThatStayOnceItIsBack) {
  use_short_timeouts();
  start();
  (void)poll().get();
  kernel_.answer("cpu0 cycles", counts(100));
  kernel_.answer("cpu1 cycles", counts(200));
  while (poll().get().cycles(1) != 200) continue;  // on a busy machine it is late
  kernel_.hold_other_cpus(true);
  while (poll().get().report.now.late_cpus.empty()) continue;
  change({{"new", {"page-faults"}}, {"core", {"cycles"}}});

  const Published late = poll().get();
  EXPECT_EQ(late.snapshot->cpu[1].total(1, 0).value, 200U);  // as of its last part
  EXPECT_EQ(late.snapshot->cpu[0].rows[1].value, GroupRow::Value::kNone);

  kernel_.hold_other_cpus(false);
  kernel_.answer("cpu1 cycles", counts(250));
  const Published back = poll_until_it_is_back();
  EXPECT_EQ(back.snapshot->cpu[1].total(1, 0).value, 250U);
}

TEST_F(CollectorChangeTest, ALateCpuBeginsAnewWithAGroupThatWasNotInAllPlansMeanwhile) {
  use_short_timeouts();
  start();
  kernel_.answer("cpu1 cycles", counts(200));
  while (!poll().get().report.now.late_cpus.empty()) continue;  // on a busy machine
  kernel_.hold_other_cpus(true);
  while (poll().get().report.now.late_cpus.empty()) continue;
  change({{"new", {"page-faults"}}});
  (void)poll().get();
  change({{"core", {"cycles"}}});
  EXPECT_EQ(poll().get().cycles(1), 0U);

  kernel_.hold_other_cpus(false);
  const Published back = poll_until_it_is_back();

  EXPECT_EQ(back.cycles(1), 0U);  // it was opened again
}

}  // namespace
}  // namespace pex::collect
