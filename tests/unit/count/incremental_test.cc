// What is brought up to date only where it has changed is as if all had been made again each time.

#include <fcntl.h>

#include <cerrno>
#include <ostream>
#include <tuple>

#include "count/joining.h"
#include "count/poll_cycle.h"
#include "support/events.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"
#include "support/timed_property.h"

namespace pex::collect {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr int kCpus = 3;
constexpr std::size_t kCgroups = 70;  // more than a word of a RowSet has

// --- a machine that does what a script says -----------------------------------------------------

/// What the groups of one cgroup on one CPU have done, and whether they work.
struct Doing {
  nanoseconds enabled{};
  nanoseconds running{};
  nanoseconds lost{};  ///< that not even groups were counted which never lose the PMU
  std::uint64_t count = 0;
  std::uint64_t news = 0;  ///< grows when the above changes
  bool is_unreadable = false;
  bool is_refused = false;
};

/// One CPU: all sources of it read the same.
struct ScriptedCpu {
  std::map<std::string, Doing> cgroups;
  nanoseconds now{};
  bool is_in_new_way = false;
};

/// `knows_changes`: take_changed() returns them, and not that it does not know them.
class ChangesSource final : public CounterSource {
 public:
  ChangesSource(ScriptedCpu& cpu, bool knows_changes) : cpu_(cpu), knows_changes_(knows_changes) {}

  std::unique_ptr<GroupCounters> counters_of(const GroupPlan& group) override {
    return std::make_unique<Group>(*this, group);
  }
  bool begin_poll(const TargetSet&) override {
    return std::exchange(seen_way_, cpu_.is_in_new_way) != cpu_.is_in_new_way;
  }
  std::optional<nanoseconds> detect_cpu_offline(bool) override { return {}; }
  bool take_changed(RowSet& slots) override {
    for (const Group* group : groups_) group->add_changed(slots);
    return knows_changes_;
  }
  std::size_t own_events() const override { return 0; }
  nanoseconds now() override { return cpu_.now; }
  std::uint64_t progress() const override { return 0; }

 private:
  class Group final : public GroupCounters {
   public:
    Group(ChangesSource& source, const GroupPlan& plan)
        : source_(source), shares_pmu_(plan.shares_pmu) {
      source_.groups_.insert(this);
    }
    ~Group() override { source_.groups_.erase(this); }

    Result<Opened, perf::OpenFailure> open(
        std::size_t target, const GroupPlan&, std::span<const perf::CounterSpec> events,
        const std::shared_ptr<const cgroup::Cgroup>& cgroup) override {
      const std::string path = cgroup ? cgroup->path : "";
      const Doing& doing = this->doing(path);
      if (doing.is_refused) return perf::OpenFailure{0, Error{EACCES, "open " + path, {}}};
      open_[target] = {path, events.size(), doing, {}};
      return Opened{.events = events.size()};
    }
    void close(std::size_t target) override { open_.erase(target); }
    void add_changed(RowSet& slots) const {
      for (const auto& [target, open] : open_) {
        if (!open.path.empty() && (is_unread(open) || doing(open.path).is_unreadable)) {
          slots.add(target);
        }
      }
    }
    Result<State> read(std::size_t target, perf::GroupInterval& since) override {
      Open& open = open_.at(target);
      const Doing& now = doing(open.path);
      if (now.is_unreadable) return Error{EIO, "read " + open.path, {}};
      if (!is_unread(open)) return State::kUnchanged;
      const Doing before = std::exchange(open.before, now);
      open.read = now.news;
      since = {};
      since.enabled = now.enabled - before.enabled;
      since.running =
          shares_pmu_ ? now.running - before.running : since.enabled - (now.lost - before.lost);
      since.counts.assign(open.events, now.count - before.count);
      return State::kCounting;
    }
    Result<State> read_off_pmu(std::size_t, perf::GroupInterval&) override {
      return State::kOffPmu;
    }
    Result<> set_enabled(std::size_t, bool) override { return {}; }

   private:
    struct Open {
      std::string path;
      std::size_t events = 0;
      Doing before;
      std::optional<std::uint64_t> read;  ///< the news
    };
    Doing& doing(const std::string& path) const { return source_.cpu_.cgroups[path]; }
    bool is_unread(const Open& open) const { return open.read != doing(open.path).news; }

    ChangesSource& source_;
    bool shares_pmu_;
    std::map<std::size_t, Open> open_;
  };

  ScriptedCpu& cpu_;
  const bool knows_changes_;
  bool seen_way_ = false;
  std::set<Group*> groups_;
};

// --- all CPUs, polled and joined ----------------------------------------------------------------

using Targets = std::shared_ptr<const TargetSet>;
using Plan = std::shared_ptr<const CountingPlan>;

class PolledMachine {
 public:
  PolledMachine(std::vector<ScriptedCpu>& script, bool is_incremental, Plan plan)
      : plan_(std::move(plan)), is_incremental_(is_incremental), ledger_(plan_) {
    for (int cpu = 0; cpu < kCpus; ++cpu) {
      cycles_.push_back(std::make_unique<PollCycle>(
          std::make_unique<ChangesSource>(script[static_cast<std::size_t>(cpu)], is_incremental_),
          plan_, cpu));
      ledger_.add_cpu(cpu);
    }
  }

  void poll(std::size_t cpu, const Targets& targets) {
    const Targets now = follow(targets);
    if (polled_.contains(cpu)) ledger_.add(*cycles_[cpu]);
    (void)cycles_[cpu]->run(now, EventModels{*plan_});
    polled_.insert(cpu);
  }
  void reconcile(const Targets& targets) {
    const Targets now = follow(targets);
    for (const auto& cycle : cycles_) {
      (void)cycle->reconcile(now, EventModels{*plan_});
      ledger_.add(*cycle);
    }
  }
  Snapshot join(const Targets& targets) {
    (void)follow(targets);
    std::vector<PollCycle*> parts;
    for (const std::size_t cpu : std::exchange(polled_, {})) parts.push_back(cycles_[cpu].get());
    Joining joining{ledger_, parts};
    (void)joining.work();
    return joining.take(EventModels{*plan_});
  }

 private:
  /// Without a layout nothing is known to be as before.
  Targets follow(const Targets& targets) {
    auto now = std::make_shared<TargetSet>(*targets);
    if (!is_incremental_) now->layout = 0;
    ledger_.follow(now);
    return now;
  }

  Plan plan_;
  bool is_incremental_;
  std::vector<std::unique_ptr<PollCycle>> cycles_;
  std::set<std::size_t> polled_;  ///< since the last join
  Ledger ledger_;
};

// --- comparison ---------------------------------------------------------------------------------

auto as_tuple(const GroupRow& row) {
  return std::tuple{
      row.value,         row.has_times,        row.times.enabled,   row.times.running,
      row.times.imputed, row.times.unmeasured, row.times.reference, row.times.reference_sampled,
      row.wanted_on,     row.counted_on};
}

bool is_equal(const GroupTable& one, const GroupTable& other) {
  const bool same_rows =
      std::equal(one.rows.begin(), one.rows.end(), other.rows.begin(), other.rows.end(),
                 [](const GroupRow& a, const GroupRow& b) { return as_tuple(a) == as_tuple(b); });
  const bool same_totals =
      std::equal(one.totals.begin(), one.totals.end(), other.totals.begin(), other.totals.end(),
                 [](const EventTotal& a, const EventTotal& b) {
                   return std::tuple{a.value, a.observed, a.variance} ==
                          std::tuple{b.value, b.observed, b.variance};
                 });
  return same_rows && same_totals && one.is_estimated == other.is_estimated &&
         one.reference_weights == other.reference_weights;
}

bool is_equal(const std::vector<GroupTable>& one, const std::vector<GroupTable>& other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](const GroupTable& a, const GroupTable& b) { return is_equal(a, b); });
}

/// Whether the rows of each cgroup that are said to be the same as in `before` are.
bool is_truly_the_same(const Snapshot& before, const Snapshot& now) {
  if (before.targets->layout != now.targets->layout) return true;
  const auto rows_of = [](const Snapshot& snapshot, std::size_t row) {
    std::vector<decltype(as_tuple(GroupRow{}))> rows;
    std::vector<std::uint64_t> totals;
    for (const GroupTable& table : snapshot.cgroup) {
      rows.push_back(as_tuple(table.rows[row]));
      for (std::size_t i = 0; i < table.events; ++i) totals.push_back(table.total(row, i).value);
    }
    return std::pair{rows, totals};
  };
  for (std::size_t row = 0; row < now.cgroup_rows.size(); ++row) {
    const bool is_same = now.same_since[now.cgroup_rows[row].target] <= before.number;
    if (is_same && rows_of(before, row) != rows_of(now, row)) return false;
  }
  return now.number > before.number;
}

bool is_equal(const Snapshot& one, const Snapshot& other) {
  const bool same_rows =
      std::equal(one.cgroup_rows.begin(), one.cgroup_rows.end(), other.cgroup_rows.begin(),
                 other.cgroup_rows.end(), [](const CgroupRow& a, const CgroupRow& b) {
                   return a.target == b.target && a.cpu == b.cpu;
                 });
  return same_rows && is_equal(one.cpu, other.cpu) && is_equal(one.cgroup, other.cgroup);
}

// --- what happens -------------------------------------------------------------------------------

struct Step {
  enum class Kind {
    kRun,      ///< a cgroup runs, and has the PMU for a part of the time
    kStarve,   ///< it runs for long, without the PMU
    kPass,     ///< time passes
    kEnd,      ///< a cgroup ends, and lingers
    kBegin,    ///< it is created again, or for the first time
    kForget,   ///< its series ends
    kUnread,   ///< its counters cannot be read any more, or again
    kRefuse,   ///< they cannot be opened, or again
    kOffline,  ///< a CPU goes offline, or comes back
    kWay,      ///< a source counts in another way
    kReconcile,
    kNames,  ///< another set of the same layout
    kLate,   ///< a CPU does not come in this time, or comes in twice
    kJoin,   ///< all others do
  };
  Kind kind = Kind::kJoin;
  std::size_t cpu = 0;
  std::size_t cgroup = 0;
  std::uint64_t amount = 0;
};

std::ostream& operator<<(std::ostream& out, const Step& step) {
  return out << static_cast<int>(step.kind) << " cpu " << step.cpu << " cgroup " << step.cgroup
             << " by " << step.amount;
}

rc::Gen<std::vector<Step>> any_steps() {
  using Kind = Step::Kind;
  const auto kind = rc::gen::weightedElement<Kind>({{12, Kind::kRun},
                                                    {2, Kind::kStarve},
                                                    {2, Kind::kPass},
                                                    {1, Kind::kEnd},
                                                    {2, Kind::kBegin},
                                                    {1, Kind::kForget},
                                                    {1, Kind::kUnread},
                                                    {1, Kind::kRefuse},
                                                    {1, Kind::kOffline},
                                                    {1, Kind::kWay},
                                                    {1, Kind::kReconcile},
                                                    {2, Kind::kNames},
                                                    {2, Kind::kLate},
                                                    {12, Kind::kJoin}});
  const auto step =
      rc::gen::build<Step>(rc::gen::set(&Step::kind, kind),
                           rc::gen::set(&Step::cpu, rc::gen::inRange<std::size_t>(0, kCpus)),
                           rc::gen::set(&Step::cgroup, rc::gen::inRange<std::size_t>(0, kCgroups)),
                           rc::gen::set(&Step::amount, rc::gen::inRange<std::uint64_t>(0, 100)));
  return rc::gen::scale(4, rc::gen::container<std::vector<Step>>(step));
}

Plan any_plan() {
  auto plan = std::make_shared<CountingPlan>();
  plan->cpu = test::scope_plan({{"machine", {"page-faults"}}});
  plan->cgroup = test::scope_plan(
      {{"software", {"context-switches", "page-faults"}}, {"hardware", {"cycles"}}});
  plan->cgroup.groups[1].shares_pmu = true;
  plan->cgroup_per_cpu = *rc::gen::arbitrary<bool>();
  return plan;
}

/// Two machines to which the same happens: one makes everything again each time.
class Twins {
 public:
  explicit Twins(const Plan& plan)
      : scripts_(kCpus), incremental_(scripts_, true, plan), complete_(scripts_, false, plan) {
    for (std::size_t cgroup = 0; cgroup < kCgroups - 3; ++cgroup) begin(cgroup);
    for (int cpu = 0; cpu < kCpus; ++cpu) online_.insert(cpu);
  }

  void take(const Step& step);

 private:
  static std::string path_of(std::size_t cgroup) { return "/" + std::to_string(cgroup); }
  Doing& doing(const Step& step) { return scripts_[step.cpu].cgroups[path_of(step.cgroup)]; }
  void run(const Step& step);
  void begin(std::size_t cgroup);
  void end(std::size_t cgroup);
  void join();
  Targets targets();

  test::TempTree directory_{{"cgroup.procs"}};  ///< of all of them: they exist
  std::vector<ScriptedCpu> scripts_;
  PolledMachine incremental_;
  PolledMachine complete_;
  std::vector<CgroupTarget> cgroups_;
  std::set<int> online_;
  std::uint64_t last_series_ = 0;
  std::uint64_t last_layout_ = 0;
  Targets targets_;                                          ///< null: changed
  std::optional<std::pair<std::size_t, std::size_t>> late_;  ///< a CPU, and how often it comes in
  std::optional<Snapshot> before_;                           ///< an earlier one
  std::size_t joins_ = 0;
};

void Twins::take(const Step& step) {
  using Kind = Step::Kind;
  const auto flip = [](bool& flag) { flag = !flag; };
  const int cpu = static_cast<int>(step.cpu);
  switch (step.kind) {
    case Kind::kRun:
    case Kind::kStarve:
      return run(step);
    case Kind::kPass:
      for (ScriptedCpu& each : scripts_) each.now += seconds{step.amount};
      return;
    case Kind::kEnd:
      return end(step.cgroup);
    case Kind::kBegin:
      return begin(step.cgroup);
    case Kind::kForget:
      for (CgroupTarget& target : cgroups_) {
        if (target.path == path_of(step.cgroup) && !target.cgroup) target = {};
      }
      targets_ = nullptr;
      return;
    case Kind::kUnread:
      return flip(doing(step).is_unreadable);
    case Kind::kRefuse:
      return flip(doing(step).is_refused);
    case Kind::kOffline:
      if (!online_.erase(cpu)) online_.insert(cpu);
      targets_ = nullptr;
      return;
    case Kind::kWay:
      return flip(scripts_[step.cpu].is_in_new_way);
    case Kind::kReconcile:
      incremental_.reconcile(targets());
      complete_.reconcile(targets());
      return;
    case Kind::kNames:
      targets_ = std::make_shared<const TargetSet>(*targets());
      return;
    case Kind::kLate:
      late_ = {step.cpu, step.amount % 2 * 2};
      return;
    case Kind::kJoin:
      return join();
  }
}

void Twins::run(const Step& step) {
  Doing& doing = this->doing(step);
  const bool starves = step.kind == Step::Kind::kStarve;
  const auto amount = static_cast<std::int64_t>(step.amount);
  const nanoseconds time = starves ? nanoseconds{seconds{amount}} : nanoseconds{amount * 1000};
  doing.enabled += time;
  if (!starves) doing.running += time / (1 + amount % 3);
  if (amount > 96) doing.lost += time / 2;
  doing.count += step.amount;
  ++doing.news;
}

/// Sometimes while it lingers, and then its series goes on.
void Twins::begin(std::size_t number) {
  const std::string path = path_of(number);
  auto cgroup = std::make_shared<cgroup::Cgroup>();
  cgroup->path = path;
  cgroup->directory.reset(::open(directory_.root().c_str(), O_PATH | O_CLOEXEC));
  targets_ = nullptr;
  for (CgroupTarget& target : cgroups_) {
    if (target.path != path) continue;
    target.cgroup = std::move(cgroup);
    return;
  }
  auto free = std::find_if(cgroups_.begin(), cgroups_.end(),
                           [](const CgroupTarget& target) { return target.is_free(); });
  if (free == cgroups_.end()) free = cgroups_.insert(free, CgroupTarget{});
  *free = {++last_series_, path, std::move(cgroup)};
}

void Twins::end(std::size_t number) {
  for (CgroupTarget& target : cgroups_) {
    if (target.path == path_of(number)) target.cgroup = nullptr;
  }
  targets_ = nullptr;
}

Targets Twins::targets() {
  if (targets_) return targets_;
  auto set = std::make_shared<TargetSet>();
  set->cpus = std::make_shared<const MachineCpus>(
      MachineCpus{std::vector<int>(online_.begin(), online_.end()), {}, {}});
  set->cgroups = cgroups_;
  set->layout = ++last_layout_;
  return targets_ = std::move(set);
}

void Twins::join() {
  const Targets now = targets();
  for (std::size_t cpu = 0; cpu < kCpus; ++cpu) {
    const std::size_t times = late_ && late_->first == cpu ? late_->second : 1;
    for (std::size_t i = 0; i < times; ++i) {
      scripts_[cpu].now += seconds{1};
      incremental_.poll(cpu, now);
      complete_.poll(cpu, now);
    }
  }
  late_.reset();
  const Snapshot joined = incremental_.join(now);
  RC_ASSERT(is_equal(joined, complete_.join(now)));
  if (before_) RC_ASSERT(is_truly_the_same(*before_, joined));
  if (!before_ || ++joins_ % 3 == 0) before_ = joined;  // not each one is rendered
}

PEX_TIMED_PROPERTY(IncrementalTest, WhatIsKeptIsAsIfItHadBeenMadeAnew) {
  Twins twins{any_plan()};
  const std::vector<Step> steps = *any_steps();
  for (const Step& step : steps) twins.take(step);
  twins.take({.kind = Step::Kind::kJoin});
}

}  // namespace
}  // namespace pex::collect
