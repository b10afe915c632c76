#include "count/rotation.h"

#include <algorithm>

namespace pex::collect {
namespace {

constexpr unsigned kStarvedPolls = 3;     // may be chance in fewer
constexpr std::uint32_t kMaxSteps = 300;  // in a row: 5 minutes at the default interval

/// A group in the off phase of its duty cycle is skipped: its turn would be wasted.
bool takes_part(const TargetGroups& group, std::size_t target) {
  return !group.is_paused() && group.can_stop(target) && group.plan().is_multiplexed() &&
         group.plan().auxiliary.always_on;
}

/// Whether the target had the CPU since the last poll, by its clock, which is read independently of
/// `group`.
bool was_on_cpu(const TargetGroups& group, std::span<const TargetGroups> groups,
                std::size_t target) {
  return groups[*group.plan().auxiliary.always_on].estimation().known(target).was_wanted;
}

/// One group has nothing and another has everything.
bool starves(std::span<const TargetGroups> groups, std::size_t target) {
  bool one_starves = false;
  bool one_has_all = false;
  for (const TargetGroups& group : groups) {
    if (!takes_part(group, target)) continue;
    one_starves = one_starves || group.estimation().starved_polls(target) >= kStarvedPolls;
    one_has_all = one_has_all || group.estimation().had_the_pmu(target);
  }
  return one_starves && one_has_all;
}

}  // namespace

void Rotation::advance(std::span<TargetGroups> groups, std::size_t target) {
  const auto participates = [&](const TargetGroups& group) { return takes_part(group, target); };
  if (!is_manual()) {
    if (!starves(groups, target)) return;
  } else if (steps_ >= kMaxSteps || std::none_of(groups.begin(), groups.end(), participates)) {
    return leave_to_kernel(groups, target);
  } else if (participates(groups[current_]) && !was_on_cpu(groups[current_], groups, target)) {
    return;  // it has not had the PMU yet
  }
  next(groups, target);
}

void Rotation::next(std::span<TargetGroups> groups, std::size_t target) {
  for (std::size_t step = 1; step <= groups.size(); ++step) {
    const std::size_t candidate = (current_ + step) % groups.size();
    if (!takes_part(groups[candidate], target)) continue;
    current_ = static_cast<std::uint32_t>(candidate);
    break;
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (!takes_part(groups[i], target)) continue;
    groups[i].set_rotated(target, true);  // also one that was opened, or resumed, since the start
    if (i != current_) groups[i].stop(target);
  }
  if (takes_part(groups[current_], target)) groups[current_].start(target);
  ++steps_;
}

/// If the enabled group is gone, the next advance() enables another one.
void Rotation::follow(const ScopePlan& before, const ScopePlan& now) {
  const auto place = find_group(now, before.groups[current_].id);
  current_ = static_cast<std::uint32_t>(place.value_or(0));
}

void Rotation::leave_to_kernel(std::span<TargetGroups> groups, std::size_t target) {
  for (TargetGroups& group : groups) {
    group.set_rotated(target, false);
    if (group.is_open(target)) group.start(target);
  }
  steps_ = 0;
}

}  // namespace pex::collect
