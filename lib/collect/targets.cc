#include "collect/targets.h"

#include <algorithm>
#include <unordered_map>

#include "host/topology.h"

namespace pex::collect {

bool TargetSet::is_online(int cpu) const {
  return std::binary_search(online_cpus.begin(), online_cpus.end(), cpu);
}

TargetTracker::TargetTracker(host::HostRoots roots, std::optional<cgroup::Discovery> discovery,
                             Budget budget, std::chrono::nanoseconds linger)
    : roots_(std::move(roots)),
      discovery_(std::move(discovery)),
      budget_(budget),
      linger_(linger) {}

Result<std::shared_ptr<const TargetSet>> TargetTracker::update(Clock::time_point now) {
  Result<std::vector<int>> online = host::online_cpus(roots_);
  if (!online) return online.error();

  const Capacity capacity = cgroup_capacity(budget_, online->size());
  auto found = std::make_shared<const cgroup::Discovery::Found>();
  if (discovery_) {
    Result<std::shared_ptr<const cgroup::Discovery::Found>> updated =
        discovery_->update(capacity.cgroups, now);
    if (!updated) return updated.error();
    found = *updated;
  }

  const bool some_expire = std::any_of(gone_.begin(), gone_.end(), [&](const auto& series) {
    return now - series.second >= linger_;
  });
  const bool same_cgroups = found_ == found || (!discovery_ && found_);
  if (current_ && same_cgroups && !some_expire && current_->online_cpus == *online) {
    return current_;
  }

  auto next = std::make_shared<TargetSet>();
  next->online_cpus = std::move(*online);
  next->cgroups = merge(*found, now);
  next->present = found->cgroups.size();
  next->left_out = found->left_out;
  next->left_out_reason = capacity.bound;
  found_ = std::move(found);
  current_ = std::move(next);
  return current_;
}

/// Known series stay where they are, new ones follow, expired ones go.
std::vector<CgroupTarget> TargetTracker::merge(const cgroup::Discovery::Found& found,
                                               Clock::time_point now) {
  std::unordered_map<std::string_view, std::shared_ptr<const cgroup::Cgroup>> unplaced;
  for (const auto& cgroup : found.cgroups) unplaced.emplace(cgroup->path, cgroup);

  std::vector<CgroupTarget> targets;
  if (current_) targets = current_->cgroups;
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

/// Those that have lingered long enough, and the oldest ones beyond the bound on series: however
/// many cgroups come and go, what is kept of them is bounded.
void TargetTracker::drop_expired(std::vector<CgroupTarget>& targets, Clock::time_point now) {
  const std::size_t room = std::max<std::size_t>(
      budget_.max_series / std::max<std::size_t>(budget_.cgroup_series, 1), 1);
  std::size_t surplus = targets.size() > room ? targets.size() - room : 0;
  std::erase_if(targets, [&](const CgroupTarget& target) {
    const auto gone = gone_.find(target.series);
    if (gone == gone_.end() || (now - gone->second < linger_ && surplus == 0)) return false;
    if (surplus > 0) --surplus;
    gone_.erase(gone);
    return true;
  });
}

}  // namespace pex::collect
