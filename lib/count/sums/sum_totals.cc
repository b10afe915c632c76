#include "count/sums/sum_totals.h"

#include <algorithm>

namespace pex::collect {
namespace {

using std::chrono::nanoseconds;

std::uint64_t advance_one(std::uint64_t& before, std::uint64_t now) {
  const std::uint64_t more = now > before ? now - before : 0;
  before += more;
  return more;
}

nanoseconds advance_one(nanoseconds& before, nanoseconds now) {
  const nanoseconds more = std::max(now - before, nanoseconds{0});
  before += more;
  return more;
}

double advance_one(double& before, double now) {
  const double more = std::max(now - before, 0.0);
  before = std::max(before, now);
  return more;
}

GroupTimes advance_one(GroupTimes& before, const GroupTimes& now) {
  return {.enabled = advance_one(before.enabled, now.enabled),
          .running = advance_one(before.running, now.running),
          .imputed = advance_one(before.imputed, now.imputed),
          .unmeasured = advance_one(before.unmeasured, now.unmeasured),
          .reference = advance_one(before.reference, now.reference),
          .reference_sampled = advance_one(before.reference_sampled, now.reference_sampled)};
}

EventTotal advance_one(EventTotal& before, const EventTotal& now) {
  return {advance_one(before.value, now.value), advance_one(before.observed, now.observed),
          advance_one(before.variance, now.variance)};
}

void reduce(std::uint64_t& from, std::uint64_t by) { from -= std::min(from, by); }
void reduce(nanoseconds& from, nanoseconds by) { from = std::max(from - by, nanoseconds{0}); }
void reduce(double& from, double by) { from = std::max(from - by, 0.0); }

void reduce(GroupTimes& from, const GroupTimes& by) {
  reduce(from.enabled, by.enabled);
  reduce(from.running, by.running);
  reduce(from.imputed, by.imputed);
  reduce(from.unmeasured, by.unmeasured);
  reduce(from.reference, by.reference);
  reduce(from.reference_sampled, by.reference_sampled);
}

void reduce(EventTotal& from, const EventTotal& by) {
  reduce(from.value, by.value);
  reduce(from.observed, by.observed);
  reduce(from.variance, by.variance);
}

EventTotal total_of(const GroupTable& table, std::size_t event, RowRange rows) {
  EventTotal total;
  for (std::size_t row = rows.first; row < rows.end; ++row) total.add(table.total(row, event));
  return total;
}

}  // namespace

SumTotals::SumTotals(const CountingPlan& plan) {
  for (const GroupPlan& group : plan.cgroup.groups) {
    groups_.push_back({{}, std::vector<EventTotal>(group.estimated())});
  }
}

void SumTotals::follow(const ScopePlan& before, const ScopePlan& now) {
  follow_groups(before, now, groups_, [](const GroupPlan& group) {
    return Group{{}, std::vector<EventTotal>(group.estimated())};
  });
}

GroupTimes SumTotals::times_of(const Snapshot& snapshot, std::size_t group, RowRange rows) {
  GroupTimes times;
  for (std::size_t row = rows.first; row < rows.end; ++row) {
    times.add(snapshot.cgroup[group].rows[row].times);
  }
  return times;
}

bool SumTotals::has_other_times(const Snapshot& snapshot, RowRange rows) const {
  for (std::size_t group = 0; group < groups(); ++group) {
    const GroupTimes now = times_of(snapshot, group, rows);
    const GroupTimes& these = times(group);
    if (now.enabled != these.enabled || now.running != these.running ||
        now.imputed != these.imputed || now.unmeasured != these.unmeasured) {
      return true;
    }
  }
  return false;
}

void SumTotals::add(const SumTotals& more) {
  for (std::size_t group = 0; group < groups(); ++group) {
    groups_[group].times.add(more.times(group));
    for (std::size_t event = 0; event < groups_[group].totals.size(); ++event) {
      groups_[group].totals[event].add(more.total(group, event));
    }
  }
}

void SumTotals::add(const Snapshot& snapshot, RowRange rows) {
  for (std::size_t group = 0; group < groups(); ++group) {
    groups_[group].times.add(times_of(snapshot, group, rows));
    for (std::size_t event = 0; event < groups_[group].totals.size(); ++event) {
      groups_[group].totals[event].add(total_of(snapshot.cgroup[group], event, rows));
    }
  }
}

void SumTotals::subtract(const SumTotals& less) {
  for (std::size_t group = 0; group < groups(); ++group) {
    reduce(groups_[group].times, less.times(group));
    for (std::size_t event = 0; event < groups_[group].totals.size(); ++event) {
      reduce(groups_[group].totals[event], less.total(group, event));
    }
  }
}

void SumTotals::advance(const Snapshot& snapshot, RowRange rows, SumTotals& more) {
  for (std::size_t group = 0; group < groups(); ++group) {
    Group& before = groups_[group];
    more.groups_[group].times = advance_one(before.times, times_of(snapshot, group, rows));
    for (std::size_t event = 0; event < before.totals.size(); ++event) {
      more.groups_[group].totals[event] =
          advance_one(before.totals[event], total_of(snapshot.cgroup[group], event, rows));
    }
  }
}

}  // namespace pex::collect
