#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "records/cgroup_sums.h"
#include "records/switch_ring.h"

namespace pex::collect {

/// Attributes what one CPU counted to the cgroups that ran there. The difference between two
/// records of a group is what one cgroup did, if the interval is *whole*: nothing was lost since
/// the first one, the leader grew by 1, no total fell, and there was no other switch meanwhile, nor
/// a move.
/// While the group is off the PMU, its leader misses switches; so if that was for longer than
/// kMaxOffPmu, the interval is whole only if the base (below) had no other switch either. Of an
/// interval that is not whole, the counts are dropped, as they may be those of several cgroups.
///
/// One group, the base, never loses the PMU. Its times are the time enabled of all groups. That of
/// an interval that is not whole is *lost time*, attributed to no cgroup: any may have run in it,
/// also one that has no record (CgroupSums::lose()). A group that was off the PMU in a whole
/// interval has less time running than enabled: it can be scaled in the same way as that of a
/// multiplexed group.
///
/// At a switch, the kernel writes the record of the base before that of another group or after it.
/// No cgroup leaves twice in a row, so of the records of the base around that of the group, the one
/// in which the same cgroup leaves is of the same switch. That is known once the base's next record
/// is there, or a reading of the base that shows no further switch. (With
/// perf::kContextSwitches a cgroup can leave twice in a row; then it stays unknown.)
///
/// A task that moves itself to another cgroup while it runs leaves the CPU in that one. So the base
/// has a record of the move (if it notes them): what was counted since the last switch may be of
/// either, and is lost; what follows is of the new one, up to the next switch or move. The other
/// groups have no such record, so their current interval is not whole.
///
/// Takes plain values, in the order of the ring: calls neither kernel nor ring. Not thread-safe.
class SwitchAttribution {
 public:
  /// What the kernel takes to switch a group that is on the PMU all the time. Linux before 6.2
  /// takes all groups of a CPU off at each switch between cgroups that have events: 15 us in an
  /// emulated machine. A group that is rotated is off for 1 ms at least
  /// (perf_event_mux_interval_ms).
  static constexpr std::chrono::nanoseconds kMaxOffPmu = std::chrono::microseconds{100};
  static constexpr int kMaxOffPmuPercent = 2;  ///< of the base

  /// What is wrong with the records, and how many there are.
  struct Statistics {
    std::uint64_t records = 0;
    std::uint64_t lost = 0;     ///< records that the kernel reported as lost
    std::uint64_t skipped = 0;  ///< intervals in which leader and moves did not grow by 1, and
                                ///< nothing was lost: there are none if each record is written
    std::uint64_t dropped = 0;  ///< intervals that were not whole, of all groups, for any reason
    std::chrono::nanoseconds dropped_time{};  ///< of these, of all groups
    std::chrono::nanoseconds lost_time{};     ///< of these, of the base
    std::chrono::nanoseconds moved_time{};    ///< of that, up to a move, with no record missing
    std::chrono::nanoseconds root_time{};     ///< of the base, of the root of all cgroups, which
                                              ///< includes the time that the CPU is idle
    std::chrono::nanoseconds time{};          ///< of the base, in all

    /// The kernel writes a record of each switch, or leaves out less than one of kOneOf.
    bool are_complete = true;
    bool operator==(const Statistics&) const = default;
  };

  /// `sums` outlives it.
  explicit SwitchAttribution(CgroupSums& sums) : sums_(sums) {}

  /// A group that was opened, and counts from 0; in the sums too. For one that is known it means
  /// that it was opened again: its sums go on, if it has as many counts. One group is the base.
  void add_group(std::size_t group, std::size_t counts, bool is_base);
  void remove_group(std::size_t group);

  /// A record. One of an unknown group, or with another number of counts, is ignored.
  void record(const perf::SwitchRecord& record);

  /// So many records were lost. Which ones is not known, so the current interval of each group is
  /// not whole.
  void loss(std::uint64_t records);

  /// The group was stopped or started: its current interval is not whole.
  void interrupt(std::size_t group);
  /// The group was started by the thread that drains the ring, which has drained it since it was
  /// stopped and reading() had what it counted up to then. So its next interval begins here.
  void resume(std::size_t group);

  /// The group was read by the thread that drains the ring, in this cgroup, before it was drained.
  /// If no record of the group followed, what it counted since the last one is that cgroup's.
  void reading(const perf::SwitchRecord& reading);

  /// The ring is drained: ends the poll of the sums. Returns the statistics of this poll. `now` as
  /// in CgroupSums.
  Statistics end_poll(std::chrono::nanoseconds now);

  /// The last reading of the base before the recording ends: what it counted since its last record
  /// is lost.
  void end(const perf::SwitchRecord& base);

  /// Since the start.
  const Statistics& statistics() const { return statistics_; }
  /// Intervals of one group that were not whole, or in which it was off the PMU for longer, since
  /// it was opened.
  std::uint64_t imperfect(std::size_t group) const { return groups_[group]->imperfect; }
  /// For how long the group was off the PMU, up to its last record or reading().
  std::chrono::nanoseconds off_pmu(std::size_t group) const {
    return groups_[group]->enabled - groups_[group]->running;
  }

 private:
  static constexpr std::uint64_t kNoCgroup = 0;  ///< ids begin at 1

  /// Differences to the last values; the counts are increments_.
  struct Interval {
    std::chrono::nanoseconds enabled{};
    std::chrono::nanoseconds running{};
    std::uint64_t switches = 0;
    std::uint64_t moves = 0;
    bool any_fell = false;

    bool had_the_pmu() const { return enabled - running <= kMaxOffPmu; }
    bool had_it_nearly_all_the_time() const;
  };
  struct Group {
    std::chrono::nanoseconds enabled{};
    std::chrono::nanoseconds running{};
    perf::SwitchCounts happened;
    std::vector<std::uint64_t> counts;
    bool is_base = false;
    bool has_loss = false;                            ///< since the last record
    std::uint64_t imperfect = 0;                      ///< intervals, see there
    std::uint64_t left = 0;                           ///< the cgroup of the last record
    std::optional<std::uint64_t> switch_of_base = 0;  ///< at the last record; nothing: unknown
    std::size_t records_since_base = 0;  ///< the base's next record shows at which switches
    bool has_undecided = false;          ///< and so whether this interval, up to the last, is whole
    Interval undecided;
    std::vector<std::uint64_t> undecided_counts;
  };

  /// A kernel that writes each record skips none. One guest leaves out up to 1 in 400 on a busy
  /// CPU, and on another one most of them, as it writes none while that CPU is idle. So it takes
  /// kMaxSkipped in a sample of kOneOf times as many: a few say nothing.
  struct Sample {
    static constexpr std::uint64_t kOneOf = 100;
    static constexpr std::uint64_t kMaxSkipped = 20;

    bool add(const Statistics& poll);

    std::uint64_t intervals = 0;
    std::uint64_t skipped = 0;
  };

  Group* find(const perf::SwitchRecord& record);
  Interval advance(Group& group, const perf::SwitchRecord& record);
  void await_base(std::size_t group, std::uint64_t cgroup);
  void decide_later(Group& group, const Interval& interval);
  void place(std::size_t group, const perf::SwitchRecord& base);
  void decide(std::size_t group, std::optional<std::uint64_t> at);
  void place_at_last_switch();
  void note_move(const perf::SwitchRecord& base);
  bool is_at_last_switch(const Group& group) const;
  void add(std::size_t group, std::uint64_t cgroup, const Interval& interval,
           std::span<const std::uint64_t> counts);
  void drop(Group& group, const Interval& interval);

  CgroupSums& sums_;
  std::vector<std::optional<Group>> groups_;
  std::uint64_t base_switches_ = 0;         ///< up to the last record of the base
  std::uint64_t left_base_ = kNoCgroup;     ///< the cgroup of that record, if it is of a switch
  std::optional<std::uint64_t> current_;    ///< the cgroup that runs since then, if it is of a move
  std::vector<std::size_t> awaiting_base_;  ///< groups
  std::vector<std::uint64_t> increments_;   ///< reused, to allocate nothing
  Statistics statistics_;
  Statistics before_;  ///< at the end of the last poll
  Sample sample_;
};

}  // namespace pex::collect
