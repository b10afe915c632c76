#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "estimate/event_model.h"

namespace pex::estimate {

/// How much of an interval the PMU saw.
enum class Coverage {
  kComplete,  ///< had the PMU whenever it wanted it: the value is exact, and may be zero
  kScaled,    ///< shared the PMU, or is filled from history: the value is an estimate
  kNone,      ///< enabled without the PMU: unknown, which is not zero
};

/// An activity that is counted twice: by the group, so only while it has the PMU, and always.
struct Reference {
  std::uint64_t sampled = 0;  ///< counted by the member of the group in this interval
  /// Totals of a counter at the same target that always counts; may be read a moment apart from the
  /// group.
  std::uint64_t always = 0;
  std::chrono::nanoseconds always_enabled{};  ///< for which it was counted
  bool fell = false;                          ///< the total of the member
};

/// A clock that is counted all the time. Totals, which may be read a moment apart from the group.
struct ClockTotals {
  std::chrono::nanoseconds counted{};
  std::chrono::nanoseconds enabled{};  ///< for which it was counted
};

/// One group between two readings, as the kernel has it.
struct Interval {
  std::chrono::nanoseconds enabled{};     ///< the group wanted the PMU
  std::chrono::nanoseconds running{};     ///< it had the PMU, by the kernel's account
  std::span<const std::uint64_t> counts;  ///< of each event
  std::optional<Reference> reference = {};
  /// It had the PMU, by a clock that is a member of the group. Some kernels account `running` of
  /// cgroup groups that share the PMU to whichever group has it at the next cgroup switch
  /// (host/kernel_faults.h): right in the long run, useless for one poll. The clock is right on
  /// every kernel, but it stands still while the kernel switches between cgroups: it misses some
  /// 0.5 us of each switch.
  std::optional<std::chrono::nanoseconds> clock = {};
  /// A cpu-clock that is counted all the time at the same target misses about as much, and so
  /// measures it.
  std::optional<ClockTotals> clock_always = {};
  bool fell = false;  ///< a total of the kernel fell: only `enabled` is valid
  /// This kernel is known to account `running` to the wrong group: an earlier interval, of any
  /// group, was `mistimed`.
  bool kernel_mistimes = false;
  /// It was kept off the PMU by manual rotation. As it is certain to be enabled again, it is filled
  /// from history for as long as that takes.
  bool is_stopped = false;
};

/// One event in one interval. The published value grows by observed + extrapolated.
struct EventIncrement {
  std::uint64_t observed = 0;      ///< counted while the group had the PMU: exact
  std::uint64_t extrapolated = 0;  ///< for the rest of the time; fractions are carried
  double variance = 0;             ///< of extrapolated, events^2
};

/// One group in one interval. `enabled` is `running`, plus the time that counts were scaled up for,
/// plus `imputed`, plus `unmeasured`.
struct GroupIncrement {
  Coverage coverage = Coverage::kNone;
  std::chrono::nanoseconds enabled{};
  std::chrono::nanoseconds running{};     ///< as corrected by the clock
  std::chrono::nanoseconds imputed{};     ///< enabled without the PMU, and filled from history, or
                                          ///< by the first windows after it
  std::chrono::nanoseconds unmeasured{};  ///< enabled, and in no count
  double reference = 0;                   ///< X
  double reference_sampled = 0;           ///< x
  bool anomaly = false;   ///< a total fell: the interval is unmeasured, or has no reference
  bool mistimed = false;  ///< `running` was wrong, and the clock used
};

/// The maximum of consecutive time without the PMU that is filled from history.
inline constexpr std::chrono::seconds kMaxImputed{60};

/// Turns the intervals of one group at one target into increments of a counter that never falls, is
/// unbiased if the group shares the PMU with others, and has a known standard error.
///
/// For y events seen in windows of size s, out of the size S of the whole interval (EventModel),
/// the increment is y + (S - s) * rate, a ratio estimator with a control variate:
///   rate      w y/s + (1 - w) h: what the windows saw, and where they saw too little (less than
///             two fifths of their fair share, or one mux_interval of rotation) the rate of history
///             h
///   w         min(1, s / need)^2
///   variance  (1 - s/S) (Y - q' S)^2 s' / (s + s'), by successive differences: Y is this
///             interval's estimate, q' and s' rate and size of the one before (Wolter, JASA 1984,
///             on systematic samples). Calibrated or too large, except where the load beats
///             against the rotation. Of one interval it has one degree of freedom: sum it first.
/// Without a reference size is time, and this is scaling of increments by enabled / running.
///
/// States of an interval, with E the time enabled in it and r the time running:
///   E = 0            nothing to add (a cgroup none of whose tasks was on the CPU)
///   r = E            exact
///   0 < r < E        scaled
///   r = 0            filled from history: 60 s long, or while its owner keeps it stopped; then
///                    unmeasured. Without a history it stays open and joins the next one
///   a total fell     unmeasured
///
/// No allocation after construction. No input from the kernel makes a total fall, overflow or
/// become infinite.
class GroupEstimator {
 public:
  /// `mux_interval`: how long a group has the PMU before the next one, perf_event_mux_interval_ms.
  /// A group that never loses the PMU needs no history: without it (`keeps_history`), exact
  /// intervals cost next to nothing.
  explicit GroupEstimator(std::size_t events,
                          std::chrono::nanoseconds mux_interval = std::chrono::milliseconds{4},
                          bool keeps_history = true);

  /// No interval follows for now. Returns the time of the open interval that becomes unmeasured.
  std::chrono::nanoseconds discard_open();

  /// `models` (one for each event), `increments` (written in any case) and `updates` (to which the
  /// statistics of this interval are added) have one element for each event.
  GroupIncrement advance(const Interval& interval, std::span<const EventModel> models,
                         std::span<EventIncrement> increments, std::span<ModelUpdate> updates);

 private:
  struct Event {
    double pending = 0;   ///< counted in the open interval
    double fraction = 0;  ///< of an event, carried to the next interval; in [0, 1)
    Observed history;
    double last_rate = 0;  ///< q', events per size
    double last_size = 0;  ///< s'; 0 if there was none
  };
  struct Passed;

  std::optional<GroupIncrement> count_exactly(const Interval& interval,
                                              std::span<EventIncrement> increments) const;
  void check_running(const Interval& interval, Passed& passed, GroupIncrement& increment) const;
  std::optional<double> clock_always_in(const Interval& interval) const;
  void observe(const Interval& interval, std::span<EventIncrement> increments);
  void note_totals(const Interval& interval);
  Passed passed_in(const Interval& interval, GroupIncrement& increment) const;
  void add_reference(const Reference& now, Passed& passed, GroupIncrement& increment) const;
  void cap_imputation(bool is_stopped, Passed& passed, GroupIncrement& increment);
  bool can_commit() const;
  void commit(Event& event, const EventModel& model, EventIncrement& increment,
              ModelUpdate& update);

  std::chrono::nanoseconds mux_interval_;
  // Totals that always count, at the last interval; before the first one they are 0.
  ClockTotals clock_always_;
  Reference reference_;
  bool has_reference_ = true;

  Observed open_;  ///< the interval since the last commit, without its events
  bool open_has_reference_ = true;
  std::chrono::nanoseconds starved_{};          ///< consecutive time enabled without the PMU
  std::chrono::nanoseconds pending_starved_{};  ///< the part of open_ without the PMU
  std::vector<Event> events_;
  bool keeps_history_;
};

}  // namespace pex::estimate
