#include "cgroup/discovery/discovery.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "cgroup/inventory.h"
#include "cgroup/path_info.h"

namespace pex::cgroup {
namespace {

/// Whether another selected cgroup is below `path`; `directories` contains all of them.
bool has_selected_below(const Tree::Directories& directories, const std::string& path) {
  const std::string above = path + "/";
  for (auto at = directories.lower_bound(above);
       at != directories.end() && at->first.starts_with(above); ++at) {
    if (at->second.is_selected) return true;
  }
  return false;
}

}  // namespace

Discovery::Discovery(Hierarchy hierarchy, Selection selection, Tree::Limits limits)
    : hierarchy_(std::move(hierarchy)),
      tree_(hierarchy_.mount, std::move(selection), limits),
      left_out_(hierarchy_) {}

Result<std::shared_ptr<const DiscoveryResult>> Discovery::update(
    std::size_t capacity, Clock::time_point now,
    std::optional<std::span<const NamedCgroup>> reported, bool lacks_names) {
  tree_.name_all(reported.has_value());
  const Result<bool> changed = tree_.update(now, lacks_names);
  learn(reported, now);
  replaced_.clear();
  if (!changed) {
    shed(capacity);
    return changed.error();
  }
  update_uses(left_out_.refresh(now));
  const bool is_as_before = result_ && !*changed && capacity == capacity_ && !try_again_ &&
                            !has_gone_ && !gone_.has_reports();
  if (!is_as_before || may_exchange(now)) {
    try_again_ = false;
    capacity_ = capacity;
    DiscoveryResult result = choose(capacity, now);
    add_gone(capacity, now, result);
    if (!result_ || result != *result_) {
      result_ = std::make_shared<const DiscoveryResult>(std::move(result));
    }
  }
  count_missed(reported.has_value());
  return result_;
}

/// After the tree has been read: what is known of it says where the reported paths begin.
void Discovery::learn(std::optional<std::span<const NamedCgroup>> reported, Clock::time_point now) {
  if (!reported) return gone_.drop_reports();
  gone_.report(tree_.learn(reported_.take(*reported, tree_, now)), now);
}

/// A directory in which only names are looked for concerns nobody.
bool Discovery::is_unreadable(const std::string& path) const {
  return tree_.unreadable().contains(path) && tree_.selection().may_match_below(path);
}

bool Discovery::is_selected(const std::string& path) const {
  const Tree::Directories& directories = tree_.directories();
  const auto place = directories.find(path);
  if (place == directories.end()) return false;
  if (!tree_.selection().leaves) return place->second.is_selected;
  return (place->second.is_selected || is_rest(path)) && !has_selected_below(directories, path);
}

/// Whether it is outermost in what is left of a selected cgroup that was replaced.
bool Discovery::is_rest(const std::string& path) const {
  return is_replaced(path.substr(0, path.rfind('/'))) &&
         tree_.selection().judge(path).reason == Verdict::Reason::kNotIncluded &&
         !parse_path(path).is_helper;
}

/// Whether it is a selected cgroup, or in one, and has a selected one inside.
bool Discovery::is_replaced(const std::string& path) const {
  const auto [known, is_new] = replaced_.try_emplace(path);
  if (is_new) {
    known->second = tree_.is_within_selected(path) && has_selected_below(tree_.directories(), path);
  }
  return known->second;
}

/// Whether what a cgroup of this path did, that is gone, is counted as done by an existing one.
bool Discovery::is_covered(const std::string& path) const {
  const auto place = tree_.directories().find(path);
  if (place != tree_.directories().end() && place->second.is_selected) return true;
  if (!tree_.selection().leaves) return false;
  for (std::size_t end = path.rfind('/'); end != 0 && end != std::string::npos;
       end = path.rfind('/', end - 1)) {
    if (is_selected(path.substr(0, end))) return true;
  }
  return false;
}

/// If only leaves are selected, a change at a path can change all directories above it as well, and
/// what else is in these.
void Discovery::follow_tree() {
  std::set<std::string> above;
  for (const std::string& path : tree_.take_changed_paths()) {
    reconsider(path);
    if (!tree_.selection().leaves) continue;
    for (std::size_t end = path.rfind('/'); end != 0 && end != std::string::npos;
         end = path.rfind('/', end - 1)) {
      if (!above.insert(path.substr(0, end)).second) break;  // the rest was inserted before
    }
  }
  for (const std::string& path : above) {
    reconsider_if_changed(path);
    // That it is replaced no more concerns them as well.
    if (!tree_.is_within_selected(path)) continue;
    const std::string below = path + "/";
    for (auto at = tree_.directories().lower_bound(below);
         at != tree_.directories().end() && at->first.starts_with(below); ++at) {
      if (at->first.find('/', below.size()) == std::string::npos) reconsider_if_changed(at->first);
    }
  }
}

void Discovery::reconsider_if_changed(const std::string& path) {
  const bool is_known = held_.contains(path) || left_out_.contains(path) || arrived_.contains(path);
  if (is_known != is_selected(path)) reconsider(path);
}

/// Also those whose directory has not changed: whether only leaves are selected is not a property
/// of a directory.
void Discovery::follow_selection() {
  if (!std::exchange(has_new_selection_, false)) return;
  for (const auto& [path, directory] : tree_.directories()) reconsider_if_changed(path);
}

/// A directory may have been created, removed or recreated at `path`.
void Discovery::reconsider(const std::string& path) {
  refused_.erase(path);
  const bool selected = is_selected(path);
  if (const auto held = held_.find(path); held != held_.end()) {
    if (selected && held->second->id == tree_.directories().at(path).inode) return;
    held_.erase(held);
  }
  const bool was_left_out = left_out_.contains(path);
  drop(path);
  if (selected && was_left_out) leave_out(path);
  if (selected && !was_left_out) arrived_.emplace(path, tree_.directories().at(path).inode);
}

/// Left out until there is room for it.
void Discovery::leave_out(const std::string& path) {
  left_out_.add(path);
  shares_.wait(path, 0);
}

/// Neither held nor left out, nor new.
void Discovery::drop(const std::string& path) {
  arrived_.erase(path);
  left_out_.remove(path);
  shares_.remove(path);
}

void Discovery::update_uses(const std::vector<LeftOut::Use>& uses) {
  for (const auto& [path, microseconds] : uses) shares_.wait(path, microseconds);
}

Result<std::shared_ptr<const Cgroup>> Discovery::hold(const std::string& path) const {
  auto cgroup = std::make_shared<Cgroup>();
  const std::string directory = tree_.root() + path;
  cgroup->path = path;
  cgroup->directory.reset(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status {};
  if (!cgroup->directory || ::fstat(cgroup->directory.get(), &status) != 0) {
    const int code = errno;
    return Error{code, "open cgroup directory '" + directory + "'", remedy_for_directory(code)};
  }
  cgroup->id = status.st_ino;
  cgroup->of_root = names_of_root(tree_.root(), path);
  return std::shared_ptr<const Cgroup>{std::move(cgroup)};
}

/// It was found, and has no directory any more.
void Discovery::note_gone(const std::string& path, std::uint64_t id, Clock::time_point now) {
  if (id != 0 && tree_.names_all()) gone_.report(std::vector<NamedCgroup>{{id, path}}, now);
  tree_.forget(path);
  replaced_.clear();
}

/// Holds a cgroup that is new or left out. A failure to hold it does not affect the others or their
/// room.
bool Discovery::try_hold(const std::string& path, Clock::time_point now, DiscoveryResult& result) {
  const auto arrived = arrived_.find(path);
  const std::uint64_t id = arrived == arrived_.end() ? 0 : arrived->second;
  drop(path);
  Result<std::shared_ptr<const Cgroup>> cgroup = hold(path);
  if (cgroup) {
    held_.emplace(path, std::move(*cgroup));
    shares_.hold(path);
    return true;
  }
  if (cgroup.error().code == ENOENT) {
    note_gone(path, id, now);
    return false;
  }
  refused_.insert(path);
  if (is_unreadable(path)) return false;  // already reported
  try_again_ = try_again_ || lacks_descriptors(cgroup.error().code);
  result.unreadable.push_back(std::move(cgroup.error()));
  return false;
}

void Discovery::drop_surplus(std::size_t capacity) {
  while (held_.size() > capacity) {
    const std::string last = *shares_.last();
    held_.erase(last);
    shares_.remove(last);
    arrived_.emplace(last, 0);
  }
}

/// Holds those that have arrived if there is room for all; else they are left out, for a choice.
void Discovery::take_in(std::size_t capacity, Clock::time_point now, DiscoveryResult& result) {
  const bool have_room = held_.size() + left_out_.size() + arrived_.size() <= capacity;
  for (const auto& [path, id] : std::map(arrived_)) {
    if (have_room) {
      try_hold(path, now, result);
    } else {
      leave_out(path);
    }
  }
}

void Discovery::fill_room(std::size_t capacity, Clock::time_point now, DiscoveryResult& result) {
  while (held_.size() < capacity) {
    const std::optional<std::string> next = shares_.next();
    if (!next) return;
    try_hold(*next, now, result);
  }
}

bool Discovery::may_exchange(Clock::time_point now) {
  return !shares_.is_fair() && exchanges_.tokens(now) > 0;
}

/// The new one is held before the other one is released, as holding it may fail.
void Discovery::exchange(Clock::time_point now, DiscoveryResult& result) {
  while (may_exchange(now)) {
    const FairShares::Exchange fairer = *shares_.exchange();
    if (!try_hold(fairer.to, now, result)) continue;
    exchanges_.take(1, now);
    held_.erase(fairer.from);
    leave_out(fairer.from);
    displaced_ = {displaced_.cgroups + 1, fairer.rich, fairer.poor};
  }
}

DiscoveryResult Discovery::choose(std::size_t capacity, Clock::time_point now) {
  DiscoveryResult result;
  for (const auto& [path, why] : tree_.unreadable()) {
    if (is_unreadable(path)) result.unreadable.push_back(why);
  }
  for (const std::string& path : std::exchange(refused_, {})) reconsider(path);
  follow_tree();
  follow_selection();
  drop_surplus(capacity);
  take_in(capacity, now, result);
  const bool is_first = result_ == nullptr;  // slow in any case, and finds the busiest
  const bool has_choice = capacity < held_.size() + left_out_.size();
  if (has_choice && (held_.size() < capacity || may_exchange(now))) {
    update_uses(left_out_.read_unknown(is_first ? left_out_.size() : LeftOut::kMaxReads));
  }
  fill_room(capacity, now, result);
  exchange(now, result);
  newly_left_out_ += std::exchange(arrived_, {}).size();
  list(result);
  return result;
}

/// Of the last result, without those beyond the capacity.
void Discovery::shed(std::size_t capacity) {
  if (held_.size() <= capacity) return;
  drop_surplus(capacity);
  for (const auto& [path, id] : arrived_) leave_out(path);
  newly_left_out_ += std::exchange(arrived_, {}).size();
  DiscoveryResult result;
  result.unreadable = result_->unreadable;
  list(result);
  has_gone_ = false;
  result_ = std::make_shared<const DiscoveryResult>(std::move(result));
}

void Discovery::list(DiscoveryResult& result) const {
  for (const auto& [path, cgroup] : held_) result.cgroups.push_back(cgroup);
  result.left_out = left_out_.size();
  result.left_out_paths = left_out_.paths(DiscoveryResult::kMaxPaths);
}

/// The ids by path; the last one reported, as several cgroups of one path are one series.
std::map<std::string, std::uint64_t> Discovery::find_gone(Clock::time_point now) {
  std::map<std::string, std::uint64_t> gone;
  for (NamedCgroup& cgroup : gone_.take(tree_, now)) {
    if (!is_covered(cgroup.path)) gone.insert_or_assign(std::move(cgroup.path), cgroup.id);
  }
  if (!tree_.selection().leaves) return gone;
  std::erase_if(gone, [&gone](const auto& cgroup) {
    const std::string above = cgroup.first + "/";
    const auto below = gone.lower_bound(above);
    return below != gone.end() && below->first.starts_with(above);
  });
  return gone;
}

/// No existing cgroup waits while there is room, so those that are gone only compete with each
/// other.
void Discovery::add_gone(std::size_t capacity, Clock::time_point now, DiscoveryResult& result) {
  const std::map<std::string, std::uint64_t> gone = find_gone(now);
  const std::size_t held = result.cgroups.size();
  for (const auto& [path, id] : gone) shares_.wait(path, 0);
  while (result.cgroups.size() < capacity && result.cgroups.size() < held + gone.size()) {
    const std::string next = *shares_.next();
    shares_.hold(next);
    result.cgroups.push_back(std::make_shared<const Cgroup>(
        Cgroup{next, gone.at(next), {}, names_of_root(tree_.root(), next)}));
  }
  for (const auto& [path, id] : gone) shares_.remove(path);
  has_gone_ = result.cgroups.size() > held;
  missed_ += held + gone.size() - result.cgroups.size();
  if (!has_gone_) return;
  std::sort(result.cgroups.begin(), result.cgroups.end(),
            [](const auto& a, const auto& b) { return a->path < b->path; });
}

void Discovery::count_missed(bool may_be_reported) {
  const std::vector<std::string> missed = tree_.take_missed_paths();
  missed_ += may_be_reported ? gone_.count_missed(missed) : gone_.miss_all() + missed.size();
}

void Discovery::select(Selection selection) {
  if (selection == tree_.selection()) return;
  tree_.select(std::move(selection));
  has_new_selection_ = try_again_ = true;
}

void Discovery::release(const std::string& path) {
  if (held_.erase(path) == 0) return;
  shares_.remove(path);
  arrived_.emplace(path, 0);
  try_again_ = true;
}

}  // namespace pex::cgroup
