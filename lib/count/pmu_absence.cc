#include "count/pmu_absence.h"

#include "count/totals.h"
#include "estimate/group_estimator.h"

namespace pex::collect {

void PmuAbsence::resize(std::size_t targets) {
  fit(targets_, targets);
  wanted_.resize(targets);
  lacking_.resize(targets);
}

void PmuAbsence::forget(std::size_t target) {
  targets_[target] = {};
  wanted_.remove(target);
  lacking_.remove(target);
}

void PmuAbsence::add(std::size_t target, std::chrono::nanoseconds wanted, bool had_the_pmu) {
  Target& of = targets_[target];
  if (!wanted_.has(target) && has_long_rested(of)) of.without = {};
  if (wanted.count() > 0) wanted_.add(target);
  of.without = had_the_pmu ? std::chrono::nanoseconds{0} : saturating_sum(of.without, wanted);
}

/// As of the end of the last poll: it was last enabled so long ago that what it lacked then does
/// not matter any more.
bool PmuAbsence::has_long_rested(const Target& target) const {
  return ended_at_ - target.last_wanted > estimate::kMaxImputed;
}

bool PmuAbsence::lacks(std::size_t target) const {
  const Target& of = targets_[target];
  return of.without > estimate::kMaxImputed && !has_long_rested(of);
}

void PmuAbsence::end_poll(std::chrono::nanoseconds now, RowSet& changed) {
  ended_at_ = now;
  wanted_.for_each([&](std::size_t target) {
    targets_[target].last_wanted = now;
    if (lacks(target)) lacking_.add(target);
  });
  wanted_.clear();
  if (lacking_.size() == 0) return;
  changed.add_all(lacking_);  // the last time it is one that no longer lacks it
  const RowSet lacked = lacking_;
  lacking_.clear();
  lacked.for_each([&](std::size_t target) {
    if (lacks(target)) lacking_.add(target);
  });
}

}  // namespace pex::collect
