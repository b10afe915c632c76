#include "daemon/collector.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include "support/events.h"
#include "support/scripted_kernel.h"
#include "support/temp_tree.h"

namespace pex::daemon {
namespace {

/// Lets reads wait until they are let go, so that a poll can be caught while it runs.
class SlowKernel final : public perf::PerfKernel {
 public:
  Result<perf::OpenCounter> open(const perf::CounterRequest& request) override {
    return kernel_.open(request);
  }
  Result<> enable_group(int leader_fd) override { return kernel_.enable_group(leader_fd); }
  Result<> disable_group(int leader_fd) override { return kernel_.disable_group(leader_fd); }
  Result<std::size_t> read_group(int leader_fd, std::span<std::uint64_t> words) override {
    std::unique_lock lock{mutex_};
    ++reading_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !held_; });
    lock.unlock();
    return kernel_.read_group(leader_fd, words);
  }

  void hold(bool held) {
    const std::lock_guard lock{mutex_};
    held_ = held;
    changed_.notify_all();
  }
  std::size_t still_open() { return kernel_.still_open(); }
  void wait_for_reads(int reads) {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] { return reading_ >= reads; });
  }

 private:
  test::ScriptedKernel kernel_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
  int reading_ = 0;
};

class CollectorTest : public testing::Test {
 protected:
  CollectorTest() { set_online("0-1"); }

  void set_online(const std::string& cpus) { tree_.write("sys/devices/system/cpu/online", cpus); }

  std::unique_ptr<Collector> collector(perf::PerfKernel& kernel) {
    auto plan = std::make_shared<collect::CountingPlan>();
    plan->cpu = test::scope_plan({{"core", {"cycles"}}});
    collect::TargetTracker tracker{
        {tree_.path("sys"), {}, {}}, plan, std::nullopt, {}, std::chrono::seconds{60}};
    return *Collector::create(kernel, plan, std::move(tracker), /*first_cpu=*/0);
  }

  struct Published {
    collect::PollReport report;
    std::shared_ptr<const collect::Snapshot> snapshot;

    std::vector<int> cpus() const {
      std::vector<int> cpus;
      for (const collect::HostRow& row : snapshot->rows_of(collect::Aggregation::kCpu)) {
        cpus.push_back(row.place.cpu);
      }
      return cpus;
    }
  };
  static std::future<Published> poll(Collector& collector) {
    auto promise = std::make_shared<std::promise<Published>>();
    EXPECT_TRUE(collector.poll([promise](collect::PollReport report, auto snapshot) {
      promise->set_value({std::move(report), std::move(snapshot)});
    }));
    return promise->get_future();
  }

  test::TempTree tree_;
};

TEST_F(CollectorTest, JoinsThePartsOfAllCpus) {
  test::ScriptedKernel kernel;
  const auto counting = collector(kernel);

  const Published published = poll(*counting).get();

  EXPECT_EQ(published.cpus(), (std::vector{0, 1}));
  EXPECT_EQ(published.report.groups_opened, 2U);
  EXPECT_EQ(published.report.open_events, 4U);  // one each, and one each that tells of the CPU
}

TEST_F(CollectorTest, APollWhileOneIsRunningIsRefused) {
  SlowKernel kernel;
  const auto counting = collector(kernel);
  kernel.hold(true);
  std::future<Published> running = poll(*counting);
  kernel.wait_for_reads(2);

  EXPECT_FALSE(counting->poll([](auto, auto) { FAIL() << "must not be called"; }));

  kernel.hold(false);
  (void)running.get();
}

TEST_F(CollectorTest, ACpuThatAppearsGetsItsWorker) {
  test::ScriptedKernel kernel;
  set_online("0");
  const auto counting = collector(kernel);
  (void)poll(*counting).get();
  set_online("0-2");

  const Published published = poll(*counting).get();

  EXPECT_EQ(published.cpus(), (std::vector{0, 1, 2}));
  EXPECT_EQ(kernel.open_groups(),
            (std::vector<std::string>{"cpu0 cycles", "cpu0 dummy", "cpu1 cycles", "cpu1 dummy",
                                      "cpu2 cycles", "cpu2 dummy"}));
}

TEST_F(CollectorTest, WhenTheMachineCannotTellTheTargetsOfBeforeHold) {
  test::ScriptedKernel kernel;
  const auto counting = collector(kernel);
  (void)poll(*counting).get();
  set_online("none");

  const Published published = poll(*counting).get();

  EXPECT_EQ(published.report.failures.size(), 1U);
  EXPECT_EQ(kernel.still_open(), 4U);
}

TEST_F(CollectorTest, ItsEndWaitsForTheRunningPollAndClosesEverything) {
  SlowKernel kernel;
  auto counting = collector(kernel);
  kernel.hold(true);
  std::future<Published> running = poll(*counting);
  kernel.wait_for_reads(2);
  std::thread end{[&counting] { counting.reset(); }};

  kernel.hold(false);
  end.join();

  EXPECT_EQ(running.wait_for(std::chrono::seconds{0}), std::future_status::ready);
  EXPECT_EQ(kernel.still_open(), 0U);
}

}  // namespace
}  // namespace pex::daemon
