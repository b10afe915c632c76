#include "collect/targets.h"

#include <algorithm>
#include <utility>

namespace pex::collect {

TargetTracker::TargetTracker(const host::HostRoots& roots, std::shared_ptr<const CountingPlan> plan,
                             std::optional<cgroup::Discovery> discovery, Budget budget,
                             std::chrono::nanoseconds linger)
    : plan_(std::move(plan)),
      cpus_(roots, pmus_of(*plan_)),
      discovery_(std::move(discovery)),
      budget_(budget),
      linger_(linger),
      current_(std::make_shared<const TargetSet>()),
      found_(std::make_shared<const Found>()) {}

std::shared_ptr<const TargetSet> TargetTracker::update(Clock::time_point now, PollReport& report) {
  std::shared_ptr<const MachineCpus> cpus = find_cpus(report);
  if (cpus != current_->cpus) need_ = need_of(*plan_, *cpus);
  const Capacity capacity = cgroup_capacity(budget_, need_);
  const std::shared_ptr<const Found> found = find_cgroups(capacity.cgroups, now, report);

  if (found != found_ || cpus != current_->cpus || any_expired(now)) {
    auto next = std::make_shared<TargetSet>();
    next->cgroups = merge(*found, now);
    drop_surplus(next->cgroups);
    next->cpus = std::move(cpus);
    next->present = found->cgroups.size();
    next->left_out = found->left_out;
    next->left_out_reason = capacity.bound;
    next->unreadable = found->unreadable.size();
    found_ = found;
    current_ = std::move(next);
  }
  return current_;
}

std::shared_ptr<const MachineCpus> TargetTracker::find_cpus(PollReport& report) {
  std::vector<Error> failures;
  std::shared_ptr<const MachineCpus> cpus = cpus_.update(failures);
  for (const Error& failure : failures) report.add_failure(failure.attempted, failure);
  return cpus;
}

std::shared_ptr<const TargetTracker::Found> TargetTracker::find_cgroups(std::size_t capacity,
                                                                        Clock::time_point now,
                                                                        PollReport& report) {
  static constexpr const char* kCause = "find cgroups";
  if (!discovery_) return found_;
  Result<std::shared_ptr<const Found>> found = discovery_->update(capacity, now);
  if (!found) {
    report.add_failure(kCause, found.error());
    return found_;
  }
  if (*found != found_) {
    for (const Error& unreadable : (*found)->unreadable) report.add_failure(kCause, unreadable);
  }
  return *found;
}

bool TargetTracker::any_expired(Clock::time_point now) const {
  return std::any_of(gone_.begin(), gone_.end(),
                     [&](const auto& series) { return now - series.second >= linger_; });
}

/// Known series stay where they are, new ones follow, expired ones go.
std::vector<CgroupTarget> TargetTracker::merge(const Found& found, Clock::time_point now) {
  std::unordered_map<std::string_view, std::shared_ptr<const cgroup::Cgroup>> unplaced;
  for (const auto& cgroup : found.cgroups) unplaced.emplace(cgroup->path, cgroup);

  std::vector<CgroupTarget> targets = current_->cgroups;
  for (CgroupTarget& target : targets) {
    const auto still = unplaced.find(target.path);
    if (still != unplaced.end()) {
      target.cgroup = still->second;
      gone_.erase(target.series);
      unplaced.erase(still);
    } else {
      target.cgroup = nullptr;
      gone_.try_emplace(target.series, now);
    }
  }
  for (const auto& cgroup : found.cgroups) {
    if (unplaced.contains(cgroup->path)) {
      targets.push_back({next_series_++, cgroup->path, cgroup});
    }
  }
  drop_expired(targets, now);
  return targets;
}

void TargetTracker::drop_expired(std::vector<CgroupTarget>& targets, Clock::time_point now) {
  std::erase_if(targets, [&](const CgroupTarget& target) {
    const auto gone = gone_.find(target.series);
    if (gone == gone_.end() || now - gone->second < linger_) return false;
    gone_.erase(gone);
    return true;
  });
}

/// However many cgroups come and go, what is kept of them stays within the bound on series: those
/// that have been gone longest make room.
void TargetTracker::drop_surplus(std::vector<CgroupTarget>& targets) {
  const std::size_t room = series_room(budget_, need_);
  if (targets.size() <= room) return;

  std::vector<std::pair<Clock::time_point, std::uint64_t>> lingering;
  for (const auto& [series, gone] : gone_) lingering.emplace_back(gone, series);
  std::sort(lingering.begin(), lingering.end());
  lingering.resize(std::min(lingering.size(), targets.size() - room));
  for (const auto& [gone, series] : lingering) gone_.erase(series);
  std::erase_if(targets, [this](const CgroupTarget& target) {
    return target.cgroup == nullptr && !gone_.contains(target.series);
  });
}

}  // namespace pex::collect
