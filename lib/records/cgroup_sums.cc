#include "records/cgroup_sums.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "count/totals.h"

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
  if (!rows_.add_group(group, counts)) return;
  lost_before_group_.resize(std::max(lost_before_group_.size(), group + 1));
  lost_before_group_[group] = lost_;
}

void CgroupSums::remove_group(std::size_t group) { rows_.remove_group(group); }

void CgroupSums::set_names(PathOf path_of) {
  path_of_ = std::move(path_of);
  ++names_epoch_;
  is_settled_ = false;
}

// --- slots --------------------------------------------------------------------------------------

void CgroupSums::open(std::size_t slot, const std::shared_ptr<const cgroup::Cgroup>& cgroup,
                      std::size_t group) {
  assert(cgroup->id != 0);
  if (!running_ids_.empty()) give();  // without this group
  begin_giving();
  const Target target = target_of(slot);
  if (target >= slots_.size()) slots_.resize(target + 1);
  OpenSlot& of = slots_[target];
  if (of.groups == 0) {
    open_first(target, cgroup);
  } else if (!is_new(target) && of.row != kNoRow && rows_.has_group(group)) {
    unused_.resize(rows_.counts_of(group));
    rows_.take(of.row, group, unused_);  // it is opened again, or later than others of the slot
  }
  ++of.groups;
  mark_changed(target);  // the first reading is a known zero
}

void CgroupSums::open_first(Target target, const std::shared_ptr<const cgroup::Cgroup>& cgroup) {
  tree_.open(target, cgroup->path);
  Entry* entry = ids_.find(cgroup->id);
  if (entry == nullptr) entry = &ids_.insert(new_entry(cgroup->id));
  entry->own = target;
  entry->nearest = {};  // outdated
  OpenSlot& slot = slots_[target];
  if (slot.row != kNoRow) free_rows_.push_back(slot.row);  // of the one that was open before
  slot = {.cgroup = cgroup,
          .opened_after = polled_at_,
          .lost_before = lost_,
          .opened_in = batch_,
          .is_listed = slot.is_listed};
  is_settled_ = false;
}

void CgroupSums::close(std::size_t slot) {
  give();  // else those above it would lack what is pending
  const Target target = target_of(slot);
  OpenSlot& closed = slots_[target];
  if (--closed.groups > 0) return;
  Entry* const entry = ids_.find(closed.cgroup->id);
  if (entry != nullptr && entry->own == target) entry->own = kNone;
  tree_.close(target);
  closed.cgroup.reset();
}

void CgroupSums::mark_changed(Target target) {
  if (!std::exchange(slots_[target].is_listed, true)) changed_.push_back(target);
}

bool CgroupSums::take(std::size_t slot, std::size_t group, perf::GroupInterval& since) {
  if (!is_settled_) settle();
  since.enabled = since.running = since.lost = {};
  since.counts.clear();
  since.unreadable.reset();
  since.fell.reset();
  since.time_fell = false;
  if (!rows_.has_group(group)) return false;
  const OpenSlot& at = slots_[target_of(slot)];
  since.lost = lost_ - std::max({lost_before_, at.lost_before, lost_before_group_[group]});
  since.counts.resize(rows_.counts_of(group));
  if (at.row == kNoRow) return since.lost.count() > 0;
  const auto [enabled, running] = rows_.take(at.row, group, since.counts);
  since.enabled = to_time(enabled);
  since.running = to_time(running);
  return enabled > 0 || running > 0 || since.lost.count() > 0 ||
         std::any_of(since.counts.begin(), since.counts.end(),
                     [](std::uint64_t count) { return count > 0; });
}

void CgroupSums::take_changed(RowSet& slots) {
  if (!is_settled_) settle();
  for (Target target = kNone + 1; target < slots_.size() && lost_ > lost_before_; ++target) {
    if (slots_[target].cgroup) slots.add(target - 1);
  }
  for (const Target target : changed_) {
    if (slots_[target].cgroup) slots.add(target - 1);
  }
  is_taken_ = true;
  lost_when_taken_ = lost_;
}

void CgroupSums::watch(std::size_t slot, std::size_t group) {
  give();
  watches_ = target_of(slot);
  watched_group_ = group;
  watched_ = {{}, std::vector<std::uint64_t>(rows_.counts_of(group))};
}

// --- giving -------------------------------------------------------------------------------------

void CgroupSums::give() {
  begin_giving();
  if (!is_settled_) settle();
  for (const std::uint64_t id : running_ids_) give(*ids_.find(id));
  running_ids_.clear();
}

void CgroupSums::begin_giving() {
  if (!std::exchange(is_taken_, false)) return;
  lost_before_ = lost_when_taken_;
  for (const Target target : changed_) {
    OpenSlot& slot = slots_[target];
    if (slot.row != kNoRow) free_rows_.push_back(std::exchange(slot.row, kNoRow));
    slot.is_listed = false;
  }
  changed_.clear();
}

/// Most cgroups have a slot of their own, which takes their row.
void CgroupSums::give(Entry& entry) {
  note_seen(entry);
  const Row row = std::exchange(entry.running, kNoRow);
  if (keeps_pending(entry)) {
    rows_.add_row(entry.pending, row);
  } else if (lacks_its_name(entry)) {
    unnamed_.time = saturating_sum(unnamed_.time, to_time(rows_.enabled(row)));
  }
  const Target nearest = entry.nearest.target;
  const bool is_taken = nearest != kNone && slots_[nearest].row == kNoRow;
  each_target(entry, [&](Target target) {
    if (!is_taken || target != nearest) give_row(target, row);
  });
  if (!is_taken) return free_rows_.push_back(row);
  slots_[nearest].row = row;
  note_given(nearest, row);
}

void CgroupSums::give_row(Target target, Row row) {
  OpenSlot& to = slots_[target];
  if (to.row == kNoRow) to.row = new_row();
  rows_.add_row(to.row, row);
  note_given(target, row);
}

void CgroupSums::note_given(Target target, Row row) {
  mark_changed(target);
  if (target != watches_ || !rows_.has_group(watched_group_)) return;
  watched_.enabled = saturating_sum(watched_.enabled, to_time(rows_.enabled(row)));
  const std::span<const std::uint64_t> counts = rows_.counts(row, watched_group_);
  for (std::size_t i = 0; i < counts.size(); ++i) watched_.counts[i] += counts[i];
}

CgroupSums::Row CgroupSums::new_row() {
  if (free_rows_.empty()) free_rows_.push_back(used_rows_++);
  const Row row = free_rows_.back();
  free_rows_.pop_back();
  rows_.clear(row);
  return row;
}

// --- ids ----------------------------------------------------------------------------------------

/// Whether it is the same as an id that was never seen.
bool CgroupSums::is_forgotten(const Entry& entry) const {
  return entry.own == kNone && !entry.is_listed && poll_ - entry.last_poll > kPollsRemembered;
}

/// It ran since increments were given.
void CgroupSums::note_seen(Entry& entry) {
  if (entry.last_poll != poll_) {
    if (is_forgotten(entry)) {
      const Row row = entry.running;
      entry = new_entry(entry.id);
      entry.running = row;
    }
    entry.last_poll = poll_;
  }
  if (is_outdated(entry)) find_place(entry);
}

bool CgroupSums::is_outdated(const Entry& entry) const {
  return entry.is_unnamed ? entry.nearest.epoch != names_epoch_ : tree_.is_outdated(entry.nearest);
}

/// Where only a part of the tree is mounted, the root of all has none, and is not to be looked for.
bool CgroupSums::lacks_its_name(const Entry& entry) {
  return entry.is_unnamed && entry.id != kRootOfAll;
}

void CgroupSums::look_up(Entry& entry) const {
  entry.is_unnamed = entry.is_at_slot = false;
  if (entry.own != kNone) {
    entry.nearest = tree_.as_nearest(entry.own);
    entry.is_at_slot = true;
  } else if (const std::string* const path = path_of_ ? path_of_(entry.id) : nullptr) {
    entry.nearest = tree_.nearest(*path);
    entry.is_at_slot = tree_.is_at(entry.nearest.target, *path);
  } else {
    entry.nearest = {kNone, names_epoch_};
    entry.is_unnamed = true;
  }
}

void CgroupSums::find_place(Entry& entry) {
  const bool was_unnamed = entry.is_unnamed;
  const bool was_at_slot = entry.is_at_slot;
  look_up(entry);
  if (!entry.is_unnamed) give_pending(entry, was_unnamed);
  // A name that is forgotten: the slots above it have it already.
  if (entry.is_at_slot || (entry.is_unnamed && !was_unnamed)) release(entry);
  if (entry.is_at_slot == was_at_slot && entry.is_unnamed == was_unnamed) return;
  entry.waits_since = entry.is_unnamed ? waited_ms() : poll_;
  entry.is_dropped = false;
}

/// Gives what is pending to the slots that it belongs to since names or slots have changed.
void CgroupSums::settle() {
  is_settled_ = true;
  std::erase_if(pending_ids_, [this](std::uint64_t id) {
    Entry& entry = *ids_.find(id);
    if (is_outdated(entry)) {
      find_place(entry);
    } else {
      give_pending(entry, false);  // a new slot may be further above
    }
    entry.is_listed = entry.pending != kNoRow;
    return !entry.is_listed;
  });
  ++batch_;
}

// --- increments ---------------------------------------------------------------------------------

/// Calls `step(target)` for each slot that it belongs to.
template <typename Step>
void CgroupSums::each_target(const Entry& entry, Step step) {
  for (Target target = entry.nearest.target; target != kNone; target = tree_.above(target)) {
    step(target);
  }
}

/// With a row for its increments.
CgroupSums::Entry& CgroupSums::running(std::uint64_t id) {
  Entry* entry = id != 0 ? ids_.find(id) : nullptr;
  if (entry == nullptr && id != 0 && ids_.size() < kMaxIds) entry = &ids_.insert(new_entry(id));
  if (entry != nullptr && entry->running != kNoRow) return *entry;
  if (entry == nullptr) {
    not_remembered_ = {.id = id, .last_poll = poll_, .running = new_row()};
    return not_remembered_;
  }
  if (running_ids_.size() == kMaxRunning) give();
  entry->running = new_row();
  running_ids_.push_back(id);
  return *entry;
}

/// At once, with nothing pending.
void CgroupSums::give_unremembered(const Entry& entry) {
  if (&entry != &not_remembered_) return;
  give();
  find_place(not_remembered_);
  not_remembered_.is_dropped = true;
  give(not_remembered_);
}

void CgroupSums::add_counts(std::size_t group, std::uint64_t id, nanoseconds time_running,
                            std::span<const std::uint64_t> counts) {
  const Entry& entry = running(id);
  rows_.add_counts(entry.running, group, to_words(time_running), counts);
  give_unremembered(entry);
}

void CgroupSums::add(std::size_t group, std::uint64_t id, nanoseconds enabled,
                     nanoseconds time_running, std::span<const std::uint64_t> counts) {
  const Entry& entry = running(id);
  rows_.add_time(entry.running, to_words(enabled));
  rows_.add_counts(entry.running, group, to_words(time_running), counts);
  give_unremembered(entry);
}

void CgroupSums::lose(nanoseconds time) {
  lost_ = saturating_sum(lost_, std::max(time, nanoseconds{0}));
}

// --- pending ------------------------------------------------------------------------------------

/// Whether increments are added to its row.
bool CgroupSums::keeps_pending(Entry& entry) {
  if (entry.pending != kNoRow) return true;
  if (entry.is_at_slot || entry.is_dropped) return false;
  if (pending_rows_ == kMaxPending) {
    drop(entry);
    return false;
  }
  entry.pending = new_row() & kNoRow;
  ++pending_rows_;
  if (!entry.is_listed) pending_ids_.push_back(entry.id);
  entry.is_listed = true;
  return true;
}

/// To all its slots, or to those that were opened since the increments were added.
void CgroupSums::give_pending(const Entry& entry, bool to_all) {
  if (entry.pending == kNoRow) return;
  each_target(entry, [&](Target target) {
    if (to_all || is_new(target)) give_row(target, entry.pending);
  });
}

void CgroupSums::release(Entry& entry) {
  if (entry.pending == kNoRow) return;
  free_rows_.push_back(entry.pending);
  entry.pending = kNoRow;
  --pending_rows_;
}

void CgroupSums::drop(Entry& entry) {
  if (lacks_its_name(entry)) {
    ++unnamed_.cgroups;
    if (entry.pending != kNoRow) {
      unnamed_.time = saturating_sum(unnamed_.time, to_time(rows_.enabled(entry.pending)));
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
    if (entry.pending != kNoRow && has_waited(entry)) drop(entry);
    entry.is_listed = entry.pending != kNoRow;
    return !entry.is_listed;
  });
}

void CgroupSums::end_poll(nanoseconds now) {
  give();
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
        return entry.pending != kNoRow && lacks_its_name(entry);
      }));
}

}  // namespace pex::collect
