#include "records/record_source.h"

#include <linux/perf_event.h>
#include <sched.h>

#include <cerrno>

#include "count/poll_cycle.h"
#include "support/cgroups.h"
#include "support/counted_cycle.h"
#include "support/events.h"
#include "support/record_encoder.h"
#include "support/scripted_kernel.h"
#include "support/scripted_ring.h"
#include "support/test_headers.h"

namespace pex::collect {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using test::ScriptedRing;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Words = std::vector<std::uint64_t>;

constexpr int kCpu = 0;
constexpr std::uint64_t kIdle = 1, kA = 11, kB = 12;  // ids

bool leads(const perf::EventAttr& attr) {
  return attr.type == PERF_TYPE_SOFTWARE && attr.config == PERF_COUNT_SW_CGROUP_SWITCHES;
}

/// One CPU on which cgroups take turns. Each turn takes 1 ms, and ends with a record of the group
/// that was opened last.
class RecordSourceTest : public testing::Test {
 protected:
  RecordSourceTest() : kernel_(tree_.root()) {
    plan_->cgroup = test::scope_plan({{"software", {"context-switches", "page-faults"}}});
    events().change_reading = [this](std::size_t, Words& words) {
      // n, time enabled, time running, and the values: the leader's comes first.
      words.at(1) = words.at(2) = ++reads_ + static_cast<std::uint64_t>(enabled_.count());
      words.at(3) = switches_;
      const std::size_t first = notes_moves() ? 5 : 4;
      if (notes_moves()) words.at(4) = moves_;
      for (std::size_t event = 0; first + event < words.size(); ++event) {
        words.at(first + event) = counts_[event];
      }
      return 0;
    };
  }

  void make_cycle(std::size_t min_cgroups = 0) {
    RecordOptions options;
    min_recorded_ = min_cgroups;
    options.is_checked = is_checked_;
    options.own_cgroup = [] { return std::nullopt; };
    options.moves = tracepoint_;
    cycle_.emplace(std::make_unique<RecordSource>(kernel_, plan_, kCpu, options, by_records_),
                   plan_, kCpu);
  }

  void target(const std::string& path, std::uint64_t id) {
    target(path, test::make_cgroup(tree_, path, id));
  }
  void target(const std::string& path, std::shared_ptr<const cgroup::Cgroup> cgroup) {
    cgroups_.push_back({cgroups_.size() + 1, path, std::move(cgroup)});
  }
  /// The first poll, with one cgroup.
  void start() {
    make_cycle();
    target("/a", kA);
    poll();
  }
  /// To a copy of the plan with what `change` makes of it.
  template <typename Change>
  void change_plan(Change change) {
    plan_ = std::make_shared<CountingPlan>(*plan_);
    change(*plan_);
    (void)cycle_->change(plan_);
  }

  PollReport poll() {
    const auto set = test::targets_of(cgroups_, {online_, {}, {}});
    set->names = names_;
    set->min_recorded = min_recorded_;
    set->layout = layout_;
    PollCycle::Outcome outcome = cycle_->run(set, EventModels{*plan_});
    feedback_ = std::move(outcome.feedback);
    return std::move(outcome.report);
  }

  /// A cgroup has run for 1 ms, with so many events, and leaves.
  void turn(std::uint64_t cgroup, std::uint64_t switches, std::uint64_t faults) {
    run(switches, faults);
    ++switches_;
    write(cgroup);
  }
  void run(std::uint64_t switches, std::uint64_t faults) {
    enabled_ += 1ms;
    counts_[0] += switches;
    counts_[1] += faults;
  }
  bool write(std::uint64_t cgroup) {
    const auto time = static_cast<std::uint64_t>(enabled_.count());
    Words words = {3, time, time, switches_, counts_[0], counts_[1], cgroup};
    if (notes_moves()) {
      words[0] = 4;
      words.insert(words.begin() + 4, moves_);
    }
    return ring().write(test::record_of(PERF_RECORD_SAMPLE, words));
  }
  /// The task that runs has moved itself to this cgroup.
  void move_to(std::uint64_t cgroup) {
    ++moves_;
    write(cgroup);
  }
  /// The group that is open does.
  bool notes_moves() {
    return std::ranges::any_of(events().still_open(), [this](std::size_t event) {
      return events().at(event).attr.type == PERF_TYPE_TRACEPOINT;
    });
  }

  /// The kernel writes a record of every second switch.
  void leave_out_records() {
    for (int i = 0; i < 20; ++i) {
      switches_ += 2;
      write(kA);
    }
  }

  bool has_names(std::size_t event) {
    return (events().at(event).attr.flags & perf::attr_flag(perf::AttrFlag::kCgroup)) != 0;
  }
  /// Once: a new cgroup, in the ring of names.
  void report_cgroup(std::uint64_t id, const std::string& path) {
    for (const std::size_t event : events().still_open()) {
      if (!has_names(event)) continue;
      EXPECT_TRUE(ScriptedRing{events().at(event)}.write(
          test::RecordEncoder(PERF_RECORD_CGROUP).u64(id).text(path).record()));
      return;
    }
    ADD_FAILURE() << "nothing reports new cgroups";
  }

  test::ScriptedEvents& events() { return kernel_.opened_events; }
  /// Those that are open, in the order of opening: the base's first.
  std::vector<std::size_t> leaders() {
    std::vector<std::size_t> leaders = events().still_open();
    std::erase_if(leaders, [this](std::size_t event) { return !leads(events().at(event).attr); });
    return leaders;
  }
  bool records() { return !leaders().empty(); }
  ScriptedRing& ring() {
    const std::size_t owner = events().still_open().front();
    if (!ring_ || owner != owner_) ring_.emplace(events().at(owner_ = owner));
    return *ring_;
  }

  std::uint64_t total(std::size_t target, std::size_t event) {
    return cycle_->cgroup_groups(target)[0].totals()[event].value;
  }
  GroupTimes times(std::size_t target) { return cycle_->cgroup_groups(target)[0].totals().times(); }

  test::TempTree tree_;
  test::ScriptedKernel kernel_;
  std::shared_ptr<CountingPlan> plan_ = std::make_shared<CountingPlan>();
  std::shared_ptr<RecordedCpus> by_records_ = std::make_shared<RecordedCpus>();
  std::vector<int> online_ = {kCpu};
  std::vector<CgroupTarget> cgroups_;
  std::shared_ptr<const cgroup::CgroupNames> names_ = std::make_shared<const cgroup::CgroupNames>();
  std::size_t min_recorded_ = 0;
  bool is_checked_ = false;
  SwitchRecording::Moves tracepoint_;
  std::uint64_t layout_ = 0;  ///< TargetSet::layout
  std::optional<test::CountedCycle> cycle_;
  PollFeedback feedback_;  ///< of the last poll

  std::optional<ScriptedRing> ring_;
  std::size_t owner_ = 0;
  nanoseconds enabled_{};
  std::uint64_t reads_ = 0;  ///< each takes a ns
  std::uint64_t switches_ = 0;
  std::uint64_t moves_ = 0;  ///< of tasks
  std::uint64_t counts_[2] = {};
};

class StartedRecordSourceTest : public RecordSourceTest {
 protected:
  StartedRecordSourceTest() { start(); }
};

TEST_F(RecordSourceTest, GivesEachCgroupWhatWasCountedWhileItRan) {
  make_cycle();
  target("/a", kA);
  target("/b", kB);
  poll();

  turn(kA, 1, 10);
  turn(kIdle, 5, 0);
  turn(kB, 2, 300);
  turn(kA, 1, 7);
  poll();

  EXPECT_EQ(total(0, 0), 2U);
  EXPECT_EQ(total(0, 1), 17U);
  EXPECT_EQ(times(0).running, 2ms);
  EXPECT_EQ(total(1, 0), 2U);
  EXPECT_EQ(total(1, 1), 300U);
  EXPECT_EQ(times(1).enabled, 1ms);
}

TEST_F(StartedRecordSourceTest, AnotherPlanKeepsTheRecordsOfGroupsThatItHasToo) {
  turn(kA, 1, 10);
  const std::size_t leader_before = leaders().at(0);

  change_plan([](CountingPlan& plan) {
    plan.cgroup = test::scope_plan(
        {{"new", {"major-faults"}}, {"software", {"context-switches", "page-faults"}}});
  });
  turn(kA, 1, 7);
  poll();

  EXPECT_EQ(leaders().at(0), leader_before);
  const auto kept = cycle_->cgroup_groups(0)[1];
  EXPECT_EQ(kept.totals()[0].value, 2U);
  EXPECT_EQ(kept.totals()[1].value, 17U);
  EXPECT_EQ(kept.totals().times().running, 2ms);
}

TEST_F(RecordSourceTest, AGroupThatAnotherPlanDoesNotHaveWritesNoMoreRecords) {
  plan_->cgroup = test::scope_plan(
      {{"software", {"context-switches", "page-faults"}}, {"more", {"major-faults"}}});
  start();
  const std::size_t open_before = kernel_.still_open();

  change_plan([](CountingPlan& plan) { plan.cgroup.groups.pop_back(); });
  poll();

  EXPECT_EQ(kernel_.still_open(), open_before - 1);
}

/// The probe belongs to the file that existed when it was opened.
TEST_F(RecordSourceTest, AReloadOpensAProbeInAFileAgain) {
  plan_->cgroup = test::scope_plan(
      {{"probe", {"major-faults"}}, {"software", {"context-switches", "page-faults"}}});
  plan_->cgroup.groups[0].events[0].attributes.probe = "/usr/bin/app";
  start();
  const std::vector<std::size_t> before = leaders();
  ASSERT_THAT(before, SizeIs(2));

  change_plan([this](CountingPlan& plan) { continue_plan(*cycle_->plan(), plan); });
  poll();

  const std::vector<std::size_t> now = leaders();
  ASSERT_THAT(now, SizeIs(2));
  EXPECT_EQ(now[0], before[0]) << "the base, which has no such probe";
  EXPECT_GT(now[1], before[1]);
}

TEST_F(RecordSourceTest, TakesNoDescriptorForACgroup) {
  make_cycle();
  poll();
  target("/a", kA);
  const std::size_t of_one = poll().now.open_events;

  target("/b", kB);
  const PollReport two = poll();

  EXPECT_EQ(two.now.open_events, of_one);
  EXPECT_EQ(two.groups_opened, 1U);
  EXPECT_EQ(kernel_.still_open(),
            3U);  // two members of the group, and the one that detects an offline CPU
}

TEST_F(RecordSourceTest, OnlyCgroupsThatHaveRunSinceThePollBeforeTheLastAreRead) {
  make_cycle();
  target("/a", kA);
  target("/b", kB);
  layout_ = 1;
  poll();
  poll();
  const std::size_t before = poll().groups_read;

  turn(kA, 1, 10);
  const std::size_t now = poll().groups_read;
  const std::size_t next = poll().groups_read;  // it stands still
  const std::size_t later = poll().groups_read;

  EXPECT_EQ(before, 0U);
  EXPECT_EQ(now, 1U);
  EXPECT_EQ(next, 1U);
  EXPECT_EQ(later, 0U);
  EXPECT_EQ(total(0, 1), 10U);
}

TEST_F(StartedRecordSourceTest, ACgroupThatHasNotRunIsAnExactZero) {
  poll();

  EXPECT_EQ(total(0, 1), 0U);
  EXPECT_EQ(times(0).enabled, 0ms);
  EXPECT_TRUE(cycle_->cgroup_groups(0)[0].totals().measured());
}

TEST_F(RecordSourceTest, KeepsABoundedNumberOfNamesBetweenTwoPollsAndFewerLongOnes) {
  make_cycle();
  poll();
  const std::string of_3400_bytes = "/" + std::string(3399, 'a');
  const std::size_t most_long = NamesRing::kMaxBytes / of_3400_bytes.size() + 1;
  for (const auto& [path, most] :
       {std::pair{std::string("/a"), NamesRing::kMaxNames}, std::pair{of_3400_bytes, most_long}}) {
    for (std::uint64_t cgroup = 0; cgroup < most + 100; ++cgroup) {
      report_cgroup(1000 + cgroup, path);
      cycle_->source().between_polls();
    }

    poll();
    EXPECT_THAT(feedback_.named, SizeIs(most));
    poll();
    EXPECT_THAT(feedback_.named, IsEmpty());
  }
}

/// The clock of groups that take turns precedes them in the plan.
TEST_F(RecordSourceTest, TheBaseIsAPublishedGroupIfThereIsOne) {
  plan_->cgroup = test::scope_plan({{"clock", {"cpu-clock"}}, {"software", {"context-switches"}}});
  plan_->cgroup.groups[0].is_published = false;
  for (const bool is_published : {true, false}) {
    plan_->cgroup.groups[1].is_published = is_published;
    const auto recording = SwitchRecording::open(kernel_, 0, {kMinRecordsBuffer, kMinRecordsBuffer},
                                                 *plan_, [] { return std::nullopt; });
    ASSERT_TRUE(recording);
    EXPECT_EQ((*recording)->base_plan()->name, is_published ? "software" : "clock");
  }
}

TEST_F(RecordSourceTest, CountsACgroupThatIsGoneBeforeItsDirectoryIsOpened) {
  make_cycle();
  poll();
  turn(kA, 0, 42);
  report_cgroup(kA, "/a");
  poll();
  ASSERT_THAT(feedback_.named, SizeIs(1));
  EXPECT_EQ(feedback_.named[0], (cgroup::NamedCgroup{kA, "/a"}));

  target("/a", std::make_shared<cgroup::Cgroup>(cgroup::Cgroup{"/a", kA, {}}));
  poll();
  cgroups_[0].cgroup = nullptr;
  poll();

  EXPECT_EQ(total(0, 1), 42U);
  EXPECT_THAT(feedback_.unopened, IsEmpty());
}

/// The tracepoint of moves is known.
class MovesRecordSourceTest : public RecordSourceTest {
 protected:
  MovesRecordSourceTest() {
    tracepoint_ = perf::EventAttributes{.type = PERF_TYPE_TRACEPOINT, .config = 77};
  }
  void begin() {
    start();
    target("/b", kB);
    poll();
  }
};

TEST_F(MovesRecordSourceTest, WhatWasCountedUpToAMoveIsUnmeasuredAndTheRestIsTheNewCgroups) {
  begin();
  ASSERT_TRUE(notes_moves());
  turn(kB, 0, 300);
  run(0, 4000);
  move_to(kA);
  turn(kA, 0, 20);

  const PollReport report = poll();

  EXPECT_EQ(total(0, 1), 20U);
  EXPECT_EQ(total(1, 1), 300U);
  for (const std::size_t target : {0, 1}) {
    EXPECT_EQ(times(target).running, 1ms);
    EXPECT_EQ(times(target).unmeasured, 1ms);
  }
  EXPECT_EQ(report.switch_records.written, 3U);
  EXPECT_EQ(report.switch_records.skipped, 0U);
}

/// A CPU that was idle, whose first task is in the root of all cgroups and moves itself.
TEST_F(MovesRecordSourceTest, TheTimeUpToMovesIsNoReasonToGiveUpRecordsUntilItIsSoForAMinute) {
  begin();
  const unsigned polls = static_cast<unsigned>(RecordSource::kMaxMoving / 1s);
  for (unsigned i = 0; i < polls; ++i) {
    enabled_ += 2 * RecordSource::kMaxLost;
    move_to(kA);
    turn(kA, 0, 20);
    EXPECT_THAT(poll().failures, IsEmpty());
    kernel_.pass(1s);
  }
  EXPECT_TRUE(records());
  EXPECT_EQ(total(0, 1), 20U * polls);

  run(0, 100);
  move_to(kA);
  const PollReport report = poll();
  ASSERT_THAT(report.failures, SizeIs(1));
  EXPECT_THAT(describe(report.failures.begin()->second.first),
              HasSubstr("move to other cgroups again and again"));
  poll();
  EXPECT_FALSE(records());
}

TEST_F(MovesRecordSourceTest, CountsByRecordsWithoutThemIfTheirTracepointIsRefused) {
  for (const bool is_opened : {false, true}) {
    std::size_t opened = events().opened();
    std::optional<std::size_t> moves;
    events().refuse_open = [&](perf::EventAttr& attr, const perf::EventTarget&) {
      const bool is_of_moves = attr.type == PERF_TYPE_TRACEPOINT;
      if (is_of_moves && !is_opened) return EACCES;
      if (is_of_moves) moves = opened;
      ++opened;
      return 0;
    };
    events().refuse_control = [&](const test::ScriptedEvents::Control& control) {
      return control.event == moves ? EINVAL : 0;
    };
    make_cycle();
    target("/a", kA);

    EXPECT_THAT(poll().failures, IsEmpty());

    EXPECT_TRUE(records());
    EXPECT_FALSE(notes_moves());
    turn(kB, 0, 3);
    turn(kA, 0, 20);
    poll();
    EXPECT_EQ(total(0, 1), 20U);
    cycle_.reset();
    cgroups_.clear();
  }
}

TEST_F(MovesRecordSourceTest, TakeOneDescriptorMore) {
  begin();
  const std::size_t with_moves = poll().now.open_events;
  cycle_.reset();
  cgroups_.clear();
  tracepoint_.reset();

  begin();

  EXPECT_EQ(with_moves, poll().now.open_events + 1);
}

/// The kernel writes the records of a group some 100 ns before or after those of the base.
TEST_F(RecordSourceTest, AGroupIsExactAgainAfterAnIntervalThatWasDropped) {
  plan_->cgroup.groups.push_back(test::scope_plan({{"core", {"cycles"}}}).groups[0]);
  start();
  std::uint64_t core_switches = 0;
  const auto leave_core = [&](nanoseconds offset, std::uint64_t cgroup) {
    const auto time = static_cast<std::uint64_t>((enabled_ + offset).count());
    ring().write(
        test::record_of(PERF_RECORD_SAMPLE, Words{2, time, time, ++core_switches, 7, cgroup}));
  };
  const auto turn_and_poll = [&](nanoseconds offset) {
    turn(kA, 0, 10);
    leave_core(offset, kA);
    poll();
    return cycle_->cgroup_groups(0)[1].totals().times();
  };

  const GroupTimes exact = turn_and_poll(-100ns);
  ++core_switches;  // without a record
  const GroupTimes after_a_drop = turn_and_poll(0ns);
  const GroupTimes again = turn_and_poll(-70ns);
  ++core_switches;
  leave_core(0ns, kB);
  const GroupTimes after_a_drop_of_another = turn_and_poll(-90ns);

  EXPECT_EQ(exact.running, 1ms);
  EXPECT_EQ(exact.enabled, 1ms);
  EXPECT_EQ(after_a_drop.running, 1ms);
  EXPECT_EQ(after_a_drop.enabled, 2ms);
  EXPECT_EQ(again.running, 2ms);
  EXPECT_EQ(again.enabled, 3ms);
  EXPECT_EQ(after_a_drop_of_another.running, 3ms);
}

/// As that of Linux before 6.2 does, while the kernel takes all groups of a CPU off and on again.
TEST_F(RecordSourceTest, AGroupWhoseClockStandsStillAtEachSwitchHadThePmuUnlessItIsOffItNow) {
  plan_->cgroup.groups.push_back(test::scope_plan({{"core", {"cycles"}}}).groups[0]);
  start();
  nanoseconds off{};
  const std::size_t core = leaders().at(1);
  const auto change = events().change_reading;
  events().change_reading = [&](std::size_t event, Words& words) {
    const int result = change(event, words);
    if (event == core) words.at(2) -= static_cast<std::uint64_t>(off.count());
    return result;
  };
  const auto turn_of_both = [&](std::uint64_t switches) {
    turn(kA, 0, 10);
    off += 60us;
    const auto time = static_cast<std::uint64_t>(enabled_.count());
    ring().write(test::record_of(
        PERF_RECORD_SAMPLE,
        Words{2, time, time - static_cast<std::uint64_t>(off.count()), switches, 7, kA}));
  };
  for (std::uint64_t switches = 1; switches <= 20; ++switches) turn_of_both(switches);
  poll();
  const GroupTimes on = cycle_->cgroup_groups(0)[1].totals().times();

  turn_of_both(21);
  turn(kA, 0, 10);
  off += 1ms;
  poll();
  const GroupTimes taken_off = cycle_->cgroup_groups(0)[1].totals().times();

  EXPECT_EQ(on.enabled, 20ms);
  EXPECT_EQ(on.running, 20ms);
  EXPECT_EQ(taken_off.enabled - on.enabled, 2ms);
  EXPECT_EQ(taken_off.running - on.running, 940us);
}

/// A CPU that has given up records, as it does not write all of them.
class NamesOfRecordSourceTest : public RecordSourceTest {
 protected:
  NamesOfRecordSourceTest() {
    online_ = {kCpu, kOther};
    start();
    leave_out_records();
    poll();
    poll();
    EXPECT_FALSE(records());
  }
  static constexpr int kOther = kCpu + 1;
  void set_other_cpu(bool is_recorded) { by_records_->set(kOther, is_recorded); }
};

TEST_F(NamesOfRecordSourceTest, ReportsCgroupsThatAreMadeWhileOtherCpusHaveRecords) {
  const std::size_t before = poll().now.open_events;
  set_other_cpu(true);
  poll();
  EXPECT_EQ(poll().now.open_events, before + 1);
  EXPECT_THAT(events().still_open(), SizeIs(1));
  EXPECT_GE(cycle_->source().descriptor(), 0);

  report_cgroup(kB, "/b");
  poll();

  ASSERT_THAT(feedback_.named, SizeIs(1));
  EXPECT_EQ(feedback_.named[0], (cgroup::NamedCgroup{kB, "/b"}));
  poll();
  EXPECT_THAT(feedback_.named, IsEmpty());
  set_other_cpu(false);
  poll();
  EXPECT_EQ(poll().now.open_events, before);
  EXPECT_EQ(cycle_->source().descriptor(), -1);
}

TEST_F(NamesOfRecordSourceTest, ReportsThemAlsoIfTheRingIsReadBetweenPolls) {
  set_other_cpu(true);
  poll();
  report_cgroup(kB, "/b");

  cycle_->source().between_polls();
  poll();

  EXPECT_THAT(feedback_.named, SizeIs(1));
}

TEST_F(NamesOfRecordSourceTest, CountsWithoutARingIfItIsRefused) {
  std::size_t refusals = 0;
  events().refuse_map = [&](std::size_t, std::size_t) {
    ++refusals;
    return EPERM;
  };
  set_other_cpu(true);

  EXPECT_THAT(poll().failures, IsEmpty());
  const std::size_t tries = refusals;
  poll();

  EXPECT_GT(tries, 0U);
  EXPECT_EQ(refusals, tries) << "tried once";
  EXPECT_EQ(cycle_->source().descriptor(), -1);

  kernel_.pass(1min);
  poll();
  EXPECT_GT(refusals, tries) << "and again a minute later";
}

TEST_F(NamesOfRecordSourceTest, HasNoRingWhileNoOtherCpuThatIsOnlineCountsByRecords) {
  set_other_cpu(true);
  online_ = {kCpu};
  poll();
  poll();

  EXPECT_THAT(events().still_open(), IsEmpty());
}

TEST_F(StartedRecordSourceTest, NamesHaveARingOfTheirOwn) {
  EXPECT_FALSE(has_names(events().still_open().front())) << "the ring of the records";

  report_cgroup(kB, "/b");
  poll();

  EXPECT_THAT(feedback_.named, testing::ElementsAre(cgroup::NamedCgroup{kB, "/b"}));
}

TEST_F(StartedRecordSourceTest, TotalsContinueWhenTheSourceChanges) {
  turn(kA, 3, 5);
  poll();
  leave_out_records();
  poll();
  poll();

  using Answer = test::ScriptedKernel::Answer;
  kernel_.answer("cpu0 /a context-switches", {Answer::Kind::kCounts, 4ms, 4ms, {7, 100}, 0});
  poll();

  EXPECT_EQ(total(0, 0), 3U + 7U);
  EXPECT_EQ(total(0, 1), 5U + 100U);
}

TEST_F(RecordSourceTest, UsesRecordsFromSoManyCgroupsOnAndDescriptorsAfterAMinuteWithLessThanHalf) {
  make_cycle(2);
  target("/a", kA);
  EXPECT_EQ(poll().now.cpus_by_descriptors, 1U);
  EXPECT_EQ(by_records_->among(std::array{kCpu}), 0U);

  target("/b", kB);
  EXPECT_EQ(poll().now.cpus_by_records, 1U);
  EXPECT_TRUE(records());
  EXPECT_EQ(by_records_->among(std::array{kCpu}), 1U);

  cgroups_.pop_back();
  EXPECT_EQ(poll().now.cpus_by_records, 1U);
  cgroups_.pop_back();
  kernel_.pass(59s);
  EXPECT_EQ(poll().now.cpus_by_records, 1U);
  kernel_.pass(60s);
  poll();
  EXPECT_EQ(by_records_->among(std::array{kCpu}), 0U) << "announced to the owner of the targets";
  EXPECT_EQ(poll().now.cpus_by_descriptors, 1U);
  EXPECT_FALSE(records());
}

TEST_F(StartedRecordSourceTest, FollowsAChangeOfItsUseWithTotalsThatGoOn) {
  turn(kA, 3, 5);
  poll();

  min_recorded_ = kNeverRecorded;
  turn(kA, 0, 1);
  poll();  // announces it
  turn(kA, 0, 1);
  poll();
  EXPECT_FALSE(records());
  EXPECT_EQ(total(0, 1), 7U) << "with the last records";
  min_recorded_ = 0;
  poll();

  EXPECT_TRUE(records());
  EXPECT_EQ(total(0, 1), 7U);
}

TEST_F(RecordSourceTest, TriesAgainAfterAMinuteIfDescriptorsAreShort) {
  bool is_short = true;
  events().refuse_open = [&](perf::EventAttr& attr, const perf::EventTarget&) {
    return is_short && attr.sample_period == 1 ? EMFILE : 0;
  };
  make_cycle();
  target("/a", kA);
  EXPECT_THAT(poll().failures, SizeIs(1));
  EXPECT_EQ(poll().now.cpus_by_descriptors, 1U);

  is_short = false;
  EXPECT_EQ(poll().now.cpus_by_descriptors, 1U);
  kernel_.pass(60s);

  EXPECT_EQ(poll().now.cpus_by_records, 1U);
}

TEST_F(StartedRecordSourceTest, AnnouncesDescriptorsAPollBeforeItOpensThem) {
  leave_out_records();

  poll();
  EXPECT_EQ(by_records_->among(std::array{kCpu}), 0U);
  EXPECT_TRUE(records());
  poll();
  EXPECT_FALSE(records());
}

TEST_F(RecordSourceTest, TheGroupOfScopeCpuIsTheSameIfItHasTheSameEvents) {
  plan_->cpu = plan_->cgroup;
  start();

  turn(kA, 0, 30);
  turn(kIdle, 0, 4);
  run(0, 2);
  poll();

  EXPECT_EQ(cycle_->cpu_groups()[0].totals()[1].value, 36U);
  EXPECT_EQ(total(0, 1), 30U);
  EXPECT_EQ(kernel_.still_open(), 3U);
}

TEST_F(RecordSourceTest, TheGroupOfScopeCpuIsTheSameIfThatOfScopeCgroupHasAClockInAddition) {
  plan_->cpu = plan_->cgroup;
  plan_->cpu.groups[0].events.pop_back();
  plan_->cgroup.groups[0].auxiliary_events = plan_->cgroup.groups[0].optional_events = 1;
  make_cycle();
  poll();
  EXPECT_EQ(kernel_.still_open(), 3U) << "all events, before there is a cgroup";
  target("/a", kA);
  poll();

  turn(kA, 30, 300);
  turn(kIdle, 4, 0);
  poll();

  EXPECT_EQ(cycle_->cpu_groups()[0].totals()[0].value, 34U);
  EXPECT_EQ(total(0, 0), 30U);
  EXPECT_EQ(kernel_.still_open(), 3U);
}

TEST_F(StartedRecordSourceTest, AGroupOfScopeCpuThatAReloadAddsCountsFromZero) {
  turn(kA, 3, 30);
  poll();

  change_plan([](CountingPlan& plan) { plan.cpu = plan.cgroup; });
  poll();
  const auto added = [this] { return cycle_->cpu_groups()[0].totals(); };
  EXPECT_EQ(added()[1].value, 0U);
  EXPECT_LT(added().times().enabled, 1us);
  turn(kA, 1, 4);
  poll();

  EXPECT_EQ(added()[0].value, 1U);
  EXPECT_EQ(added()[1].value, 4U);
  EXPECT_NEAR(static_cast<double>(added().times().running.count()), 1e6, 100);
  EXPECT_EQ(total(0, 1), 34U);
}

/// Its first reading is of the beginning of the poll, however long it takes to open the others.
TEST_F(StartedRecordSourceTest, AGroupOfScopeCpuThatAReloadAddsDoesNotStandStill) {
  events().refuse_open = [this](perf::EventAttr&, const perf::EventTarget&) {
    kernel_.pass(100ms);
    return 0;
  };

  change_plan([](CountingPlan& plan) {
    plan.cpu = plan.cgroup;
    plan.cgroup = test::scope_plan(
        {{"software", {"context-switches", "page-faults"}}, {"more", {"major-faults"}}});
  });

  EXPECT_THAT(poll().failures, IsEmpty());
}

/// Its group shares the PMU, and leaves it to other programs in a pause.
class PausedRecordSourceTest : public RecordSourceTest {
 protected:
  PausedRecordSourceTest() {
    plan_->cgroup.groups.push_back(test::scope_plan({{"core", {"cycles"}}}).groups[0]);
    plan_->cgroup.groups[1].shares_pmu = true;
    start();
  }
  void set_paused(bool paused) {
    cycle_->set_paused(paused);
    poll();
  }
  bool counts_core() { return !events().at(leaders().at(1)).is_stopped; }
};

TEST_F(PausedRecordSourceTest, StopsItsGroupAndStartsItAgain) {
  EXPECT_TRUE(counts_core());
  set_paused(true);
  EXPECT_FALSE(counts_core());
  EXPECT_FALSE(events().at(leaders().at(0)).is_stopped) << "the base";
  set_paused(false);
  EXPECT_TRUE(counts_core());
}

/// Else a moment is what the whole pause is estimated by.
TEST_F(PausedRecordSourceTest, WhatRunsUntilItsGroupStopsIsOfTheIntervalBeforeThePause) {
  const nanoseconds before = times(0).running;
  bool has_run = false;
  events().change_reading = [&, read = events().change_reading](std::size_t event, Words& words) {
    const bool is_stopped = events().at(event).is_stopped;
    if (is_stopped && !std::exchange(has_run, true)) turn(kA, 0, 5);
    return read(event, words);
  };
  set_paused(true);
  EXPECT_EQ(times(0).running - before, 1ms);
}

/// The group writes no record, and its time stands still.
TEST_F(PausedRecordSourceTest, ACgroupThatIsOpenedInThePauseHasNoTimeRunning) {
  set_paused(true);
  target("/b", kB);
  poll();

  turn(kB, 0, 5);
  poll();

  const GroupTimes core = cycle_->cgroup_groups(1)[1].totals().times();
  EXPECT_EQ(core.enabled, 1ms);
  EXPECT_EQ(core.running, 0ms);
  EXPECT_EQ(total(1, 1), 5U);
}

TEST_F(PausedRecordSourceTest, CountsAgainIfAllCgroupsEndInThePause) {
  set_paused(true);
  cgroups_.clear();
  poll();
  set_paused(false);

  target("/b", kB);
  poll();

  EXPECT_TRUE(counts_core());
}

TEST_F(PausedRecordSourceTest, CountsAgainIfAReloadReplacesTheGroupInThePause) {
  set_paused(true);

  change_plan([this](CountingPlan& plan) {
    plan.cgroup.groups[1].aggregation = Aggregation::kPackage;
    continue_plan(*cycle_->plan(), plan);
  });
  set_paused(false);

  EXPECT_TRUE(counts_core());
}

TEST_F(PausedRecordSourceTest, StopsTheGroupOfScopeCpuThatAReloadHasTakenOutOfScopeCgroup) {
  change_plan([](CountingPlan& plan) {
    plan.cpu = test::scope_plan({{"core", {"cycles"}}});
    plan.cpu.groups[0].shares_pmu = true;
  });
  poll();
  change_plan([](CountingPlan& plan) { plan.cgroup.groups.pop_back(); });

  set_paused(true);
  EXPECT_FALSE(counts_core());
  set_paused(false);
  EXPECT_TRUE(counts_core());
}

TEST_F(RecordSourceTest, AnOptionalEventThatWasRefusedStaysSoWhileReloadsMoveItsGroup) {
  const ScopePlan core = test::scope_plan({{"core", {"cycles", "instructions"}}});
  plan_->cgroup.groups.push_back(core.groups[0]);
  plan_->cgroup.groups[1].shares_pmu = true;
  plan_->cgroup.groups[1].optional_events = 1;
  const auto in_both = [this] {
    auto plan = std::make_shared<CountingPlan>(*plan_);
    plan->cpu.groups = {plan->cgroup.groups[1]};
    return plan;
  };
  plan_ = in_both();
  const auto in_cpus_only = std::make_shared<CountingPlan>(*plan_);
  in_cpus_only->cgroup.groups.pop_back();
  events().refuse_open = [](perf::EventAttr& attr, const perf::EventTarget&) {
    const bool is_refused =
        attr.type == PERF_TYPE_HARDWARE && attr.config == PERF_COUNT_HW_INSTRUCTIONS;
    return is_refused ? EOPNOTSUPP : 0;
  };
  start();
  ASSERT_THAT(leaders(), SizeIs(2));

  (void)cycle_->change(in_cpus_only);
  poll();
  (void)cycle_->change(in_both());
  poll();
  target("/b", kB);
  const PollReport report = poll();

  EXPECT_THAT(leaders(), SizeIs(2));
  EXPECT_EQ(report.now.cpus_by_records, 1U);
}

TEST_F(RecordSourceTest, ACpuThatIsOfflineCountsCgroupsInNeitherWay) {
  make_cycle();
  target("/a", kA);
  EXPECT_EQ(poll().now.cpus_by_records, 1U);

  const PollReport report =
      cycle_->run(test::targets_of({}, {{}, {}, {}}), EventModels{*plan_}).report;

  EXPECT_EQ(report.now.cpus_by_records + report.now.cpus_by_descriptors, 0U);
}

TEST_F(PausedRecordSourceTest, StopsItsGroupWithoutACgroupToo) {
  cgroups_.clear();
  poll();

  set_paused(true);

  EXPECT_FALSE(counts_core());
}

/// As when another program has all counters: its leader then writes no record, and no reading says
/// so where the own cgroup is not known.
TEST_F(RecordSourceTest, AGroupThatNeverHadThePmuHasNoTimeRunning) {
  const collect::ScopePlan more = test::scope_plan({{"core", {"cycles"}}});
  plan_->cgroup.groups.push_back(more.groups[0]);
  plan_->cgroup.groups[1].shares_pmu = true;
  make_cycle();
  poll();
  const std::size_t base = leaders().at(0);
  target("/a", kA);
  poll();
  const auto usual = events().change_reading;
  events().change_reading = [&](std::size_t event, Words& words) {
    (void)usual(event, words);
    if (event != base) words.at(2) = words.at(3) = words.at(4) = 0;
    return 0;
  };

  turn(kA, 0, 5);
  poll();

  const auto core = cycle_->cgroup_groups(0)[1];
  EXPECT_EQ(core.totals().times().enabled, 1ms);
  EXPECT_EQ(core.totals().times().running, 0ms);
  EXPECT_EQ(total(0, 1), 5U);
}

/// The calling thread runs on its CPU, as a worker does, as long as this lives.
class ThreadOnItsCpu {
 public:
  ThreadOnItsCpu() {
    ::sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(kCpu, &one);
    is_bound_ = ::sched_setaffinity(0, sizeof one, &one) == 0;
  }
  ~ThreadOnItsCpu() { ::sched_setaffinity(0, sizeof before_, &before_); }
  ThreadOnItsCpu(const ThreadOnItsCpu&) = delete;
  ThreadOnItsCpu& operator=(const ThreadOnItsCpu&) = delete;

  bool is_bound() const { return is_bound_; }
  /// False if there is no other CPU.
  bool move_off() const {
    cpu_set_t others = before_;
    CPU_CLR(kCpu, &others);
    return ::sched_setaffinity(0, sizeof others, &others) == 0;
  }

 private:
  cpu_set_t before_{};
  bool is_bound_ = false;
};

/// Two of its groups share a PMU that has room for one.
class TurnsRecordSourceTest : public RecordSourceTest {
 protected:
  void SetUp() override {
    if (!thread_.is_bound()) GTEST_SKIP() << "CPU 0 is not allowed: turns of groups are NOT tested";
  }
  TurnsRecordSourceTest() {
    const ScopePlan core = test::scope_plan({{"one", {"cycles"}}, {"two", {"instructions"}}});
    for (GroupPlan group : core.groups) {
      group.shares_pmu = true;
      plan_->cgroup.groups.push_back(group);
    }
    plan_->cpu = plan_->cgroup;
    events().change_reading = [this](std::size_t event, Words& words) {
      const bool is_base = event == leaders().at(0);
      const CoreTimes times = is_base ? CoreTimes{enabled_, enabled_} : cores_[event];
      words.at(1) = static_cast<std::uint64_t>(times.enabled.count()) + ++reads_;
      words.at(2) = static_cast<std::uint64_t>(times.running.count()) + reads_;
      std::fill(words.begin() + 3, words.end(), 0);
      return 0;
    };
    start();
    poll();
  }
  bool counts(std::size_t group) { return !events().at(leaders().at(group)).is_stopped; }
  void pass(nanoseconds time) {
    kernel_.pass(time);
    enabled_ += time;
    bool is_taken = false;
    for (const std::size_t leader : leaders()) {
      if (leader == leaders().at(0) || events().at(leader).is_stopped) continue;
      cores_[leader].enabled += time;
      if (!std::exchange(is_taken, true)) cores_[leader].running += time;
    }
  }
  void finish_turn() {
    pass(cycle_->source().due_in().value_or(1s));
    cycle_->source().between_polls();
  }
  /// Until it is known that not all fit.
  void begin_turns() {
    for (int turn = 0; turn < 3; ++turn) finish_turn();
  }
  GroupTimes cpu_times(std::size_t group) { return cycle_->cpu_groups()[group].totals().times(); }

  struct CoreTimes {
    nanoseconds enabled{};
    nanoseconds running{};
  };
  std::map<std::size_t, CoreTimes> cores_;  ///< by leader
  ThreadOnItsCpu thread_;
};

TEST_F(TurnsRecordSourceTest, GroupsThatDoNotFitTogetherCountInTurns) {
  EXPECT_TRUE(counts(1) && counts(2));
  ASSERT_TRUE(cycle_->source().due_in());
  EXPECT_LE(*cycle_->source().due_in(), 100ms);

  begin_turns();
  EXPECT_NE(counts(1), counts(2));
  const bool was_first = counts(1);
  finish_turn();
  EXPECT_EQ(counts(1), !was_first);
  EXPECT_EQ(counts(2), was_first);
  finish_turn();
  EXPECT_EQ(counts(1), was_first);
}

TEST_F(TurnsRecordSourceTest, AllCountWhileTheThreadIsKeptOffItsCpu) {
  begin_turns();
  ASSERT_NE(counts(1), counts(2));
  if (!thread_.move_off()) {
    GTEST_SKIP() << "there is no other CPU: a thread that is kept off its CPU is NOT tested";
  }

  finish_turn();

  EXPECT_TRUE(counts(1) && counts(2));
  EXPECT_FALSE(cycle_->source().due_in());
}

TEST_F(TurnsRecordSourceTest, ATurnEndsInItsTimeHoweverOftenItIsPolled) {
  begin_turns();
  const bool was_first = counts(1);
  const nanoseconds rest = cycle_->source().due_in().value();

  pass(rest - 1ms);
  poll();
  cycle_->source().between_polls();

  EXPECT_EQ(counts(1), was_first);
  pass(1ms);
  poll();
  EXPECT_EQ(counts(1), !was_first);
}

TEST_F(TurnsRecordSourceTest, OnACpuAGroupIsEnabledInTheTurnsOfOthersToo) {
  begin_turns();
  poll();
  const GroupTimes before[] = {cpu_times(1), cpu_times(2)};
  const nanoseconds begin = enabled_;

  for (int turn = 0; turn < 20; ++turn) finish_turn();
  poll();

  nanoseconds running{};
  for (const std::size_t group : {1, 2}) {
    EXPECT_NEAR(static_cast<double>((cpu_times(group).enabled - before[group - 1].enabled).count()),
                static_cast<double>((enabled_ - begin).count()), 1e3);
    running += cpu_times(group).running - before[group - 1].running;
  }
  EXPECT_NEAR(static_cast<double>(running.count()), static_cast<double>((enabled_ - begin).count()),
              1e3);
}

TEST_F(TurnsRecordSourceTest, InAPauseNoneHasATurnAndAfterwardsThereAreTurnsAgain) {
  begin_turns();
  cycle_->set_paused(true);
  poll();
  for (int turn = 0; turn < 3; ++turn) {
    finish_turn();
    EXPECT_FALSE(counts(1) || counts(2));
  }

  cycle_->set_paused(false);
  poll();
  finish_turn();
  finish_turn();

  EXPECT_NE(counts(1), counts(2));
}

/// Else the time enabled would be that of the group's own turns.
TEST_F(TurnsRecordSourceTest, AGroupThatIsPausedInTheTurnOfAnotherHasNotWaitedMeanwhile) {
  begin_turns();
  const std::size_t waiting = counts(1) ? 2 : 1;
  pass(10ms);
  cycle_->set_paused(true);
  poll();
  const nanoseconds before = cpu_times(waiting).enabled;
  pass(10ms);
  poll();
  cycle_->set_paused(false);
  poll();

  EXPECT_LT(cpu_times(waiting).enabled - before, 11ms);
}

TEST_F(RecordSourceTest, AFailedReadingOfACpuIsReported) {
  plan_->cpu = plan_->cgroup;
  make_cycle();
  poll();
  events().change_reading = [](std::size_t, Words&) { return EIO; };

  const PollReport report = poll();

  EXPECT_EQ(report.errors.at("software").read_failures, 1U);
}

TEST_F(RecordSourceTest, APinnedGroupIsCountedByDescriptors) {
  plan_->cgroup.groups[0].mode.pinned = true;
  start();

  EXPECT_THAT(kernel_.open_groups(), testing::Contains("cpu0 /a context-switches"));
}

/// A recorded group is led by the switches, and the kernel opens shares of slots only behind slots.
TEST_F(RecordSourceTest, AGroupThatNeedsItsOwnLeaderIsCountedByDescriptorsAndOthersAreRecorded) {
  plan_->cgroup.groups.push_back(test::scope_plan({{"topdown", {"r400", "r8000"}}}).groups[0]);
  plan_->cgroup.groups[1].needs_its_leader = true;
  make_cycle();
  target("/a", kA);

  const PollReport report = poll();

  EXPECT_THAT(report.refusals, IsEmpty());
  EXPECT_THAT(kernel_.open_groups(), testing::Contains("cpu0 /a type4:0x400"));
  turn(kA, 0, 9);
  poll();
  EXPECT_EQ(total(0, 1), 9U) << "the other group, by records";
}

TEST_F(RecordSourceTest, IsReadableWhenItsRingIs) {
  make_cycle();
  EXPECT_EQ(cycle_->source().descriptor(), -1);
  target("/a", kA);
  poll();

  EXPECT_EQ(events().number_of(cycle_->source().descriptor()), events().still_open().front());
  turn(kA, 0, 9);
  cycle_->source().between_polls();
  EXPECT_EQ(ring().tail(), ring().head());
  poll();
  EXPECT_EQ(total(0, 1), 9U);
}

/// What is counted by records is also counted by descriptors at times. A poll each second.
class RecordCheckTest : public RecordSourceTest {
 protected:
  RecordCheckTest() {
    is_checked_ = true;
    start();
    descriptors_count(0ms, 0, 0);
    kernel_.pass(RecordCheck::kMinAge);
    turn(kA, 1, 10);
    poll();  // finds that it is busy
  }
  void descriptors_count(nanoseconds time, std::uint64_t switches, std::uint64_t faults) {
    using Answer = test::ScriptedKernel::Answer;
    kernel_.answer("cpu0 /a context-switches",
                   {Answer::Kind::kCounts, time, time, {switches, faults}, 0});
  }
  PollReport poll() {
    kernel_.pass(1s);
    return RecordSourceTest::poll();
  }
  PollReport agree() { return compare_with(100); }
  PollReport differ() { return compare_with(200); }
  /// Descriptors count so many of 100 page faults.
  PollReport compare_with(std::uint64_t faults) {
    poll();
    turn(kA, 3, 100);
    descriptors_count(1ms, 3, faults);
    return poll();
  }
  bool is_checking() {
    return testing::Value(kernel_.open_groups(), testing::Contains("cpu0 /a context-switches"));
  }
};

TEST_F(RecordCheckTest, IsEqualIfDescriptorsCountTheSame) {
  const PollReport report = agree();

  EXPECT_EQ(report.record_checks.equal, 1U);
  EXPECT_FALSE(is_checking());
  EXPECT_THAT(report.failures, IsEmpty());
  EXPECT_EQ(total(0, 1), 110U);
}

TEST_F(RecordCheckTest, IsRepeatedAtOnceIfItDiffers) {
  EXPECT_EQ(differ().record_checks.different, 1U);
  EXPECT_FALSE(is_checking());
  poll();

  EXPECT_TRUE(records());
  EXPECT_TRUE(is_checking());
}

TEST_F(RecordCheckTest, CountsByDescriptorsOnceSeveralInARowDiffer) {
  for (unsigned i = 1; i < RecordCheck::kDifferencesToGiveUp; ++i) {
    EXPECT_THAT(differ().failures, IsEmpty());
  }
  const std::uint64_t before = total(0, 1);
  const PollReport last = differ();
  poll();

  EXPECT_FALSE(records());
  ASSERT_THAT(last.failures, SizeIs(1));
  const std::string text = describe(last.failures.begin()->second.first);
  EXPECT_THAT(text, HasSubstr("CPU 0"));
  EXPECT_THAT(text, HasSubstr("cgroup '/a', page-faults: records 100, descriptors 200"));
  EXPECT_THAT(text, HasSubstr("source: descriptors"));
  EXPECT_GE(total(0, 1), before + 100);
  EXPECT_EQ(last.now.cpus_without_records, std::vector{kCpu});
  EXPECT_THAT(last.now.why_no_records, HasSubstr("page-faults"));
}

TEST_F(RecordCheckTest, DifferencesThatAreNotInARowAreNoReason) {
  for (unsigned i = 0; i < 3 * RecordCheck::kDifferencesToGiveUp; ++i) {
    if (i % 3 == 0) {
      kernel_.pass(RecordCheck::kInterval);
      EXPECT_EQ(agree().record_checks.equal, 1U);
      kernel_.pass(RecordCheck::kInterval);
    } else {
      EXPECT_EQ(differ().record_checks.different, 1U);
    }
  }
  EXPECT_TRUE(records());
}

TEST_F(RecordCheckTest, IsInconclusiveIfDescriptorsDoNotCount) {
  poll();
  turn(kA, 3, 100);

  const PollReport report = poll();

  EXPECT_EQ(report.record_checks.inconclusive, 1U);
  EXPECT_FALSE(is_checking());
  EXPECT_TRUE(records());
}

TEST_F(RecordCheckTest, IsInconclusiveIfARecordIsMissing) {
  poll();
  run(3, 100);
  switches_ += 2;
  write(kA);
  descriptors_count(1ms, 3, 100);

  EXPECT_EQ(poll().record_checks.inconclusive, 1U);
}

/// It may be of a cgroup in the one that is compared, and is given to that once it is named.
TEST_F(RecordCheckTest, IsInconclusiveIfItDiffersWhileANameIsNotKnown) {
  constexpr std::uint64_t kUnnamed = 4711;
  poll();
  turn(kUnnamed, 1, 100);
  turn(kA, 3, 100);
  descriptors_count(1ms, 4, 200);
  const PollReport at_its_end = poll();
  EXPECT_EQ(at_its_end.record_checks.inconclusive, 1U);
  EXPECT_EQ(at_its_end.record_checks.different, 0U);

  kernel_.pass(RecordCheck::kInterval);
  turn(kUnnamed, 1, 100);
  turn(kA, 1, 10);
  poll();
  descriptors_count(2ms, 7, 500);
  const PollReport since_its_begin = differ();
  EXPECT_EQ(since_its_begin.record_checks.different, 0U);
}

/// As on a CPU where processes start all the time.
TEST_F(RecordCheckTest, IsEqualIfWhatWasLostIsNotOfTheCgroup) {
  poll();
  turn(kA, 3, 100);
  run(0, 50);
  switches_ += 2;
  write(kB);
  turn(kA, 0, 10);
  descriptors_count(2ms, 3, 110);

  EXPECT_EQ(poll().record_checks.equal, 1U);
}

TEST_F(RecordCheckTest, EndsWithItsCgroup) {
  poll();
  cgroups_[0].cgroup = nullptr;

  const PollReport report = poll();

  EXPECT_FALSE(is_checking());
  EXPECT_EQ(report.record_checks.equal + report.record_checks.different, 0U);
}

TEST_F(RecordCheckTest, DoesNotEndInAReconciliationJustAfterItsBegin) {
  poll();
  ASSERT_TRUE(is_checking());
  turn(kA, 3, 100);
  descriptors_count(1ms, 3, 100);
  kernel_.pass(10ms);
  EXPECT_EQ(RecordSourceTest::poll().record_checks.equal, 0U);
  EXPECT_TRUE(is_checking());

  EXPECT_EQ(poll().record_checks.equal, 1U);
}

TEST_F(RecordCheckTest, IsMadeOnceAMinute) {
  EXPECT_EQ(agree().record_checks.equal, 1U);
  int seconds = 0;
  for (; seconds < 200 && !is_checking(); ++seconds) {
    turn(kA, 1, 1);
    poll();
  }

  EXPECT_NEAR(seconds, 60, 2);
}

TEST_F(RecordCheckTest, TakesTurnsWithPollsThatCountByRecordsAlone) {
  unsigned checked = 0;
  for (int i = 0; i < 200; ++i) {
    turn(kA, 1, 1);
    checked += is_checking() ? 1 : 0;
    poll();
  }
  EXPECT_LT(checked, 200U / RecordCheck::kShareUntilConclusive + 2);
}

TEST_F(StartedRecordSourceTest, ClosesAllWhenItEnds) {
  cycle_.reset();

  EXPECT_EQ(kernel_.still_open(), 0U);
  EXPECT_THAT(events().still_open(), IsEmpty());
}

}  // namespace
}  // namespace pex::collect
