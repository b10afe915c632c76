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
/// Totals of the kernel.
struct ReferenceTotals {
  std::uint64_t sampled = 0;                  ///< counted by the member of the group
  std::uint64_t always = 0;                   ///< counted all the time, at the same target
  std::chrono::nanoseconds always_enabled{};  ///< for which `always` was counted; may be read a
                                              ///< moment apart from the group
};

/// A clock that is counted all the time. Totals of the kernel.
struct ClockTotals {
  std::chrono::nanoseconds counted{};
  std::chrono::nanoseconds enabled{};  ///< for which it was counted; may be read a moment apart
                                       ///< from the group
};

/// The kernel's totals of one group at one instant, since it was opened.
struct Sample {
  std::chrono::nanoseconds enabled{};     ///< the group wanted the PMU
  std::chrono::nanoseconds running{};     ///< it had the PMU, by the kernel's account
  std::span<const std::uint64_t> counts;  ///< one for each event
  std::optional<ReferenceTotals> reference = {};
  /// It had the PMU, by a clock that is a member of the group. Some kernels account `running` of
  /// cgroup groups that share the PMU to whichever group has it at the next cgroup switch
  /// (host/kernel_faults.h): right in the long run, useless for one poll. The clock is right on
  /// every kernel, but it stands still while the kernel switches between cgroups: it misses some
  /// 0.5 us of each switch.
  std::optional<std::chrono::nanoseconds> clock = {};
  /// A cpu-clock that is counted all the time at the same target misses about as much, and so
  /// measures it.
  std::optional<ClockTotals> clock_always = {};
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
  bool anomaly = false;   ///< a total fell: the interval is unmeasured and a new baseline taken
  bool mistimed = false;  ///< `running` was wrong, and the clock used
};

/// The maximum of consecutive time without the PMU that is filled from history.
inline constexpr std::chrono::seconds kMaxImputed{60};

/// Turns the kernel's totals for one group at one target into increments of a counter that never
/// falls, is unbiased if the group shares the PMU with others, and has a known standard error.
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
///   a total fell     unmeasured, new baseline
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

  /// Counts of the events at the last sample.
  std::span<const std::uint64_t> last_counts() const { return counts_; }

  /// The group was reopened, so its totals start at 0. The history is kept.
  void restart();

  /// No sample follows for now. Returns the time of the open interval that becomes unmeasured.
  std::chrono::nanoseconds discard_open();

  /// `models` (one for each event), `increments` (written in any case) and `updates` (to which the
  /// statistics of this interval are added) have one element for each event.
  GroupIncrement advance(const Sample& sample, std::span<const EventModel> models,
                         std::span<EventIncrement> increments, std::span<ModelUpdate> updates);

 private:
  struct Event {
    double pending = 0;   ///< counted in the open interval
    double fraction = 0;  ///< of an event, carried to the next interval; in [0, 1)
    Observed history;
    double last_rate = 0;  ///< q', events per size
    double last_size = 0;  ///< s'; 0 if there was none
  };
  /// The kernel's totals at the last sample.
  struct Baseline {
    std::chrono::nanoseconds enabled{};
    std::chrono::nanoseconds running{};
    std::optional<std::chrono::nanoseconds> clock{0};
    ClockTotals clock_always;
    ReferenceTotals reference;
    bool has_reference = true;  ///< before the first sample they are all 0
  };
  /// What has passed since the baseline.
  struct Passed;

  std::optional<GroupIncrement> count_exactly(const Sample& sample,
                                              std::span<EventIncrement> increments);
  bool fell(const Sample& sample) const;
  bool counted(const Sample& sample) const;
  void check_running(const Sample& sample, Passed& passed, GroupIncrement& increment) const;
  std::optional<double> clock_always_in(const Sample& sample,
                                        std::chrono::nanoseconds enabled) const;
  void observe(const Sample& sample, std::span<EventIncrement> increments);
  void set_baseline(const Sample& sample);
  Passed since_baseline(const Sample& sample, GroupIncrement& increment) const;
  void add_reference(const Sample& sample, Passed& passed, GroupIncrement& increment) const;
  void cap_imputation(const Sample& sample, Passed& passed, GroupIncrement& increment);
  bool can_commit() const;
  void commit(Event& event, const EventModel& model, EventIncrement& increment,
              ModelUpdate& update);

  std::chrono::nanoseconds mux_interval_;
  Baseline baseline_;
  Observed open_;  ///< the interval since the last commit, without its events
  bool open_has_reference_ = true;
  std::chrono::nanoseconds starved_{};          ///< consecutive time enabled without the PMU
  std::chrono::nanoseconds pending_starved_{};  ///< the part of open_ without the PMU
  std::vector<std::uint64_t> counts_;           ///< of the events, at the last sample
  std::vector<Event> events_;
  bool keeps_history_;
};

}  // namespace pex::estimate
