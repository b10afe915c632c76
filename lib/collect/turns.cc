#include "collect/turns.h"

#include <algorithm>

namespace pex::collect {
namespace {

constexpr unsigned kStarvedPolls = 3;   // may be chance in fewer
constexpr unsigned kTurnsInARow = 300;  // 5 minutes at the default interval

bool takes_part(const TargetGroup& group) {
  return group.is_open() && group.plan().takes_turns() && group.plan().auxiliary.always_on;
}

/// Whether the target had the CPU since the last poll, by its clock: that is read whatever becomes
/// of `group`.
bool was_on_cpu(const TargetGroup& group, std::span<const TargetGroup> groups) {
  return groups[*group.plan().auxiliary.always_on].was_wanted();
}

/// One group has nothing and another has everything.
bool starves(std::span<const TargetGroup> groups) {
  bool one_starves = false;
  bool one_has_all = false;
  for (const TargetGroup& group : groups) {
    if (!takes_part(group)) continue;
    one_starves = one_starves || group.starved_polls() >= kStarvedPolls;
    one_has_all = one_has_all || group.had_the_pmu();
  }
  return one_starves && one_has_all;
}

}  // namespace

void Turns::take(perf::PerfKernel& kernel, std::span<TargetGroup> groups) {
  if (!are_taken()) {
    if (!starves(groups)) return;
    for (TargetGroup& group : groups) group.set_in_turns(true);
  } else if (taken_ >= kTurnsInARow || std::none_of(groups.begin(), groups.end(), takes_part)) {
    return leave_to_kernel(kernel, groups);
  } else if (takes_part(groups[current_]) && !was_on_cpu(groups[current_], groups)) {
    return;  // it has not had its turn yet
  }
  next(kernel, groups);
}

void Turns::next(perf::PerfKernel& kernel, std::span<TargetGroup> groups) {
  for (std::size_t step = 1; step <= groups.size(); ++step) {
    const std::size_t candidate = (current_ + step) % groups.size();
    if (!takes_part(groups[candidate])) continue;
    current_ = candidate;
    break;
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (takes_part(groups[i]) && i != current_) groups[i].stop(kernel);
  }
  if (takes_part(groups[current_])) groups[current_].start(kernel);
  ++taken_;
}

void Turns::leave_to_kernel(perf::PerfKernel& kernel, std::span<TargetGroup> groups) {
  for (TargetGroup& group : groups) {
    group.set_in_turns(false);
    if (group.is_open()) group.start(kernel);
  }
  taken_ = 0;
}

}  // namespace pex::collect
