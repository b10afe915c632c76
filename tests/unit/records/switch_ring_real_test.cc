// Switch records of the real kernel, against what its counters of cgroups count.

#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <iterator>
#include <numeric>

#include "abi/sampling.h"
#include "cgroup/hierarchy.h"
#include "perf/counter_group.h"
#include "records/switch_ring.h"
#include "support/real_events.h"
#include "support/test_headers.h"

namespace pex::perf {
namespace {

using test::NewMemory;
using test::TemporaryCgroup;
using test::WaitingChild;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::size_t kKiB = 1024;
constexpr RingSize kRing = {8192 * kKiB, 256 * kKiB};  // for a second of other programs on the CPU
constexpr int kRounds = 300;
constexpr const char* kNoRoom = "the ring had no room for a record";
constexpr const char* kUnwritten = "the kernel wrote no record of a switch";
constexpr const char* kIncomplete = "records are missing in each attempt: NOT tested";

std::vector<CounterSpec> two_events() {
  const auto software = [](const char* name, std::uint64_t config) {
    return CounterSpec{name, {.type = PERF_TYPE_SOFTWARE, .config = config}};
  };
  return {software("context-switches", PERF_COUNT_SW_CONTEXT_SWITCHES),
          software("page-faults", PERF_COUNT_SW_PAGE_FAULTS)};
}

/// What each cgroup did, by the records of the only group of a ring.
struct DoneByCgroups {
  struct Sum {
    std::chrono::nanoseconds enabled{};
    std::vector<std::uint64_t> counts;
  };

  void operator()(const SwitchRecord& record) {
    steps.push_back(record.happened.switches - switches);
    Sum& sum = sums[record.cgroup];
    sum.enabled += record.enabled - enabled;
    sum.counts.resize(record.counts.size());
    counts.resize(record.counts.size());
    for (std::size_t i = 0; i < counts.size(); ++i) sum.counts[i] += record.counts[i] - counts[i];
    switches = record.happened.switches;
    enabled = record.enabled;
    running = record.running;
    counts.assign(record.counts.begin(), record.counts.end());
    if (!names.contains(record.cgroup)) nameless.push_back(record.cgroup);
  }
  void operator()(const NewCgroup& cgroup) { names[cgroup.id] = cgroup.path; }
  void operator()(const Loss& loss) { lost += loss.records; }

  std::map<std::uint64_t, Sum> sums;
  std::vector<std::uint64_t> steps;  ///< of the leader, from record to record
  std::map<std::uint64_t, std::string> names;
  std::vector<std::uint64_t> nameless;  ///< ids of records before which there was no name
  std::uint64_t lost = 0;
  // Those of the last record:
  std::uint64_t switches = 0;
  std::chrono::nanoseconds enabled{};
  std::chrono::nanoseconds running{};
  std::vector<std::uint64_t> counts;
};

/// On CPU 0 alone, and in several attempts: a guest kernel is known that writes no record when
/// certain tasks leave the CPU, which are the idle tasks of its other CPUs and, rarely, others.
class SwitchRingRealTest : public test::RealEventsTest {
 protected:
  void SetUp() override {
    ASSERT_EQ(::sched_getaffinity(0, sizeof allowed_, &allowed_), 0);
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    if (::sched_setaffinity(0, sizeof first, &first) != 0) {
      GTEST_SKIP() << "CPU 0 is not for this process: switch records are NOT tested";
    }
    RealEventsTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const auto hierarchy = cgroup::find_hierarchy({});
    if (!hierarchy || !*hierarchy) GTEST_SKIP() << "no cgroup tree has perf_event: NOT tested";
    mount_ = (*hierarchy)->mount;
    open_ring();
  }
  void TearDown() override {
    RealEventsTest::TearDown();
    ::sched_setaffinity(0, sizeof allowed_, &allowed_);
  }

  void add_group(const std::vector<CounterSpec>& events) {
    const auto added = ring_->add_group(kernel_, events);
    ASSERT_TRUE(added) << describe(added.error().error);
    group_ = *added;
  }
  RingReport drain() { return ring_->drain(done_); }

  /// With a new group each time, until none of its records is missing. What it did is in done_.
  /// Fails where a busy CPU leaves no room in each attempt; false where the kernel leaves out
  /// records.
  bool attempt_until_complete(const std::function<void()>& work) {
    std::optional<std::size_t> before;
    return until_complete([&]() -> test::Disturbance {
      if (before) ring_->remove_group(*before);
      drain();
      done_ = {};
      add_group(two_events());
      before = group_;
      work();
      const bool was_full = is_full();
      EXPECT_EQ(drain().unreadable, 0U);
      if (was_full || done_.lost > 0) return kNoRoom;
      if (!is_each_one_more(done_.steps)) return kUnwritten;
      return {};
    });
  }
  static bool until_complete(const std::function<test::Disturbance()>& attempt) {
    bool had_no_room = false;
    const bool is_complete = test::undisturbed([&] {
      const test::Disturbance disturbance = attempt();
      had_no_room |= disturbance == kNoRoom;
      return disturbance;
    });
    EXPECT_TRUE(is_complete || !had_no_room) << kNoRoom << " in some of all attempts";
    return is_complete;
  }
  static bool is_each_one_more(const std::vector<std::uint64_t>& steps) {
    return std::all_of(steps.begin(), steps.end(), [](std::uint64_t step) { return step == 1; });
  }
  /// Of an attempt that was full, the loss is reported in the next one.
  bool is_full() const {
    constexpr std::size_t kRecord = 256;  // bytes, at most
    return ring_->unread() + kRecord > ring_->size();
  }
  GroupReading read(std::uint64_t& switches) {
    GroupReading reading;
    SwitchCounts happened;
    const Result<> read = ring_->read(kernel_, group_, reading, happened);
    EXPECT_TRUE(read) << describe(read.error());
    switches = happened.switches;
    return reading;
  }

  std::string mount_;
  std::optional<SwitchRing> ring_;
  std::size_t group_ = 0;
  DoneByCgroups done_;

 private:
  void open_ring() {
    auto ring = SwitchRing::open(kernel_, cpu_, kRing, true);
    if (!ring && (ring.error().code == EPERM || ring.error().code == EINVAL)) {
      GTEST_SKIP() << "NOT tested: " << describe(ring.error());  // too little memory, too old
    }
    ASSERT_TRUE(ring) << describe(ring.error());
    ring_.emplace(*std::move(ring));
  }

  cpu_set_t allowed_;
};

/// A pipe over which one process wakes up another.
class WakeUp {
 public:
  WakeUp() { EXPECT_EQ(::pipe2(ends_, O_CLOEXEC), 0); }
  ~WakeUp() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  WakeUp(const WakeUp&) = delete;
  WakeUp& operator=(const WakeUp&) = delete;

  void send() const {
    if (::write(ends_[1], "", 1) != 1) ::_exit(1);
  }
  void wait() const {
    char byte = 0;
    if (::read(ends_[0], &byte, 1) != 1) ::_exit(1);
  }

 private:
  int ends_[2] = {-1, -1};
};

/// Two processes in two cgroups hand the CPU to and fro: each waits for the other. Until run() they
/// sleep elsewhere.
class HandOver {
 public:
  explicit HandOver(const std::string& mount)
      : cgroups_{TemporaryCgroup{mount, ".a"}, TemporaryCgroup{mount, ".b"}} {}

  /// False: processes cannot be moved to new cgroups here.
  bool enter() const {
    for (std::size_t i = 0; i < std::size(cgroups_); ++i) {
      if (!cgroups_[i] || !cgroups_[i].add(processes_[i].pid())) return false;
    }
    return true;
  }
  const TemporaryCgroup& cgroup(std::size_t number) const { return cgroups_[number]; }
  void run() {
    ASSERT_TRUE(enter());
    std::thread other{[this] { processes_[1].run(); }};
    processes_[0].run();
    other.join();
  }

 private:
  TemporaryCgroup cgroups_[2];  // first, as the processes have to end before them
  WakeUp to_[2];
  WaitingChild processes_[2] = {WaitingChild{[this] {
                                  for (int round = 0; round < kRounds; ++round) {
                                    NewMemory{1}.touch();
                                    to_[1].send();
                                    to_[0].wait();
                                  }
                                }},
                                WaitingChild{[this] {
                                  for (int round = 0; round < kRounds; ++round) {
                                    to_[1].wait();
                                    NewMemory{2}.touch();
                                    to_[0].send();
                                  }
                                }}};
};

/// Descriptors that count the events of the group in one cgroup.
class CgroupCounters {
 public:
  CgroupCounters(PerfKernel& kernel, const TemporaryCgroup& cgroup, int cpu)
      : kernel_(kernel),
        directory_(::open(cgroup.directory().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
        counters_(CounterGroup::open(
            kernel, two_events(),
            {.cpu = cpu, .cgroup_fd = directory_.get(), .cgroup_path = cgroup.name()}, {})) {}

  /// Not so on a version 2 hierarchy whose root has no controller in cgroup.subtree_control.
  bool is_open() const { return counters_.has_value(); }
  GroupReading read() const {
    GroupReading reading;
    EXPECT_TRUE(counters_->read(kernel_, reading));
    return reading;
  }

 private:
  PerfKernel& kernel_;
  UniqueFd directory_;
  Result<CounterGroup, OpenFailure> counters_;
};

TEST_F(SwitchRingRealTest, CountsInEachCgroupWhatItsOwnCountersCount) {
  if (!HandOver{mount_}.enter()) GTEST_SKIP() << "cgroups cannot be made here: NOT tested";
  std::vector<std::pair<std::uint64_t, GroupReading>> truth;  // by the id of the cgroup

  const bool is_complete = attempt_until_complete([&] {
    HandOver processes{mount_};
    const CgroupCounters descriptors[] = {{kernel_, processes.cgroup(0), cpu_},
                                          {kernel_, processes.cgroup(1), cpu_}};
    truth.clear();
    if (!descriptors[0].is_open()) return;
    processes.run();
    for (std::size_t i = 0; i < std::size(descriptors); ++i) {
      truth.emplace_back(processes.cgroup(i).id(), descriptors[i].read());
    }
  });

  if (truth.empty()) GTEST_SKIP() << "cgroups are not counted here: NOT tested";
  if (!is_complete) GTEST_SKIP() << kIncomplete;
  constexpr double kSwitches = 2, kFaults = 10;  // of one interval at each end
  std::uint64_t faults_of_a_round = 0;
  for (const auto& [cgroup, reading] : truth) {
    const DoneByCgroups::Sum& done = done_.sums[cgroup];
    ASSERT_EQ(done.counts.size(), reading.counts.size());
    EXPECT_GE(reading.counts[0], std::uint64_t{kRounds});
    EXPECT_GE(reading.counts[1], ++faults_of_a_round * kRounds);
    EXPECT_NEAR(static_cast<double>(done.counts[0]), static_cast<double>(reading.counts[0]),
                kSwitches);
    EXPECT_NEAR(static_cast<double>(done.counts[1]), static_cast<double>(reading.counts[1]),
                kFaults);
  }
}

TEST_F(SwitchRingRealTest, HasARecordForEachSwitchOfTheLeader) {
  if (!HandOver{mount_}.enter()) GTEST_SKIP() << "cgroups cannot be made here: NOT tested";
  std::uint64_t switches = 0;

  const bool is_complete = attempt_until_complete([&] {
    HandOver processes{mount_};
    processes.run();
    read(switches);
  });

  if (!is_complete) GTEST_SKIP() << kIncomplete;
  EXPECT_GE(done_.steps.size(), 2U * kRounds - 1);
  EXPECT_GE(done_.switches, switches);
  EXPECT_EQ(done_.running, done_.enabled);  // software events never lose the PMU
}

TEST_F(SwitchRingRealTest, ReadsWhatTheLastRecordHasAndWhatWasCountedSince) {
  add_group(two_events());
  HandOver processes{mount_};
  if (!processes.enter()) GTEST_SKIP() << "cgroups cannot be made here: NOT tested";
  processes.run();
  constexpr std::size_t kPages = 100;
  bool has_no_switch = false;
  for (int tries = 0; tries < 1000 && !has_no_switch; ++tries) {
    drain();
    NewMemory{kPages}.touch();
    std::uint64_t switches = 0;
    const GroupReading reading = read(switches);
    has_no_switch = drain().records == 0;
    if (!has_no_switch) continue;
    ASSERT_FALSE(done_.counts.empty()) << "no record was written";
    EXPECT_EQ(switches, done_.switches);
    EXPECT_GE(reading.counts[1] - done_.counts[1], kPages);
    EXPECT_GT(reading.time_enabled, done_.enabled);
  }

  EXPECT_TRUE(has_no_switch) << "other tasks ran in each attempt";
}

TEST_F(SwitchRingRealTest, NamesANewCgroupBeforeItsFirstRecord) {
  if (!HandOver{mount_}.enter()) GTEST_SKIP() << "cgroups cannot be made here: NOT tested";
  constexpr std::size_t kPages = 50;
  std::uint64_t id = 0;
  std::string name;

  const bool is_complete = attempt_until_complete([&] {
    WaitingChild child{[] { NewMemory{kPages}.touch(); }};
    const TemporaryCgroup made{mount_};
    ASSERT_TRUE(made && made.add(child.pid()));
    id = made.id();
    name = made.name();
    child.run();
  });

  if (!is_complete) GTEST_SKIP() << kIncomplete;
  if (done_.sums.contains(id) && !done_.names.contains(id)) {
    GTEST_SKIP() << "this hierarchy has no perf_event below its root: NOT tested";
  }
  ASSERT_TRUE(done_.sums.contains(id));
  EXPECT_TRUE(done_.names[id].ends_with(name)) << done_.names[id];
  EXPECT_THAT(done_.nameless, Not(Contains(id)));
  EXPECT_GE(done_.sums[id].counts[1], kPages);
  EXPECT_GT(done_.sums[id].enabled.count(), 0);
}

TEST_F(SwitchRingRealTest, HasRecordsOfAllGroupsUntilTheyAreRemoved) {
  struct Records {
    void operator()(const SwitchRecord& record) {
      switches[record.group].push_back(record.happened.switches);
    }
    void operator()(const NewCgroup&) {}
    void operator()(const Loss& loss) { lost += loss.records; }
    std::map<std::size_t, std::vector<std::uint64_t>> switches;
    std::uint64_t lost = 0;
  } records;
  if (!HandOver{mount_}.enter()) GTEST_SKIP() << "cgroups cannot be made here: NOT tested";
  std::vector<std::size_t> groups;

  const bool is_complete = until_complete([&]() -> test::Disturbance {
    for (std::size_t i = 1; i < groups.size(); ++i) ring_->remove_group(groups[i]);
    groups.clear();
    ring_->drain(records);  // the loss of the attempt before
    records = {};
    for (const auto& events : {two_events(), {}, two_events()}) {
      const auto added = ring_->add_group(kernel_, events);
      if (!added) ADD_FAILURE() << describe(added.error().error);
      groups.push_back(added ? *added : 0);
    }
    HandOver{mount_}.run();
    ring_->remove_group(groups[0]);
    const bool was_full = is_full();
    const RingReport report = ring_->drain(records);
    ::usleep(1000);
    const RingReport later = ring_->drain(records);
    EXPECT_EQ(report.unreadable, 0U);
    EXPECT_EQ(later.unreadable, 0U);
    if (was_full || records.lost > 0) return kNoRoom;
    for (const std::size_t group : {groups[1], groups[2]}) {
      std::vector<std::uint64_t> steps;
      const std::vector<std::uint64_t>& switches = records.switches[group];
      std::adjacent_difference(switches.begin(), switches.end(), std::back_inserter(steps));
      if (!is_each_one_more(steps)) return kUnwritten;
    }
    return {};
  });

  if (!is_complete) GTEST_SKIP() << kIncomplete;
  EXPECT_THAT(records.switches[groups[0]], IsEmpty());
  for (const std::size_t group : {groups[1], groups[2]}) {
    EXPECT_GE(records.switches[group].size(), 2U * kRounds - 1);
  }
}

/// As `perf record -g -e cgroup-switches` opens it.
SamplingRequest event_of_another_program() {
  SamplingRequest request = test::software_request(PERF_COUNT_SW_CGROUP_SWITCHES);
  request.period = 1;
  request.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN;
  return request;
}

/// Since Linux 6.3 the other event, which was opened last, leaves its id and the size of its
/// callchain in the samples of the groups.
TEST_F(SwitchRingRealTest, ReadsItsRecordsWhileAnotherProgramSamplesTheSwitches) {
  if (!HandOver{mount_}.enter()) GTEST_SKIP() << "cgroups cannot be made here: NOT tested";

  const bool is_complete = attempt_until_complete([&] {
    HandOver processes{mount_};
    const auto other = open_sampling(kernel_, event_of_another_program(), this_cpu());
    ASSERT_TRUE(other) << describe(other.error());
    constexpr RingSize kOfOther = {16 * kKiB, 16 * kKiB};
    const auto ring = RingBuffer::open(kernel_, other->fd.get(), kOfOther);
    ASSERT_TRUE(ring) << describe(ring.error());
    processes.run();
  });

  if (!is_complete) GTEST_SKIP() << kIncomplete;
  EXPECT_GE(done_.steps.size(), 2U * kRounds - 1);
}

TEST_F(SwitchRingRealTest, IsReadableOnceHalfOfItIsFull) {
  constexpr std::size_t kSmall = 16 * kKiB;
  auto ring = SwitchRing::open(kernel_, cpu_, {kSmall, kSmall}, true);
  ASSERT_TRUE(ring) << describe(ring.error());
  HandOver processes{mount_};
  if (!processes.enter()) GTEST_SKIP() << "cgroups cannot be made here: NOT tested";
  const auto is_readable = [&] {
    pollfd state{ring->fd(), POLLIN, 0};
    return ::poll(&state, 1, 0) == 1 && (state.revents & POLLIN) != 0;
  };

  const bool at_first = is_readable();
  ASSERT_TRUE(ring->add_group(kernel_, {}));
  processes.run();

  EXPECT_FALSE(at_first);
  EXPECT_TRUE(is_readable());
  EXPECT_GE(ring->unread(), kSmall / 2);
}

TEST_F(SwitchRingRealTest, IsLedByCgroupSwitchesSinceLinux513) {
  const bool has_cgroup_switches = host::running_kernel() >= host::KernelVersion{5, 13, 0};

  EXPECT_EQ(ring_->leader().name, has_cgroup_switches ? "cgroup-switches" : "context-switches");
}

}  // namespace
}  // namespace pex::perf
