#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "cgroup/cgroup.h"
#include "cgroup/cgroup_names.h"
#include "perf/group_reading.h"
#include "perf/perf_kernel.h"
#include "records/cgroup_sums.h"
#include "records/group_turns.h"
#include "records/switch_attribution.h"
#include "records/switch_ring.h"
#include "targets/counting_plan.h"

namespace pex::collect {

/// A ring for less would overflow at each burst of switches.
inline constexpr std::size_t kMinRecordsBuffer = 16 * 1024;

/// The groups of one CPU that write a record at each switch between cgroups, and what the cgroups
/// did by these records: drain -> attribute -> sum.
///
/// The first group is the *base*: it always counts, so its time is that of all groups. It is a
/// group of the plan that never loses the PMU, or, without one, a group of no events. Groups that
/// do not fit on the PMU together are enabled in turns (GroupTurns).
///
/// The base also notes moves of tasks to other cgroups, if their tracepoint can be opened.
///
/// For the thread of the CPU. What the CPU did since the last switch belongs to the cgroup of that
/// thread; where it runs on another CPU, that is only known after the next switch.
class SwitchRecording {
 public:
  /// The id of the calling thread's cgroup; nothing if it is unknown.
  using OwnCgroup = std::function<std::optional<std::uint64_t>()>;
  /// The tracepoint of moves, as in SwitchRing::add_group(); nothing: they are not noted.
  using Moves = std::optional<perf::EventAttributes>;
  static constexpr std::size_t kBase = 0;  ///< the number of the base

  /// Opens the ring and the base, for the cgroup groups of `plan` that are counted on the CPU.
  /// `own_cgroup` is called at each poll. `kernel` outlives it.
  static Result<std::unique_ptr<SwitchRecording>> open(perf::PerfKernel& kernel, int cpu,
                                                       perf::RingSize size,
                                                       const CountingPlan& plan,
                                                       OwnCgroup own_cgroup, Moves moves = {});
  SwitchRecording(const SwitchRecording&) = delete;
  SwitchRecording& operator=(const SwitchRecording&) = delete;

  /// The number of the group that counts so many events, the first of `group`. Opens it with all of
  /// them if need be, or without the optional ones if one of these is refused. If it lacks what is
  /// asked for, the result is that refusal, also later.
  Result<std::size_t, perf::OpenFailure> open_group(const GroupPlan& group, std::size_t events);

  /// Another plan: groups that it has too go on, and the others are closed, but for those that
  /// `is_used` by their number, for its scope cpu. The base stays, as it cannot be closed alone.
  void use(const CountingPlan& plan, const std::function<bool(std::size_t group)>& is_used);

  /// Stops the groups that have the counts of this one, so that others have the PMU, or starts them
  /// again. Not the base, which needs no PMU.
  Result<> set_paused(const GroupPlan& plan, bool paused);

  /// At each poll: reads the groups, drains the ring, and ends the poll of the sums. Returns what
  /// the records of this poll were like.
  SwitchAttribution::Statistics poll(const std::shared_ptr<const cgroup::CgroupNames>& names);
  /// Between polls: drains the ring, and begins another turn of the groups if it is due.
  void between_polls();
  /// When a turn ends, by PerfKernel::now(); nothing: there are no turns.
  std::optional<std::chrono::nanoseconds> end_of_turn() const { return turns_.end(); }
  void drain();
  /// It is read for the last time: what the CPU did since the last record is lost.
  void end();

  CgroupSums& sums() { return sums_; }
  /// CgroupSums::take_changed(), in a poll: the next interval of all groups begins.
  void take_changed(RowSet& slots);
  /// Of the time `enabled` of a cgroup in this interval: that for which the group had the PMU, if
  /// that is `recorded` by its own records.
  std::chrono::nanoseconds time_running(std::size_t group, std::chrono::nanoseconds enabled,
                                        std::chrono::nanoseconds recorded) const;
  /// The counts of the whole CPU, as of the last poll; or why they could not be read.
  Result<const perf::GroupReading*> reading_of_cpu(std::size_t group) const;
  /// The same, also if the last poll could not read them: those of the last one that could.
  const perf::GroupReading& last_reading_of_cpu(std::size_t group) const {
    return groups_[group].reading;
  }
  /// The group of a plan that is the base; null: it has no events.
  const GroupPlan* base_plan() const { return groups_.front().plan.get(); }
  /// Why moves are not noted, if there is a tracepoint.
  const std::optional<Error>& moves_refused() const { return moves_refused_; }
  /// Whether the calling thread is in the cgroup or below it, as far as its own one is known.
  bool runs_in(const cgroup::Cgroup& cgroup) const;

  /// Statistics of the records since the start.
  const SwitchAttribution& attribution() const { return attribution_; }

  /// The time of the base has not advanced between two polls, so the kernel does not count, and
  /// reports no error.
  bool stands_still() const { return stands_still_; }

  int descriptor() const { return ring_.fd(); }
  std::size_t counters() const;  ///< open ones, each a descriptor
  std::size_t ring_bytes() const { return ring_.size(); }

 private:
  struct Group {
    std::unique_ptr<const GroupPlan> plan = {};  ///< as of its opening; null: the base without
                                                 ///< events
    std::size_t events = 0;
    std::optional<perf::OpenFailure> refused = {};  ///< why it lacks events of its plan
    bool is_open = false;                           ///< else its number is free
    bool is_paused = false;
    /// It is stopped, and others have their turn; in time of the base.
    std::optional<std::chrono::nanoseconds> waits_since = {};
    std::chrono::nanoseconds waited{};            ///< until then
    perf::GroupReading reading = {};              ///< the last one; enabled while it waited, too
    std::chrono::nanoseconds waited_when_read{};  ///< that part of its time enabled
    /// Time and intervals off the PMU since it was opened: waited_when_read, and as in
    /// SwitchAttribution.
    struct OffPmu {
      std::chrono::nanoseconds waited{};
      std::uint64_t imperfect = 0;
    };
    OffPmu at_poll = {};        ///< the last one
    OffPmu before = {};         ///< as of the poll in which the interval of the cgroups began
    bool has_waited = false;    ///< in this interval
    bool is_perfect = true;     ///< the same: it was never off the PMU
    bool is_broken_up = false;  ///< the CPU has been offline: that reading was the last
    perf::SwitchCounts happened = {};  ///< of the last poll
    std::optional<Error> error = {};   ///< of the last poll

    bool takes_turns() const {
      return is_open && plan != nullptr && plan->shares_pmu && !is_paused && !is_broken_up;
    }
  };
  /// Groups that are to be stopped and started, by their numbers.
  struct Turn {
    std::vector<std::size_t> stopped;
    std::vector<std::size_t> started;
  };
  class Visitor;

  SwitchRecording(perf::PerfKernel& kernel, perf::SwitchRing ring, OwnCgroup own_cgroup,
                  Moves moves);
  Result<> open_base(const CountingPlan& plan);
  void set_names(const std::shared_ptr<const cgroup::CgroupNames>& names);
  Result<std::size_t, perf::OpenFailure> add(const GroupPlan* plan,
                                             std::span<const perf::CounterSpec> events);
  Result<std::size_t, perf::OpenFailure> add_to_ring(std::span<const perf::CounterSpec> events);
  Result<std::size_t, perf::OpenFailure> add_all_or_needed(const GroupPlan& plan);
  void close(std::size_t number);
  void read_group(std::size_t number);
  void read_groups();
  void find_own_cgroup();
  void settle();
  void add_readings();
  Turn next_turn();
  Turn no_turn();
  std::vector<GroupTurns::Member> members_of_turns() const;
  void stop(std::size_t number);
  void start(std::size_t number);
  void end_waiting(Group& group) const;
  /// On the whole CPU, since it was opened, while it had its turns.
  std::chrono::nanoseconds off_pmu(std::size_t group) const {
    const perf::GroupReading& reading = groups_[group].reading;
    return reading.time_enabled - groups_[group].waited_when_read - reading.time_running;
  }
  std::chrono::nanoseconds base_time() const { return groups_.front().reading.time_enabled; }
  std::chrono::nanoseconds waiting_time(const Group& group) const;
  bool is_on_its_cpu() const;

  perf::PerfKernel* kernel_;
  perf::SwitchRing ring_;
  OwnCgroup find_own_cgroup_;
  std::optional<std::uint64_t> own_cgroup_;  ///< at the last poll
  Moves moves_;
  std::optional<Error> moves_refused_;
  CgroupSums sums_;
  SwitchAttribution attribution_;
  GroupTurns turns_;
  std::vector<Group> groups_;  ///< by the number in the ring; the first is the base
  std::shared_ptr<const cgroup::CgroupNames> names_;
  std::chrono::nanoseconds base_enabled_{};  ///< at the last poll
  std::chrono::nanoseconds read_at_{};       ///< by PerfKernel::now()
  bool stands_still_ = false;
};

}  // namespace pex::collect
