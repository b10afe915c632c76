#include <algorithm>
#include <utility>

#include "base/boot_clock.h"
#include "targets/targets.h"

namespace pex::collect {
namespace {

constexpr std::chrono::minutes kWaitsForLateCpu{1};

Error label_too_long(const CgroupTarget& target) {
  return Error{0,
               "leaving out the label '" + target.description->too_long + "' of cgroup '" +
                   target.path + "', whose value is longer than limits.label_length",
               "give it a shorter value, or raise the limit"};
}

Error id_is_taken(const std::string& path) {
  return Error{0,
               "leaving out the labels container_id and pod_uid of cgroup '" + path +
                   "': another cgroup has the same id, and this path is named by a user or a "
                   "container",
               "find out who created it; cgroups.exclude leaves it out"};
}

}  // namespace

std::size_t TargetSet::series() const {
  return cgroups.size() - static_cast<std::size_t>(std::count_if(
                              cgroups.begin(), cgroups.end(),
                              [](const CgroupTarget& target) { return target.is_free(); }));
}

void TargetSet::find_nesting(std::uint64_t end) {
  std::unordered_map<std::string_view, std::size_t> by_path;
  for (std::size_t slot = 0; slot < cgroups.size(); ++slot) {
    CgroupTarget& target = cgroups[slot];
    target.around.clear();
    if (!target.is_free() && target.series < end) by_path.emplace(target.path, slot);
  }
  for (const auto& [path, slot] : by_path) {
    std::string_view outer = path;
    while (outer.size() > 1) {
      outer = outer.substr(0, std::max<std::size_t>(outer.rfind('/'), 1));
      const auto at = by_path.find(outer);
      if (at == by_path.end()) continue;
      cgroups[slot].around.push_back(at->second);
      is_nested = true;
    }
  }
}

/// For how many new series, if there are so many `targets`: lingering ones are dropped, but for
/// those that no snapshot has had since they ended.
std::size_t TargetTracker::free_room(std::size_t targets) const {
  const std::size_t room = series_room(budget_, need_);
  const std::size_t staying = targets - (ended_.size() - unread_.size());
  return room - std::min(room, staying);
}

bool TargetTracker::may_admit(Clock::time_point now) const {
  return !waiting_.empty() && open_rate_.allows(need_.counters.cgroup_on_a_cpu, now) &&
         free_room(current_->series()) > 0;
}

bool TargetTracker::is_expired(std::uint64_t series, const Ended& ended,
                               Clock::time_point now) const {
  return now - ended.at >= cgroups_.linger && !unread_.contains(series);
}

/// After a snapshot. Returns whether any series may be dropped now. One that waits for a late CPU
/// is kept for a bounded time: there may be no room for another.
bool TargetTracker::forget_read(Clock::time_point now, bool was_whole) {
  return std::erase_if(unread_, [&](std::uint64_t series) {
           return was_whole || now - ended_.at(series).at > kWaitsForLateCpu;
         }) > 0;
}

bool TargetTracker::any_expired(Clock::time_point now) const {
  return std::any_of(ended_.begin(), ended_.end(), [&](const auto& series) {
    return is_expired(series.first, series.second, now);
  });
}

/// Known series keep their slots, and new ones get free ones.
std::vector<CgroupTarget> TargetTracker::merge(const cgroup::DiscoveryResult& found,
                                               Clock::time_point now, PollReport& report) {
  WaitingLine::Set present;
  for (const auto& cgroup : found.cgroups) present.insert(cgroup.get());
  WaitingLine::Set counted;
  std::vector<CgroupTarget> targets = current_->cgroups;
  for (CgroupTarget& target : targets) {
    if (present.contains(target.cgroup.get())) {
      counted.insert(target.cgroup.get());
    } else if (target.cgroup) {
      note_end(target, now);
      target.cgroup = nullptr;
    }
  }
  report.cgroups_missed += waiting_.follow(found.cgroups, counted);
  admit(targets, now, report);
  drop_expired(targets, now);
  return targets;
}

void TargetTracker::note_end(const CgroupTarget& target, Clock::time_point now) {
  Ended ended{.at = now};
  if (cgroup::still_exists(*target.cgroup)) {
    ended.existing = target.cgroup->id;
    ended.cpu_time = cgroups_.cpu_time(target.cgroup->path);
  }
  ended_.insert_or_assign(target.series, ended);
  unread_.insert(target.series);
}

/// A lingering series is that of this cgroup from now on.
void TargetTracker::go_on(std::vector<CgroupTarget>& targets, std::size_t slot,
                          std::shared_ptr<const cgroup::Cgroup> cgroup) {
  CgroupTarget& target = targets[slot];
  const Ended ended = ended_.extract(target.series).mapped();
  unread_.erase(target.series);
  if (ended.cpu_time && ended.existing == cgroup->id) {
    const std::optional<std::chrono::nanoseconds> now = cgroups_.cpu_time(cgroup->path);
    if (now) add_passed_over(slot, *now - *ended.cpu_time);
  }
  if (cgroup->of_root != target.description->of_root) {
    target.description = cgroups_.describer.describe(target.path, nullptr, cgroup->of_root);
  }
  target.is_published = true;
  target.cgroup = std::move(cgroup);
}

/// A cgroup that is recreated under the path of a lingering series continues it.
void TargetTracker::admit(std::vector<CgroupTarget>& targets, Clock::time_point now,
                          PollReport& report) {
  if (waiting_.empty()) return;
  std::unordered_map<std::string, std::size_t> lingering;
  for (std::size_t slot = 0; slot < targets.size(); ++slot) {
    if (!targets[slot].cgroup) lingering.emplace(targets[slot].path, slot);
  }
  std::size_t free = 0;
  const std::size_t room = free_room(current_->series());
  for (auto& cgroup : waiting_.take(open_rate_, need_.counters.cgroup_on_a_cpu, now, room)) {
    ++report.cgroups_started;
    const std::string& path = cgroup->path;
    if (const auto place = lingering.find(path); place != lingering.end()) {
      go_on(targets, place->second, std::move(cgroup));
      continue;
    }
    while (free < targets.size() && !targets[free].is_free()) ++free;
    targets.resize(std::max(targets.size(), free + 1));
    targets[free] = {next_series_++, path, cgroup,
                     cgroups_.describer.describe(path, nullptr, cgroup->of_root), BootClock::now()};
  }
}

void TargetTracker::describe(std::vector<CgroupTarget>& targets) const {
  for (CgroupTarget& target : targets) {
    if (target.is_free()) continue;
    target.description = cgroups_.describer.describe(target.path, target.description);
  }
}

/// Who runs in a delegated cgroup may have named it like a container of others.
void TargetTracker::settle_ids(std::vector<CgroupTarget>& targets, PollReport& report) {
  std::vector<cgroup::DescribedCgroup> described;
  described.reserve(targets.size());
  for (CgroupTarget& target : targets) {
    if (target.is_free()) continue;
    described.push_back({&target.path, &target.description});
    if (!target.description->too_long.empty()) {
      report.add_failure("label length", label_too_long(target));
    }
  }
  for (const std::string& path : cgroup::take_claimed_ids(described)) {
    report.add_failure("cgroup ids", id_is_taken(path));
  }
}

/// For sums, but not for shared series, whose cgroups are next to each other. After a change to a
/// plan whose cgroups do not nest, those that did are closed.
std::uint64_t TargetTracker::end_of_nesting() const {
  if (std::ranges::all_of(plan_->sums, &SumPlan::is_series)) return 0;
  return plan_->cgroups_nest ? next_series_ : nested_before_;
}

void TargetTracker::drop_expired(std::vector<CgroupTarget>& targets, Clock::time_point now) {
  for (CgroupTarget& target : targets) {
    const auto ended = ended_.find(target.series);
    if (ended == ended_.end() || !is_expired(target.series, ended->second, now)) continue;
    ended_.erase(ended);
    target = {};
  }
}

/// However many cgroups appear and disappear, the series kept for them stay within the limit: those
/// that have been gone longest are dropped. Not those that no snapshot has had since they ended:
/// they are beyond the limit only if that has become lower.
void TargetTracker::drop_surplus(std::vector<CgroupTarget>& targets) {
  const std::size_t room = series_room(budget_, need_);
  const auto held = static_cast<std::size_t>(std::count_if(
      targets.begin(), targets.end(), [](const auto& each) { return !each.is_free(); }));
  has_surplus_ = held > room && !unread_.empty();
  if (held <= room) return;

  std::vector<std::pair<Clock::time_point, std::uint64_t>> lingering;
  for (const auto& [series, ended] : ended_) {
    if (!unread_.contains(series)) lingering.emplace_back(ended.at, series);
  }
  std::sort(lingering.begin(), lingering.end());
  lingering.resize(std::min(lingering.size(), held - room));
  for (const auto& [at, ended] : lingering) ended_.erase(ended);
  for (CgroupTarget& target : targets) {
    const bool has_ended = !target.is_free() && target.cgroup == nullptr;
    if (has_ended && !ended_.contains(target.series)) target = {};
  }
}

/// That a value stands still says that the cgroup did nothing. So those of one that exists are
/// published up to its last reading.
void TargetTracker::mark_unpublished(TargetSet& targets) {
  hides_next_ = false;
  for (CgroupTarget& target : targets.cgroups) {
    if (target.is_free() || target.cgroup || ended_.at(target.series).existing == 0) continue;
    const bool is_read = !unread_.contains(target.series);
    target.is_published = !is_read;
    targets.unpublished += is_read ? 1 : 0;
    hides_next_ = hides_next_ || !is_read;
  }
}

}  // namespace pex::collect
