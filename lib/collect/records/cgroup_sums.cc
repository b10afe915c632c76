#include "collect/records/cgroup_sums.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "collect/totals.h"

namespace pex::collect {
namespace {

using std::chrono::nanoseconds;

nanoseconds to_time(std::uint64_t words) {
  constexpr auto kMax = static_cast<std::uint64_t>(nanoseconds::max().count());
  return nanoseconds{static_cast<std::int64_t>(std::min(words, kMax))};
}

std::uint64_t to_words(nanoseconds time) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0));
}

}  // namespace

// --- groups and names ---------------------------------------------------------------------------

void CgroupSums::add_group(std::size_t group, std::size_t counts) {
  const std::size_t before = sums_.groups();
  pending_.add_group(group, counts);
  if (!sums_.add_group(group, counts)) return;
  arrange_readers(before);
  for (Target target = kNone + 1; target < targets_.size(); ++target) {
    if (targets_[target].cgroup) restart(target, group);
  }
}

void CgroupSums::remove_group(std::size_t group) {
  pending_.remove_group(group);
  sums_.remove_group(group);
}

void CgroupSums::arrange_readers(std::size_t groups_before) {
  std::vector<Reader> next(targets_.size() * sums_.groups());
  for (std::size_t target = 0; target < targets_.size(); ++target) {
    std::copy_n(readers_.data() + target * groups_before, groups_before,
                next.data() + target * sums_.groups());
  }
  readers_ = std::move(next);
}

void CgroupSums::set_names(PathOf path_of) {
  path_of_ = std::move(path_of);
  ++names_epoch_;
  is_settled_ = false;
}

// --- targets ------------------------------------------------------------------------------------

CgroupSums::Target CgroupSums::open(const std::shared_ptr<const cgroup::Cgroup>& cgroup,
                                    std::size_t group) {
  assert(cgroup->id != 0);
  Entry* entry = ids_.find(cgroup->id);
  if (entry == nullptr) entry = &ids_.insert(new_entry(cgroup->id));
  if (entry->own == kNone) {
    entry->own = open_first(cgroup);
    entry->nearest = {};  // outdated
  } else if (!is_new(entry->own)) {
    restart(entry->own, group);
  }
  ++targets_[entry->own].groups;
  return entry->own;
}

CgroupSums::Target CgroupSums::open_first(const std::shared_ptr<const cgroup::Cgroup>& cgroup) {
  const Target target = tree_.open(cgroup->path);
  if (target >= targets_.size()) {
    targets_.resize(tree_.places());
    readers_.resize(tree_.places() * sums_.groups());
  }
  OpenTarget& opened = targets_[target];
  opened.cgroup = cgroup;
  opened.groups = 0;
  opened.opened_in = batch_;
  sums_.clear(target);
  for (std::size_t group = 0; group < sums_.groups(); ++group) {
    reader(target, group) = new_reader(target, 0);
  }
  mark_changed(target);
  is_settled_ = false;
  return target;
}

/// One group is opened again, or later than others of the target.
void CgroupSums::restart(Target target, std::size_t group) {
  if (!sums_.has_group(group)) return;
  sums_.clear(target, group);
  reader(target, group) = new_reader(target, sums_.enabled(target));
  mark_changed(target);
}

void CgroupSums::close(Target target) {
  if (!is_settled_) settle();  // else it would lack what is pending, and so would those above it
  OpenTarget& closed = targets_[target];
  if (--closed.groups > 0) return;
  ids_.find(closed.cgroup->id)->own = kNone;
  tree_.close(target);
  closed.cgroup.reset();
}

void CgroupSums::mark_changed(Target target) {
  OpenTarget& changed = targets_[target];
  ++changed.changes;
  if (!std::exchange(changed.is_listed, true)) changed_.push_back(target);
}

bool CgroupSums::has_changed(Target target, std::size_t group) {
  if (!is_settled_) settle();
  if (!sums_.has_group(group)) return false;
  const Reader& of = reader(target, group);
  return of.read_at != targets_[target].changes || of.lost_then != lost_;
}

void CgroupSums::read(Target target, std::size_t group, perf::GroupReading& reading) {
  look(target, group, reading);
  if (sums_.has_group(group)) reader(target, group).read_at = targets_[target].changes;
}

void CgroupSums::look(Target target, std::size_t group, perf::GroupReading& reading) {
  if (!is_settled_) settle();
  reading.state = perf::GroupReading::State::kCounting;
  reading.time_enabled = reading.time_running = {};
  reading.counts.clear();
  reading.unreadable.reset();
  if (!sums_.has_group(group)) return;
  const std::uint64_t enabled = sums_.enabled(target) - reader(target, group).enabled_before;
  reading.time_enabled = to_time(enabled);
  reading.time_running = to_time(std::min(sums_.running(target, group), enabled));
  const std::span<const std::uint64_t> counts = sums_.counts(target, group);
  reading.counts.assign(counts.begin(), counts.end());
}

nanoseconds CgroupSums::take_lost(Target target, std::size_t group) {
  return lost_ - std::exchange(reader(target, group).lost_then, lost_);
}

void CgroupSums::take_changed(std::vector<Target>& changed) {
  if (!is_settled_) settle();
  for (Target target = kNone + 1; target < targets_.size() && !is_lost_listed_; ++target) {
    if (targets_[target].cgroup) mark_changed(target);
  }
  is_lost_listed_ = true;
  changed.clear();
  for (const Target target : changed_) {
    targets_[target].is_listed = false;
    if (targets_[target].cgroup) changed.push_back(target);
  }
  changed_.clear();
}

// --- ids ----------------------------------------------------------------------------------------

/// Whether it is the same as an id that was never seen.
bool CgroupSums::is_forgotten(const Entry& entry) const {
  return entry.own == kNone && !entry.is_listed && poll_ - entry.last_poll > kPollsRemembered;
}

CgroupSums::Entry& CgroupSums::remember(std::uint64_t id) {
  if (id != 0) {
    if (Entry* const known = ids_.find(id)) return *known;
    if (ids_.size() < kMaxIds) return ids_.insert(new_entry(id));
  }
  not_remembered_ = {.id = id, .last_poll = poll_};
  find_place(not_remembered_);
  not_remembered_.is_dropped = true;
  return not_remembered_;
}

/// The id ran. All that was pending before is where it belongs by now, so that it cannot be mixed
/// with what follows.
CgroupSums::Entry& CgroupSums::seen(std::uint64_t id) {
  if (!is_settled_) settle();
  Entry& entry = remember(id);
  if (entry.last_poll != poll_) {
    if (is_forgotten(entry)) entry = new_entry(id);
    entry.last_poll = poll_;
  }
  if (is_outdated(entry)) find_place(entry);
  return entry;
}

bool CgroupSums::is_outdated(const Entry& entry) const {
  return entry.is_unnamed ? entry.nearest.epoch != names_epoch_ : tree_.is_outdated(entry.nearest);
}

/// Where only a part of the tree is mounted, the root of all has none, and is not to be looked for.
bool CgroupSums::lacks_its_name(const Entry& entry) {
  return entry.is_unnamed && entry.id != kRootOfAll;
}

void CgroupSums::look_up(Entry& entry) const {
  entry.is_unnamed = entry.is_at_target = false;
  if (entry.own != kNone) {
    entry.nearest = tree_.as_nearest(entry.own);
    entry.is_at_target = true;
  } else if (const std::string* const path = path_of_ ? path_of_(entry.id) : nullptr) {
    entry.nearest = tree_.nearest(*path);
    entry.is_at_target = tree_.is_at(entry.nearest.target, *path);
  } else {
    entry.nearest = {kNone, names_epoch_};
    entry.is_unnamed = true;
  }
}

void CgroupSums::find_place(Entry& entry) {
  const bool was_unnamed = entry.is_unnamed;
  const bool was_at_target = entry.is_at_target;
  look_up(entry);
  if (!entry.is_unnamed) add_pending(entry, was_unnamed);
  // A name that is forgotten: the targets above it have it already.
  if (entry.is_at_target || (entry.is_unnamed && !was_unnamed)) release(entry);
  if (entry.is_at_target == was_at_target && entry.is_unnamed == was_unnamed) return;
  entry.waits_since = entry.is_unnamed ? waited_ms() : poll_;
  entry.is_dropped = false;
}

/// Gives what is pending to the targets that it belongs to since names or targets have changed.
void CgroupSums::settle() {
  is_settled_ = true;
  std::erase_if(pending_ids_, [this](std::uint64_t id) {
    Entry& entry = *ids_.find(id);
    if (is_outdated(entry)) {
      find_place(entry);
    } else {
      add_pending(entry, false);  // a new target may be further above
    }
    entry.is_listed = entry.row != kNoRow;
    return !entry.is_listed;
  });
  ++batch_;
}

// --- increments ---------------------------------------------------------------------------------

/// Calls `step(target)` for each target that it belongs to.
template <typename Step>
void CgroupSums::each_target(const Entry& entry, Step step) {
  for (Target target = entry.nearest.target; target != kNone; target = tree_.above(target)) {
    step(target);
  }
}

void CgroupSums::add_counts(std::size_t group, std::uint64_t id, nanoseconds running,
                            std::span<const std::uint64_t> counts) {
  Entry& entry = seen(id);
  const std::uint64_t time = to_words(running);
  each_target(entry, [&](Target target) {
    sums_.add_counts(target, group, time, counts);
    mark_changed(target);
  });
  if (keeps_pending(entry)) pending_.add_counts(entry.row, group, time, counts);
}

void CgroupSums::add(std::size_t group, std::uint64_t id, nanoseconds enabled, nanoseconds running,
                     std::span<const std::uint64_t> counts) {
  Entry& entry = seen(id);
  const std::uint64_t time = to_words(enabled);
  const std::uint64_t counted_for = to_words(running);
  each_target(entry, [&](Target target) {
    sums_.add_time(target, time);
    sums_.add_counts(target, group, counted_for, counts);
    mark_changed(target);
  });
  if (keeps_pending(entry)) {
    pending_.add_time(entry.row, time);
    pending_.add_counts(entry.row, group, counted_for, counts);
  } else if (lacks_its_name(entry)) {
    unnamed_.time = saturating_sum(unnamed_.time, enabled);
  }
}

void CgroupSums::lose(nanoseconds time) {
  if (time.count() <= 0) return;
  lost_ = saturating_sum(lost_, time);
  is_lost_listed_ = false;
}

// --- pending ------------------------------------------------------------------------------------

/// Whether increments are added to its row.
bool CgroupSums::keeps_pending(Entry& entry) {
  if (entry.row != kNoRow) return true;
  if (entry.is_at_target || entry.is_dropped) return false;
  if (free_rows_.empty() && rows_ == kMaxPending) {
    drop(entry);
    return false;
  }
  if (free_rows_.empty()) free_rows_.push_back(static_cast<Row>(rows_++));
  entry.row = free_rows_.back();
  free_rows_.pop_back();
  pending_.clear(entry.row);
  if (!entry.is_listed) pending_ids_.push_back(entry.id);
  entry.is_listed = true;
  return true;
}

/// To all its targets, or to those that were opened since the increments were added.
void CgroupSums::add_pending(const Entry& entry, bool to_all) {
  if (entry.row == kNoRow) return;
  each_target(entry, [&](Target target) {
    if (!to_all && !is_new(target)) return;
    sums_.add_row(target, pending_, entry.row);
    mark_changed(target);
  });
}

void CgroupSums::release(Entry& entry) {
  if (entry.row != kNoRow) free_rows_.push_back(std::exchange(entry.row, kNoRow));
}

void CgroupSums::drop(Entry& entry) {
  if (lacks_its_name(entry)) {
    ++unnamed_.cgroups;
    if (entry.row != kNoRow) {
      unnamed_.time = saturating_sum(unnamed_.time, to_time(pending_.enabled(entry.row)));
    }
  }
  release(entry);
  entry.is_dropped = true;
}

/// An id may have come just after the last poll, and just before this one.
bool CgroupSums::has_waited(const Entry& entry) const {
  if (!entry.is_unnamed) return poll_ - entry.waits_since >= kMaxPollsNamed;
  return waited_ms() - entry.waits_since > kMaxTimeUnnamed / std::chrono::milliseconds{1};
}

void CgroupSums::drop_old() {
  std::erase_if(pending_ids_, [this](std::uint64_t id) {
    Entry& entry = *ids_.find(id);
    if (entry.row != kNoRow && has_waited(entry)) drop(entry);
    entry.is_listed = entry.row != kNoRow;
    return !entry.is_listed;
  });
}

void CgroupSums::end_poll(nanoseconds now) {
  if (!is_settled_) settle();
  const nanoseconds passed = now - std::exchange(polled_at_, now);
  waited_ += std::clamp(passed, nanoseconds{0}, kMaxTimeUnnamed / kMinPollsUnnamed);
  drop_old();
  ++poll_;
  if (poll_ % kPollsRemembered != 0) return;
  ids_.keep_if([this](const Entry& entry) { return !is_forgotten(entry); });
}

std::size_t CgroupSums::awaiting_names() {
  if (!is_settled_) settle();
  return static_cast<std::size_t>(
      std::count_if(pending_ids_.begin(), pending_ids_.end(), [this](std::uint64_t id) {
        const Entry& entry = *ids_.find(id);
        return entry.row != kNoRow && lacks_its_name(entry);
      }));
}

}  // namespace pex::collect
