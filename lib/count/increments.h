#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "count/group_state.h"
#include "count/totals.h"

namespace pex::collect {

/// Slots of targets, from `first` up to `end`.
struct SlotRange {
  std::size_t first = 0;
  std::size_t end = 0;
};

/// What one group has counted at its targets on one CPU, and how its state there has changed, since
/// the ledger took it. Flat, in the order in which it was counted. Most groups have the PMU all the
/// time: of these, only the time and the counts are kept.
class Increments {
 public:
  explicit Increments(std::size_t events) : events_(events) {}

  /// It had the PMU all the time.
  void add_exact(std::size_t slot, std::chrono::nanoseconds enabled,
                 std::span<const std::uint64_t> counts) {
    exact_.add(slot, static_cast<std::uint64_t>(enabled.count()));
    exact_.values.insert(exact_.values.end(), counts.begin(), counts.end());
  }
  void add(std::size_t slot, const estimate::GroupIncrement& group,
           std::span<const estimate::EventIncrement> events) {
    estimated_.add(slot, times_of(group));
    for (const estimate::EventIncrement& event : events) totals_.push_back(total_of(event));
  }
  /// Time in which nothing was counted.
  void add_times(std::size_t slot, const GroupTimes& times) {
    estimated_.add(slot, times);
    totals_.resize(totals_.size() + events_);
  }
  /// Time in which the target may have run, and nothing was counted.
  void add_lost(std::size_t slot, std::chrono::nanoseconds time) { lost_.add(slot, time); }
  void change_state(std::size_t slot, const GroupState& before, const GroupState& now) {
    changed_.add(slot, {before, now});
  }

  std::size_t size() const {
    return exact_.slots.size() + estimated_.slots.size() + lost_.slots.size() +
           changed_.slots.size();
  }
  /// Not all of it was counted all the time.
  bool is_estimated() const { return !estimated_.slots.empty() || !lost_.slots.empty(); }
  void clear() {
    exact_.clear();
    estimated_.clear();
    empty(totals_);
    lost_.clear();
    changed_.clear();
  }

  /// Calls for each element in `range`, in order,
  ///   sink.add_exact(slot, enabled, counts), sink.add(slot, times, totals),
  ///   sink.add_lost(slot, time) or sink.change_state(slot, before, now).
  template <typename Sink>
  void for_each(SlotRange range, Sink&& sink) const {
    exact_.for_each(range, [&](std::size_t slot, std::size_t i) {
      const std::span values = std::span(exact_.values).subspan(i * (events_ + 1), events_ + 1);
      sink.add_exact(slot, std::chrono::nanoseconds{values.front()}, values.subspan(1));
    });
    estimated_.for_each(range, [&](std::size_t slot, std::size_t i) {
      sink.add(slot, estimated_.values[i], std::span(totals_).subspan(i * events_, events_));
    });
    lost_.for_each(range,
                   [&](std::size_t slot, std::size_t i) { sink.add_lost(slot, lost_.values[i]); });
    changed_.for_each(range, [&](std::size_t slot, std::size_t i) {
      sink.change_state(slot, changed_.values[i].before, changed_.values[i].now);
    });
  }

 private:
  /// Keeps the memory, as the next poll takes about as much; not that of a burst.
  template <typename T>
  static void empty(std::vector<T>& values) {
    constexpr std::size_t kMuch = 1024;
    const bool is_much = values.capacity() > kMuch && values.capacity() / 4 > values.size();
    if (is_much) {
      values = {};
    } else {
      values.clear();
    }
  }
  /// Slots, and what is added of each. They rise, except in a poll in which counters are opened or
  /// closed.
  template <typename Value>
  struct List {
    std::vector<std::uint32_t> slots;
    std::vector<Value> values;
    bool rise = true;

    void add(std::size_t slot, const Value& value) {
      rise = rise && (slots.empty() || slots.back() <= slot);
      slots.push_back(static_cast<std::uint32_t>(slot));
      values.push_back(value);
    }
    void clear() {
      empty(slots);
      empty(values);
      rise = true;
    }
    template <typename Step>
    void for_each(SlotRange range, Step step) const {
      const auto first =
          rise ? std::lower_bound(slots.begin(), slots.end(), range.first) : slots.begin();
      for (auto slot = first; slot != slots.end(); ++slot) {
        if (*slot >= range.first && *slot < range.end) {
          step(*slot, static_cast<std::size_t>(slot - slots.begin()));
        } else if (rise) {
          return;
        }
      }
    }
  };
  struct StateChange {
    GroupState before;
    GroupState now;
  };

  std::size_t events_;
  List<std::uint64_t> exact_;  ///< values: of each the time in ns, and the counts
  List<GroupTimes> estimated_;
  std::vector<EventTotal> totals_;  ///< of those: [i * events + event]
  List<std::chrono::nanoseconds> lost_;
  List<StateChange> changed_;
};

}  // namespace pex::collect
