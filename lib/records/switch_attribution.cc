#include "records/switch_attribution.h"

#include <utility>

#include "base/increase.h"
#include "count/totals.h"

namespace pex::collect {
namespace {

using std::chrono::nanoseconds;

/// 0 of one that fell.
template <typename Total>
Total increment(Total from, Total to, bool& any_fell) {
  const std::optional<Total> more = increase(from, to);
  any_fell = any_fell || !more;
  return more.value_or(Total{});
}

}  // namespace

bool SwitchAttribution::Interval::had_it_nearly_all_the_time() const {
  return had_the_pmu() || enabled - running <= enabled / 100 * kMaxOffPmuPercent;
}

void SwitchAttribution::add_group(std::size_t group, std::size_t counts, bool is_base) {
  if (group >= groups_.size()) groups_.resize(group + 1);
  groups_[group].emplace();
  groups_[group]->counts.resize(counts);
  groups_[group]->is_base = is_base;
  groups_[group]->switch_of_base = base_switches_;
  sums_.add_group(group, counts);
}

void SwitchAttribution::remove_group(std::size_t group) {
  if (group >= groups_.size()) return;
  groups_[group].reset();
  std::erase(awaiting_base_, group);
  sums_.remove_group(group);
}

SwitchAttribution::Group* SwitchAttribution::find(const perf::SwitchRecord& record) {
  if (record.group >= groups_.size() || !groups_[record.group]) return nullptr;
  Group& group = *groups_[record.group];
  return group.counts.size() == record.counts.size() ? &group : nullptr;
}

/// What happened since the last values, which are now these.
SwitchAttribution::Interval SwitchAttribution::advance(Group& group,
                                                       const perf::SwitchRecord& record) {
  Interval interval;
  bool& fell = interval.any_fell;
  interval.enabled = increment(group.enabled, record.enabled, fell);
  interval.running = increment(group.running, record.running, fell);
  interval.switches = increment(group.happened.switches, record.happened.switches, fell);
  interval.moves = increment(group.happened.moves, record.happened.moves, fell);
  increments_.resize(record.counts.size());
  for (std::size_t event = 0; event < record.counts.size(); ++event) {
    increments_[event] = increment(group.counts[event], record.counts[event], fell);
    group.counts[event] = record.counts[event];
  }
  group.enabled = record.enabled;
  group.running = record.running;
  group.happened = record.happened;
  return interval;
}

void SwitchAttribution::record(const perf::SwitchRecord& record) {
  Group* const of = find(record);
  if (of == nullptr) return;
  const Interval interval = advance(*of, record);
  const bool has_loss = std::exchange(of->has_loss, false);
  const bool is_broken = has_loss || interval.any_fell;
  const bool is_skipped = !is_broken && interval.switches + interval.moves != 1;
  const bool is_moved = !is_broken && !is_skipped && interval.moves > 0;
  ++statistics_.records;
  statistics_.skipped += is_skipped ? 1 : 0;
  const std::optional<std::uint64_t> ran = is_moved ? current_ : record.cgroup;
  if (!ran) statistics_.moved_time = saturating_sum(statistics_.moved_time, interval.enabled);
  if (!of->is_base) await_base(record.group, record.cgroup);
  // The base never loses the PMU: some microseconds only pass until the kernel starts it.
  const bool had_the_pmu =
      of->is_base ? interval.had_it_nearly_all_the_time() : interval.had_the_pmu();
  if (is_broken || is_skipped || !ran || (of->is_base && !had_the_pmu)) {
    drop(*of, interval);
  } else if (had_the_pmu) {
    add(record.group, *ran, interval, increments_);
  } else {
    decide_later(*of, interval);
  }
  if (!of->is_base) return;
  if (interval.moves > 0) return note_move(record);
  for (const std::size_t awaiting : awaiting_base_) place(awaiting, record);
  awaiting_base_.clear();
  base_switches_ = record.happened.switches;
  left_base_ = record.cgroup;
  current_.reset();
}

/// A second record that follows the same one of the base: the first is then of the switch of that
/// one, and this one of the next.
void SwitchAttribution::await_base(std::size_t group, std::uint64_t cgroup) {
  Group& of = *groups_[group];
  of.left = cgroup;
  if (++of.records_since_base == 1) return awaiting_base_.push_back(group);
  of.switch_of_base = base_switches_;
  if (std::exchange(of.has_undecided, false)) drop(of, of.undecided);
}

void SwitchAttribution::decide_later(Group& group, const Interval& interval) {
  ++group.imperfect;
  group.has_undecided = true;
  group.undecided = interval;
  group.undecided_counts.assign(increments_.begin(), increments_.end());
}

/// The records of the group that await the base are between its last one and this one.
void SwitchAttribution::place(std::size_t group, const perf::SwitchRecord& base) {
  Group& of = *groups_[group];
  const std::size_t records = std::exchange(of.records_since_base, 0);
  const bool is_at_last = records == 1 && of.left == left_base_;
  const bool is_at_this = records == 2 || (records == 1 && of.left == base.cgroup);
  std::optional<std::uint64_t> at;
  if (base.happened.switches == base_switches_ + 1 && is_at_last != is_at_this) {
    at = is_at_last ? base_switches_ : base.happened.switches;
  }
  decide(group, at);
}

/// Its last record is of this switch of the base; nothing: that is unknown.
void SwitchAttribution::decide(std::size_t group, std::optional<std::uint64_t> at) {
  Group& of = *groups_[group];
  const std::optional<std::uint64_t> before = std::exchange(of.switch_of_base, at);
  if (!std::exchange(of.has_undecided, false)) return;
  if (at && before && *at == *before + 1) {
    add(group, of.left, of.undecided, of.undecided_counts);
  } else {
    drop(of, of.undecided);
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
  ++groups_[group]->imperfect;  // at once: while it is stopped there is no record
}

void SwitchAttribution::resume(std::size_t group) {
  if (group >= groups_.size() || !groups_[group]) return;
  Group& of = *groups_[group];
  if (std::exchange(of.has_undecided, false)) drop(of, of.undecided);
  std::erase(awaiting_base_, group);
  of.records_since_base = 0;
  of.switch_of_base = base_switches_;
}

/// The base has had no switch since its last record, so a record of another group that came after
/// that one is of the same switch. Else its interval would be decided a poll after its time.
void SwitchAttribution::place_at_last_switch() {
  std::erase_if(awaiting_base_, [this](std::size_t group) {
    if (!is_at_last_switch(*groups_[group])) return false;
    groups_[group]->records_since_base = 0;
    decide(group, base_switches_);
    return true;
  });
}

/// Whether the last record of the group is of the same switch as that of the base.
bool SwitchAttribution::is_at_last_switch(const Group& group) const {
  if (group.records_since_base == 0) return group.switch_of_base == base_switches_;
  return group.records_since_base == 1 && group.left == left_base_;
}

/// What came before the record of a move is of the last switch of the base, and what follows of the
/// next one, in which the same cgroup may leave again. With a switch of the base, a record is
/// missing, and this one may be of either.
void SwitchAttribution::note_move(const perf::SwitchRecord& base) {
  // Not of a switch after a lost one.
  const bool is_of_move = base.happened.switches == base_switches_;
  if (is_of_move) place_at_last_switch();
  for (const std::size_t awaiting : awaiting_base_) {
    groups_[awaiting]->records_since_base = 0;
    decide(awaiting, {});
  }
  awaiting_base_.clear();
  base_switches_ = base.happened.switches;
  left_base_ = kNoCgroup;
  current_ = is_of_move ? std::optional(base.cgroup) : std::nullopt;
  for (std::optional<Group>& group : groups_) {
    if (group && !group->is_base) group->has_loss = true;
  }
}

/// What was lost may have happened before the reading or after it, so the interval goes on then. A
/// switch of the base since the last record may have happened after the reading, too; then the
/// counts are dropped without need.
void SwitchAttribution::reading(const perf::SwitchRecord& reading) {
  Group* const of = find(reading);
  if (of == nullptr || of->has_loss || reading.happened != of->happened) return;
  if (of->is_base) place_at_last_switch();
  const Interval interval = advance(*of, reading);
  const bool is_no_switch = of->is_base || interval.had_the_pmu() || is_at_last_switch(*of);
  if (interval.any_fell || !interval.had_it_nearly_all_the_time() || !is_no_switch) {
    drop(*of, interval);
  } else {
    if (!interval.had_the_pmu()) ++of->imperfect;
    add(reading.group, reading.cgroup, interval, increments_);
  }
}

void SwitchAttribution::add(std::size_t group, std::uint64_t cgroup, const Interval& interval,
                            std::span<const std::uint64_t> counts) {
  if (!groups_[group]->is_base) {
    return sums_.add_counts(group, cgroup, interval.running, counts);
  }
  statistics_.time = saturating_sum(statistics_.time, interval.enabled);
  if (cgroup == kRootOfAll) {
    statistics_.root_time = saturating_sum(statistics_.root_time, interval.enabled);
  }
  sums_.add(group, cgroup, interval.enabled, interval.enabled, counts);
}

void SwitchAttribution::drop(Group& group, const Interval& interval) {
  ++statistics_.dropped;
  ++group.imperfect;
  statistics_.dropped_time = saturating_sum(statistics_.dropped_time, interval.enabled);
  if (!group.is_base) return;
  statistics_.time = saturating_sum(statistics_.time, interval.enabled);
  statistics_.lost_time = saturating_sum(statistics_.lost_time, interval.enabled);
  sums_.lose(interval.enabled);
}

/// False if too many are skipped.
bool SwitchAttribution::Sample::add(const Statistics& poll) {
  intervals += poll.records;
  skipped += poll.skipped;
  const bool is_complete = skipped < kMaxSkipped;
  if (!is_complete || intervals >= kOneOf * kMaxSkipped) *this = {};
  return is_complete;
}

SwitchAttribution::Statistics SwitchAttribution::end_poll(nanoseconds now) {
  const Statistics before = std::exchange(before_, statistics_);
  Statistics poll{.records = statistics_.records - before.records,
                  .lost = statistics_.lost - before.lost,
                  .skipped = statistics_.skipped - before.skipped,
                  .dropped = statistics_.dropped - before.dropped,
                  .dropped_time = statistics_.dropped_time - before.dropped_time,
                  .lost_time = statistics_.lost_time - before.lost_time,
                  .moved_time = statistics_.moved_time - before.moved_time,
                  .root_time = statistics_.root_time - before.root_time,
                  .time = statistics_.time - before.time};
  poll.are_complete = sample_.add(poll);
  sums_.end_poll(now);
  return poll;
}

void SwitchAttribution::end(const perf::SwitchRecord& base) {
  Group* const of = find(base);
  if (of == nullptr) return;
  const Interval interval = advance(*of, base);
  if (interval.enabled.count() > 0) drop(*of, interval);
}

}  // namespace pex::collect
