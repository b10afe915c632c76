#include "perf/counter_group.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "support/counting_kernel.h"
#include "support/results.h"
#include "support/test_headers.h"

namespace pex::perf {
namespace {

using std::chrono::nanoseconds;
using test::FailsWith;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
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

class CounterGroupTest : public ::testing::Test {
 protected:
  CounterGroup must_open(const Events& events, GroupMode mode = {}, const Place& place = kCpu3) {
    Result<CounterGroup, OpenFailure> group = CounterGroup::open(kernel_, events, place, mode);
    EXPECT_TRUE(group);
    return *std::move(group);
  }
  /// Of a group that cannot be opened.
  OpenFailure failure_of(const Events& events, const Place& place = kCpu3) {
    const auto group = CounterGroup::open(kernel_, events, place, {});
    EXPECT_FALSE(group);
    return group ? OpenFailure{} : group.error();
  }
  GroupReading read(const CounterGroup& group) {
    kernel_.steps.clear();
    GroupReading reading;
    EXPECT_TRUE(group.read(kernel_, reading));
    return reading;
  }
  GroupReading read_off_pmu(const CounterGroup& group) {
    GroupReading reading;
    EXPECT_TRUE(group.read_off_pmu(kernel_, reading));
    return reading;
  }

  FakePerfKernel kernel_;
};

TEST(DescribePlaceTest, NamesTheCgroupOrTheThreadOnlyWhereThereIsOne) {
  EXPECT_EQ(describe(kCpu3), "on CPU 3");
  EXPECT_EQ(describe(kWebOnCpu3), "for cgroup '/system.slice/web.service' on CPU 3");
  EXPECT_EQ(describe({.cpu = -1, .cgroup_path = {}, .pid = 0}), "in the calling thread");
  EXPECT_EQ(describe({.cpu = -1, .cgroup_path = {}, .pid = 123}), "in thread 123");
  EXPECT_EQ(describe({.cpu = 2, .cgroup_path = {}, .pid = 123}), "in thread 123 on CPU 2");
}

TEST_F(CounterGroupTest, OfAThreadMayStandStill) {
  // The time of the kernel is 0, as that of a thread that sleeps.
  (void)must_open({kTaskClock}, {}, {.cpu = -1, .cgroup_path = {}, .pid = 7});

  EXPECT_THAT(kernel_.steps, ElementsAre("open", "enable 0"));
  EXPECT_EQ(kernel_.requests.front().pid, 7);
  EXPECT_EQ(kernel_.requests.front().cpu, -1);
}

TEST_F(CounterGroupTest, OpenedDisabledIsNotEnabled) {
  EXPECT_TRUE(CounterGroup::open_disabled(kernel_, Events{kCycles, kInstructions}, kCpu3, {}));

  EXPECT_THAT(kernel_.steps, ElementsAre("open", "open"));
}

TEST_F(CounterGroupTest, ThatBeginsWithAnExecHasALeaderThatDoes) {
  const Place command{
      .cpu = -1, .cgroup_path = {}, .pid = 7, .inherit = true, .enable_on_exec = true};

  EXPECT_TRUE(CounterGroup::open_disabled(kernel_, Events{kCycles, kInstructions}, command, {}));

  EXPECT_TRUE(kernel_.requests[0].enable_on_exec);
  EXPECT_FALSE(kernel_.requests[1].enable_on_exec);  // it follows
  EXPECT_TRUE(kernel_.requests[0].inherit);
  EXPECT_TRUE(kernel_.requests[1].inherit);  // the kernel requires it of all or none
}

TEST_F(CounterGroupTest, IsEnabledOnceAfterTheLastSiblingAndThenRead) {
  const CounterGroup group = must_open({kCycles, kInstructions, kBranches});

  EXPECT_THAT(kernel_.steps, ElementsAre("open", "open", "open", "enable 0", "read 0"));
  EXPECT_EQ(group.size(), 3u);
}

TEST_F(CounterGroupTest, IsOpenedAgainInAnActiveContextWhenItsTimeStandsStill) {
  kernel_.answer(0, {2, 0, 0, 0, kernel_.id_of(0), 0, kernel_.id_of(1)});
  kernel_.answer(4, {2, 10, 10, 0, kernel_.id_of(4), 0, kernel_.id_of(5)});

  const CounterGroup group = must_open({kCycles, kTaskClock});

  EXPECT_THAT(kernel_.steps, ElementsAre("open", "open", "enable 0", "read 0",  // stands still
                                         "open", "open",                        // one of each PMU
                                         "open", "open", "enable 4"));
  EXPECT_EQ(kernel_.requests[2].event.type, kCycles.attributes.type);
  EXPECT_EQ(kernel_.requests[3].event.type, kTaskClock.attributes.type);
  for (const std::size_t opened : {2, 3}) {
    EXPECT_TRUE(kernel_.requests[opened].running);
    EXPECT_EQ(kernel_.requests[opened].leader_fd, -1);
  }
  EXPECT_FALSE(kernel_.requests[4].running);
  EXPECT_EQ(kernel_.still_open(), 2U);
}

TEST_F(CounterGroupTest, OfACgroupMayStandStill) {
  kernel_.answer(0, {1, 0, 0, 0, kernel_.id_of(0)});

  (void)must_open({kCycles}, {}, kWebOnCpu3);

  EXPECT_THAT(kernel_.steps, ElementsAre("open", "enable 0"));
}

TEST_F(CounterGroupTest, OfOneEventCanBeEnabledAtItsOpening) {
  EXPECT_TRUE(CounterGroup::open_running(kernel_, kTaskClock, kCpu3));

  EXPECT_TRUE(kernel_.requests[0].running);
  EXPECT_THAT(kernel_.steps, ElementsAre("open"));
}

TEST_F(CounterGroupTest, HasOneLeaderWhichItsSiblingsFollow) {
  const CounterGroup group = must_open({kCycles, kInstructions, kBranches});

  const int leader = kernel_.fds[0];
  EXPECT_THAT(kernel_.requests, ElementsAre(Field(&CounterRequest::leader_fd, -1),
                                            Field(&CounterRequest::leader_fd, leader),
                                            Field(&CounterRequest::leader_fd, leader)));
}

TEST_F(CounterGroupTest, AsksForEveryEventAtTheSamePlace) {
  const Events specs{kCyclesInUserMode, kTaskClock};

  (void)must_open(specs, {}, kWebOnCpu3);

  ASSERT_EQ(kernel_.requests.size(), 2u);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    EXPECT_EQ(kernel_.requests[i].event, specs[i].attributes);
    EXPECT_EQ(kernel_.requests[i].cpu, 3);
    EXPECT_EQ(kernel_.requests[i].cgroup_fd, 17);
    EXPECT_FALSE(kernel_.requests[i].pinned);
    EXPECT_FALSE(kernel_.requests[i].exclusive);
  }
}

TEST_F(CounterGroupTest, IsPinnedAndExclusiveThroughItsLeaderAlone) {
  for (const GroupMode mode : {GroupMode{}, GroupMode{.pinned = true}, GroupMode{.exclusive = true},
                               GroupMode{true, true}}) {
    kernel_.requests.clear();
    (void)must_open({kCycles, kInstructions, kBranches}, mode);

    const auto has_mode = [](GroupMode wanted) {
      return AllOf(Field(&CounterRequest::pinned, wanted.pinned),
                   Field(&CounterRequest::exclusive, wanted.exclusive));
    };
    EXPECT_THAT(kernel_.requests, ElementsAre(has_mode(mode), has_mode({}), has_mode({})));
  }
}

TEST_F(CounterGroupTest, ClosesItsCountersAtItsEnd) {
  {
    CounterGroup first = must_open({kCycles, kInstructions});
    const CounterGroup second = std::move(first);
    EXPECT_EQ(kernel_.still_open(), 2u);
  }

  EXPECT_EQ(kernel_.still_open(), 0u);
}

TEST_F(CounterGroupTest, ClosesEarlierCountersWhenASiblingFailsToOpen) {
  kernel_.fail_open_number(2, EMFILE);

  const OpenFailure failure = failure_of({kCycles, kInstructions, kBranches});

  EXPECT_EQ(failure.event, 2u);
  EXPECT_EQ(failure.error.code, EMFILE);
  EXPECT_THAT(failure.error.attempted, StartsWith("open event 'branches' on CPU 3"));
  EXPECT_THAT(kernel_.steps, ElementsAre("open", "open", "open"));
  EXPECT_EQ(kernel_.still_open(), 0u);
}

TEST_F(CounterGroupTest, ClosesItsCountersWhenItCannotBeEnabled) {
  kernel_.fail_enable(ENODEV);

  const OpenFailure failure = failure_of({kCycles, kInstructions});

  EXPECT_EQ(failure.event, 0u);
  EXPECT_EQ(failure.error.code, ENODEV);
  EXPECT_EQ(failure.error.attempted, "enable event 'cycles' on CPU 3");
  EXPECT_EQ(kernel_.still_open(), 0u);
}

TEST_F(CounterGroupTest, ReportsWhatFailedOnWhatAndWhatToDo) {
  kernel_.fail_open_number(0, EACCES);

  const OpenFailure failure = failure_of({kCycles}, kWebOnCpu3);

  EXPECT_EQ(failure.event, 0u);
  EXPECT_EQ(describe(failure.error),
            "open event 'cycles' for cgroup '/system.slice/web.service' on CPU 3: CAP_PERFMON is "
            "missing, or kernel.perf_event_paranoid is too high (EACCES). Remedy: grant "
            "CAP_PERFMON to this program, with --user=0 in a container that has it; where "
            "kernel.perf_event_paranoid is 3 or more (Debian's default) also set it to 2");
}

TEST_F(CounterGroupTest, GivesTheRemedyForTheEventThatWasRefused) {
  kernel_.fail_open_number(1, ENOENT);

  const Error error = failure_of({kTaskClock, kCycles}).error;

  EXPECT_EQ(error.cause, "this machine has no such hardware counter");
  EXPECT_THAT(error.remedy.text(), StartsWith("remove the event"));
}

TEST_F(CounterGroupTest, ReadsTheWholeGroupInOneGo) {
  const CounterGroup group = must_open({kCycles, kInstructions});
  kernel_.answer(0, {2, 1000, 900, 72, kernel_.id_of(1), 71, kernel_.id_of(0)});

  const GroupReading reading = read(group);

  EXPECT_THAT(kernel_.steps, ElementsAre("read 0"));
  EXPECT_EQ(reading.state, GroupReading::State::kCounting);
  EXPECT_EQ(reading.time_enabled, nanoseconds{1000});
  EXPECT_EQ(reading.time_running, nanoseconds{900});
  EXPECT_THAT(reading.counts, ElementsAre(71, 72));
}

TEST_F(CounterGroupTest, HasRoomForTheLargestGroup) {
  const CounterGroup group = must_open(Events(kMaxGroupEvents, kCycles));
  Words words{kMaxGroupEvents, 10, 10};
  for (std::size_t i = 0; i < kMaxGroupEvents; ++i) {
    words.push_back(i);
    words.push_back(kernel_.id_of(i));
  }
  kernel_.answer(0, words);

  const GroupReading reading = read(group);

  ASSERT_EQ(reading.counts.size(), kMaxGroupEvents);
  EXPECT_EQ(reading.counts.back(), kMaxGroupEvents - 1);
}

TEST_F(CounterGroupTest, IsOffThePmuWhenTheKernelHasNothingToSay) {
  const CounterGroup group = must_open({kCycles, kInstructions}, {.pinned = true});
  kernel_.answer(0, {});

  EXPECT_EQ(read(group).state, GroupReading::State::kOffPmu);
  EXPECT_THAT(kernel_.steps, ElementsAre("read 0"));
}

TEST_F(CounterGroupTest, OffThePmuIsReadByAMember) {
  const CounterGroup group = must_open({kCycles, kInstructions}, {.pinned = true});
  kernel_.answer(1, {2, 1000, 900, 71, kernel_.id_of(0), 72, kernel_.id_of(1)});
  kernel_.steps.clear();

  const GroupReading reading = read_off_pmu(group);

  EXPECT_THAT(kernel_.steps, ElementsAre("read 1"));
  EXPECT_EQ(reading.state, GroupReading::State::kCounting);
  EXPECT_THAT(reading.counts, ElementsAre(71, 72));
}

TEST_F(CounterGroupTest, OffThePmuAndAloneIsReadOnceItIsEnabled) {
  const CounterGroup group = must_open({kCycles}, {.pinned = true});
  kernel_.steps.clear();

  const GroupReading refused = read_off_pmu(group);
  kernel_.answer(0, {1, 1000, 900, 71, kernel_.id_of(0)});
  const GroupReading reading = read_off_pmu(group);

  EXPECT_THAT(kernel_.steps, ElementsAre("enable 0", "read 0", "enable 0", "read 0"));
  EXPECT_EQ(refused.state, GroupReading::State::kOffPmu);
  EXPECT_EQ(reading.state, GroupReading::State::kCounting);
  EXPECT_THAT(reading.counts, ElementsAre(71));
}

TEST_F(CounterGroupTest, OffThePmuOnACpuThatIsOfflineHasWhatItsMembersReport) {
  const CounterGroup group = must_open({kCycles, kInstructions, kBranches}, {.pinned = true});
  kernel_.answer(1, {1, 1000, 900, 72, kernel_.id_of(1)});
  kernel_.answer(2, {1, 1000, 900, 73, kernel_.id_of(2)});

  const GroupReading reading = read_off_pmu(group);

  EXPECT_EQ(reading.state, GroupReading::State::kCounting);
  EXPECT_EQ(reading.time_enabled, nanoseconds{1000});
  EXPECT_THAT(reading.counts, ElementsAre(0, 72, 73));
  EXPECT_EQ(reading.unreadable, 0b001);
}

TEST_F(CounterGroupTest, CountsAgainOnceEnabledAgain) {
  const CounterGroup group = must_open({kCycles}, {.pinned = true});
  kernel_.answer(0, {});
  EXPECT_EQ(read(group).state, GroupReading::State::kOffPmu);

  EXPECT_TRUE(group.enable(kernel_));
  EXPECT_THAT(kernel_.steps, ElementsAre("read 0", "enable 0"));
  kernel_.answer(0, {1, 10, 10, 71, kernel_.id_of(0)});

  EXPECT_EQ(read(group).state, GroupReading::State::kCounting);
}

TEST_F(CounterGroupTest, ReadsEveryEventOnItsOwnWhenTheKernelBrokeTheGroupUp) {
  const CounterGroup group = must_open({kCycles, kInstructions, kBranches});
  kernel_.answer(0, {1, 1000, 900, 71, kernel_.id_of(0)});
  kernel_.answer(1, {1, 1001, 901, 72, kernel_.id_of(1)});
  kernel_.answer(2, {1, 1002, 902, 73, kernel_.id_of(2)});

  const GroupReading reading = read(group);

  EXPECT_EQ(reading.state, GroupReading::State::kCounting);
  EXPECT_THAT(reading.counts, ElementsAre(71, 72, 73));
  EXPECT_EQ(reading.time_enabled, nanoseconds{1000}) << "the times are the leader's";
  EXPECT_EQ(reading.time_running, nanoseconds{900});

  GroupReading used;
  used.unreadable.set(2);
  ASSERT_TRUE(group.read(kernel_, used));
  EXPECT_TRUE(used.unreadable.none()) << "that was of the reading before";
}

/// The former leader answers for the second member as before the last fix of perf_group_detach().
TEST_F(CounterGroupTest, AMemberOfABrokenUpGroupThatTellsNothingOfItselfDoesNotCostTheOthers) {
  const CounterGroup group = must_open({kCycles, kInstructions, kBranches});
  kernel_.answer(0, {1, 1000, 900, 71, kernel_.id_of(0)});
  kernel_.answer(2, {1, 1000, 900, 73, kernel_.id_of(2)});
  const auto expect_the_others = [&](const char* answer) {
    const GroupReading reading = read(group);
    EXPECT_EQ(reading.state, GroupReading::State::kCounting) << answer;
    EXPECT_THAT(reading.counts, ElementsAre(71, 0, 73)) << answer;
    EXPECT_EQ(reading.unreadable, 0b010) << answer;
  };

  kernel_.answer(1, {});
  expect_the_others("nothing");
  kernel_.answer(1, {1, 1000, 900, 71, kernel_.id_of(0)});
  kernel_.needs_room(1, words_in_reading(3));
  expect_the_others("that of its former leader");
  kernel_.fail_read_of(1, ENODEV);
  expect_the_others("an error");
}

TEST_F(CounterGroupTest, FailsWithTheCodeOfAReadThatFailed) {
  const CounterGroup group = must_open({kCycles});
  kernel_.fail_read_of(0, EIO);

  GroupReading reading;
  EXPECT_THAT(group.read(kernel_, reading), FailsWith(EIO));
}

TEST_F(CounterGroupTest, RefusesWordsThatDoNotDescribeItsEvents) {
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
  const CounterGroup group = must_open({kCycles, kInstructions});
  kernel_.answer(1, {1, 10, 10, 72, kernel_.id_of(1)});

  for (const Row& row : rows) {
    kernel_.answer(0, row.leader);

    GroupReading reading;
    EXPECT_THAT(group.read(kernel_, reading), FailsWith(EBADMSG)) << row.what;
  }
}

}  // namespace
}  // namespace pex::perf
