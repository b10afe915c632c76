#include "perf/task/task_counters.h"

#include <linux/perf_event.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <cerrno>

#include "perf/linux_perf_kernel.h"
#include "support/counting_kernel.h"
#include "support/real_events.h"
#include "support/results.h"
#include "support/scripted_kernel.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"

namespace pex::perf::task_counters_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using test::FailsWith;
using test::ScriptedKernel;
using test::TempTree;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = ScriptedKernel::Answer::Kind;

CounterSpec software(std::string name, std::uint64_t config) {
  return {std::move(name), {.type = PERF_TYPE_SOFTWARE, .config = config}};
}

const CounterSpec kTaskClock = software("task-clock", PERF_COUNT_SW_TASK_CLOCK);
const CounterSpec kPageFaults = software("page-faults", PERF_COUNT_SW_PAGE_FAULTS);
const CounterSpec kCycles{"cycles",
                          {.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES}};
const CounterSpec kInstructions{"instructions",
                                {.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_INSTRUCTIONS}};

const std::vector<TaskGroup> kSoftware = {{{kTaskClock, kPageFaults}, {}, {}}};
const std::vector<TaskGroup> kTwoGroups = {{{kCycles, kInstructions}, {}, {}},
                                           {{kPageFaults}, {}, {}}};

TEST(TaskCountersExample, IsWhatItsHeaderShows) {
  LinuxPerfKernel kernel;
  const std::vector<TaskGroup> groups = {
      {{{"task-clock", {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK}}}}};
  const TaskCounters counters = TaskCounters::of_own_thread(kernel, groups);
  ASSERT_FALSE(counters.refusal(0)) << describe(counters.refusal(0)->error);
  ASSERT_TRUE(counters.enable(kernel));
  GroupReading reading;
  ASSERT_TRUE(counters.read(kernel, 0, reading));
  EXPECT_GT(reading.counts.front(), 0);
}

// --------------------------------------------------------------------------------------------------
// Over a scripted kernel

/// A scripted kernel in which something happens while a counter is opened or read.
class EventfulKernel final : public test::CountingKernel {
 public:
  std::function<void(const CounterRequest&)> before_open = [](const CounterRequest&) {};
  std::function<int()> refuse_read = [] { return 0; };  ///< an errno, or 0
  ScriptedKernel script;
  std::vector<CounterRequest> requests;

  Result<OpenCounter> open(const CounterRequest& request) override {
    before_open(request);
    requests.push_back(request);
    return script.open(request);
  }
  Result<> enable_group(int leader_fd) override { return script.enable_group(leader_fd); }
  Result<> disable_group(int leader_fd) override { return script.disable_group(leader_fd); }
  Result<std::size_t> read_group(int leader_fd, std::span<std::uint64_t> words) override {
    if (const int code = refuse_read(); code != 0) return Error{code, {}, {}};
    return script.read_group(leader_fd, words);
  }
  nanoseconds now() override { return script.now(); }
};

/// Process 17.
class ScriptedTaskCountersTest : public ::testing::Test {
 protected:
  void begin(int thread) { tree_.make_directory("17/task/" + std::to_string(thread)); }
  host::HostRoots roots() const { return {"/nonexistent", tree_.root(), {}}; }

  /// Of the process with these threads.
  TaskCounters count(PerfKernel& kernel, const std::vector<TaskGroup>& groups,
                     std::initializer_list<int> threads = {17}) {
    for (const int thread : threads) begin(thread);
    Result<TaskCounters> counters = TaskCounters::of_process(kernel, roots(), 17, groups);
    EXPECT_TRUE(counters);
    return *std::move(counters);
  }

  TempTree tree_;
  ScriptedKernel kernel_;
  EventfulKernel eventful_;
};

ScriptedKernel::Answer counted(milliseconds enabled, milliseconds running,
                               std::vector<std::uint64_t> counts) {
  return {Kind::kCounts, enabled, running, std::move(counts)};
}

TEST_F(ScriptedTaskCountersTest, AreOpenedInEveryThreadOfAProcess) {
  const TaskCounters counters = count(kernel_, kTwoGroups, {17, 18, 20});

  EXPECT_EQ(counters.threads(), 3U);
  EXPECT_EQ(counters.uncertain_threads(), 0U);
  EXPECT_THAT(kernel_.opened_groups(),
              ElementsAre("pid17 cycles", "pid17 page-faults", "pid18 cycles", "pid18 page-faults",
                          "pid20 cycles", "pid20 page-faults"));
}

TEST_F(ScriptedTaskCountersTest, AreAskedForWhereverTheThreadRunsWithAllThatItCreates) {
  (void)count(eventful_, kSoftware);

  for (const CounterRequest& request : eventful_.requests) {
    EXPECT_EQ(request.pid, 17);
    EXPECT_EQ(request.cpu, -1);
    EXPECT_TRUE(request.inherit);
    EXPECT_FALSE(request.enable_on_exec);
  }
}

TEST_F(ScriptedTaskCountersTest, CountNothingBeforeAllAreEnabled) {
  const TaskCounters counters = count(kernel_, kTwoGroups, {17, 18});

  EXPECT_FALSE(kernel_.runs("pid17 cycles"));
  ASSERT_TRUE(counters.enable(kernel_));
  EXPECT_TRUE(kernel_.runs("pid17 cycles") && kernel_.runs("pid18 page-faults"));
  ASSERT_TRUE(counters.disable(kernel_));
  EXPECT_FALSE(kernel_.runs("pid17 cycles") || kernel_.runs("pid18 page-faults"));
}

TEST_F(ScriptedTaskCountersTest, AreReadAsTheSumOfTheThreads) {
  const TaskCounters counters = count(kernel_, kTwoGroups, {17, 18});
  kernel_.answer("pid17 cycles", counted(milliseconds{10}, milliseconds{4}, {1000, 200}));
  kernel_.answer("pid18 cycles", counted(milliseconds{5}, milliseconds{5}, {30, 4}));

  GroupReading sum;
  ASSERT_TRUE(counters.read(kernel_, 0, sum));

  EXPECT_EQ(sum.state, GroupReading::State::kCounting);
  EXPECT_EQ(sum.time_enabled, milliseconds{15});
  EXPECT_EQ(sum.time_running, milliseconds{9});
  EXPECT_THAT(sum.counts, ElementsAre(1030, 204));
}

TEST_F(ScriptedTaskCountersTest, OfSomeCpusAreOneForEachOfThem) {
  const TaskCounters counters = count(eventful_, {{{kPageFaults}, {}, {2, 5}}});

  EXPECT_THAT(eventful_.requests,
              ElementsAre(Field(&CounterRequest::cpu, 2), Field(&CounterRequest::cpu, 5)));
  GroupReading sum;
  eventful_.script.answer("pid17 page-faults", counted(milliseconds{1}, milliseconds{1}, {7}));
  ASSERT_TRUE(counters.read(eventful_, 0, sum));
  EXPECT_THAT(sum.counts, ElementsAre(14));
}

TEST_F(ScriptedTaskCountersTest, AreOpenedAgainWhenAThreadHasAppearedMeanwhile) {
  eventful_.before_open = [&](const CounterRequest&) {
    if (eventful_.requests.empty()) begin(18);
  };

  const TaskCounters counters = count(eventful_, kTwoGroups);

  EXPECT_EQ(counters.threads(), 2U);
  EXPECT_EQ(counters.uncertain_threads(), 0U);
  EXPECT_THAT(
      eventful_.script.open_groups(),  // once each
      ElementsAre("pid17 cycles", "pid17 page-faults", "pid18 cycles", "pid18 page-faults"));
}

TEST_F(ScriptedTaskCountersTest, ReportThreadsThatMayNotBeCountedWhenThereAreAlwaysNewOnes) {
  int next = 18;
  eventful_.before_open = [&](const CounterRequest& request) {
    if (request.leader_fd < 0 && request.pid == 17) begin(next++);
  };

  const TaskCounters counters = count(eventful_, kSoftware);

  EXPECT_EQ(counters.uncertain_threads(), 1U);
  EXPECT_EQ(counters.threads(), 10U);  // tries
  EXPECT_EQ(eventful_.script.open_groups().size(), 10U);
}

TEST_F(ScriptedTaskCountersTest, LeaveOutAThreadThatHasEndedMeanwhile) {
  kernel_.refuse("pid18 task-clock", ESRCH);

  const TaskCounters counters = count(kernel_, kSoftware, {17, 18, 19});

  EXPECT_EQ(counters.threads(), 2U);
  EXPECT_EQ(counters.refusal(0), nullptr);
}

TEST_F(ScriptedTaskCountersTest, RefuseEverythingWhenAllThreadsHaveEnded) {
  eventful_.before_open = [&](const CounterRequest&) { tree_.remove("17"); };
  eventful_.script.refuse("task-clock", ESRCH);

  const TaskCounters counters = count(eventful_, kSoftware);

  EXPECT_EQ(counters.threads(), 0U);
  ASSERT_NE(counters.refusal(0), nullptr);
  EXPECT_EQ(counters.refusal(0)->error.code, ESRCH);
}

TEST_F(ScriptedTaskCountersTest, FailForAProcessThatIsNotThere) {
  begin(17);

  const Result<TaskCounters> counters = TaskCounters::of_process(kernel_, roots(), 16, kSoftware);

  ASSERT_THAT(counters, FailsWith(ESRCH));
  EXPECT_THAT(describe(counters.error()), HasSubstr("process 16"));
}

TEST_F(ScriptedTaskCountersTest, OfAGroupThatIsRefusedInOneThreadAreClosedInAll) {
  kernel_.refuse("pid18 instructions", EACCES);

  const TaskCounters counters = count(kernel_, kTwoGroups, {17, 18, 19});

  ASSERT_NE(counters.refusal(0), nullptr);
  EXPECT_EQ(counters.refusal(0)->event, 1U);
  EXPECT_THAT(describe(counters.refusal(0)->error),
              HasSubstr("open event 'instructions' in thread 18: "));
  EXPECT_EQ(counters.refusal(1), nullptr);
  EXPECT_EQ(counters.threads(), 3U);
  EXPECT_THAT(kernel_.open_groups(),
              ElementsAre("pid17 page-faults", "pid18 page-faults", "pid19 page-faults"));
}

TEST_F(ScriptedTaskCountersTest, AreReadAgainWhileAThreadThatInheritedThemEnds) {
  const TaskCounters counters = count(eventful_, kSoftware);
  int refused = 3;
  eventful_.refuse_read = [&] { return refused-- > 0 ? ECHILD : 0; };

  GroupReading sum;
  EXPECT_TRUE(counters.read(eventful_, 0, sum));
}

TEST_F(ScriptedTaskCountersTest, FailToBeReadWhenThatDoesNotPass) {
  const TaskCounters counters = count(eventful_, kSoftware);
  eventful_.refuse_read = [] { return ECHILD; };

  GroupReading sum;
  EXPECT_THAT(counters.read(eventful_, 0, sum), FailsWith(ECHILD));
}

TEST_F(ScriptedTaskCountersTest, OffThePmuInOneThreadHaveNoSumAndAskForTheirPlace) {
  const TaskCounters counters = count(kernel_, {{{kCycles}, {.pinned = true}, {}}}, {17, 18});
  ASSERT_TRUE(counters.enable(kernel_));
  kernel_.answer("pid18 cycles", {Kind::kEof, {}, {}, {}});

  GroupReading sum;
  ASSERT_TRUE(counters.read(kernel_, 0, sum));

  EXPECT_EQ(sum.state, GroupReading::State::kOffPmu);
  EXPECT_EQ(kernel_.enabled("pid17 cycles"), 1U);
  EXPECT_EQ(kernel_.enabled("pid18 cycles"), 2U);
}

TEST_F(ScriptedTaskCountersTest, AreClosedAtTheirEnd) {
  (void)count(kernel_, kTwoGroups, {17, 18});

  EXPECT_THAT(kernel_.open_groups(), IsEmpty());
  EXPECT_EQ(kernel_.still_open(), 0U);
}

TEST(TaskCountersTest, OfTheOwnThreadInheritOnRequestOnly) {
  for (const auto inherit : {TaskCounters::Inherit::kNo, TaskCounters::Inherit::kYes}) {
    EventfulKernel kernel;
    const TaskCounters counters = TaskCounters::of_own_thread(kernel, kSoftware, inherit);

    EXPECT_EQ(kernel.requests.front().pid, 0);
    EXPECT_EQ(kernel.requests.front().inherit, inherit == TaskCounters::Inherit::kYes);
    EXPECT_EQ(counters.threads(), 1U);
  }
}

// --------------------------------------------------------------------------------------------------
// On this machine's kernel

constexpr std::size_t kPages = 1000;

void touch_new_pages(std::size_t pages = kPages) { test::NewMemory{pages}.touch(); }

class TaskCountersOfLinuxTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const TaskCounters trial = TaskCounters::of_own_thread(kernel_, kSoftware);
    if (trial.refusal(0) != nullptr) GTEST_SKIP() << describe(trial.refusal(0)->error);
  }

  GroupReading read(const TaskCounters& counters, std::size_t group = 0) {
    GroupReading sum;
    const Result<> done = counters.read(kernel_, group, sum);
    EXPECT_TRUE(done) << describe(done.error());
    return sum;
  }

  /// Of task-clock and page-faults: the faults are few more than `least`.
  void expect_faults(const GroupReading& reading, std::size_t least) {
    ASSERT_EQ(reading.counts.size(), 2U);
    EXPECT_GE(reading.counts[1], least);
    EXPECT_LT(reading.counts[1], least + 500);
    EXPECT_GT(reading.counts[0], 0U);
    EXPECT_EQ(reading.time_running, reading.time_enabled);
  }

  LinuxPerfKernel kernel_;
  host::HostRoots roots_;
};

TEST_F(TaskCountersOfLinuxTest, CountTheOwnThreadWhileTheyAreEnabled) {
  const TaskCounters counters = TaskCounters::of_own_thread(kernel_, kSoftware);
  touch_new_pages();
  ASSERT_TRUE(counters.enable(kernel_));
  touch_new_pages();
  ASSERT_TRUE(counters.disable(kernel_));
  touch_new_pages();

  const GroupReading reading = read(counters);

  ASSERT_EQ(reading.counts.size(), 2U);
  EXPECT_GE(reading.counts[1], kPages);
  EXPECT_LT(reading.counts[1], 2 * kPages);
}

TEST_F(TaskCountersOfLinuxTest, OfTheOwnThreadCountOthersOnlyIfTheyInherit) {
  for (const auto inherit : {TaskCounters::Inherit::kNo, TaskCounters::Inherit::kYes}) {
    const TaskCounters counters = TaskCounters::of_own_thread(kernel_, kSoftware, inherit);
    ASSERT_TRUE(counters.enable(kernel_));
    std::thread([] { touch_new_pages(); }).join();
    ASSERT_TRUE(counters.disable(kernel_));

    const std::uint64_t faults = read(counters).counts[1];
    if (inherit == TaskCounters::Inherit::kYes) {
      EXPECT_GE(faults, kPages);
    } else {
      EXPECT_LT(faults, kPages);
    }
  }
}

/// Threads that wait, until each touches its pages and waits for its end.
class Workers {
 public:
  explicit Workers(int count) : step_(count + 1) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this] {
        step_.arrive_and_wait();
        touch_new_pages();
        step_.arrive_and_wait();
        step_.arrive_and_wait();
      });
    }
  }
  ~Workers() {
    if (!have_touched_) touch_pages();
    step_.arrive_and_wait();
    for (std::thread& thread : threads_) thread.join();
  }

  void touch_pages() {
    have_touched_ = true;
    step_.arrive_and_wait();
    step_.arrive_and_wait();
  }

 private:
  std::barrier<> step_;
  bool have_touched_ = false;
  std::vector<std::thread> threads_;
};

TEST_F(TaskCountersOfLinuxTest, CountAllThreadsOfAProcessThatWereThereBefore) {
  Workers workers{3};
  const Result<TaskCounters> counters =
      TaskCounters::of_process(kernel_, roots_, ::getpid(), kSoftware);
  ASSERT_TRUE(counters) << describe(counters.error());
  EXPECT_GE(counters->threads(), 4U);
  EXPECT_EQ(counters->uncertain_threads(), 0U);
  ASSERT_TRUE(counters->enable(kernel_));

  workers.touch_pages();

  const GroupReading reading = read(*counters);
  EXPECT_GE(reading.counts[1], 3 * kPages);
  EXPECT_LT(reading.counts[1], 4 * kPages);
}

TEST_F(TaskCountersOfLinuxTest, NeverFallWhileThreadsThatInheritedThemBeginAndEnd) {
  const Result<TaskCounters> counters =
      TaskCounters::of_process(kernel_, roots_, ::getpid(), kSoftware);
  ASSERT_TRUE(counters);
  ASSERT_TRUE(counters->enable(kernel_));
  std::atomic<bool> is_over{false};
  std::thread creator([&] {
    while (!is_over) std::thread([] { touch_new_pages(10); }).join();
  });

  GroupReading before = read(*counters);
  for (int i = 0; i < 2000; ++i) {
    const GroupReading now = read(*counters);
    EXPECT_GE(now.time_enabled, before.time_enabled);
    EXPECT_GE(now.counts[0], before.counts[0]);
    EXPECT_GE(now.counts[1], before.counts[1]);
    before = now;
  }
  is_over = true;
  creator.join();
}

TEST_F(TaskCountersOfLinuxTest, CountACommandFromItsExecWithAllItsChildren) {
  // head reads into memory that it has not touched before: at least as many faults as pages.
  Result<Command> command =
      Command::prepare({"sh", "-c", "head -c 20000000 /dev/zero | tail -c 20000000 >/dev/null"});
  ASSERT_TRUE(command);
  const TaskCounters counters = TaskCounters::of_command(kernel_, *command, kSoftware);
  ASSERT_EQ(counters.refusal(0), nullptr);

  EXPECT_EQ(read(counters).time_enabled.count(), 0);
  ASSERT_TRUE(command->start());
  EXPECT_EQ(command->wait()->shell_status(), 0);

  const GroupReading reading = read(counters);
  EXPECT_GT(reading.counts[1], 20'000'000 / static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
  EXPECT_GT(reading.time_enabled.count(), 0);
  EXPECT_EQ(reading.time_running, reading.time_enabled);
}

TEST_F(TaskCountersOfLinuxTest, OfSomeCpusCountOnlyThere) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  if (!CPU_ISSET(0, &before) || !CPU_ISSET(1, &before)) GTEST_SKIP() << "needs the CPUs 0 and 1";
  const TaskCounters counters = TaskCounters::of_own_thread(
      kernel_, std::vector<TaskGroup>{{{kPageFaults}, {}, {0}}, {{kPageFaults}, {}, {0, 1}}});
  ASSERT_TRUE(counters.enable(kernel_));
  cpu_set_t second;
  CPU_ZERO(&second);
  CPU_SET(1, &second);
  ASSERT_EQ(::sched_setaffinity(0, sizeof second, &second), 0);
  const std::uint64_t on_first = read(counters, 0).counts[0];
  const std::uint64_t on_both = read(counters, 1).counts[0];
  touch_new_pages();

  EXPECT_EQ(read(counters, 0).counts[0], on_first);
  EXPECT_GE(read(counters, 1).counts[0], on_both + kPages);
  ::sched_setaffinity(0, sizeof before, &before);
}

TEST_F(TaskCountersOfLinuxTest, FailForAProcessThatHasEnded) {
  test::WaitingChild child{[] {}};
  const pid_t ended = child.pid();
  child.run();

  EXPECT_THAT(TaskCounters::of_process(kernel_, roots_, ended, kSoftware), FailsWith(ESRCH));
}

}  // namespace
}  // namespace pex::perf::task_counters_test
