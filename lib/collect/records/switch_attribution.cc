#include "collect/records/switch_attribution.h"

#include <algorithm>
#include <utility>

#include "collect/totals.h"

namespace pex::collect {
namespace {

using std::chrono::nanoseconds;

/// Totals start at 0 and have 64 bits: an increment above half their range is a fall.
std::uint64_t increment(std::uint64_t from, std::uint64_t to, bool& any_fell) {
  const std::uint64_t increment = to - from;
  if (increment >> 63 == 0) return increment;
  any_fell = true;
  return 0;
}

nanoseconds increment(nanoseconds from, nanoseconds to, bool& any_fell) {
  const auto words = [](nanoseconds time) { return static_cast<std::uint64_t>(time.count()); };
  return nanoseconds{static_cast<std::int64_t>(increment(words(from), words(to), any_fell))};
}

}  // namespace

bool SwitchAttribution::Interval::had_the_pmu() const {
  return had_it_all_the_time() || enabled - running <= enabled / 100 * kMaxOffPmuPercent;
}

void SwitchAttribution::add_group(std::size_t group, std::size_t counts, bool is_base) {
  if (group >= groups_.size()) groups_.resize(group + 1);
  groups_[group].emplace();
  groups_[group]->counts.resize(counts);
  groups_[group]->is_base = is_base;
  groups_[group]->switches_of_base = base_switches_;
  sums_.add_group(group, counts);
}

void SwitchAttribution::remove_group(std::size_t group) {
  if (group >= groups_.size()) return;
  groups_[group].reset();
  sums_.remove_group(group);
}

SwitchAttribution::Group* SwitchAttribution::find(std::size_t group, const SwitchValues& values) {
  if (group >= groups_.size() || !groups_[group]) return nullptr;
  return groups_[group]->counts.size() == values.counts.size() ? &*groups_[group] : nullptr;
}

/// What happened since the last values, which are now these.
SwitchAttribution::Interval SwitchAttribution::advance(Group& group, const SwitchValues& values) {
  Interval interval;
  bool& fell = interval.any_fell;
  interval.enabled = increment(group.enabled, values.enabled, fell);
  interval.running = increment(group.running, values.running, fell);
  interval.switches = increment(group.switches, values.switches, fell);
  increments_.resize(values.counts.size());
  for (std::size_t event = 0; event < values.counts.size(); ++event) {
    increments_[event] = increment(group.counts[event], values.counts[event], fell);
    group.counts[event] = values.counts[event];
  }
  group.enabled = values.enabled;
  group.running = values.running;
  group.switches = values.switches;
  return interval;
}

/// Up to a switch at which this cgroup leaves, by a record of another group. The record of the base
/// of the same switch comes before that or after it, as the kernel happens to have the groups. If
/// it has come, it has the same cgroup. The one of the switch before has another, or else that
/// cgroup left twice in a row (SwitchLeader::kContextSwitches), and whose the interval is does not
/// change.
std::uint64_t SwitchAttribution::switches_of_base(std::uint64_t cgroup) const {
  return base_switches_ + (left_base_ == cgroup ? 0 : 1);
}

void SwitchAttribution::record(std::size_t group, const SwitchValues& values) {
  Group* const of = find(group, values);
  if (of == nullptr) return;
  const Interval interval = advance(*of, values);
  if (of->is_base) {
    base_switches_ = values.switches;
    left_base_ = values.cgroup;
  }
  const std::uint64_t switches = of->is_base ? 0 : switches_of_base(values.cgroup);
  const std::uint64_t switches_before = std::exchange(of->switches_of_base, switches);
  const bool is_one_switch =
      of->is_base || interval.had_it_all_the_time() || switches - switches_before <= 1;
  const bool has_loss = std::exchange(of->has_loss, false);
  const bool is_skipped = !has_loss && !interval.any_fell && interval.switches != 1;
  ++statistics_.records;
  statistics_.skipped += is_skipped ? 1 : 0;
  if (has_loss || is_skipped || interval.any_fell || !interval.had_the_pmu() || !is_one_switch) {
    drop(*of, values.cgroup, interval, is_skipped);
  } else {
    add(group, values.cgroup, interval);
  }
}

void SwitchAttribution::loss(std::uint64_t records) {
  statistics_.lost += records;
  for (std::optional<Group>& group : groups_) {
    if (group) group->has_loss = true;
  }
}

void SwitchAttribution::interrupt(std::size_t group) {
  if (group >= groups_.size() || !groups_[group]) return;
  groups_[group]->has_loss = true;
  ++groups_[group]->dropped;  // at once: while it is stopped there is no record
}

/// What was lost may have happened before the reading or after it, so the interval goes on then. A
/// switch of the base since the last record may have happened after the reading, too; then the
/// counts are dropped without need.
void SwitchAttribution::reading(std::size_t group, const SwitchValues& values) {
  Group* const of = find(group, values);
  if (of == nullptr || of->has_loss || values.switches != of->switches) return;
  const Interval interval = advance(*of, values);
  const bool is_no_switch =
      of->is_base || interval.had_it_all_the_time() || base_switches_ <= of->switches_of_base;
  if (interval.any_fell || !interval.had_the_pmu() || !is_no_switch) {
    drop(*of, values.cgroup, interval, false);
  } else {
    add(group, values.cgroup, interval);
  }
}

void SwitchAttribution::add(std::size_t group, std::uint64_t cgroup, const Interval& interval) {
  if (!groups_[group]->is_base) {
    return sums_.add_counts(group, cgroup, interval.running, increments_);
  }
  statistics_.time = saturating_sum(statistics_.time, interval.enabled);
  // The base never loses the PMU: some microseconds only pass until the kernel starts it.
  sums_.add(group, cgroup, interval.enabled, interval.enabled, increments_);
}

void SwitchAttribution::drop(Group& group, std::uint64_t cgroup, const Interval& interval,
                             bool is_skipped) {
  ++statistics_.dropped;
  ++group.dropped;
  statistics_.dropped_time = saturating_sum(statistics_.dropped_time, interval.enabled);
  sums_.saw(cgroup);
  if (!group.is_base) return;
  statistics_.time = saturating_sum(statistics_.time, interval.enabled);
  statistics_.lost_time = saturating_sum(statistics_.lost_time, interval.enabled);
  if (is_skipped) {
    statistics_.skipped_time = saturating_sum(statistics_.skipped_time, interval.enabled);
  }
  nanoseconds& to_share = is_skipped ? skipped_time_ : lost_time_;
  to_share = saturating_sum(to_share, interval.enabled);
}

/// False if the poll takes more than there is; then nothing is left.
bool SwitchAttribution::Allowance::take(const Statistics& poll) {
  records +=
      static_cast<std::int64_t>(poll.records) - kOneOf * static_cast<std::int64_t>(poll.skipped);
  time = saturating_sum(time, poll.time) -
         kOneOf * std::min(poll.skipped_time, nanoseconds::max() / kOneOf);
  const bool is_enough = records >= 0 && time.count() >= 0;
  records = std::clamp<std::int64_t>(records, 0, kOneOf * kMaxRecords);
  time = std::clamp(time, nanoseconds{0}, nanoseconds{kOneOf * kMaxTime});
  return is_enough;
}

SwitchAttribution::Statistics SwitchAttribution::end_poll(nanoseconds now) {
  const Statistics before = std::exchange(before_, statistics_);
  Statistics poll{.records = statistics_.records - before.records,
                  .lost = statistics_.lost - before.lost,
                  .skipped = statistics_.skipped - before.skipped,
                  .dropped = statistics_.dropped - before.dropped,
                  .dropped_time = statistics_.dropped_time - before.dropped_time,
                  .lost_time = statistics_.lost_time - before.lost_time,
                  .skipped_time = statistics_.skipped_time - before.skipped_time,
                  .time = statistics_.time - before.time};
  poll.are_complete = allowance_.take(poll);
  const nanoseconds skipped = std::exchange(skipped_time_, {});
  if (poll.are_complete) lost_time_ = saturating_sum(lost_time_, skipped);
  lost_time_ = sums_.share(lost_time_);
  sums_.end_poll(now);
  return poll;
}

}  // namespace pex::collect
