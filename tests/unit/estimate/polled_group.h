#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/increase.h"
#include "estimate/event_model.h"
#include "estimate/group_estimator.h"

namespace pex::estimate {

/// A reference as the kernel has it: totals.
struct ReferenceTotals {
  std::uint64_t sampled = 0;
  std::uint64_t always = 0;
  std::chrono::nanoseconds always_enabled{};
};

/// What the kernel says of one group; a test moves it on as it likes.
struct KernelTotals {
  std::chrono::nanoseconds enabled{};
  std::chrono::nanoseconds running{};
  std::vector<std::uint64_t> counts = {};
  std::optional<ReferenceTotals> reference = {};
  std::optional<std::chrono::nanoseconds> clock = {};
  std::optional<ClockTotals> clock_always = {};
};

/// What has passed between two readings of a group, as its source has it.
class PassedTotals {
 public:
  explicit PassedTotals(std::size_t events) { restart(events); }

  /// It was opened again: all totals begin at 0.
  void restart(std::size_t events) {
    last_ = {.counts = std::vector<std::uint64_t>(events), .clock = std::chrono::nanoseconds{0}};
    last_.reference.emplace();
  }

  /// Valid until the next call.
  Interval advance(const KernelTotals& now) {
    counts_.clear();
    Interval interval;
    interval.enabled = passed(last_.enabled, now.enabled, interval.fell);
    interval.running = passed(last_.running, now.running, interval.fell);
    for (std::size_t event = 0; event < now.counts.size(); ++event) {
      counts_.push_back(passed(last_.counts[event], now.counts[event], interval.fell));
    }
    interval.counts = counts_;
    if (now.clock) interval.clock = increase(*last_.clock, *now.clock);
    interval.clock_always = now.clock_always;
    if (now.reference) {
      bool fell = false;
      const std::uint64_t sampled = passed(last_.reference->sampled, now.reference->sampled, fell);
      interval.reference = {sampled, now.reference->always, now.reference->always_enabled, fell};
    }
    const KernelTotals before = std::exchange(last_, now);
    if (!last_.clock) last_.clock = before.clock;
    if (!last_.reference) last_.reference = before.reference;
    return interval;
  }

 private:
  template <typename Total>
  static Total passed(Total from, Total to, bool& fell) {
    const std::optional<Total> more = increase(from, to);
    fell = fell || !more;
    return more.value_or(Total{});
  }

  KernelTotals last_;
  std::vector<std::uint64_t> counts_;
};

/// What happens between two polls. The reference is read together with the group.
struct Passing {
  std::chrono::nanoseconds enabled{};
  std::chrono::nanoseconds running{};
  std::uint64_t events = 0;  ///< of each event
  std::uint64_t sampled = 0;
  std::uint64_t reference = 0;
};

/// One group at one target that is polled again and again, with models of its own.
class PolledGroup {
 public:
  explicit PolledGroup(std::size_t events = 1,
                       std::chrono::nanoseconds mux_interval = std::chrono::milliseconds{4},
                       bool keeps_history = true)
      : models(events),
        increments(events),
        passed_(events),
        group_(events, mux_interval, keeps_history) {
    kernel.counts.resize(events);
  }

  PolledGroup& with_reference() {
    kernel.reference.emplace();
    return *this;
  }
  /// In the group, and next to it one that is always counted.
  PolledGroup& with_clock() {
    kernel.clock.emplace();
    kernel.clock_always.emplace();
    return *this;
  }

  /// Lets time pass in the kernel. The clocks, if any, agree with its times.
  void pass(const Passing& passing) {
    kernel.enabled += passing.enabled;
    kernel.running += passing.running;
    for (std::uint64_t& count : kernel.counts) count += passing.events;
    if (kernel.clock) *kernel.clock += passing.running;
    if (kernel.clock_always) {
      kernel.clock_always->counted += passing.enabled;
      kernel.clock_always->enabled += passing.enabled;
    }
    if (!kernel.reference) return;
    kernel.reference->sampled += passing.sampled;
    kernel.reference->always += passing.reference;
    kernel.reference->always_enabled += passing.enabled;
  }

  /// One poll of what the kernel says now; the models learn from it.
  const GroupIncrement& poll() { return poll(kernel); }

  const GroupIncrement& poll(const KernelTotals& now, bool is_stopped = false,
                             bool kernel_mistimes = false) {
    std::vector<ModelUpdate> updates(models.size());
    Interval interval = passed_.advance(now);
    interval.kernel_mistimes = mistimed_ || kernel_mistimes;
    interval.is_stopped = is_stopped;
    last = group_.advance(interval, models, increments, updates);
    mistimed_ = mistimed_ || last.mistimed;
    for (std::size_t event = 0; event < models.size(); ++event) {
      models[event].learn(updates[event]);
    }
    enabled += last.enabled;
    running += last.running;
    imputed += last.imputed;
    unmeasured += last.unmeasured;
    value += increments.front().observed + increments.front().extrapolated;
    extrapolated += increments.front().extrapolated;
    variance += increments.front().variance;
    return last;
  }

  /// Of a kernel that is known to account times to the wrong group, or not.
  const GroupIncrement& poll_knowing(const KernelTotals& now, bool kernel_mistimes) {
    return poll(now, /*is_stopped=*/false, kernel_mistimes);
  }

  const GroupIncrement& poll_after(const Passing& passing) {
    pass(passing);
    return poll();
  }

  void restart() {
    passed_.restart(models.size());
    kernel.enabled = kernel.running = {};
    kernel.counts.assign(models.size(), 0);
    if (kernel.reference) kernel.reference->sampled = 0;
    if (kernel.clock) kernel.clock.emplace();
  }

  KernelTotals kernel;
  std::vector<EventModel> models;
  std::vector<EventIncrement> increments;  ///< of the last poll
  GroupIncrement last;

  /// ns, without overflow whatever the kernel says.
  using Time = std::chrono::duration<long double, std::nano>;
  // Totals over all polls; those of events are of the first.
  Time enabled{};
  Time running{};
  Time imputed{};
  Time unmeasured{};
  std::uint64_t value = 0;
  std::uint64_t extrapolated = 0;
  double variance = 0;

 private:
  PassedTotals passed_;
  GroupEstimator group_;
  bool mistimed_ = false;  ///< some poll was
};

}  // namespace pex::estimate
