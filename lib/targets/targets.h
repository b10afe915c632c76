#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/boot_clock.h"
#include "cgroup/cgroup_names.h"
#include "cgroup/description.h"
#include "cgroup/discovery/discovery.h"
#include "cgroup/selection.h"
#include "cgroup/use/idle_cgroups.h"
#include "cgroup/use/uncounted_use.h"
#include "host/roots.h"
#include "targets/admission.h"
#include "targets/budget.h"
#include "targets/counter_cost.h"
#include "targets/machine_cpus.h"
#include "targets/poll_report.h"

namespace pex::collect {

/// One exported cgroup. A cgroup that is recreated under the path of a lingering one continues its
/// series: there are never two samples of one path, and what was counted stays counted.
struct CgroupTarget {
  std::uint64_t series = 0;  ///< identity of the series; never reused; 0: the slot is free
  std::string path;
  std::shared_ptr<const cgroup::Cgroup> cgroup;  ///< null while it lingers after its end
  std::shared_ptr<const cgroup::Description> description =
      std::make_shared<const cgroup::Description>();
  BootClock::time_point since = {};  ///< when the series began, at 0
  bool is_idle = false;              ///< its counters are closed until it does something
  /// False: it exists, and is not counted any more, as it is not selected or has no room. Its
  /// series go on if it is counted again within the time for which one that has ended lingers.
  bool is_published = true;
  /// Slots of the targets that contain it: see TargetSet::find_nesting().
  std::vector<std::size_t> around = {};

  bool is_free() const { return series == 0; }
  bool is_counted() const { return cgroup != nullptr && !is_idle; }
};

/// As TargetSet::min_recorded: records never count cgroups.
inline constexpr std::size_t kNeverRecorded = std::numeric_limits<std::size_t>::max();

/// What to count: immutable, shared by all CPUs of one poll. A cgroup has a slot, which is its own
/// until its series ends.
struct TargetSet {
  std::shared_ptr<const MachineCpus> cpus = std::make_shared<const MachineCpus>();
  std::vector<CgroupTarget> cgroups;                      ///< by slot
  std::size_t present = 0;                                ///< those that are counted, or idle
  std::size_t unpublished = 0;                            ///< those that are not published
  std::size_t idle = 0;                                   ///< those of them that are idle
  std::size_t waiting = 0;                                ///< cgroups that are still to be opened
  std::shared_ptr<const cgroup::DiscoveryResult> found =  ///< what they were chosen from; not null
      std::make_shared<const cgroup::DiscoveryResult>();
  std::string_view left_out_reason;  ///< see Capacity::bound
  /// Of all cgroups of the hierarchy, if they are counted by records; else of none.
  std::shared_ptr<const cgroup::CgroupNames> names = std::make_shared<const cgroup::CgroupNames>();
  /// From how many of them on records count cgroups; with fewer, descriptors take less memory.
  std::size_t min_recorded = 0;
  BootClock::time_point since = {};  ///< when the CPUs' series began, at 0
  /// Equal numbers: the same `cpus` and `cgroups`, so that what was made for one set is right for
  /// the other. 0: not known.
  std::uint64_t layout = 0;

  /// Some contain others.
  bool is_nested = false;

  /// Which contain which, of those whose series is below `end`.
  void find_nesting(std::uint64_t end);

  std::size_t series() const;
  /// Those that have ended, or are read for the last time.
  std::size_t lingering() const { return series() - present - unpublished; }
  /// The same series at the same slot as in `other`.
  bool has_series_of(const TargetSet& other, std::size_t slot) const {
    return slot < cgroups.size() && slot < other.cgroups.size() &&
           cgroups[slot].series == other.cgroups[slot].series;
  }
  bool has_layout_of(const TargetSet& other) const {
    return this == &other || (layout != 0 && layout == other.layout);
  }
};

/// Follows the CPUs and cgroups of the machine. Not thread-safe.
class TargetTracker {
 public:
  using Clock = std::chrono::steady_clock;

  /// How cgroups are counted. Without `discovery` none are.
  struct Cgroups {
    std::optional<cgroup::Discovery> discovery;
    cgroup::Describer describer = cgroup::Describer{};
    std::chrono::nanoseconds linger = std::chrono::seconds{60};
    std::size_t min_recorded = kNeverRecorded;     ///< as in TargetSet
    std::optional<cgroup::IdleCgroups> idle = {};  ///< nothing: all keep their counters
    cgroup::IdleCgroups::CpuTime cpu_time = [](const auto&) { return std::nullopt; };
    std::optional<cgroup::UncountedUse> uncounted = {};  ///< nothing: it is not determined
  };

  /// What may change while counting goes on.
  struct Changes {
    /// With the same `cgroup_per_cpu` and `left_out_cpus`.
    std::shared_ptr<const CountingPlan> plan;
    cgroup::Selection selection;  ///< of cgroups; those that are no longer selected linger
    cgroup::Describer describer;
    std::chrono::nanoseconds linger{};
    cgroup::IdleCgroups::Rules idle;
    Budget budget;  ///< with the same limits on directories and paths
    std::size_t min_recorded = kNeverRecorded;
  };

  /// `cost` is that of the counter sources (CounterSources).
  TargetTracker(const host::HostRoots& roots, std::shared_ptr<const CountingPlan> plan,
                Cgroups cgroups, Budget budget, CostFunction cost);

  enum class Round {
    kPoll,            ///< a snapshot of the targets follows
    kReconciliation,  ///< counters are opened and closed between polls
  };

  /// The current targets: the same object as before if nothing has changed. If the CPUs or the
  /// cgroups cannot be read, the previous ones stay; each failure is reported separately.
  ///
  /// One that has ended is a target at least until a snapshot has followed that has its last
  /// readings on all CPUs, or for a minute if a CPU hangs. `was_whole`: no CPU was late in the
  /// round of the last update. New ones wait if there is no room for their series as well.
  std::shared_ptr<const TargetSet> update(Clock::time_point now, PollReport& report,
                                          Round round = Round::kPoll, bool was_whole = true);

  /// CPU time that tasks used while their cgroup was idle or not published, since the last call. By
  /// records, what it did in the last two polls of that time is counted as well
  /// (CgroupSums::kMaxPollsNamed).
  struct PassedOver {
    std::size_t slot = 0;
    std::chrono::nanoseconds time{};
  };
  std::vector<PassedOver> take_passed_over() { return std::exchange(passed_over_, {}); }

  /// From the next update() on: all targets are described again, and as many as fit are kept.
  void change(Changes changes);

  /// From the next update() on, no CPU is counted; cgroups are followed as before.
  void leave_out_all_cpus(bool all) { cpus_.leave_out_all(all); }

  /// These met an unforeseen bound while they were opened (PollFeedback::exhausted). A part of
  /// their counters is useless, so they are removed, and all are retried after a while.
  void set_aside(const std::map<std::string, int>& exhausted, Clock::time_point now);

  /// The kernel has reported these cgroups. `lacks_names`: it has others whose names are not known.
  void learn_names(std::vector<cgroup::NamedCgroup> reported, bool lacks_names);

  /// CPU time in no counted cgroup, as of the last call at which it was due. `counted_times` is
  /// called then: the CPU time of each target of the last update, as its counters know it.
  using CountedTimes = std::function<std::vector<std::chrono::nanoseconds>()>;
  std::optional<cgroup::UncountedUse::Use> uncounted(Clock::time_point now,
                                                     const CountedTimes& counted_times);

  /// The paths of all that are left out (TargetSet::found has the first), by path.
  std::vector<std::string> left_out() const;

  const std::shared_ptr<const CountingPlan>& plan() const { return plan_; }
  const cgroup::IdleCgroups::CpuTime& cpu_time() const { return cgroups_.cpu_time; }
  std::size_t max_series() const { return budget_.max_series; }

  /// Readable if cgroups may have appeared or disappeared; -1 if only update() detects that. Only
  /// for waiting.
  int descriptor() const;

 private:
  /// A series whose cgroup is not counted any more.
  struct Ended {
    Clock::time_point at;
    std::uint64_t existing = 0;  ///< the id of the cgroup, if that exists
    std::optional<std::chrono::nanoseconds> cpu_time = {};  ///< of that one, until then
  };

  std::shared_ptr<const MachineCpus> find_cpus(PollReport& report);
  std::shared_ptr<const TargetSet> with_names(std::shared_ptr<const cgroup::CgroupNames> names);
  void update_need(const std::shared_ptr<const MachineCpus>& cpus);
  std::shared_ptr<const cgroup::CgroupNames> names();
  bool update_needs_names();
  Capacity capacity(Clock::time_point now);
  void make_room(std::size_t capacity);
  std::shared_ptr<const cgroup::DiscoveryResult> find_cgroups(std::size_t capacity,
                                                              Clock::time_point now,
                                                              PollReport& report);
  bool names_changed(Clock::time_point now, PollReport& report);
  bool find_idle(const cgroup::DiscoveryResult& found, Clock::time_point now);
  void mark_idle(TargetSet& targets);
  void mark_unpublished(TargetSet& targets);
  void add_passed_over(std::size_t slot, std::chrono::nanoseconds time);
  void note_end(const CgroupTarget& target, Clock::time_point now);
  void go_on(std::vector<CgroupTarget>& targets, std::size_t slot,
             std::shared_ptr<const cgroup::Cgroup> cgroup);
  bool is_expired(std::uint64_t series, const Ended& ended, Clock::time_point now) const;
  bool any_expired(Clock::time_point now) const;
  bool forget_read(Clock::time_point now, bool was_whole);
  void report_left_out(const cgroup::DiscoveryResult& found, const Capacity& capacity,
                       PollReport& report);
  void report_skipped(PollReport& report) const;
  std::size_t free_room(std::size_t targets) const;
  bool may_admit(Clock::time_point now) const;
  std::vector<CgroupTarget> merge(const cgroup::DiscoveryResult& found, Clock::time_point now,
                                  PollReport& report);
  void admit(std::vector<CgroupTarget>& targets, Clock::time_point now, PollReport& report);
  void describe(std::vector<CgroupTarget>& targets) const;
  static void settle_ids(std::vector<CgroupTarget>& targets, PollReport& report);
  std::uint64_t end_of_nesting() const;
  void drop_expired(std::vector<CgroupTarget>& targets, Clock::time_point now);
  void drop_surplus(std::vector<CgroupTarget>& targets);

  std::shared_ptr<const CountingPlan> plan_;
  CpuTracker cpus_;
  Cgroups cgroups_;
  Budget budget_;
  CostFunction cost_;
  Need need_;                                  ///< with the CPUs of current_
  std::vector<cgroup::NamedCgroup> reported_;  ///< since the last update
  bool lacks_names_ = false;
  bool needs_names_ = false;
  OpenRate open_rate_;
  Shortage shortage_;
  std::shared_ptr<const TargetSet> current_;
  std::unordered_map<std::uint64_t, Ended> ended_;  ///< the series that linger
  std::unordered_set<std::uint64_t> unread_;  ///< those of them whose last reading on some CPU is
                                              ///< in no snapshot yet
  bool snapshot_follows_ = false;             ///< the last update
  bool has_polled_ = false;                   ///< a snapshot has followed
  bool holds_left_out_ = false;               ///< cgroups that were left out are to be reported
  bool has_surplus_ = false;                  ///< of the series in unread_
  bool hides_next_ = false;                   ///< a series in unread_ is not published after that
  WaitingLine waiting_;                       ///< found, and not yet targets
  std::vector<PassedOver> passed_over_;
  std::optional<cgroup::UncountedUse::Use> uncounted_;
  std::uint64_t first_new_series_ = 0;           ///< since uncounted_
  Clock::time_point not_uncounted_before_ = {};  ///< the next one
  std::uint64_t next_series_ = 1;
  std::uint64_t nested_before_ = 0;  ///< the first series of a plan whose cgroups do not nest
  bool is_changed_ = false;          ///< since the last update
  const BootClock::time_point since_ = BootClock::now();
};

}  // namespace pex::collect
