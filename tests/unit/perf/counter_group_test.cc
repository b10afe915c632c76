#include "perf/counter_group.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "support/counting_kernel.h"

namespace pex::perf {
namespace {

using std::chrono::nanoseconds;
using ::testing::ElementsAre;
using ::testing::StartsWith;
using Words = std::vector<std::uint64_t>;

/// Hands out read ends of pipes and keeps the write ends: what is not closed is visible.
class FakePerfKernel final : public test::CountingKernel {
 public:
  void fail_open_number(std::size_t number, int code) { open_failures_[number] = code; }
  void fail_enable(int code) { enable_failure_ = code; }
  void answer(std::size_t number, Words words) { answers_[number] = std::move(words); }
  void needs_room(std::size_t number, std::size_t words) { rooms_[number] = words; }
  void fail_read_of(std::size_t number, int code) { read_failures_[number] = code; }

  Result<OpenCounter> open(const CounterRequest& request) override {
    const std::size_t number = requests.size();
    requests.push_back(request);
    steps.push_back("open");
    int ends[2] = {-1, -1};
    if (!open_failures_.contains(number) && ::pipe2(ends, O_CLOEXEC) != 0) ADD_FAILURE() << errno;
    fds.push_back(ends[0]);
    kept_.emplace_back(ends[1]);
    if (const auto failure = open_failures_.find(number); failure != open_failures_.end()) {
      return Error{failure->second, {}, {}};
    }
    return OpenCounter{UniqueFd{ends[0]}, id_of(number)};
  }

  Result<> enable_group(int leader_fd) override {
    steps.push_back("enable " + std::to_string(number_of(leader_fd)));
    if (enable_failure_ != 0) return Error{enable_failure_, {}, {}};
    return {};
  }

  Result<> disable_group(int leader_fd) override {
    steps.push_back("disable " + std::to_string(number_of(leader_fd)));
    return {};
  }

  Result<std::size_t> read_group(int leader_fd, std::span<std::uint64_t> words) override {
    const std::size_t number = number_of(leader_fd);
    steps.push_back("read " + std::to_string(number));
    if (read_failures_.contains(number)) return Error{read_failures_[number], {}, {}};
    const Words& answer = answers_[number];
    const std::size_t room = std::max(answer.size(), rooms_[number]);
    if (room > words.size()) return Error{ENOSPC, {}, {}};  // as the kernel does
    std::copy(answer.begin(), answer.end(), words.begin());
    return answer.size();
  }

  std::chrono::nanoseconds now() override { return {}; }

  static std::uint64_t id_of(std::size_t number) { return 100 + number; }

  std::size_t still_open() const {
    std::size_t open = 0;
    for (const UniqueFd& end : kept_) {
      pollfd state{end.get(), 0, 0};
      if (end && ::poll(&state, 1, 0) == 0) ++open;  // closed, the write end reports POLLERR
    }
    return open;
  }

  std::vector<CounterRequest> requests;
  std::vector<int> fds;  ///< handed out, in the order of opening
  std::vector<std::string> steps;

 private:
  /// The last one with this descriptor: the numbers of closed ones are used again.
  std::size_t number_of(int fd) const {
    return static_cast<std::size_t>(fds.rend() - std::find(fds.rbegin(), fds.rend(), fd)) - 1;
  }

  std::vector<UniqueFd> kept_;
  std::map<std::size_t, int> open_failures_;
  std::map<std::size_t, int> read_failures_;
  std::map<std::size_t, Words> answers_;
  std::map<std::size_t, std::size_t> rooms_;
  int enable_failure_ = 0;
};

const Place kCpu3{3, -1, {}};
const Place kWebOnCpu3{3, 17, "/system.slice/web.service"};

using Events = std::vector<CounterSpec>;

CounterSpec hardware(std::string name, std::uint64_t config) {
  return {std::move(name), {.type = PERF_TYPE_HARDWARE, .config = config}};
}

const CounterSpec kCycles = hardware("cycles", PERF_COUNT_HW_CPU_CYCLES);
const CounterSpec kInstructions = hardware("instructions", PERF_COUNT_HW_INSTRUCTIONS);
const CounterSpec kBranches = hardware("branches", PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
const CounterSpec kCyclesInUserMode{"cycles:u",
                                    {.type = PERF_TYPE_HARDWARE,
                                     .config = PERF_COUNT_HW_CPU_CYCLES,
                                     .exclude_kernel = true,
                                     .exclude_hypervisor = true}};
const CounterSpec kTaskClock{"task-clock",
                             {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK}};

CounterGroup must_open(PerfKernel& kernel, const Events& events, GroupMode mode = {}) {
  Result<CounterGroup, OpenFailure> group = CounterGroup::open(kernel, events, kCpu3, mode);
  EXPECT_TRUE(group);
  return *std::move(group);
}

TEST(DescribePlaceTest, NamesTheCgroupOnlyWhereThereIsOne) {
  EXPECT_EQ(describe(kCpu3), "on CPU 3");
  EXPECT_EQ(describe(kWebOnCpu3), "for cgroup '/system.slice/web.service' on CPU 3");
}

TEST(DescribePlaceTest, NamesTheThreadAndItsCpu) {
  EXPECT_EQ(describe({.cpu = -1, .cgroup_path = {}, .pid = 0}), "in the calling thread");
  EXPECT_EQ(describe({.cpu = -1, .cgroup_path = {}, .pid = 123}), "in thread 123");
  EXPECT_EQ(describe({.cpu = 2, .cgroup_path = {}, .pid = 123}), "in thread 123 on CPU 2");
}

TEST(CounterGroupTest, OfAThreadMayStandStill) {
  FakePerfKernel kernel;  // its time is 0, as that of a thread that sleeps

  const auto group =
      CounterGroup::open(kernel, Events{kTaskClock}, {.cpu = -1, .cgroup_path = {}, .pid = 7}, {});

  ASSERT_TRUE(group);
  EXPECT_THAT(kernel.steps, ElementsAre("open", "enable 0"));
  EXPECT_EQ(kernel.requests.front().pid, 7);
  EXPECT_EQ(kernel.requests.front().cpu, -1);
}

TEST(CounterGroupTest, OpenedDisabledIsNotEnabled) {
  FakePerfKernel kernel;

  const auto group = CounterGroup::open_disabled(kernel, Events{kCycles, kInstructions}, kCpu3, {});

  ASSERT_TRUE(group);
  EXPECT_THAT(kernel.steps, ElementsAre("open", "open"));
}

TEST(CounterGroupTest, ThatBeginsWithAnExecHasALeaderThatDoes) {
  FakePerfKernel kernel;

  const auto group = CounterGroup::open_disabled(
      kernel, Events{kCycles, kInstructions},
      {.cpu = -1, .cgroup_path = {}, .pid = 7, .inherit = true, .enable_on_exec = true}, {});

  ASSERT_TRUE(group);
  EXPECT_TRUE(kernel.requests[0].enable_on_exec);
  EXPECT_FALSE(kernel.requests[1].enable_on_exec);  // it follows
  EXPECT_TRUE(kernel.requests[0].inherit);
  EXPECT_TRUE(kernel.requests[1].inherit);  // the kernel requires it of all or none
}

TEST(CounterGroupTest, IsEnabledOnceAfterTheLastSiblingAndThenRead) {
  FakePerfKernel kernel;

  const CounterGroup group = must_open(kernel, {kCycles, kInstructions, kBranches});

  EXPECT_THAT(kernel.steps, ElementsAre("open", "open", "open", "enable 0", "read 0"));
  EXPECT_EQ(group.size(), 3u);
}

TEST(CounterGroupTest, IsOpenedAgainInAnActiveContextWhenItsTimeStandsStill) {
  FakePerfKernel kernel;
  kernel.answer(0, {2, 0, 0, 0, kernel.id_of(0), 0, kernel.id_of(1)});
  kernel.answer(4, {2, 10, 10, 0, kernel.id_of(4), 0, kernel.id_of(5)});

  const CounterGroup group = must_open(kernel, {kCycles, kTaskClock});

  EXPECT_THAT(kernel.steps, ElementsAre("open", "open", "enable 0", "read 0",  // stands still
                                        "open", "open",                        // one of each PMU
                                        "open", "open", "enable 4"));
  EXPECT_EQ(kernel.requests[2].event.type, kCycles.attributes.type);
  EXPECT_EQ(kernel.requests[3].event.type, kTaskClock.attributes.type);
  for (const std::size_t opened : {2, 3}) {
    EXPECT_TRUE(kernel.requests[opened].running);
    EXPECT_EQ(kernel.requests[opened].leader_fd, -1);
  }
  EXPECT_FALSE(kernel.requests[4].running);
  EXPECT_EQ(kernel.still_open(), 2U);
}

TEST(CounterGroupTest, OfACgroupMayStandStill) {
  FakePerfKernel kernel;
  kernel.answer(0, {1, 0, 0, 0, kernel.id_of(0)});

  const auto group = CounterGroup::open(kernel, Events{kCycles}, kWebOnCpu3, {});

  ASSERT_TRUE(group);
  EXPECT_THAT(kernel.steps, ElementsAre("open", "enable 0"));
}

TEST(CounterGroupTest, OfOneEventCanBeEnabledAtItsOpening) {
  FakePerfKernel kernel;

  const auto group = CounterGroup::open_running(kernel, kTaskClock, kCpu3);

  ASSERT_TRUE(group);
  EXPECT_TRUE(kernel.requests[0].running);
  EXPECT_THAT(kernel.steps, ElementsAre("open"));
}

TEST(CounterGroupTest, HasOneLeaderWhichItsSiblingsFollow) {
  FakePerfKernel kernel;

  const CounterGroup group = must_open(kernel, {kCycles, kInstructions, kBranches});

  ASSERT_EQ(kernel.requests.size(), 3u);
  EXPECT_EQ(kernel.requests[0].leader_fd, -1);
  EXPECT_EQ(kernel.requests[1].leader_fd, kernel.fds[0]);
  EXPECT_EQ(kernel.requests[2].leader_fd, kernel.fds[0]);
}

TEST(CounterGroupTest, AsksForEveryEventAtTheSamePlace) {
  FakePerfKernel kernel;
  const Events specs{kCyclesInUserMode, kTaskClock};

  const auto group = CounterGroup::open(kernel, specs, kWebOnCpu3, {});

  ASSERT_TRUE(group);
  ASSERT_EQ(kernel.requests.size(), 2u);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    EXPECT_EQ(kernel.requests[i].event, specs[i].attributes);
    EXPECT_EQ(kernel.requests[i].cpu, 3);
    EXPECT_EQ(kernel.requests[i].cgroup_fd, 17);
    EXPECT_FALSE(kernel.requests[i].pinned);
    EXPECT_FALSE(kernel.requests[i].exclusive);
  }
}

TEST(CounterGroupTest, IsPinnedAndExclusiveThroughItsLeaderAlone) {
  for (const GroupMode mode : {GroupMode{}, GroupMode{.pinned = true}, GroupMode{.exclusive = true},
                               GroupMode{true, true}}) {
    FakePerfKernel kernel;

    const CounterGroup group = must_open(kernel, {kCycles, kInstructions, kBranches}, mode);

    ASSERT_EQ(kernel.requests.size(), 3u);
    EXPECT_EQ(kernel.requests[0].pinned, mode.pinned);
    EXPECT_EQ(kernel.requests[0].exclusive, mode.exclusive);
    for (const std::size_t sibling : {1u, 2u}) {
      EXPECT_FALSE(kernel.requests[sibling].pinned);
      EXPECT_FALSE(kernel.requests[sibling].exclusive);
    }
  }
}

TEST(CounterGroupTest, ClosesItsCountersAtItsEnd) {
  FakePerfKernel kernel;
  {
    CounterGroup first = must_open(kernel, {kCycles, kInstructions});
    const CounterGroup second = std::move(first);
    EXPECT_EQ(kernel.still_open(), 2u);
  }

  EXPECT_EQ(kernel.still_open(), 0u);
}

TEST(CounterGroupTest, ClosesEarlierCountersWhenASiblingFailsToOpen) {
  FakePerfKernel kernel;
  kernel.fail_open_number(2, EMFILE);

  const auto group =
      CounterGroup::open(kernel, Events{kCycles, kInstructions, kBranches}, kCpu3, {});

  ASSERT_FALSE(group);
  EXPECT_EQ(group.error().event, 2u);
  EXPECT_EQ(group.error().error.code, EMFILE);
  EXPECT_THAT(group.error().error.attempted, StartsWith("open event 'branches' on CPU 3"));
  EXPECT_THAT(kernel.steps, ElementsAre("open", "open", "open"));
  EXPECT_EQ(kernel.still_open(), 0u);
}

TEST(CounterGroupTest, ClosesItsCountersWhenItCannotBeEnabled) {
  FakePerfKernel kernel;
  kernel.fail_enable(ENODEV);

  const auto group = CounterGroup::open(kernel, Events{kCycles, kInstructions}, kCpu3, {});

  ASSERT_FALSE(group);
  EXPECT_EQ(group.error().event, 0u);
  EXPECT_EQ(group.error().error.code, ENODEV);
  EXPECT_EQ(group.error().error.attempted, "enable event 'cycles' on CPU 3");
  EXPECT_EQ(kernel.still_open(), 0u);
}

TEST(CounterGroupTest, ReportsWhatFailedOnWhatAndWhatToDo) {
  FakePerfKernel kernel;
  kernel.fail_open_number(0, EACCES);

  const auto group = CounterGroup::open(kernel, Events{kCycles}, kWebOnCpu3, {});

  ASSERT_FALSE(group);
  EXPECT_EQ(group.error().event, 0u);
  EXPECT_EQ(describe(group.error().error),
            "open event 'cycles' for cgroup '/system.slice/web.service' on CPU 3: CAP_PERFMON is "
            "missing, or kernel.perf_event_paranoid is too high (EACCES). Remedy: grant "
            "CAP_PERFMON to this program, with --user=0 in a container that has it; where "
            "kernel.perf_event_paranoid is 3 or more (Debian's default) also set it to 2");
}

TEST(CounterGroupTest, GivesTheRemedyForTheEventThatWasRefused) {
  FakePerfKernel kernel;
  kernel.fail_open_number(1, ENOENT);

  const auto group = CounterGroup::open(kernel, Events{kTaskClock, kCycles}, {3, -1, {}}, {});

  ASSERT_FALSE(group);
  EXPECT_EQ(group.error().error.cause, "this machine has no such hardware counter");
  EXPECT_THAT(group.error().error.remedy.text(), StartsWith("remove the event"));
}

TEST(CounterGroupTest, ReadsTheWholeGroupInOneGo) {
  FakePerfKernel kernel;
  const CounterGroup group = must_open(kernel, {kCycles, kInstructions});
  kernel.answer(0, {2, 1000, 900, 72, kernel.id_of(1), 71, kernel.id_of(0)});
  kernel.steps.clear();

  GroupReading reading;
  const Result<> read = group.read(kernel, reading);

  ASSERT_TRUE(read);
  EXPECT_THAT(kernel.steps, ElementsAre("read 0"));
  EXPECT_EQ(reading.state, GroupReading::State::kCounting);
  EXPECT_EQ(reading.time_enabled, nanoseconds{1000});
  EXPECT_EQ(reading.time_running, nanoseconds{900});
  EXPECT_THAT(reading.counts, ElementsAre(71, 72));
}

TEST(CounterGroupTest, HasRoomForTheLargestGroup) {
  FakePerfKernel kernel;
  const CounterGroup group = must_open(kernel, Events(kMaxGroupEvents, kCycles));
  Words words{kMaxGroupEvents, 10, 10};
  for (std::size_t i = 0; i < kMaxGroupEvents; ++i) {
    words.push_back(i);
    words.push_back(kernel.id_of(i));
  }
  kernel.answer(0, words);

  GroupReading reading;
  const Result<> read = group.read(kernel, reading);

  ASSERT_TRUE(read);
  ASSERT_EQ(reading.counts.size(), kMaxGroupEvents);
  EXPECT_EQ(reading.counts.back(), kMaxGroupEvents - 1);
}

TEST(CounterGroupTest, IsOffThePmuWhenTheKernelHasNothingToSay) {
  FakePerfKernel kernel;
  const CounterGroup group = must_open(kernel, {kCycles, kInstructions}, {.pinned = true});
  kernel.answer(0, {});
  kernel.steps.clear();

  GroupReading reading;
  const Result<> read = group.read(kernel, reading);

  ASSERT_TRUE(read);
  EXPECT_EQ(reading.state, GroupReading::State::kOffPmu);
  EXPECT_THAT(kernel.steps, ElementsAre("read 0"));
}

TEST(CounterGroupTest, OffThePmuIsReadByAMember) {
  FakePerfKernel kernel;
  const CounterGroup group = must_open(kernel, {kCycles, kInstructions}, {.pinned = true});
  kernel.answer(1, {2, 1000, 900, 71, kernel.id_of(0), 72, kernel.id_of(1)});
  kernel.steps.clear();

  GroupReading reading;
  const Result<> read = group.read_off_pmu(kernel, reading);

  ASSERT_TRUE(read);
  EXPECT_THAT(kernel.steps, ElementsAre("read 1"));
  EXPECT_EQ(reading.state, GroupReading::State::kCounting);
  EXPECT_THAT(reading.counts, ElementsAre(71, 72));
}

TEST(CounterGroupTest, OffThePmuAndAloneIsReadOnceItIsEnabled) {
  FakePerfKernel kernel;
  const CounterGroup group = must_open(kernel, {kCycles}, {.pinned = true});
  kernel.steps.clear();

  GroupReading refused;
  ASSERT_TRUE(group.read_off_pmu(kernel, refused));
  kernel.answer(0, {1, 1000, 900, 71, kernel.id_of(0)});
  GroupReading reading;
  ASSERT_TRUE(group.read_off_pmu(kernel, reading));

  EXPECT_THAT(kernel.steps, ElementsAre("enable 0", "read 0", "enable 0", "read 0"));
  EXPECT_EQ(refused.state, GroupReading::State::kOffPmu);
  EXPECT_EQ(reading.state, GroupReading::State::kCounting);
  EXPECT_THAT(reading.counts, ElementsAre(71));
}

TEST(CounterGroupTest, OffThePmuOnACpuThatIsOfflineHasWhatItsMembersReport) {
  FakePerfKernel kernel;
  const CounterGroup group =
      must_open(kernel, {kCycles, kInstructions, kBranches}, {.pinned = true});
  kernel.answer(1, {1, 1000, 900, 72, kernel.id_of(1)});
  kernel.answer(2, {1, 1000, 900, 73, kernel.id_of(2)});

  GroupReading reading;
  const Result<> read = group.read_off_pmu(kernel, reading);

  ASSERT_TRUE(read);
  EXPECT_EQ(reading.state, GroupReading::State::kCounting);
  EXPECT_EQ(reading.time_enabled, nanoseconds{1000});
  EXPECT_THAT(reading.counts, ElementsAre(0, 72, 73));
  EXPECT_EQ(reading.unreadable, 0b001);
}

TEST(CounterGroupTest, CountsAgainOnceEnabledAgain) {
  FakePerfKernel kernel;
  const CounterGroup group = must_open(kernel, {kCycles}, {.pinned = true});
  kernel.answer(0, {});
  GroupReading reading;
  ASSERT_TRUE(group.read(kernel, reading));
  kernel.steps.clear();

  const Result<> enabled = group.enable(kernel);
  kernel.answer(0, {1, 10, 10, 71, kernel.id_of(0)});
  const Result<> read = group.read(kernel, reading);

  ASSERT_TRUE(enabled && read);
  EXPECT_THAT(kernel.steps, ElementsAre("enable 0", "read 0"));
  EXPECT_EQ(reading.state, GroupReading::State::kCounting);
}

TEST(CounterGroupTest, ReadsEveryEventOnItsOwnWhenTheKernelBrokeTheGroupUp) {
  FakePerfKernel kernel;
  const CounterGroup group = must_open(kernel, {kCycles, kInstructions, kBranches});
  kernel.answer(0, {1, 1000, 900, 71, kernel.id_of(0)});
  kernel.answer(1, {1, 1001, 901, 72, kernel.id_of(1)});
  kernel.answer(2, {1, 1002, 902, 73, kernel.id_of(2)});

  GroupReading reading;
  const Result<> read = group.read(kernel, reading);

  ASSERT_TRUE(read);
  EXPECT_EQ(reading.state, GroupReading::State::kCounting);
  EXPECT_THAT(reading.counts, ElementsAre(71, 72, 73));
  EXPECT_EQ(reading.time_enabled, nanoseconds{1000}) << "the times are the leader's";
  EXPECT_EQ(reading.time_running, nanoseconds{900});
}

TEST(CounterGroupTest, AMemberOfABrokenUpGroupThatReportsNothingDoesNotCostTheOthers) {
  FakePerfKernel kernel;
  const CounterGroup group = must_open(kernel, {kCycles, kInstructions, kBranches});
  kernel.answer(0, {1, 1000, 900, 71, kernel.id_of(0)});
  kernel.answer(1, {});
  kernel.answer(2, {1, 1000, 900, 73, kernel.id_of(2)});

  GroupReading reading;
  const Result<> read = group.read(kernel, reading);

  ASSERT_TRUE(read);
  EXPECT_EQ(reading.state, GroupReading::State::kCounting);
  EXPECT_THAT(reading.counts, ElementsAre(71, 0, 73));
  EXPECT_EQ(reading.unreadable, 0b010);
}

/// As before the last fix of perf_group_detach().
TEST(CounterGroupTest, AMemberThatAnswersForItsFormerLeaderDoesNotCostTheOthers) {
  FakePerfKernel kernel;
  const CounterGroup group = must_open(kernel, {kCycles, kInstructions, kBranches});
  kernel.answer(0, {1, 1000, 900, 71, kernel.id_of(0)});
  kernel.answer(1, {1, 1000, 900, 71, kernel.id_of(0)});
  kernel.answer(2, {1, 1000, 900, 73, kernel.id_of(2)});
  kernel.needs_room(1, words_in_reading(3));

  GroupReading reading;
  const Result<> read = group.read(kernel, reading);

  ASSERT_TRUE(read);
  EXPECT_THAT(reading.counts, ElementsAre(71, 0, 73));
  EXPECT_EQ(reading.unreadable, 0b010);
}

TEST(CounterGroupTest, AMemberOfABrokenUpGroupThatCannotBeReadDoesNotCostTheOthers) {
  FakePerfKernel kernel;
  const CounterGroup group = must_open(kernel, {kCycles, kInstructions});
  kernel.answer(0, {1, 1000, 900, 71, kernel.id_of(0)});
  kernel.fail_read_of(1, ENODEV);

  GroupReading reading;
  const Result<> read = group.read(kernel, reading);

  ASSERT_TRUE(read);
  EXPECT_THAT(reading.counts, ElementsAre(71, 0));
  EXPECT_EQ(reading.unreadable, 0b10);
}

TEST(CounterGroupTest, FailsWithTheCodeOfAReadThatFailed) {
  FakePerfKernel kernel;
  const CounterGroup group = must_open(kernel, {kCycles});
  kernel.fail_read_of(0, EIO);

  GroupReading reading;
  const Result<> read = group.read(kernel, reading);

  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, EIO);
}

TEST(CounterGroupTest, RefusesWordsThatDoNotDescribeItsEvents) {
  struct Row {
    const char* what;
    Words leader;
  };
  const Row rows[] = {
      {"ids of others", {2, 10, 10, 71, 900, 72, 901}},
      {"more events", {3, 10, 10, 71, 100, 72, 101, 73, 102}},
      {"cut short", {2, 10}},
      {"nr of a group in the length of one event", {2, 10, 10, 71, 100}},
  };

  for (const Row& row : rows) {
    FakePerfKernel kernel;
    const CounterGroup group = must_open(kernel, {kCycles, kInstructions});
    kernel.answer(0, row.leader);
    kernel.answer(1, {1, 10, 10, 72, kernel.id_of(1)});

    GroupReading reading;
    const Result<> read = group.read(kernel, reading);

    ASSERT_FALSE(read) << row.what;
    EXPECT_EQ(read.error().code, EBADMSG) << row.what;
  }
}

}  // namespace
}  // namespace pex::perf
