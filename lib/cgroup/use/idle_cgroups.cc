#include "cgroup/use/idle_cgroups.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace pex::cgroup {

using std::chrono::nanoseconds;

void IdleCgroups::set_rules(Rules rules) {
  rules_ = rules;
  for (auto& [id, use] : uses_) use.close_after = rules.close_after;
}

bool IdleCgroups::update(const Cgroups& present, Clock::time_point now) {
  if (rules_.close_after <= nanoseconds{0}) return wake_all(present, now);
  if (now - read_at_ < kBetweenReads) return false;
  read_at_ = now;
  follow(present, now);
  ++update_;
  reads_left_ = kMaxReadsOfIdle;
  const std::size_t were_idle = idle_;
  if (idle_ > 0) (void)visit(directory_at(""), now);
  bool has_changed = idle_ != were_idle;
  std::size_t reads = 0;
  for (std::size_t seen = 0; seen < present.size() && reads < kMaxReadsOfBusy; ++seen) {
    const Cgroup& cgroup = *present[next_++ % present.size()];
    Use& use = uses_.at(cgroup.id);
    if (use.is_idle || now - use.read_at < rules_.close_after / kReadsOfBusy) continue;
    ++reads;
    use.read_at = now;
    has_changed = becomes_idle(cgroup, use, now) || has_changed;
  }
  return has_changed;
}

void IdleCgroups::follow(const Cgroups& present, Clock::time_point now) {
  for (auto& [id, use] : uses_) use.is_present = false;
  for (auto& [path, directory] : directories_) {
    directory.children.clear();
    directory.use = nullptr;
    directory.idle = directory.busy = 0;
  }
  for (const auto& cgroup : present) {
    const auto [at, is_new] = uses_.try_emplace(cgroup->id);
    Use& use = at->second;
    if (is_new) use.close_after = rules_.close_after;
    if (is_new) use.since = now;
    if (is_new) use.directory = &directory_at(cgroup->path);
    use.is_present = true;
    use.directory->use = &use;
    Directory* new_child = nullptr;
    for (Directory* above = use.directory; above != nullptr; above = above->above) {
      if (new_child != nullptr) above->children.push_back(new_child);
      new_child = above->idle + above->busy == 0 ? above : nullptr;
      ++(use.is_idle ? above->idle : above->busy);
    }
  }
  std::erase_if(directories_,
                [](const auto& each) { return each.second.idle + each.second.busy == 0; });
  std::erase_if(uses_, [this](const auto& each) {
    if (each.second.is_present) return false;
    idle_ -= each.second.is_idle ? 1 : 0;
    return true;
  });
}

IdleCgroups::Directory& IdleCgroups::directory_at(const std::string& path) {
  const auto [at, is_new] = directories_.try_emplace(path);
  Directory& directory = at->second;
  if (!is_new) return directory;
  directory.path = &at->first;
  if (!path.empty()) directory.above = &directory_at(path.substr(0, path.rfind('/')));
  return directory;
}

/// Once in an update. False if no reading is left.
bool IdleCgroups::read(Directory& at) {
  if (at.above == nullptr || at.read_in == update_) return true;
  if (reads_left_ == 0) return false;
  --reads_left_;
  at.read_before_in = std::exchange(at.read_in, update_);
  const std::optional<nanoseconds> before = std::exchange(at.cpu_time, cpu_time_(*at.path));
  const bool is_known = before && at.cpu_time && *at.cpu_time >= *before;
  at.growth = is_known ? *at.cpu_time - *before : nanoseconds{0};
  at.unexplained = is_known ? at.unexplained + at.growth : kUnknown;
  return true;
}

/// Looks for idle ones that have worked. False if the readings are used up: the next update goes on
/// with what is left.
bool IdleCgroups::visit(Directory& at, Clock::time_point now) {
  if (!read(at)) return false;
  const nanoseconds used = wake_if_used(at, now);
  const bool reads_all = may_have_worked(at);
  if (at.begun_in == 0) {
    at.begun_in = update_;
    at.unexplained_then = at.unexplained;
  }
  nanoseconds most{};
  for (Directory* child : at.children) {
    const bool is_due = child->idle > 0 && (reads_all || child->busy > 0);
    if (is_due && child->ended_in < at.begun_in && !visit(*child, now)) return false;
    if (child->idle > 0) most = std::max(most, child->used);
  }
  at.unexplained =
      reads_all ? at.unexplained - at.unexplained_then + most : std::max(at.unexplained, most);
  at.used = std::max(used, at.unexplained);
  at.begun_in = 0;
  at.ended_in = update_;
  return true;
}

/// Whether any child may have that has no busy cgroup: those that have one do not explain what `at`
/// has used. Nothing is read at once, and what they use after the reading of `at` is subtracted
/// from it. So `at` is read again after them, and what it has used meanwhile is not explained, but
/// only in this update. Such errors cost readings and do not add up, and no cgroup is passed over.
bool IdleCgroups::may_have_worked(Directory& at) {
  std::vector<Directory*> busy;
  std::copy_if(at.children.begin(), at.children.end(), std::back_inserter(busy),
               [](const Directory* child) { return child->busy > 0; });
  const std::size_t others = at.children.size() - busy.size();
  if (others == 0 || at.above == nullptr) return true;
  if (busy.empty()) return at.unexplained >= rules_.open_after;
  if (busy.size() + 1 >= std::min(others, reads_left_)) return true;  // not fewer readings
  for (Directory* child : busy) {
    (void)read(*child);
    const bool is_same_time = child->read_before_in == at.read_before_in;
    if (is_same_time) at.unexplained -= child->growth;
  }
  if (at.unexplained >= rules_.open_after) return true;
  --reads_left_;
  const nanoseconds again = cpu_time_(*at.path).value_or(kUnknown);
  return at.unexplained + (again - *at.cpu_time) >= rules_.open_after;
}

/// Returns what its own cgroup has used, if that stays idle.
nanoseconds IdleCgroups::wake_if_used(const Directory& at, Clock::time_point now) {
  if (at.use == nullptr || !at.use->is_idle) return {};
  const nanoseconds cpu_time = at.cpu_time.value_or(at.use->cpu_time);
  at.use->cpu_time = std::min(at.use->cpu_time, cpu_time);  // that of version 1 can be reset
  const nanoseconds used = cpu_time - at.use->cpu_time;
  if (at.cpu_time && used < rules_.open_after) return used;
  wake(*at.use, cpu_time, now);
  return {};
}

bool IdleCgroups::becomes_idle(const Cgroup& cgroup, Use& use, Clock::time_point now) {
  const std::optional<nanoseconds> read = cpu_time_(cgroup.path);
  if (!read || *read != use.cpu_time) {
    use.cpu_time = read.value_or(use.cpu_time);
    use.since = now;
    return false;
  }
  if (now - use.since < use.close_after) return false;
  use.is_idle = true;
  ++idle_;
  return true;
}

void IdleCgroups::wake(Use& use, nanoseconds cpu_time, Clock::time_point now) {
  constexpr nanoseconds kMaxCloseAfter = std::chrono::hours{7 * 24};
  use.is_idle = false;
  --idle_;
  use.passed_over += std::max(cpu_time - use.cpu_time, nanoseconds{0});
  use.cpu_time = cpu_time;
  use.since = use.read_at = now;
  use.close_after = std::min(2 * use.close_after, kMaxCloseAfter);
}

bool IdleCgroups::wake_all(const Cgroups& present, Clock::time_point now) {
  if (idle_ == 0) return false;
  follow(present, now);
  for (const auto& cgroup : present) {
    Use& use = uses_.at(cgroup->id);
    if (use.is_idle) wake(use, cpu_time_(cgroup->path).value_or(use.cpu_time), now);
  }
  return true;
}

bool IdleCgroups::is_idle(const Cgroup& cgroup) const {
  const auto at = uses_.find(cgroup.id);
  return at != uses_.end() && at->second.is_idle;
}

nanoseconds IdleCgroups::take_passed_over(const Cgroup& cgroup) {
  const auto at = uses_.find(cgroup.id);
  return at == uses_.end() ? nanoseconds{} : std::exchange(at->second.passed_over, {});
}

}  // namespace pex::cgroup
