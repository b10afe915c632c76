#include "cgroup/use/idle_cgroups.h"

#include <algorithm>
#include <utility>

namespace pex::cgroup {

void IdleCgroups::set_rules(Rules rules) {
  rules_ = rules;
  for (auto& [id, use] : uses_) use.close_after = rules.close_after;
}

bool IdleCgroups::update(const Cgroups& present, Clock::time_point now) {
  if (rules_.close_after <= std::chrono::nanoseconds{0}) return wake_all(present, now);
  if (now - read_at_ < kBetweenReads) return false;
  read_at_ = now;
  follow(present, now);
  bool has_changed = false;
  std::size_t reads = 0;
  for (std::size_t seen = 0; seen < present.size() && reads < kMaxReads; ++seen) {
    const Cgroup& cgroup = *present[next_++ % present.size()];
    Use& use = uses_.at(cgroup.id);
    if (!is_due(use, now)) continue;
    ++reads;
    use.read_at = now;
    has_changed = update(cgroup, use, now) || has_changed;
  }
  return has_changed;
}

bool IdleCgroups::is_due(const Use& use, Clock::time_point now) const {
  return use.is_idle || now - use.read_at >= rules_.close_after / kReadsOfBusy;
}

void IdleCgroups::follow(const Cgroups& present, Clock::time_point now) {
  for (auto& [id, use] : uses_) use.is_present = false;
  for (const auto& cgroup : present) {
    const auto [at, is_new] = uses_.try_emplace(cgroup->id);
    at->second.is_present = true;
    if (!is_new) continue;
    at->second.close_after = rules_.close_after;
    at->second.since = now;
  }
  std::erase_if(uses_, [this](const auto& each) {
    if (each.second.is_present) return false;
    idle_ -= each.second.is_idle ? 1 : 0;
    return true;
  });
}

/// True if it has become idle or busy.
bool IdleCgroups::update(const Cgroup& cgroup, Use& use, Clock::time_point now) {
  const std::optional<std::chrono::nanoseconds> read = cpu_time_(cgroup);
  const std::chrono::nanoseconds cpu_time = read.value_or(use.cpu_time);
  if (use.is_idle) {
    use.cpu_time = std::min(use.cpu_time, cpu_time);  // cpuacct.usage of version 1 can be reset
    if (read && cpu_time - use.cpu_time < rules_.open_after) return false;
    wake(use, cpu_time, now);
    return true;
  }
  if (!read || cpu_time != use.cpu_time) {
    use.cpu_time = cpu_time;
    use.since = now;
    return false;
  }
  if (now - use.since < use.close_after) return false;
  use.is_idle = true;
  ++idle_;
  return true;
}

void IdleCgroups::wake(Use& use, std::chrono::nanoseconds cpu_time, Clock::time_point now) {
  constexpr std::chrono::nanoseconds kMaxCloseAfter = std::chrono::hours{7 * 24};
  use.is_idle = false;
  --idle_;
  use.passed_over += std::max(cpu_time - use.cpu_time, std::chrono::nanoseconds{0});
  use.cpu_time = cpu_time;
  use.since = now;
  use.close_after = std::min(2 * use.close_after, kMaxCloseAfter);
}

bool IdleCgroups::wake_all(const Cgroups& present, Clock::time_point now) {
  if (idle_ == 0) return false;
  follow(present, now);
  for (const auto& cgroup : present) {
    Use& use = uses_.at(cgroup->id);
    if (use.is_idle) wake(use, cpu_time_(*cgroup).value_or(use.cpu_time), now);
  }
  return true;
}

bool IdleCgroups::is_idle(const Cgroup& cgroup) const {
  const auto at = uses_.find(cgroup.id);
  return at != uses_.end() && at->second.is_idle;
}

std::chrono::nanoseconds IdleCgroups::take_passed_over(const Cgroup& cgroup) {
  const auto at = uses_.find(cgroup.id);
  return at == uses_.end() ? std::chrono::nanoseconds{} : std::exchange(at->second.passed_over, {});
}

}  // namespace pex::cgroup
