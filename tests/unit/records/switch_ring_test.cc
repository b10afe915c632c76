#include "records/switch_ring.h"

#include <linux/perf_event.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <iterator>
#include <variant>

#include "abi/record/record.h"
#include "support/record_encoder.h"
#include "support/record_layout.h"
#include "support/scripted_kernel.h"
#include "support/scripted_ring.h"
#include "support/test_headers.h"
#include "support/timed_property.h"

namespace pex::perf::switch_ring_test {

namespace {

using test::Bytes;
using test::record_of;
using test::RecordEncoder;
using test::ScriptedRing;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Words = std::vector<std::uint64_t>;
using namespace std::chrono_literals;
using Events = std::vector<CounterSpec>;
using Control = test::ScriptedEvents::Control;

constexpr int kCpu = 3;
const std::size_t kPage = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));

// The numbers of opened_events: the ring's own, the trial of the leader, the leaders of groups.
constexpr std::size_t kOwner = 0, kTrial = 1, kFirstLeader = 2;

CounterSpec software(std::string name, std::uint64_t config) {
  return {std::move(name), {.type = PERF_TYPE_SOFTWARE, .config = config}};
}
const CounterSpec kPageFaults = software("page-faults", PERF_COUNT_SW_PAGE_FAULTS);
const CounterSpec kMigrations = software("cpu-migrations", PERF_COUNT_SW_CPU_MIGRATIONS);
const CounterSpec kSwitches = software("context-switches", PERF_COUNT_SW_CONTEXT_SWITCHES);
const CounterSpec kCycles{"cycles",
                          {.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES}};

bool has_flag(const EventAttr& attr, AttrFlag flag) { return (attr.flags & attr_flag(flag)) != 0; }

/// What a visitor was given, in words.
using Seen = std::vector<std::string>;

std::string seen_record(std::size_t group, std::uint64_t cgroup, std::uint64_t enabled,
                        std::uint64_t running, std::uint64_t switches, const Words& counts,
                        std::uint64_t moves = 0) {
  std::ostringstream out;
  out << "group " << group << ", cgroup " << cgroup << ", " << enabled << " and " << running
      << " ns, " << switches << " switches, counts";
  for (const std::uint64_t count : counts) out << ' ' << count;
  out << ", " << moves << " moves";
  return out.str();
}
std::string seen_cgroup(std::uint64_t id, std::string_view path) {
  return "cgroup " + std::to_string(id) + " is " + std::string(path);
}
std::string seen_loss(std::uint64_t records) { return std::to_string(records) + " lost"; }

struct Keeper {
  void operator()(const SwitchRecord& record) {
    seen.push_back(
        seen_record(record.group, record.cgroup, static_cast<std::uint64_t>(record.enabled.count()),
                    static_cast<std::uint64_t>(record.running.count()), record.happened.switches,
                    {record.counts.begin(), record.counts.end()}, record.happened.moves));
  }
  void operator()(const NewCgroup& cgroup) { seen.push_back(seen_cgroup(cgroup.id, cgroup.path)); }
  void operator()(const Loss& loss) { seen.push_back(seen_loss(loss.records)); }

  Seen seen;
};

/// What follows the header of a sample, as the kernel writes it for a group.
Words words_of(std::uint64_t enabled, std::uint64_t running, const Words& values,
               std::uint64_t cgroup) {
  Words words = {values.size(), enabled, running};
  words.insert(words.end(), values.begin(), values.end());
  words.push_back(cgroup);
  return words;
}
/// The same for the group that the event `id` leads, if another group has as many values.
Words words_with_ids(std::uint64_t id, std::uint64_t enabled, std::uint64_t running,
                     const Words& values, std::uint64_t cgroup) {
  Words words = {0, values.size(), enabled, running};
  for (std::size_t i = 0; i < values.size(); ++i) words.insert(words.end(), {values[i], id + i});
  words.push_back(cgroup);
  return words;
}
Bytes sample_of(std::uint64_t enabled, std::uint64_t running, const Words& values,
                std::uint64_t cgroup) {
  return record_of(PERF_RECORD_SAMPLE, words_of(enabled, running, values, cgroup));
}
Bytes sample_with_ids(std::uint64_t id, std::uint64_t enabled, std::uint64_t running,
                      const Words& values, std::uint64_t cgroup) {
  return record_of(PERF_RECORD_SAMPLE, words_with_ids(id, enabled, running, values, cgroup));
}

Bytes new_cgroup(std::uint64_t id, std::string_view path) {
  return RecordEncoder(PERF_RECORD_CGROUP).u64(id).text(path).record();
}

/// A kernel, the ring that it writes to once that is opened, and what a visitor has seen.
class OpeningSwitchRingTest : public ::testing::Test {
 protected:
  void open() {
    Result<SwitchRing> ring = SwitchRing::open(kernel_, kCpu, {kPage, kPage}, true);
    ASSERT_TRUE(ring) << describe(ring.error());
    ring_.emplace(*std::move(ring));
    writer_.emplace(events().at(kOwner));
  }
  std::size_t add(const Events& group, const EventAttributes* moves = nullptr) {
    const auto added = ring_->add_group(kernel_, group, moves);
    EXPECT_TRUE(added) << describe(added.error().error);
    return added ? *added : 0;
  }
  /// Nothing of it is left open.
  OpenFailure fail_to_add(const Events& group, const EventAttributes* moves = nullptr) {
    const std::vector<std::size_t> before = events().still_open();
    auto added = ring_->add_group(kernel_, group, moves);
    EXPECT_FALSE(added);
    EXPECT_EQ(kernel_.still_open(), 0U);
    EXPECT_EQ(events().still_open(), before);
    return added ? OpenFailure{99, {}} : std::move(added.error());
  }
  /// Why it cannot be opened; nothing is left open.
  Error fail_to_open() {
    const auto ring = SwitchRing::open(kernel_, kCpu, {kPage, kPage}, true);
    EXPECT_FALSE(ring);
    EXPECT_THAT(events().still_open(), IsEmpty());
    return ring ? Error{} : ring.error();
  }
  struct Read {
    GroupReading reading = {};
    SwitchCounts happened = {};
  };
  Read read(std::size_t group) {
    Read all;
    const Result<> read = ring_->read(kernel_, group, all.reading, all.happened);
    EXPECT_TRUE(read) << describe(read.error());
    return all;
  }
  /// The last counts of page faults and migrations, after the CPU was offline: each event is then a
  /// group of its own, as it is in the kernel, and that of migrations says nothing.
  Read read_last(std::size_t group, SwitchCounts before) {
    events().change_reading = [](std::size_t, Words& words) {
      words = {1, 1000, 900, 7};
      return 0;
    };
    kernel_.answer("event2 cpu3 page-faults", {kBrokenUp, 1000ns, 900ns, {0, 11}, 0});
    kernel_.answer("event2 cpu3 cpu-migrations", {kBrokenUp, 1000ns, 900ns, {}, 0, {2}});
    Read all{.happened = before};
    const Result<> read = ring_->read_last(kernel_, group, all.reading, all.happened);
    EXPECT_TRUE(read) << describe(read.error());
    return all;
  }
  RingReport drain() { return ring_->drain(keeper_); }

  test::ScriptedEvents& events() { return kernel_.opened_events; }
  std::uint64_t id_of(std::size_t event) { return events().at(event).id; }
  std::uint64_t last_id() { return id_of(events().opened() - 1); }
  const Seen& seen() const { return keeper_.seen; }

  static constexpr auto kBrokenUp = test::ScriptedKernel::Answer::Kind::kBrokenUp;
  test::ScriptedKernel kernel_;
  std::optional<SwitchRing> ring_;
  std::optional<ScriptedRing> writer_;
  Keeper keeper_;
};

class SwitchRingTest : public OpeningSwitchRingTest {
 protected:
  SwitchRingTest() { open(); }
};

TEST_F(SwitchRingTest, BelongsToAnEventThatRunsAtOnceAndReportsNewCgroups) {
  const auto& owner = events().at(kOwner);
  EXPECT_EQ(owner.attr.type, std::uint32_t{PERF_TYPE_SOFTWARE});
  EXPECT_EQ(owner.attr.config, std::uint64_t{PERF_COUNT_SW_DUMMY});
  EXPECT_EQ(owner.target.cpu, kCpu);
  EXPECT_EQ(owner.target.pid, -1);
  EXPECT_FALSE(has_flag(owner.attr, AttrFlag::kDisabled));
  EXPECT_TRUE(has_flag(owner.attr, AttrFlag::kCgroup));
  EXPECT_TRUE(has_flag(owner.attr, AttrFlag::kCommExec));  // kCgroup alone does nothing
  EXPECT_FALSE(has_flag(owner.attr, AttrFlag::kSampleIdAll));
  EXPECT_EQ(owner.attr.sample_period, 0U);
  EXPECT_EQ(ring_->size(), kPage);
  EXPECT_EQ(ring_->cpu(), kCpu);
  EXPECT_EQ(events().number_of(ring_->fd()), kOwner);
}

TEST_F(OpeningSwitchRingTest, LeavesItsRoomToRecordsOfSwitchesIfItReportsNoCgroups) {
  ASSERT_TRUE(SwitchRing::open(kernel_, kCpu, {kPage, kPage}, false));

  EXPECT_FALSE(has_flag(events().at(kOwner).attr, AttrFlag::kCgroup));
}

TEST_F(SwitchRingTest, WakesUpItsReaderWhenHalfOfItIsFullWhateverItsSize) {
  const EventAttr& owner = events().at(kOwner).attr;
  EXPECT_FALSE(has_flag(owner, AttrFlag::kWatermark));  // the kernel's own is a half
  EXPECT_EQ(owner.wakeup_events, 0U);
}

TEST_F(SwitchRingTest, TriesItsLeaderOnceWhenItIsOpened) {
  const std::size_t before = events().opened();
  add({kPageFaults});
  add({kPageFaults});

  EXPECT_EQ(ring_->leader().name, "cgroup-switches");
  EXPECT_EQ(before, 2U);
  EXPECT_EQ(events().at(kTrial).attr, events().at(kFirstLeader).attr);
  EXPECT_EQ(events().opened(), 4U);
  EXPECT_THAT(events().still_open(), ElementsAre(kOwner, 2, 3));
}

/// A kernel that refuses cgroup-switches, and what it answers to context-switches.
auto refuses_cgroup_switches(int code, int other = 0) {
  return [code, other](EventAttr& attr, const EventTarget&) {
    if (attr.config == PERF_COUNT_SW_CGROUP_SWITCHES) return code;
    return attr.config == PERF_COUNT_SW_CONTEXT_SWITCHES ? other : 0;
  };
}

TEST_F(OpeningSwitchRingTest, IsLedByContextSwitchesInAllGroupsWhereThereAreNoCgroupSwitches) {
  for (const int code : {ENOENT, EINVAL}) {
    events().refuse_open = refuses_cgroup_switches(code);
    open();
    add({kPageFaults});

    EXPECT_EQ(ring_->leader().name, "context-switches");
    EXPECT_EQ(events().at(events().opened() - 1).attr.config,
              std::uint64_t{PERF_COUNT_SW_CONTEXT_SWITCHES});
  }
}

TEST_F(OpeningSwitchRingTest, IsAnErrorIfTheKernelRefusesBothLeaders) {
  events().refuse_open = refuses_cgroup_switches(EINVAL, EINVAL);

  const Error error = fail_to_open();

  EXPECT_EQ(error.code, EINVAL);
  EXPECT_EQ(error.attempted, "open event 'context-switches', which leads the groups on CPU 3");
}

TEST_F(OpeningSwitchRingTest, TriesNoOtherLeaderThanTheOneThatIsNotAllowed) {
  events().refuse_open = refuses_cgroup_switches(EACCES);

  const Error error = fail_to_open();

  EXPECT_EQ(error.code, EACCES);
  EXPECT_THAT(error.attempted, HasSubstr("cgroup-switches"));
  EXPECT_THAT(error.remedy.text(), HasSubstr("CAP_PERFMON"));
}

TEST_F(SwitchRingTest, RefusesMoreEventsThanOneRecordHas) {
  const OpenFailure failure = fail_to_add(Events(kMaxGroupMembers + 1, kPageFaults));

  EXPECT_EQ(failure.event, kMaxGroupMembers);
  EXPECT_EQ(failure.error.code, E2BIG);
}

TEST_F(OpeningSwitchRingTest, IsAnErrorWithTheCpuIfItsEventIsRefused) {
  events().refuse_open = [](EventAttr&, const EventTarget&) { return ENODEV; };

  const Error error = fail_to_open();

  EXPECT_EQ(error.code, ENODEV);
  EXPECT_EQ(error.attempted, "open the event of a ring on CPU 3");
  EXPECT_EQ(error.cause, "the CPU is offline");
}

TEST_F(SwitchRingTest, HasGroupsWhoseLeaderWritesAllValuesAtEachSwitch) {
  add({kPageFaults});

  const auto& leader = events().at(kFirstLeader);
  EXPECT_EQ(leader.attr.type, std::uint32_t{PERF_TYPE_SOFTWARE});
  EXPECT_EQ(leader.attr.config, std::uint64_t{PERF_COUNT_SW_CGROUP_SWITCHES});
  EXPECT_EQ(leader.attr.sample_period, 1U);
  EXPECT_EQ(leader.attr.sample_type, std::uint64_t{PERF_SAMPLE_READ | PERF_SAMPLE_CGROUP});
  EXPECT_EQ(leader.attr.read_format,
            std::uint64_t{PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
                          PERF_FORMAT_TOTAL_TIME_RUNNING});
  EXPECT_EQ(leader.attr.flags, attr_flag(AttrFlag::kDisabled));
  EXPECT_EQ(leader.attr.wakeup_events, 0U);  // the ring wakes up its reader
  EXPECT_EQ(leader.target.cpu, kCpu);
  EXPECT_EQ(leader.target.pid, -1);
  EXPECT_EQ(leader.target.group_fd, -1);
}

TEST_F(SwitchRingTest, HasIdsInTheRecordsOfAGroupThatHasAsManyValuesAsAnother) {
  const auto attr_of_group = [&](const Events& group) {
    add(group);
    return events().at(events().opened() - 1).attr;
  };
  const EventAttr alone = attr_of_group({kPageFaults});
  const EventAttr larger = attr_of_group({kPageFaults, kMigrations});
  const EventAttr second = attr_of_group({kMigrations});
  const EventAttr third = attr_of_group({kCycles});

  constexpr std::uint64_t kAddress = PERF_SAMPLE_ADDR;
  for (const EventAttr& attr : {alone, larger}) {
    EXPECT_EQ(attr.sample_type & kAddress, 0U);
    EXPECT_EQ(attr.read_format & PERF_FORMAT_ID, 0U);
  }
  for (const EventAttr& attr : {second, third}) {
    EXPECT_EQ(attr.sample_type & kAddress, kAddress);
    EXPECT_NE(attr.read_format & PERF_FORMAT_ID, 0U);
  }
}

TEST_F(SwitchRingTest, AttachesTheLeaderThenOpensTheMembersAndEnablesThemOnceAtTheEnd) {
  std::vector<std::size_t> members_before;
  events().refuse_control = [&](const Control&) {
    members_before.push_back(kernel_.opened());
    return 0;
  };

  add({kPageFaults, kMigrations});

  const auto owner = static_cast<std::uint64_t>(ring_->fd());
  EXPECT_THAT(events().controls(),
              ElementsAre(Control{kFirstLeader, EventControl::kSetOutput, owner},
                          Control{kFirstLeader, EventControl::kEnable, PERF_IOC_FLAG_GROUP}));
  EXPECT_THAT(members_before, ElementsAre(0, 2));
  EXPECT_THAT(kernel_.open_groups(), IsEmpty());  // members of the leader's, not groups
}

TEST_F(SwitchRingTest, NumbersItsGroupsAndUsesTheNumbersAgain) {
  const std::size_t first = add({kPageFaults});
  const std::size_t second = add({kPageFaults, kMigrations});
  ring_->remove_group(first);
  const std::size_t third = add({kPageFaults, kMigrations, kCycles});

  EXPECT_EQ(first, 0U);
  EXPECT_EQ(second, 1U);
  EXPECT_EQ(third, 0U);
  EXPECT_EQ(ring_->events(second), 3U);
  EXPECT_EQ(ring_->events(third), 4U);
  EXPECT_EQ(SwitchRing::own_events(), 1U);
}

TEST_F(SwitchRingTest, ClosesAllOfAGroupWhoseEventIsRefused) {
  kernel_.refuse("cycles", ENOENT);

  const OpenFailure failure = fail_to_add({kPageFaults, kMigrations, kCycles});

  EXPECT_EQ(failure.event, 2U);
  EXPECT_EQ(failure.error.code, ENOENT);
  EXPECT_EQ(failure.error.attempted, "open event 'cycles' on CPU 3");
  EXPECT_EQ(failure.error.cause, "this machine has no such hardware counter");
}

TEST_F(SwitchRingTest, NamesTheLeaderThatIsRefused) {
  events().refuse_open = refuses_cgroup_switches(EMFILE);

  const OpenFailure failure = fail_to_add({kPageFaults});

  EXPECT_EQ(failure.event, 0U);
  EXPECT_EQ(failure.error.code, EMFILE);
  EXPECT_EQ(failure.error.attempted,
            "open event 'cgroup-switches', which leads the groups on CPU 3");
  EXPECT_THAT(failure.error.cause, HasSubstr("no free descriptor"));
}

TEST_F(SwitchRingTest, ClosesAllOfAGroupThatCannotWriteToTheRingOrBeEnabled) {
  for (const EventControl refused : {EventControl::kSetOutput, EventControl::kEnable}) {
    events().refuse_control = [&](const Control& control) {
      return control.operation == refused ? EINVAL : 0;
    };

    const OpenFailure failure = fail_to_add({kPageFaults});

    EXPECT_EQ(failure.event, 0U);
    EXPECT_EQ(failure.error.code, EINVAL);
    EXPECT_THAT(failure.error.attempted, HasSubstr("on CPU 3"));
  }
}

TEST_F(OpeningSwitchRingTest, ActivatesTheContextOfSoftwareEventsBeforeAllGroups) {
  kernel_.deactivate_contexts(kCpu);
  open();
  add({kPageFaults});

  EXPECT_THAT(events().still_open(), ElementsAre(kOwner, kFirstLeader));
}

TEST_F(OpeningSwitchRingTest, OpensAGroupAgainWhoseTimeStandsStill) {
  kernel_.deactivate_contexts(kCpu);
  open();
  const std::size_t group = add({kPageFaults, kCycles});  // of the context of hardware
  writer_->write(sample_of(10, 10, {1, 2, 3}, 77));       // of the first one

  const GroupReading reading = read(group).reading;
  const RingReport report = drain();

  EXPECT_GT(reading.time_enabled.count(), 0);
  EXPECT_THAT(events().still_open(), ElementsAre(kOwner, kFirstLeader + 1));
  EXPECT_EQ(kernel_.still_open(), 2U);
  EXPECT_THAT(seen(), IsEmpty());
  EXPECT_EQ(report.unreadable, 0U);
}

TEST_F(SwitchRingTest, IsAnErrorIfTheTimeOfAGroupStandsStillAgain) {
  events().change_reading = [](std::size_t, Words& words) {
    words[1] = words[2] = 0;
    return 0;
  };

  const OpenFailure failure = fail_to_add({kPageFaults});

  EXPECT_EQ(failure.event, 0U);
  EXPECT_EQ(failure.error.code, ENODATA);
  EXPECT_THAT(describe(failure.error), AllOf(HasSubstr("on CPU 3"), HasSubstr("stands still")));
}

TEST_F(SwitchRingTest, ReadsAGroupWithoutItsLeader) {
  const std::size_t group = add({kPageFaults, kMigrations});
  events().change_reading = [](std::size_t, Words& words) {
    words = {3, 1000, 900, 7, 11, 22};
    return 0;
  };
  GroupReading reading{.state = GroupReading::State::kOffPmu, .counts = {1}, .unreadable = 1};
  SwitchCounts happened;

  const Result<> read = ring_->read(kernel_, group, reading, happened);

  ASSERT_TRUE(read) << describe(read.error());
  EXPECT_EQ(happened.switches, 7U);
  EXPECT_EQ(reading.state, GroupReading::State::kCounting);
  EXPECT_EQ(reading.time_enabled.count(), 1000);
  EXPECT_EQ(reading.time_running.count(), 900);
  EXPECT_THAT(reading.counts, ElementsAre(11, 22));
  EXPECT_TRUE(reading.unreadable.none());
}

TEST_F(SwitchRingTest, ReadsTheLargestGroup) {
  const std::size_t group = add(Events(kMaxGroupMembers, kPageFaults));

  EXPECT_EQ(read(group).reading.counts.size(), kMaxGroupMembers);
}

TEST_F(SwitchRingTest, CannotReadAGroupAfterItsCpuWasOffline) {
  const std::size_t group = add({kPageFaults, kMigrations});
  for (const Words& answer : {Words{1, 1000, 900, 7}, Words{}, Words{3, 1000, 900, 7, 11},
                              Words{4, 1000, 900, 7, 11, 22, 33}}) {
    events().change_reading = [&](std::size_t, Words& words) {
      words = answer;
      return 0;
    };
    GroupReading reading{.counts = {1, 2}, .unreadable = {}};
    SwitchCounts happened{.switches = 5};

    const Result<> read = ring_->read(kernel_, group, reading, happened);

    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ENODEV);
    EXPECT_THAT(reading.counts, ElementsAre(1, 2));
    EXPECT_EQ(happened.switches, 5U);
  }
}

TEST_F(SwitchRingTest, ReadsTheLastCountsOfACpuThatWasOfflineEventByEvent) {
  const std::size_t group = add({kPageFaults, kMigrations, kSwitches});
  kernel_.answer("event2 cpu3 context-switches", {kBrokenUp, 1000ns, 900ns, {7}, 0, {}, {3}});

  const auto [reading, happened] = read_last(group, {});

  EXPECT_EQ(happened.switches, 7U);
  EXPECT_EQ(reading.time_enabled, 1000ns);
  EXPECT_EQ(reading.time_running, 900ns);
  EXPECT_EQ(reading.counts.at(0), 11U);
  EXPECT_EQ(reading.unreadable, 0b110) << "one says nothing, one answers for its former leader";
}

TEST_F(SwitchRingTest, PassesTheErrorOfAReadOn) {
  const std::size_t group = add({kPageFaults});
  events().change_reading = [](std::size_t, Words&) { return ENOMEM; };
  GroupReading reading;
  SwitchCounts happened;

  const Result<> read = ring_->read(kernel_, group, reading, happened);

  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ENOMEM);
}

TEST_F(SwitchRingTest, GivesEachKindOfRecordInTheOrderOfTheRing) {
  const std::size_t one = add({kPageFaults});
  const std::size_t other = add({kPageFaults, kMigrations});
  const std::size_t third = add({kMigrations});
  writer_->write(sample_of(100, 90, {1, 11}, 77));
  writer_->write(sample_of(110, 95, {1, 21, 31}, 77));
  writer_->write(sample_with_ids(last_id(), 120, 99, {1, 41}, 77));
  writer_->write(new_cgroup(78, "/a.slice/b"));
  writer_->write(record_of(PERF_RECORD_LOST, Words{id_of(kFirstLeader), 5}));
  writer_->write(sample_of(200, 190, {3, 12}, 78));

  const RingReport report = drain();

  EXPECT_THAT(seen(),
              ElementsAre(seen_record(one, 77, 100, 90, 1, {11}),
                          seen_record(other, 77, 110, 95, 1, {21, 31}),
                          seen_record(third, 77, 120, 99, 1, {41}), seen_cgroup(78, "/a.slice/b"),
                          seen_loss(5), seen_record(one, 78, 200, 190, 3, {12})));
  EXPECT_EQ(report.records, 6U);
  EXPECT_EQ(report.lost, 5U);
  EXPECT_EQ(report.unreadable, 0U);
  EXPECT_EQ(ring_->unread(), 0U);
}

/// The number is of no consequence.
const EventAttributes kMoves{.type = PERF_TYPE_TRACEPOINT, .config = 77};

/// A ring whose first group notes moves.
class MovesOfSwitchRingTest : public SwitchRingTest {
 protected:
  std::size_t add_base(const Events& group) { return add(group, &kMoves); }
  static constexpr std::size_t kMovesAt = kFirstLeader + 1;
};

TEST_F(MovesOfSwitchRingTest, HaveAMemberThatWritesWhatTheLeaderWritesIntoTheSameRing) {
  const std::size_t base = add_base({kPageFaults});

  const auto& leader = events().at(kFirstLeader);
  const auto& moves = events().at(kMovesAt);
  EXPECT_EQ(moves.attr.type, std::uint32_t{PERF_TYPE_TRACEPOINT});
  EXPECT_EQ(moves.attr.config, kMoves.config);
  EXPECT_EQ(moves.attr.sample_period, 1U);
  EXPECT_EQ(moves.attr.sample_type, leader.attr.sample_type)
      << "and not the data of the tracepoint";
  EXPECT_EQ(moves.attr.read_format, leader.attr.read_format);
  EXPECT_EQ(moves.attr.flags, 0U) << "it runs with its leader, and counts in the kernel";
  EXPECT_EQ(moves.target.cpu, kCpu);
  EXPECT_EQ(moves.leader, kFirstLeader);
  const auto owner = static_cast<std::uint64_t>(ring_->fd());
  EXPECT_THAT(events().controls(),
              ElementsAre(Control{kFirstLeader, EventControl::kSetOutput, owner},
                          Control{kMovesAt, EventControl::kSetOutput, owner},
                          Control{kFirstLeader, EventControl::kEnable, PERF_IOC_FLAG_GROUP}));
  EXPECT_TRUE(ring_->notes_moves(base));
  EXPECT_EQ(ring_->events(base), 3U);
}

TEST_F(MovesOfSwitchRingTest, AreApartFromTheCountsOfRecordsAndReadings) {
  const std::size_t base = add_base({kPageFaults, kMigrations});
  writer_->write(sample_of(10, 10, {1, 0, 11, 21}, 77));
  writer_->write(sample_of(20, 20, {1, 1, 12, 22}, 78));
  events().change_reading = [](std::size_t, Words& words) {
    EXPECT_EQ(words.size(), 7U);
    words = {4, 1000, 900, 7, 5, 11, 22};
    return 0;
  };

  const RingReport report = drain();
  const auto [reading, happened] = read(base);

  EXPECT_THAT(seen(), ElementsAre(seen_record(base, 77, 10, 10, 1, {11, 21}, 0),
                                  seen_record(base, 78, 20, 20, 1, {12, 22}, 1)));
  EXPECT_EQ(report.unreadable, 0U);
  EXPECT_EQ(happened.switches, 7U);
  EXPECT_EQ(happened.moves, 5U);
  EXPECT_THAT(reading.counts, ElementsAre(11, 22));
}

TEST_F(MovesOfSwitchRingTest, AreAValueMoreByWhichGroupsAreToldApart) {
  const std::size_t base = add_base({kPageFaults});
  const std::size_t as_many_events = add({kMigrations});
  const std::size_t as_many_values = add({kPageFaults, kMigrations});
  writer_->write(sample_of(10, 10, {1, 2, 3}, 77));
  writer_->write(sample_of(11, 11, {4, 5}, 77));
  writer_->write(sample_with_ids(last_id(), 12, 12, {6, 7, 8}, 77));

  drain();

  EXPECT_THAT(seen(), ElementsAre(seen_record(base, 77, 10, 10, 1, {3}, 2),
                                  seen_record(as_many_events, 77, 11, 11, 4, {5}),
                                  seen_record(as_many_values, 77, 12, 12, 6, {7, 8})));
  EXPECT_FALSE(ring_->notes_moves(as_many_values));
}

TEST_F(MovesOfSwitchRingTest, AreNotedInRecordsWithIdsToo) {
  add({kMigrations, kPageFaults});
  const std::size_t group = add_base({kPageFaults});
  writer_->write(sample_with_ids(last_id() - 1, 12, 12, {6, 7, 8}, 77));

  drain();

  EXPECT_THAT(seen(), ElementsAre(seen_record(group, 77, 12, 12, 6, {8}, 7)));
}

TEST_F(MovesOfSwitchRingTest, AreNotedByTheLargestGroup) {
  const std::size_t base = add_base(Events(kMaxGroupMembers, kPageFaults));

  EXPECT_EQ(read(base).reading.counts.size(), kMaxGroupMembers);
}

TEST_F(MovesOfSwitchRingTest, AreNotAmongTheLastCountsOfACpuThatWasOffline) {
  const std::size_t base = add_base({kPageFaults, kMigrations});

  const auto [reading, happened] = read_last(base, {.moves = 3});

  EXPECT_EQ(happened.switches, 7U);
  EXPECT_EQ(happened.moves, 3U);
  EXPECT_EQ(reading.counts.size(), 2U);
  EXPECT_EQ(reading.counts[0], 11U);
  EXPECT_EQ(reading.unreadable, 0b10);
}

TEST_F(MovesOfSwitchRingTest, AreAnErrorWithTheCpuIfTheirTracepointIsRefused) {
  events().refuse_open = [](EventAttr& attr, const EventTarget&) {
    return attr.type == PERF_TYPE_TRACEPOINT ? EINVAL : 0;
  };

  const OpenFailure failure = fail_to_add({kPageFaults}, &kMoves);

  EXPECT_EQ(failure.error.code, EINVAL);
  EXPECT_EQ(failure.error.attempted, "open the tracepoint of moves between cgroups on CPU 3");
}

TEST_F(SwitchRingTest, GivesNothingOfOtherKinds) {
  add({kPageFaults});
  writer_->write(RecordEncoder(PERF_RECORD_THROTTLE).u64(1).u64(last_id()).u64(2).record());
  writer_->write(RecordEncoder(1000).u64(1).record());

  const RingReport report = drain();

  EXPECT_THAT(seen(), IsEmpty());
  EXPECT_EQ(report.records, 2U);
  EXPECT_EQ(report.unreadable, 0U);
}

TEST_F(SwitchRingTest, CannotReadRecordsOfGroupsThatItDoesNotHave) {
  const std::size_t group = add({kPageFaults});
  ring_->remove_group(add({kMigrations}));
  ring_->remove_group(add({kPageFaults, kMigrations}));
  drain();
  const std::uint64_t removed = id_of(kFirstLeader + 1);
  for (const std::uint64_t id :
       {std::uint64_t{0}, id_of(kOwner), id_of(kTrial), id_of(kFirstLeader), removed, last_id(),
        last_id() + 1, ~std::uint64_t{0}}) {
    writer_->write(sample_with_ids(id, 10, 10, {1, 2}, 77));
    writer_->write(sample_with_ids(id, 10, 10, {}, 77));
  }
  writer_->write(sample_of(10, 10, {1, 2, 3}, 77));  // as the second that was removed wrote them
  writer_->write(sample_of(20, 20, {2, 3}, 78));

  const RingReport report = drain();

  EXPECT_THAT(seen(), ElementsAre(seen_record(group, 78, 20, 20, 2, {3})));
  EXPECT_EQ(report.unreadable, 17U);
}

TEST_F(SwitchRingTest, CannotReadRecordsThatHaveNotTheValuesOfTheirGroup) {
  const std::size_t group = add({kPageFaults, kMigrations});
  std::size_t bytes = 0;
  const auto write = [&](const Bytes& record) {
    ASSERT_TRUE(writer_->write(record));
    bytes += record.size();
  };
  write(sample_of(10, 10, {}, 77));
  write(sample_of(10, 10, {1}, 77));
  write(sample_of(10, 10, {1, 2}, 77));
  write(sample_of(10, 10, {1, 2, 3, 4}, 77));
  Words words = words_of(10, 10, {1, 2, 3}, 77);
  for (const std::uint64_t values : {std::uint64_t{0}, std::uint64_t{2}, ~std::uint64_t{0}}) {
    words[0] = values;
    write(record_of(PERF_RECORD_SAMPLE, words));
  }
  words[0] = 3;
  words.pop_back();
  write(record_of(PERF_RECORD_SAMPLE, words));  // without the cgroup
  write(record_of(PERF_RECORD_SAMPLE, Words{3}));
  write(record_of(PERF_RECORD_SAMPLE, Words{}));
  writer_->write(sample_of(20, 20, {1, 2, 3}, 77));

  const RingReport report = drain();

  EXPECT_THAT(seen(), ElementsAre(seen_record(group, 77, 20, 20, 1, {2, 3})));
  EXPECT_EQ(report.unreadable, 10U);
  EXPECT_EQ(report.unreadable_bytes, bytes);
  EXPECT_EQ(report.records, 11U);
}

TEST_F(SwitchRingTest, CannotReadRecordsWithIdsThatHaveNotTheValuesOfTheirGroup) {
  add({kPageFaults, kMigrations});
  const std::size_t group = add({kMigrations, kPageFaults});
  const std::uint64_t id = last_id();
  writer_->write(sample_with_ids(id, 10, 10, {1}, 77));
  writer_->write(sample_with_ids(id, 10, 10, {1, 2, 3, 4}, 77));
  Words words = words_with_ids(id, 10, 10, {1, 2, 3}, 77);
  words.pop_back();
  writer_->write(record_of(PERF_RECORD_SAMPLE, words));  // without the cgroup
  writer_->write(record_of(PERF_RECORD_SAMPLE, Words{0, 3}));
  writer_->write(record_of(PERF_RECORD_SAMPLE, Words{0}));
  writer_->write(sample_with_ids(id, 20, 20, {1, 2, 3}, 77));

  const RingReport report = drain();

  EXPECT_THAT(seen(), ElementsAre(seen_record(group, 77, 20, 20, 1, {2, 3})));
  EXPECT_EQ(report.unreadable, 5U);
}

TEST_F(SwitchRingTest, IgnoresWhatTheSampleOfAnotherEventHasLeftAtTheEnd) {
  const std::size_t one = add({kPageFaults});
  const std::size_t other = add({kMigrations});
  for (Words words :
       {words_of(10, 10, {1, 2}, 77), words_with_ids(last_id(), 10, 10, {1, 2}, 77)}) {
    words.insert(words.end(), 13, 99);
    writer_->write(record_of(PERF_RECORD_SAMPLE, words));
  }

  const RingReport report = drain();

  EXPECT_THAT(seen(), ElementsAre(seen_record(one, 77, 10, 10, 1, {2}),
                                  seen_record(other, 77, 10, 10, 1, {2})));
  EXPECT_EQ(report.unreadable, 0U);
}

TEST_F(SwitchRingTest, CannotReadOtherRecordsThatAreTooShort) {
  writer_->write(record_of(PERF_RECORD_CGROUP, Words{78}));
  writer_->write(record_of(PERF_RECORD_CGROUP, Words{78, ~std::uint64_t{0}}));  // without its end
  writer_->write(record_of(PERF_RECORD_LOST, Words{1}));

  const RingReport report = drain();

  EXPECT_THAT(seen(), IsEmpty());
  EXPECT_EQ(report.unreadable, 3U);
}

TEST_F(SwitchRingTest, SkipsARingThatMakesNoSense) {
  add({kPageFaults});
  writer_->write(sample_of(10, 10, {1, 2}, 77));
  perf_event_header header{};
  header.type = PERF_RECORD_SAMPLE;
  writer_->put(writer_->head(), std::as_bytes(std::span(&header, 1)));  // of no bytes
  writer_->set_head(writer_->head() + 64);

  const RingReport report = drain();

  EXPECT_EQ(seen().size(), 1U);
  EXPECT_EQ(report.unreadable, 1U);
  EXPECT_EQ(report.unreadable_bytes, 64U);
}

TEST_F(SwitchRingTest, DoesNotGiveRecordsOfAGroupThatWasRemoved) {
  const std::size_t removed = add({kPageFaults});
  writer_->write(sample_of(10, 10, {1, 2}, 77));
  ring_->remove_group(removed);
  const std::size_t next = add({kPageFaults});
  writer_->write(sample_with_ids(last_id(), 5, 5, {1, 3}, 78));

  const RingReport report = drain();

  EXPECT_EQ(next, removed);
  EXPECT_THAT(seen(), ElementsAre(seen_record(next, 78, 5, 5, 1, {3})));
  EXPECT_EQ(report.unreadable, 0U);
}

TEST_F(SwitchRingTest, DoesNotGiveRecordsWithIdsOfAGroupThatWasRemoved) {
  add({kMigrations});
  const std::size_t removed = add({kPageFaults});
  writer_->write(sample_with_ids(last_id(), 10, 10, {1, 2}, 77));
  ring_->remove_group(removed);

  const RingReport report = drain();

  EXPECT_THAT(seen(), IsEmpty());
  EXPECT_EQ(report.unreadable, 0U);
}

TEST_F(SwitchRingTest, NeedsNoIdsOnceTheRecordsOfAGroupThatWasRemovedAreRead) {
  ring_->remove_group(add({kPageFaults}));
  drain();

  const std::size_t next = add({kMigrations});
  writer_->write(sample_of(5, 5, {1, 3}, 78));
  drain();

  EXPECT_THAT(seen(), ElementsAre(seen_record(next, 78, 5, 5, 1, {3})));
}

TEST_F(SwitchRingTest, ClosesTheEventsOfAGroupThatIsRemoved) {
  const std::size_t removed = add({kPageFaults, kCycles});
  add({kPageFaults});

  ring_->remove_group(removed);

  EXPECT_EQ(ring_->events(removed), 0U);
  EXPECT_EQ(kernel_.still_open(), 1U);
  EXPECT_THAT(events().still_open(), ElementsAre(kOwner, kFirstLeader + 1));
}

TEST_F(SwitchRingTest, ClosesEverythingAtItsEndAndOnlyThen) {
  add({kPageFaults, kCycles});

  std::optional<SwitchRing> moved{*std::move(ring_)};
  ring_.reset();
  const std::vector<std::size_t> open_after_move = events().still_open();
  moved.reset();

  EXPECT_THAT(open_after_move, ElementsAre(kOwner, kFirstLeader));
  EXPECT_THAT(events().still_open(), IsEmpty());
  EXPECT_EQ(kernel_.still_open(), 0U);
}

TEST_F(SwitchRingTest, ReadsRecordsThatTheEndOfTheRingDivides) {
  const std::size_t group = add({kPageFaults, kMigrations});  // of 64 bytes, and some of 32
  for (std::uint64_t switches = 1; switches <= 500; ++switches) {
    keeper_.seen.clear();
    writer_->write(sample_of(10, 9, {switches, 2 * switches, 3 * switches}, 77));
    writer_->write(new_cgroup(switches, "/a.slice"));

    const RingReport report = drain();

    ASSERT_EQ(report.unreadable, 0U);
    ASSERT_THAT(seen(),
                ElementsAre(seen_record(group, 77, 10, 9, switches, {2 * switches, 3 * switches}),
                            seen_cgroup(switches, "/a.slice")));
  }
}

TEST_F(SwitchRingTest, AddsUpItsReports) {
  add({});
  RingReport sum;
  for (int round = 0; round < 3; ++round) {
    writer_->write(sample_of(10, 10, {1}, 77));
    writer_->write(sample_of(10, 10, {1, 2}, 77));
    sum += drain();
  }

  EXPECT_EQ(sum.records, 6U);
  EXPECT_EQ(sum.unreadable, 3U);
  EXPECT_EQ(ring_->totals(), sum);
}

/// A group whose records the test writes; without ids, `id` is 0.
struct WrittenGroup {
  std::uint64_t id = 0;
  std::size_t values = 0;

  Words words(std::uint64_t enabled, std::uint64_t running, const Words& counts,
              std::uint64_t cgroup) const {
    return id == 0 ? words_of(enabled, running, counts, cgroup)
                   : words_with_ids(id, enabled, running, counts, cgroup);
  }
  SampleFormat format() const {
    SampleFormat format;
    format.sample_type = PERF_SAMPLE_READ | PERF_SAMPLE_CGROUP;
    format.read_format =
        PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    if (id == 0) return format;
    format.sample_type |= PERF_SAMPLE_ADDR;
    format.read_format |= PERF_FORMAT_ID;
    return format;
  }
  std::size_t size() const { return id == 0 ? 4 + values : 5 + 2 * values; }
};

/// By the decoder of all records: of a sample of the group, whatever follows it.
std::optional<std::string> decoded_by_layout(Words words, const WrittenGroup& group,
                                             std::size_t number) {
  words.resize(std::min(words.size(), group.size()));
  const Bytes bytes = record_of(PERF_RECORD_SAMPLE, words);
  const auto record = decode_record(test::layout_of(group.format()), bytes);
  if (!record) return std::nullopt;
  const auto& decoded = std::get<Sample>(*record);
  const CounterValues& counters = decoded.values->counters;
  if (counters.size() != group.values || counters[0].id.value_or(0) != group.id) return {};
  if (decoded.address.value_or(0) != 0) return std::nullopt;
  Words counts;
  for (std::size_t i = 1; i < group.values; ++i) counts.push_back(counters[i].value);
  return seen_record(
      number, *decoded.cgroup, static_cast<std::uint64_t>(decoded.values->time_enabled->count()),
      static_cast<std::uint64_t>(decoded.values->time_running->count()), counters[0].value, counts);
}

/// Of the group, with at most one word that is replaced, missing or added.
rc::Gen<Words> nearly_right_words(const WrittenGroup& group) {
  const auto any = rc::gen::oneOf(rc::gen::arbitrary<std::uint64_t>(), rc::gen::just(group.id),
                                  rc::gen::inRange<std::uint64_t>(0, 12));
  return rc::gen::exec([=] {
    const auto counts =
        *rc::gen::container<Words>(group.values, rc::gen::arbitrary<std::uint64_t>());
    Words words = group.words(*any, *any, counts, *any);
    const auto at = *rc::gen::inRange<std::ptrdiff_t>(0, std::ssize(words));
    switch (*rc::gen::inRange(0, 6)) {
      case 0:
        words[static_cast<std::size_t>(at)] = *any;
        break;
      case 1:
        words.erase(words.begin() + at, words.end());
        break;
      case 2:
        words.insert(words.begin() + at, *any);
        break;
      case 3:
        words.push_back(*any);
        break;
      default:
        break;
    }
    return words;
  });
}

/// Two groups of as many values: one without ids, and one with them.
RC_GTEST_FIXTURE_PROP(SwitchRingTest, ReadsASampleAsTheDecoderOfAllRecordsDoes, ()) {
  const auto events_of_group = *rc::gen::inRange<std::size_t>(0, 8);
  const Events group(events_of_group, kPageFaults);
  const std::size_t without_ids = add(group);
  const std::size_t with_ids = add(group);
  const WrittenGroup one{0, 1 + events_of_group};
  const WrittenGroup other{last_id(), 1 + events_of_group};
  const Words words = *nearly_right_words(*rc::gen::element(one, other));

  RC_ASSERT(writer_->write(record_of(PERF_RECORD_SAMPLE, words)));
  const RingReport report = drain();

  std::optional<std::string> expected = decoded_by_layout(words, one, without_ids);
  if (!expected) expected = decoded_by_layout(words, other, with_ids);
  RC_CLASSIFY(expected.has_value(), "readable");
  RC_ASSERT(seen().size() == (expected ? 1U : 0U));
  RC_ASSERT(report.unreadable == (expected ? 0U : 1U));
  if (expected) RC_ASSERT(seen().front() == *expected);
}

PEX_TIMED_FIXTURE_PROPERTY(SwitchRingTest, GivesEverythingThatTheKernelHadRoomFor) {
  const std::size_t sizes[] = {0, 1, 5, 1};
  std::vector<WrittenGroup> groups;
  for (const std::size_t size : sizes) {
    const bool has_ids = groups.size() == 3;
    add(Events(size, kPageFaults));
    groups.push_back({has_ids ? last_id() : 0, 1 + size});
  }
  Seen expected;
  std::uint64_t lost = 0, lost_in_all = 0;
  const auto write = [&](const Bytes& record, std::string seen) {
    if (!writer_->write(record)) {
      ++lost;
      ++lost_in_all;
      return;
    }
    if (lost > 0) expected.push_back(seen_loss(std::exchange(lost, 0)));
    expected.push_back(std::move(seen));
  };

  const auto steps = *rc::gen::inRange(0, 400);
  for (int step = 0; step < steps; ++step) {
    const auto number = static_cast<std::uint64_t>(step);
    const auto group = *rc::gen::inRange<std::size_t>(0, 5);
    if (*rc::gen::inRange(0, 100) == 0) drain();
    if (group == std::size(sizes)) {
      const auto path = "/" + std::string(*rc::gen::inRange<std::size_t>(0, 30), 'x');
      write(new_cgroup(number, path), seen_cgroup(number, path));
      continue;
    }
    const Words counts(sizes[group], number);
    Words values = {number};
    values.insert(values.end(), counts.begin(), counts.end());
    write(record_of(PERF_RECORD_SAMPLE, groups[group].words(number, number, values, 7)),
          seen_record(group, 7, number, number, number, counts));
  }
  drain();

  RC_CLASSIFY(ring_->totals().lost > 0, "with losses");
  RC_ASSERT(ring_->totals().unreadable == 0U);
  RC_ASSERT(seen() == expected);
  RC_ASSERT(ring_->totals().lost == lost_in_all - lost);  // those before the next record are known
}

}  // namespace
}  // namespace pex::perf::switch_ring_test
