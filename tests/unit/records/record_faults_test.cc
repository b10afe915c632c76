// What goes wrong with records of switches, from the kernel's door to the totals: records that are
// lost or were never written, names that come late, rings that cannot be had, a CPU that goes.

#include <linux/perf_event.h>

#include <cerrno>
#include <iterator>

#include "count/poll_cycle.h"
#include "records/record_source.h"
#include "support/cgroups.h"
#include "support/counted_cycle.h"
#include "support/events.h"
#include "support/record_encoder.h"
#include "support/scripted_kernel.h"
#include "support/scripted_ring.h"
#include "support/test_headers.h"

namespace pex::collect::faults {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using test::ScriptedRing;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Words = std::vector<std::uint64_t>;

constexpr int kCpu = 0;
constexpr std::uint64_t kRoot = 1, kBusy = 11, kQuiet = 12, kLate = 13;  // ids of cgroups
constexpr std::uint64_t kFaults = 10;                                    // of kBusy in each turn
constexpr std::array<std::uint64_t, 3> kTurns = {kBusy, kQuiet, kRoot};

bool is(const perf::EventAttr& attr, std::uint64_t software) {
  return attr.type == PERF_TYPE_SOFTWARE && attr.config == software;
}
bool leads(const perf::EventAttr& attr) { return attr.sample_period == 1; }
bool owns_a_ring(const perf::EventAttr& attr, bool has_names) {
  const bool reports_cgroups = (attr.flags & perf::attr_flag(perf::AttrFlag::kCgroup)) != 0;
  return is(attr, PERF_COUNT_SW_DUMMY) && reports_cgroups == has_names;
}

/// A scripted kernel whose CPU can go at any call. What was open then is dead: its times stand
/// still, its groups are broken up, and it writes nothing any more, also when the CPU is back.
class KernelOfOneCpu final : public perf::PerfKernel {
 public:
  explicit KernelOfOneCpu(test::ScriptedKernel& kernel) : kernel_(kernel) {}

  /// Called with the number of each call, from 1 on, before it is answered.
  std::function<void(std::size_t)> before_call = [](std::size_t) {};
  /// errno for each call by its number, or 0 for an answer.
  std::function<int(std::size_t)> fails = [](std::size_t) { return 0; };
  std::function<void(std::size_t event)> opened = [](std::size_t) {};
  /// What an event of a group says alone when the CPU goes: its leader, or another one.
  std::function<Words(std::size_t leader, bool leads)> last_of = [](std::size_t, bool) {
    return Words{};
  };

  /// Former members answer for their leader, as before the last fix of perf_group_detach().
  bool detaches_badly = false;

  void set_online(bool online) {
    if (is_online_ && !online) end_life();
    is_online_ = online;
  }
  bool is_online() const { return is_online_; }
  bool is_alive(std::size_t event) const { return is_online_ && lives_.at(event) == life_; }
  /// The number of other events in the group that an event leads.
  std::size_t members_of(std::size_t event) const {
    const auto known = members_.find(event);
    return known == members_.end() ? 0 : known->second;
  }
  void restart_calls() { calls_ = 0; }
  std::size_t calls() const { return calls_; }

  Result<perf::OpenCounter> open(const perf::CounterRequest& request) override {
    if (const int code = next_call()) return Error{code, {}, {}};
    if (!is_online_) return Error{ENODEV, {}, {}};
    Result<perf::OpenCounter> counter = kernel_.open(request);
    if (!counter) return counter;
    const auto leader = descriptors_.find(request.leader_fd);
    descriptors_[counter->fd.get()] = {
        .life = life_,
        .last = {1, 0, 0, 0, counter->id},
        .id = counter->id,
        .leader = leader == descriptors_.end() ? std::nullopt : leader->second.leader};
    if (const auto& led_by = descriptors_[counter->fd.get()].leader) ++members_[*led_by];
    return counter;
  }
  Result<> enable_group(int leader_fd) override {
    if (const int code = next_call()) return Error{code, {}, {}};
    return kernel_.enable_group(leader_fd);
  }
  Result<> disable_group(int leader_fd) override {
    if (const int code = next_call()) return Error{code, {}, {}};
    return kernel_.disable_group(leader_fd);
  }
  Result<std::size_t> read_group(int leader_fd, std::span<std::uint64_t> words) override {
    if (const int code = next_call()) return Error{code, {}, {}};
    Descriptor& descriptor = descriptors_.at(leader_fd);
    if (!is_online_ || descriptor.life != life_) return copy(descriptor.last, words);
    const Result<std::size_t> filled = kernel_.read_group(leader_fd, words);
    const std::size_t alone = descriptor.last.size();
    if (filled && *filled >= alone) {
      std::copy_n(words.begin(), alone, descriptor.last.begin());
      descriptor.last[0] = 1;
    }
    return filled;
  }
  Result<perf::OpenCounter> open_event(perf::EventAttr& attr,
                                       const perf::EventTarget& target) override {
    if (const int code = next_call()) return Error{code, {}, {}};
    if (!is_online_) return Error{ENODEV, {}, {}};
    Result<perf::OpenCounter> event = kernel_.open_event(attr, target);
    if (!event) return event;
    const std::size_t number = lives_.size();
    const auto leader = descriptors_.find(target.group_fd);
    const bool leads = leader == descriptors_.end();
    descriptors_[event->fd.get()] = {.life = life_,
                                     .last = {1, 0, 0, 0},
                                     .id = event->id,
                                     .leader = leads ? number : leader->second.leader,
                                     .leads = leads};
    if (!leads) ++members_[*leader->second.leader];
    lives_.push_back(life_);
    opened(number);
    return event;
  }
  Result<> control(int fd, perf::EventControl operation, std::uint64_t argument) override {
    if (const int code = next_call()) return Error{code, {}, {}};
    return kernel_.control(fd, operation, argument);
  }
  Result<perf::Mapping> map(int fd, std::size_t bytes, std::size_t offset, bool writable) override {
    if (const int code = next_call()) return Error{code, {}, {}};
    return kernel_.map(fd, bytes, offset, writable);
  }
  nanoseconds now() override { return kernel_.now(); }

 private:
  struct Descriptor {
    std::size_t life = 0;
    Words last;  ///< as read alone: with an id, or without where it leads others
    std::uint64_t id = 0;
    std::optional<std::size_t> leader = {};  ///< of the events of open_event
    bool leads = false;                      ///< it is that one
  };

  void end_life() {
    for (auto& [fd, descriptor] : descriptors_) {
      if (descriptor.life != life_ || !descriptor.leader) continue;
      descriptor.last = last_of(*descriptor.leader, descriptor.leads || detaches_badly);
      if (!descriptor.leads) descriptor.last.push_back(detaches_badly ? 0 : descriptor.id);
    }
    ++life_;
  }

  int next_call() {
    before_call(++calls_);
    return fails(calls_);
  }
  static Result<std::size_t> copy(const Words& from, std::span<std::uint64_t> to) {
    std::copy(from.begin(), from.end(), to.begin());
    return from.size();
  }

  test::ScriptedKernel& kernel_;
  bool is_online_ = true;
  std::size_t life_ = 0;  ///< how often the CPU has gone
  std::size_t calls_ = 0;
  std::map<int, Descriptor> descriptors_;
  std::vector<std::size_t> lives_;              ///< of the events of open_event
  std::map<std::size_t, std::size_t> members_;  ///< of the groups that these lead
};

/// A CPU on which cgroups take turns of 1 ms, and what is counted there: of /busy, which has
/// kFaults page faults in each turn, of /quiet, which never has one, and of the root.
class RecordedCpu {
 public:
  /// `has_clock`: the group of the cgroups has a member that the one of the CPU has not.
  explicit RecordedCpu(bool counts_the_cpu = false, bool has_clock = false) {
    plan_->cgroup = test::scope_plan({{"software", {"page-faults"}}});
    if (counts_the_cpu) plan_->cpu = plan_->cgroup;
    if (has_clock) {
      GroupPlan& group = plan_->cgroup.groups.front();
      group.events.push_back(test::counter("cpu-clock"));
      group.auxiliary_events = 1;
      group.auxiliary.clock = 1;
    }
    kernel.opened = [this](std::size_t event) { opened_at_[event] = now_; };
    kernel.last_of = [this](std::size_t leader, bool leads) {
      const Values since = values(leader);
      const auto time = static_cast<std::uint64_t>(since.time.count()) + reads_;
      return Words{1, time, time, leads ? since.switches : since.faults};
    };
    scripted.opened_events.change_reading = [this](std::size_t event, Words& words) {
      const Values since = values(event);
      words.at(1) = words.at(2) = ++reads_ + static_cast<std::uint64_t>(since.time.count());
      const Words values = values_of_group(event, since, words.at(1));
      std::copy_n(values.begin(), words.size() - 3, words.begin() + 3);
      return 0;
    };
    add_target("/", kRoot);
    add_target("/busy", kBusy);
    add_target("/quiet", kQuiet);
    scripted.answer("cpu0 / page-faults", kNothing);
    scripted.answer("cpu0 /busy page-faults", kNothing);
    scripted.answer("cpu0 /quiet page-faults", kNothing);
    know({{kRoot, "/"}, {kBusy, "/busy"}, {kQuiet, "/quiet"}});
  }

  void add_target(const std::string& path, std::uint64_t id) {
    cgroups_.push_back({cgroups_.size() + 1, path, test::make_cgroup(tree_, path, id)});
  }
  void know(const cgroup::CgroupNames::Map& names) {
    names_ = std::make_shared<const cgroup::CgroupNames>(names_->with(names));
  }

  void check_records() { options_.is_checked = true; }
  void end(std::size_t target) { cgroups_[target].cgroup = nullptr; }
  void allow_records(bool allowed) { min_recorded_ = allowed ? 0 : kNeverRecorded; }

  /// Looks for totals that have fallen.
  PollReport poll() {
    if (!cycle_) make_cycle();
    const std::vector<int> online = is_listed_online ? std::vector<int>{kCpu} : std::vector<int>{};
    const auto set = test::targets_of(cgroups_, {online, {}, {}});
    set->names = names_;
    set->min_recorded = min_recorded_;
    PollCycle::Outcome outcome = cycle_->run(set, EventModels{*plan_});
    feedback = std::move(outcome.feedback);
    note_falls();
    lost += outcome.report.switch_records.lost;
    skipped += outcome.report.switch_records.skipped;
    for (const auto& [cause, failure] : outcome.report.failures) {
      failures.push_back(describe(failure.first));
    }
    return std::move(outcome.report);
  }

  /// A cgroup runs, and leaves the CPU.
  void turn(std::uint64_t id) {
    run(id);
    leave(id);
  }
  /// Of all three.
  void take_turns(std::size_t number) {
    for (std::size_t i = 0; i < number; ++i) turn(kTurns[i % 3]);
  }
  void run(std::uint64_t id) {
    scripted.pass(1ms);
    if (!kernel.is_online()) return;
    now_.time += 1ms;
    if (id == kBusy || id == kLate) now_.faults += kFaults;
    truth[id] += id == kBusy || id == kLate ? kFaults : 0;
  }
  void leave(std::uint64_t id) {
    if (!kernel.is_online()) return;
    leave_without_record(id);
    write_again();
  }
  void leave_without_record(std::uint64_t id) {
    if (!kernel.is_online()) return;
    ++now_.switches;
    last_ = id;
  }
  /// The task that runs moves itself to this cgroup.
  void move_to(std::uint64_t id) {
    if (!kernel.is_online()) return;
    ++now_.moves;
    write(id, [](const test::ScriptedEvents::Event& event) {
      return event.attr.type == PERF_TYPE_TRACEPOINT;
    });
  }
  /// The record of the last one that left.
  void write_again() { write(last_); }
  void write(std::uint64_t id) {
    write(id, [](const test::ScriptedEvents::Event& event) {
      return leads(event.attr) && !event.leader;
    });
  }
  void name(std::uint64_t id, const std::string& path) {
    if (ScriptedRing* const to = ring(true)) {
      (void)to->write(test::RecordEncoder(PERF_RECORD_CGROUP).u64(id).text(path).record());
    }
  }
  /// From now on there is no room in the ring, or there is again.
  void set_full(bool full) {
    for (const std::size_t event : scripted.opened_events.still_open()) {
      scripted.opened_events.at(event).is_paused = full;
    }
  }
  std::size_t ring_bytes() { return ring() == nullptr ? 0 : ring()->size(); }

  std::uint64_t total(std::size_t target) {
    return cycle_->cgroup_groups(target)[0].totals()[0].value;
  }
  std::uint64_t total_of_cpu() { return cycle_->cpu_groups()[0].totals()[0].value; }
  GroupTimes times(std::size_t target) { return cycle_->cgroup_groups(target)[0].totals().times(); }
  bool has_evidence() { return cycle_->is_estimated(0); }
  static constexpr std::size_t kRootAt = 0, kBusyAt = 1, kQuietAt = 2;

  test::TempTree tree_;
  test::ScriptedKernel scripted{tree_.root()};
  KernelOfOneCpu kernel{scripted};
  bool is_listed_online = true;
  std::map<std::uint64_t, std::uint64_t> truth;  ///< page faults by id
  std::vector<std::string> falls;
  std::vector<std::string> failures;
  std::uint64_t lost = 0, skipped = 0;  ///< as reported
  PollFeedback feedback;                ///< of the last poll

 private:
  /// Of the CPU, or of a group since it was opened.
  struct Values {
    nanoseconds time{};
    std::uint64_t switches = 0, moves = 0, faults = 0;
  };
  using Answer = test::ScriptedKernel::Answer;
  inline static const Answer kNothing{Answer::Kind::kCounts, {}, {}, {0}, 0};

  void make_cycle() {
    cycle_.emplace(std::make_unique<RecordSource>(kernel, plan_, kCpu, options_, by_records_),
                   plan_, kCpu);
  }
  Values values(std::size_t leader) const {
    const Values& from = opened_at_.at(leader);
    return {now_.time - from.time, now_.switches - from.switches, now_.moves - from.moves,
            now_.faults - from.faults};
  }
  /// Of its leader first; the last may be too many. `clock`: of a clock.
  Words values_of_group(std::size_t leader, const Values& since, std::uint64_t clock) {
    Words values = {since.switches};
    if (!scripted.opened_events.member_ids(leader).empty()) values.push_back(since.moves);
    values.insert(values.end(), {since.faults, clock});
    return values;
  }
  /// Of each group with an event that `writes`.
  void write(std::uint64_t id,
             const std::function<bool(const test::ScriptedEvents::Event&)>& writes) {
    for (const std::size_t number : scripted.opened_events.still_open()) {
      const auto& event = scripted.opened_events.at(number);
      if (writes(event) && kernel.is_alive(number)) write(event.leader.value_or(number), id);
    }
  }
  void write(std::size_t leader, std::uint64_t id) {
    ScriptedRing* const to = ring();
    if (to == nullptr) return;
    const Values since = values(leader);
    const auto time = static_cast<std::uint64_t>(since.time.count());
    const std::size_t number = 1 + kernel.members_of(leader);
    const Words values = values_of_group(leader, since, time);
    Words words = {number, time, time};
    std::copy_n(values.begin(), number, std::back_inserter(words));
    words.push_back(id);
    (void)to->write(test::record_of(PERF_RECORD_SAMPLE, words));
  }
  /// The one that was opened last, of records or of names; null if there is none.
  ScriptedRing* ring(bool has_names = false) {
    std::optional<std::size_t> owner;
    for (const std::size_t event : scripted.opened_events.still_open()) {
      const auto& opened = scripted.opened_events.at(event);
      if (owns_a_ring(opened.attr, has_names) && opened.memory.size() > 0) owner = event;
    }
    if (!owner) return nullptr;
    Ring& of = rings_[has_names ? 1 : 0];
    if (!of.ring || owner != of.owner) {
      of.owner = owner;
      of.ring.emplace(scripted.opened_events.at(*owner));
    }
    return &*of.ring;
  }
  void note_falls() {
    for (std::size_t target = 0; target < cgroups_.size(); ++target) {
      const GroupTimes now = times(target);
      const std::array<std::uint64_t, 3> values = {total(target),
                                                   static_cast<std::uint64_t>(now.enabled.count()),
                                                   static_cast<std::uint64_t>(now.running.count())};
      auto& before = highest_[target];
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i] < before[i]) {
          falls.push_back(cgroups_[target].path + " " + std::to_string(i) + ": " +
                          std::to_string(before[i]) + " -> " + std::to_string(values[i]));
        }
      }
      before = values;
    }
  }

  std::shared_ptr<CountingPlan> plan_ = std::make_shared<CountingPlan>();
  std::size_t min_recorded_ = 0;
  RecordOptions options_{
      .buffer_bytes = 64 * 1024,
      .is_checked = false,
      .moves = perf::EventAttributes{.type = PERF_TYPE_TRACEPOINT, .config = 77}};
  std::shared_ptr<RecordedCpus> by_records_ = std::make_shared<RecordedCpus>();
  std::vector<CgroupTarget> cgroups_;
  std::shared_ptr<const cgroup::CgroupNames> names_ = std::make_shared<const cgroup::CgroupNames>();
  std::optional<test::CountedCycle> cycle_;
  std::map<std::size_t, std::array<std::uint64_t, 3>> highest_;  ///< by target

  struct Ring {
    std::optional<ScriptedRing> ring;
    std::optional<std::size_t> owner;
  };
  std::array<Ring, 2> rings_;
  Values now_;
  std::uint64_t last_ = kRoot;               ///< that left
  std::map<std::size_t, Values> opened_at_;  ///< by number of the event
  std::uint64_t reads_ = 0;                  ///< each takes a ns
};

/// Turns of all three, of which each whole interval of /busy has the same rate.
void settle(RecordedCpu& cpu) {
  (void)cpu.poll();
  cpu.take_turns(9);
  (void)cpu.poll();
  EXPECT_FALSE(cpu.has_evidence()) << "all is observed";
}

struct SettledCpu : RecordedCpu {
  explicit SettledCpu(bool counts_the_cpu = false, bool has_clock = false)
      : RecordedCpu(counts_the_cpu, has_clock) {
    settle(*this);
  }
};

/// From now on everything is counted, and each cgroup has its own.
void expect_exact_again(RecordedCpu& cpu) {
  cpu.take_turns(3);  // closes what was under way
  (void)cpu.poll();
  const std::uint64_t busy = cpu.total(RecordedCpu::kBusyAt);
  const std::uint64_t root = cpu.total(RecordedCpu::kRootAt);
  cpu.take_turns(6);
  (void)cpu.poll();
  EXPECT_EQ(cpu.total(RecordedCpu::kBusyAt) - busy, 2 * kFaults);
  EXPECT_EQ(cpu.total(RecordedCpu::kRootAt) - root, 2 * kFaults);
  EXPECT_EQ(cpu.total(RecordedCpu::kQuietAt), 0U);
  EXPECT_THAT(cpu.falls, IsEmpty());
}

// --- records that are not there ------------------------------------------------------------------

/// Where records are missing, and where the poll is, in a row of turns.
struct Gap {
  std::size_t first = 0, records = 0, poll_after = 0;
};
std::ostream& operator<<(std::ostream& out, const Gap& gap) {
  return out << gap.records << " records from " << gap.first << " on, poll after "
             << gap.poll_after;
}

template <typename Step>
void for_each_gap(std::size_t turns, Step step) {
  for (std::size_t first = 0; first < turns; ++first) {
    for (std::size_t records = 1; first + records < turns; ++records) {
      for (std::size_t poll = 0; poll < turns; ++poll) step(Gap{first, records, poll});
    }
  }
}

constexpr std::size_t kRow = 7;

bool is_in(const Gap& gap, std::size_t turn) {
  return turn >= gap.first && turn < gap.first + gap.records;
}

/// No cgroup has what another did, and what it lacks is within the time that is unmeasured.
void expect_nothing_wrong(RecordedCpu& cpu, const Gap& gap) {
  const std::uint64_t busy = cpu.total(RecordedCpu::kBusyAt);
  const auto unmeasured = [&](std::size_t target) { return cpu.times(target).unmeasured; };
  EXPECT_LE(busy, cpu.truth[kBusy]) << gap;
  EXPECT_GE(busy + static_cast<std::uint64_t>(unmeasured(RecordedCpu::kBusyAt) / 1ms) * kFaults,
            cpu.truth[kBusy])
      << gap;
  EXPECT_EQ(cpu.total(RecordedCpu::kQuietAt), 0U) << gap;
  for (const std::size_t target : {RecordedCpu::kBusyAt, RecordedCpu::kQuietAt}) {
    EXPECT_EQ(unmeasured(target), unmeasured(RecordedCpu::kRootAt)) << gap;
    EXPECT_LT(cpu.times(target).running, cpu.times(target).enabled) << gap << ": not exact";
  }
  EXPECT_TRUE(cpu.has_evidence()) << gap;
  EXPECT_EQ(cpu.times(RecordedCpu::kRootAt).enabled, (9 + kRow) * 1ms) << gap << ": all of it";
  EXPECT_LT(cpu.times(RecordedCpu::kRootAt).running, (9 + kRow) * 1ms) << gap << ": not counted";
}

/// Records of a gap are lost and reported, or they were never written: the leader jumps.
void expect_gaps_to_cost_their_intervals(bool are_reported) {
  for_each_gap(kRow, [are_reported](const Gap& gap) {
    SettledCpu cpu;
    for (std::size_t i = 0; i < kRow; ++i) {
      cpu.set_full(are_reported && is_in(gap, i));
      cpu.run(kTurns[i % 3]);
      cpu.leave_without_record(kTurns[i % 3]);
      if (are_reported || !is_in(gap, i)) cpu.write_again();
      if (i == gap.poll_after) (void)cpu.poll();
    }
    const PollReport last = cpu.poll();

    EXPECT_EQ(cpu.lost, are_reported ? gap.records : 0U) << gap;
    EXPECT_EQ(cpu.skipped, are_reported ? 0U : 1U) << gap << ": one interval";
    EXPECT_EQ(last.now.cpus_by_records, 1U) << gap;
    EXPECT_EQ(cpu.failures.empty(), !are_reported) << gap;
    expect_nothing_wrong(cpu, gap);
    expect_exact_again(cpu);
  });
}

TEST(RecordFaultsTest, RecordsThatAreLostAnywhereCostTheirOwnIntervalsAndAreReported) {
  expect_gaps_to_cost_their_intervals(/*are_reported=*/true);
}

TEST(RecordFaultsTest, ALeaderThatJumpsAnywhereCostsThatIntervalAndIsReported) {
  expect_gaps_to_cost_their_intervals(/*are_reported=*/false);
}

TEST(RecordFaultsTest, ARecordThatIsThereTwiceIsCountedOnce) {
  for (std::size_t at = 0; at < kRow; ++at) {
    SettledCpu cpu;
    for (std::size_t i = 0; i < kRow; ++i) {
      cpu.turn(kTurns[i % 3]);
      if (i == at) cpu.write_again();  // the leader stands still
    }
    (void)cpu.poll();

    EXPECT_EQ(cpu.skipped, 1U);
    EXPECT_EQ(cpu.total(RecordedCpu::kBusyAt), (3 + (kRow + 2) / 3) * kFaults) << at;
    expect_exact_again(cpu);
  }
}

TEST(RecordFaultsTest, LeadersThatJumpOftenLeadToDescriptorsWithOneLine) {
  for (std::size_t at = 0; at < kRow; ++at) {
    SettledCpu cpu;
    cpu.take_turns(at);
    for (int jump = 0; jump < 20; ++jump) {
      cpu.run(kBusy);
      cpu.leave_without_record(kBusy);
      cpu.turn(kQuiet);
    }
    (void)cpu.poll();  // which announces it
    EXPECT_EQ(cpu.poll().now.cpus_by_descriptors, 1U);
    for (int i = 0; i < 5; ++i) (void)cpu.poll();

    ASSERT_THAT(cpu.failures, SizeIs(1));
    EXPECT_THAT(cpu.failures[0], AllOf(HasSubstr("wrote no record of 20 of "),
                                       HasSubstr("switches between cgroups on CPU 0"),
                                       HasSubstr("Remedy: "), HasSubstr("source: descriptors")));
    EXPECT_EQ(cpu.total(RecordedCpu::kQuietAt), 0U);
    EXPECT_THAT(cpu.falls, IsEmpty());
    EXPECT_THAT(cpu.scripted.open_groups(), Contains("cpu0 /busy page-faults"));
  }
}

TEST(RecordFaultsTest, RecordsThatAreLostAreReportedInALineWithTheSettingThatHelps) {
  SettledCpu cpu;
  cpu.set_full(true);
  cpu.take_turns(3);
  cpu.set_full(false);
  cpu.turn(kBusy);

  (void)cpu.poll();

  ASSERT_THAT(cpu.failures, SizeIs(1));
  EXPECT_THAT(cpu.failures[0], AllOf(HasSubstr("3 "), HasSubstr("records"), HasSubstr("CPU 0"),
                                     HasSubstr("Remedy: "), HasSubstr("records_buffer")));
}

/// More than a tenth of the time.
void lose_records(RecordedCpu& cpu) {
  cpu.set_full(true);
  cpu.take_turns(3);
  cpu.set_full(false);
  cpu.turn(kBusy);
}

TEST(RecordFaultsTest, RecordsThatAreLostPollAfterPollLeadToDescriptorsForAMinute) {
  SettledCpu cpu;
  for (unsigned poll = 0; poll < RecordSource::kLosingPolls; ++poll) {
    lose_records(cpu);
    EXPECT_EQ(cpu.poll().now.cpus_by_records, 1U);
  }
  EXPECT_EQ(cpu.poll().now.cpus_by_descriptors, 1U);
  cpu.scripted.pass(1min + 1ms);
  (void)cpu.poll();
  const PollReport after_a_minute = cpu.poll();

  EXPECT_EQ(after_a_minute.now.cpus_by_records, 1U);
  EXPECT_THAT(cpu.failures,
              Contains(AllOf(HasSubstr("were lost on CPU 0: nothing is known of"),
                             HasSubstr("counted by descriptors there"), HasSubstr("Remedy: ")))
                  .Times(1));
  EXPECT_THAT(cpu.falls, IsEmpty());
  expect_exact_again(cpu);
}

TEST(RecordFaultsTest, ASecondThatIsLostLeadsToDescriptorsForAMinute) {
  SettledCpu cpu;
  cpu.set_full(true);
  for (int i = 0; i < 1000; ++i) cpu.turn(kTurns[i % 3]);
  cpu.set_full(false);
  cpu.turn(kBusy);

  EXPECT_EQ(cpu.poll().now.cpus_by_records, 1U);
  EXPECT_EQ(cpu.poll().now.cpus_by_descriptors, 1U);
  EXPECT_GE(cpu.times(RecordedCpu::kQuietAt).unmeasured, 1s);
  EXPECT_EQ(cpu.total(RecordedCpu::kQuietAt), 0U);
}

TEST(RecordFaultsTest, RecordsThatAreGivenUpAgainAndAgainAreTriedMoreAndMoreSeldom) {
  SettledCpu cpu;
  for (const auto waits : {1min, 2min, 4min, 8min, 16min, 32min, 64min, 64min}) {
    for (unsigned poll = 0; poll < RecordSource::kLosingPolls; ++poll) {
      lose_records(cpu);
      (void)cpu.poll();
    }
    cpu.scripted.pass(waits - 1s);
    EXPECT_EQ(cpu.poll().now.cpus_by_descriptors, 1U) << waits.count();
    cpu.scripted.pass(2s);
    (void)cpu.poll();
    EXPECT_EQ(cpu.poll().now.cpus_by_records, 1U) << waits.count();
  }
}

TEST(RecordFaultsTest, WhatRanSinceTheLastRecordIsUnmeasuredWhenRecordsAreGivenUp) {
  SettledCpu cpu;
  cpu.allow_records(false);
  (void)cpu.poll();  // which announces it
  for (int i = 0; i < 5; ++i) cpu.run(kBusy);

  EXPECT_EQ(cpu.poll().now.cpus_by_descriptors, 1U);
  EXPECT_EQ(cpu.times(RecordedCpu::kBusyAt).unmeasured / 1ms, 5);
  EXPECT_EQ(cpu.total(RecordedCpu::kBusyAt), 3 * kFaults);
}

TEST(RecordFaultsTest, RecordsThatAreLostNowAndThenGoOnBeingUsed) {
  SettledCpu cpu;
  for (int each = 0; each < 4; ++each) {
    for (unsigned poll = 1; poll < RecordSource::kLosingPolls; ++poll) {
      lose_records(cpu);
      (void)cpu.poll();
    }
    cpu.turn(kBusy);
    EXPECT_EQ(cpu.poll().now.cpus_by_records, 1U);
  }
}

/// Polls of `turns` milliseconds, of which 4 are lost, until descriptors count; `most`: they never
/// do.
unsigned polls_by_records(std::size_t turns, unsigned most) {
  SettledCpu cpu;
  for (unsigned poll = 0; poll < most; ++poll) {
    cpu.take_turns(turns - 4);
    lose_records(cpu);
    if (cpu.poll().now.cpus_by_descriptors > 0) return poll;
  }
  return most;
}

TEST(RecordFaultsTest, MoreThanAHundredthThatIsLostAllTheTimeLeadsToDescriptorsOnceItIsASecond) {
  EXPECT_THAT(polls_by_records(60, 1000), AllOf(testing::Ge(250U), testing::Le(400U)));
  EXPECT_EQ(polls_by_records(600, 600), 600U) << "less than a hundredth";
}

// --- ids before their names ----------------------------------------------------------------------

TEST(RecordFaultsTest, WhatRunsBeforeItHasANameIsCountedAboveItOnceItHasOne) {
  for (const int polls_without : {1, 2, 10, 59}) {
    SettledCpu cpu;
    const std::uint64_t before = cpu.total(RecordedCpu::kBusyAt);
    for (int poll = 0; poll < polls_without; ++poll) {
      cpu.turn(kLate);
      EXPECT_EQ(cpu.poll().now.unnamed_cgroups, 1U);
      EXPECT_TRUE(cpu.feedback.lacks_names);
      EXPECT_EQ(cpu.total(RecordedCpu::kBusyAt), before) << "counted to another cgroup";
    }

    cpu.know({{kLate, "/busy/late"}});
    EXPECT_EQ(cpu.poll().now.unnamed_cgroups, 0U);

    EXPECT_FALSE(cpu.feedback.lacks_names);
    EXPECT_EQ(cpu.total(RecordedCpu::kBusyAt) - before, cpu.truth[kLate]) << polls_without;
    EXPECT_EQ(cpu.total(RecordedCpu::kRootAt), cpu.total(RecordedCpu::kBusyAt));
    expect_exact_again(cpu);
  }
}

TEST(RecordFaultsTest, WhatNeverGetsANameIsCountedForNobodyAndReported) {
  SettledCpu cpu;
  cpu.turn(kLate);
  for (nanoseconds time{}; time < CgroupSums::kMaxTimeUnnamed + 3s; time += 1s) {
    cpu.scripted.pass(1s);
    (void)cpu.poll();
  }
  ASSERT_THAT(cpu.failures, SizeIs(1));
  EXPECT_THAT(cpu.failures[0], AllOf(HasSubstr("1 cgroup"), HasSubstr("CPU 0"), HasSubstr("name"),
                                     HasSubstr("Remedy: ")));
  const std::uint64_t busy = cpu.total(RecordedCpu::kBusyAt);

  cpu.know({{kLate, "/busy/late"}});
  (void)cpu.poll();

  EXPECT_EQ(cpu.total(RecordedCpu::kBusyAt), busy);
  EXPECT_EQ(cpu.total(RecordedCpu::kQuietAt), 0U);
  expect_exact_again(cpu);
}

// --- rings that cannot be had --------------------------------------------------------------------

void refuse_rings(RecordedCpu& cpu, int code, std::size_t above_bytes) {
  cpu.scripted.opened_events.refuse_map = [=](std::size_t bytes, std::size_t) {
    return bytes > above_bytes + 4096 ? code : 0;
  };
}

/// With descriptors, and with a line that says why.
void expect_descriptors(RecordedCpu& cpu) {
  const PollReport report = cpu.poll();
  EXPECT_EQ(report.now.cpus_by_descriptors, 1U);
  EXPECT_EQ(report.now.cpus_by_records, 0U);
  for (const char* const path : {"/", "/busy", "/quiet"}) {
    EXPECT_THAT(cpu.scripted.open_groups(), Contains("cpu0 " + std::string(path) + " page-faults"));
  }
  ASSERT_THAT(cpu.failures, SizeIs(1));
  EXPECT_THAT(cpu.failures[0], AllOf(HasSubstr("records of switches between cgroups on CPU 0"),
                                     HasSubstr("counted by descriptors there")));
  (void)cpu.poll();
  EXPECT_THAT(cpu.failures, SizeIs(1)) << "reported once";
  EXPECT_THAT(cpu.falls, IsEmpty());
  EXPECT_THAT(cpu.scripted.opened_events.still_open(), IsEmpty()) << "and nothing is left open";
}

TEST(RecordFaultsTest, ARingIsHalvedUntilTheKernelAllowsIt) {
  for (const int code : {EPERM, ENOMEM}) {
    RecordedCpu cpu;
    refuse_rings(cpu, code, 16 * 1024);
    settle(cpu);

    EXPECT_EQ(cpu.ring_bytes(), 16U * 1024);
    EXPECT_THAT(cpu.failures, IsEmpty());
    expect_exact_again(cpu);
  }
}

TEST(RecordFaultsTest, WithoutMemoryForARingCgroupsAreCountedByDescriptorsAndTheRemedyIsTold) {
  struct Row {
    int code;
    std::vector<std::string> says;
  };
  const Row rows[] = {
      {EPERM, {"Operation not permitted", "kernel.perf_event_mlock_kb", "LimitMEMLOCK"}},
      {ENOMEM, {"rings"}},
  };

  for (const Row& row : rows) {
    RecordedCpu cpu;
    refuse_rings(cpu, row.code, 0);

    expect_descriptors(cpu);

    EXPECT_THAT(cpu.failures[0], AllOf(HasSubstr("map a ring of 16 KiB"), HasSubstr("Remedy: ")));
    for (const std::string& each : row.says) EXPECT_THAT(cpu.failures[0], HasSubstr(each));
  }
}

TEST(RecordFaultsTest, WithoutCgroupSwitchesTheRecordsAreThoseOfContextSwitches) {
  for (const int code : {EINVAL, ENOENT}) {
    RecordedCpu cpu;
    cpu.scripted.opened_events.refuse_open = [code](perf::EventAttr& attr,
                                                    const perf::EventTarget&) {
      return is(attr, PERF_COUNT_SW_CGROUP_SWITCHES) ? code : 0;
    };
    settle(cpu);

    EXPECT_THAT(cpu.failures, IsEmpty());
    expect_exact_again(cpu);
    EXPECT_EQ(cpu.poll().now.cpus_by_records, 1U);
  }
}

TEST(RecordFaultsTest, WithoutAnyLeaderCgroupsAreCountedByDescriptors) {
  for (const int code : {EINVAL, ENOENT, EACCES, EPERM}) {
    RecordedCpu cpu;
    cpu.scripted.opened_events.refuse_open =
        [code](perf::EventAttr& attr, const perf::EventTarget&) { return leads(attr) ? code : 0; };

    expect_descriptors(cpu);

    EXPECT_THAT(cpu.failures[0], HasSubstr("open event 'c")) << code;
    EXPECT_THAT(cpu.failures[0], HasSubstr("Remedy: ")) << code;
  }
}

TEST(RecordFaultsTest, WhereGroupsCannotWriteToTheRingCgroupsAreCountedByDescriptors) {
  RecordedCpu cpu;
  cpu.scripted.opened_events.refuse_control = [](const test::ScriptedEvents::Control& control) {
    return control.operation == perf::EventControl::kSetOutput ? EINVAL : 0;
  };

  expect_descriptors(cpu);
}

// --- the CPU that goes ---------------------------------------------------------------------------

/// Each call of the kernel in a poll is a step at which the CPU can go.
std::size_t steps_of_a_poll(bool is_first) {
  RecordedCpu cpu;
  if (!is_first) settle(cpu);
  cpu.take_turns(4);
  cpu.kernel.restart_calls();
  (void)cpu.poll();
  return cpu.kernel.calls();
}

/// The CPU goes at a step of a poll.
void poll_and_go_at(RecordedCpu& cpu, std::size_t step, bool comes_back_at_once) {
  cpu.take_turns(4);
  cpu.kernel.restart_calls();
  cpu.kernel.before_call = [&cpu, step, comes_back_at_once](std::size_t call) {
    if (call != step) return;
    cpu.kernel.set_online(false);
    if (comes_back_at_once) cpu.kernel.set_online(true);
  };
  (void)cpu.poll();
  cpu.kernel.before_call = [](std::size_t) {};
}

/// A second passes, so that the next poll sees that the CPU was away.
void poll_after_a_second(RecordedCpu& cpu) {
  cpu.scripted.pass(1s);
  (void)cpu.poll();
}

void expect_counted_by_records_again(RecordedCpu& cpu, const std::string& when) {
  SCOPED_TRACE(when);
  for (int i = 0; i < 3; ++i) poll_after_a_second(cpu);
  cpu.take_turns(3);
  EXPECT_EQ(cpu.poll().now.cpus_by_records, 1U);
  EXPECT_LE(cpu.total(RecordedCpu::kBusyAt), cpu.truth[kBusy]);
  EXPECT_EQ(cpu.skipped, 0U);
  EXPECT_THAT(cpu.failures, Not(Contains(HasSubstr("counted by descriptors"))));
  expect_exact_again(cpu);
}

TEST(RecordFaultsTest, ACpuCanGoAtEachStepOfAPollAndComeBackAtOnceOrLater) {
  enum class Absence { kBrief, kSeen, kNotSeen };
  for (const bool is_first : {true, false}) {
    const std::size_t steps = steps_of_a_poll(is_first);
    ASSERT_GT(steps, is_first ? 9U : 1U);
    for (std::size_t step = 1; step <= steps; ++step) {
      for (const Absence absence : {Absence::kBrief, Absence::kSeen, Absence::kNotSeen}) {
        RecordedCpu cpu;
        if (!is_first) settle(cpu);
        poll_and_go_at(cpu, step, absence == Absence::kBrief);
        if (absence != Absence::kBrief) {
          cpu.is_listed_online = absence == Absence::kNotSeen;
          poll_after_a_second(cpu);
          cpu.kernel.set_online(true);
          cpu.is_listed_online = true;
        }

        expect_counted_by_records_again(
            cpu, "step " + std::to_string(step) + (is_first ? " of the first poll" : "") +
                     ", absence " + std::to_string(static_cast<int>(absence)));
      }
    }
  }
}

TEST(RecordFaultsTest, ACpuKeepsWhatItHadCountedWhenItWent) {
  for (const bool comes_back_at_once : {true, false}) {
    SettledCpu cpu{true};
    cpu.turn(kBusy);
    cpu.kernel.set_online(false);
    cpu.is_listed_online = comes_back_at_once;
    if (comes_back_at_once) cpu.kernel.set_online(true);

    const PollReport report = cpu.poll();

    EXPECT_EQ(cpu.total_of_cpu(), cpu.truth[kBusy]);
    EXPECT_EQ(cpu.total(RecordedCpu::kBusyAt), cpu.truth[kBusy]);
    EXPECT_FALSE(report.errors.contains("software") &&
                 report.errors.at("software").read_failures > 0);
    EXPECT_THAT(cpu.failures, IsEmpty());
    cpu.kernel.set_online(true);
    cpu.is_listed_online = true;
    expect_counted_by_records_again(cpu, "back");
  }
}

/// Also the clock, which the group of the CPU has not.
TEST(RecordFaultsTest, MembersThatTheKernelNoLongerReturnsAreReportedAndKeepTheirCounts) {
  SettledCpu cpu{true, true};
  const std::uint64_t before = cpu.total_of_cpu();
  ASSERT_GT(before, 0U);
  cpu.kernel.detaches_badly = true;
  cpu.turn(kBusy);
  cpu.kernel.set_online(false);
  cpu.is_listed_online = false;

  (void)cpu.poll();

  EXPECT_EQ(cpu.total_of_cpu(), before);
  EXPECT_EQ(cpu.total(RecordedCpu::kBusyAt), cpu.truth[kBusy]) << "which has it by records";
  EXPECT_THAT(cpu.failures, Contains(HasSubstr("lost the last counts of 'page-faults' in group")));
  cpu.kernel.set_online(true);
  cpu.is_listed_online = true;
  expect_counted_by_records_again(cpu, "back");
}

TEST(RecordFaultsTest, TheAbsenceOfACpuIsReportedWithItsLength) {
  SettledCpu cpu;
  cpu.kernel.set_online(false);
  cpu.kernel.set_online(true);

  poll_after_a_second(cpu);

  EXPECT_THAT(cpu.failures, Contains(AllOf(HasSubstr("CPU 0 was offline and is back"),
                                           HasSubstr("1000 ms"), HasSubstr("Remedy: "))));
}

// --- comparisons with descriptors ----------------------------------------------------------------

/// Polls that end when a cgroup may be compared: the root runs for longer than any other.
void begin_to_check(RecordedCpu& cpu) {
  cpu.check_records();
  settle(cpu);
  cpu.scripted.pass(RecordCheck::kMinAge);
  cpu.turn(kBusy);
}

TEST(RecordFaultsTest, AComparisonThatGetsNoDescriptorsIsInconclusive) {
  RecordedCpu cpu;
  begin_to_check(cpu);
  (void)cpu.poll();
  cpu.scripted.refuse("cpu0 / page-faults", EMFILE);

  EXPECT_EQ(cpu.poll().record_checks.inconclusive, 1U);
}

TEST(RecordFaultsTest, ACgroupThatEndsWhenItIsFoundToBeTheBusiestIsNotCompared) {
  RecordedCpu cpu;
  begin_to_check(cpu);
  cpu.end(RecordedCpu::kRootAt);
  (void)cpu.poll();

  EXPECT_EQ(cpu.poll().record_checks.inconclusive, 0U);
  EXPECT_THAT(cpu.failures, IsEmpty());
}

// --- calls that fail -----------------------------------------------------------------------------

/// By records, and exactly; or by descriptors, and a line says why.
void expect_counted_again(RecordedCpu& cpu, int code) {
  for (int i = 0; i < 20; ++i) poll_after_a_second(cpu);
  cpu.take_turns(3);
  const PollReport report = cpu.poll();
  EXPECT_EQ(report.now.cpus_by_records + report.now.cpus_by_descriptors, 1U);
  if (report.now.cpus_by_records == 1) return expect_exact_again(cpu);
  EXPECT_THAT(cpu.failures, Contains(AllOf(HasSubstr("counted by descriptors there"),
                                           HasSubstr("(" + errno_name(code) + ")"))));
  for (const char* const path : {"/", "/busy", "/quiet"}) {
    EXPECT_THAT(cpu.scripted.open_groups(), Contains("cpu0 " + std::string(path) + " page-faults"));
  }
  EXPECT_THAT(cpu.falls, IsEmpty());
}

TEST(RecordFaultsTest, AnyCallOfAPollCanFailOnceWithAnyErrno) {
  for (const bool is_first : {true, false}) {
    const std::size_t steps = steps_of_a_poll(is_first);
    for (std::size_t step = 1; step <= steps; ++step) {
      for (const int code :
           {EMFILE, ENFILE, ENOMEM, EINTR, EBUSY, ENOSPC, ESRCH, ENODEV, EPERM, EACCES, EIO}) {
        SCOPED_TRACE("step " + std::to_string(step) + (is_first ? " of the first poll: " : ": ") +
                     errno_name(code));
        RecordedCpu cpu{true};
        if (!is_first) settle(cpu);
        cpu.take_turns(4);
        cpu.kernel.restart_calls();
        cpu.kernel.fails = [=](std::size_t call) { return call == step ? code : 0; };

        (void)cpu.poll();

        cpu.kernel.fails = [](std::size_t) { return 0; };
        expect_counted_again(cpu, code);
      }
    }
  }
}

// --- anything ------------------------------------------------------------------------------------

enum class Happening {
  kTurn,
  kLost,
  kJump,
  kTwice,
  kPoll,
  kGoes,
  kComes,
  kNoRing,
  kUnnamed,
  kName,
  kMove,
  kMoveLost,
};

std::ostream& operator<<(std::ostream& out, Happening happening) {
  constexpr std::array kNames = {"turn",  "lost",    "jump",    "twice", "poll", "goes",
                                 "comes", "no ring", "unnamed", "name",  "move", "move lost"};
  return out << kNames[static_cast<std::size_t>(happening)];
}

void happen(RecordedCpu& cpu, Happening happening, std::uint64_t id) {
  switch (happening) {
    case Happening::kTurn:
      return cpu.turn(id);
    case Happening::kLost:
      cpu.set_full(true);
      cpu.turn(id);
      return cpu.set_full(false);
    case Happening::kJump:
      cpu.run(id);
      return cpu.leave_without_record(id);
    case Happening::kTwice:
      return cpu.write_again();
    case Happening::kPoll:
      return poll_after_a_second(cpu);
    case Happening::kGoes:
    case Happening::kComes:
      cpu.is_listed_online = happening == Happening::kComes;
      return cpu.kernel.set_online(cpu.is_listed_online);
    case Happening::kNoRing:
      return refuse_rings(cpu, EPERM, 0);
    case Happening::kUnnamed:
      return cpu.turn(kLate);
    case Happening::kName:
      return cpu.know({{kLate, "/busy/late"}});
    case Happening::kMove:
    case Happening::kMoveLost:
      cpu.run(kBusy);
      cpu.set_full(happening == Happening::kMoveLost);
      cpu.move_to(id);
      cpu.set_full(false);
      return cpu.turn(id);
  }
}

RC_GTEST_PROP(RecordFaultsPropertyTest, NoTotalFallsAndNothingIsCountedToAnotherCgroup, ()) {
  const auto happenings = *rc::gen::scale(
      2, rc::gen::container<std::vector<std::pair<Happening, std::size_t>>>(
             rc::gen::pair(rc::gen::weightedElement<Happening>({{12, Happening::kTurn},
                                                                {2, Happening::kLost},
                                                                {1, Happening::kJump},
                                                                {1, Happening::kTwice},
                                                                {4, Happening::kPoll},
                                                                {1, Happening::kGoes},
                                                                {2, Happening::kComes},
                                                                {1, Happening::kNoRing},
                                                                {1, Happening::kUnnamed},
                                                                {1, Happening::kName},
                                                                {2, Happening::kMove},
                                                                {1, Happening::kMoveLost}}),
                           rc::gen::inRange<std::size_t>(0, 3))));
  RecordedCpu cpu;
  (void)cpu.poll();
  for (const auto& [happening, turn] : happenings) happen(cpu, happening, kTurns[turn]);
  (void)cpu.poll();

  RC_ASSERT(cpu.falls.empty());
  RC_ASSERT(cpu.total(RecordedCpu::kQuietAt) == 0U);
  RC_ASSERT(cpu.total(RecordedCpu::kBusyAt) <= cpu.truth[kBusy] + cpu.truth[kLate]);
  for (const std::size_t target : {0, 1, 2}) {
    RC_ASSERT(cpu.times(target).running <= cpu.times(target).enabled);
  }
}

}  // namespace
}  // namespace pex::collect::faults
