#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cgroup/cgroup.h"
#include "collect/records/id_table.h"
#include "collect/records/sum_rows.h"
#include "collect/records/target_tree.h"
#include "perf/group_reading.h"

namespace pex::collect {

/// The id of the root of all cgroups, whose tasks include the idle one.
inline constexpr std::uint64_t kRootOfAll = 1;

/// What the cgroups of one CPU did, summed to the cgroups that are counted there: the targets.
/// Increments come by the id of the cgroup that ran. A target's sums are those of its own id and of
/// all ids at and below its path, since it was opened. Each increment is added to all targets that
/// it belongs to at once, so that reading one costs the same however many cgroups are below it, and
/// an ancestor costs one addition.
///
/// An id belongs to the target that was opened for it, else to the nearest one at or above its
/// path, and to all targets above that one. Ids are never reused, paths are: a cgroup that was
/// removed and created again is another id at the same path. Its increments belong to the same
/// target while that is open.
///
/// Cgroups run before their name is known, and before they are opened as targets. So what an id did
/// is also kept *pending*, for targets to come:
///
///   no path is known --named--> no target at its path yet --opened--> at its target
///        \--kMaxTimeUnnamed              \--kMaxPollsNamed polls
///         \--> dropped, and reported      \--> dropped: targets have it from their opening on
///
/// Once named, the increments pending are added to all its targets; later, to those that were
/// opened since. Nothing is added twice.
///
/// Time that is known to be nobody's may be any cgroup's: for each target it is time in which it
/// may have run, and nothing was counted.
///
/// Takes a constant time for each increment and target above it. Not thread-safe.
class CgroupSums {
 public:
  /// An open target. The number is reused after it is closed.
  using Target = TargetTree::Target;

  /// The path of the cgroup of an id below the mount, as in cgroup::Cgroup; null if it is unknown.
  /// Valid until the next call. It is called once for each id, and again after changes.
  using PathOf = std::function<const std::string*(std::uint64_t id)>;

  static constexpr std::uint32_t kMaxPollsNamed = 2;
  /// Names are found by reading the tree, which takes time and not polls; but at least
  /// kMinPollsUnnamed.
  static constexpr std::chrono::nanoseconds kMaxTimeUnnamed = std::chrono::minutes{1};
  static constexpr std::uint32_t kMinPollsUnnamed = 3;
  /// Ids with increments pending. Those of further ones are dropped at once.
  static constexpr std::size_t kMaxPending = 4096;
  /// Ids that are remembered. Those of targets are always, and further ones are looked up at each
  /// of their records, with nothing pending.
  static constexpr std::size_t kMaxIds = 65536;
  /// Polls without a record after which an id is forgotten.
  static constexpr std::uint32_t kPollsRemembered = 16;

  /// Cgroups of which increments were dropped because no path was known, and the time enabled of
  /// these increments; without the root of all, which includes the time that the CPU is idle. A
  /// cgroup that was forgotten in between is counted again.
  struct Unnamed {
    std::uint64_t cgroups = 0;
    std::chrono::nanoseconds time{};
  };

  /// `now`: by the clock of end_poll().
  explicit CgroupSums(std::chrono::nanoseconds now = {}) : polled_at_(now) {}

  /// Groups have the numbers of their owner, which are reused. A new group counts from 0. One that
  /// exists with as many counts goes on: it was opened again in the kernel.
  void add_group(std::size_t group, std::size_t counts);
  void remove_group(std::size_t group);

  /// The names have changed.
  void set_names(PathOf path_of);

  /// Opens `group` of a target, once until it is closed. Its reading begins at 0, with what is
  /// pending. The first group of a target opens that; groups of which nothing was added in between
  /// are opened as if at once.
  Target open(const std::shared_ptr<const cgroup::Cgroup>& cgroup, std::size_t group);
  /// One group of it; the last one closes the target.
  void close(Target target);

  /// Whether anything was added since the last read of this group, or lost since the last
  /// take_lost(), or it was not read yet.
  bool has_changed(Target target, std::size_t group);
  /// Counts and times of a group of the target, as a descriptor returns them, since it was opened.
  /// They never fall, and `time_running` is at most `time_enabled`.
  void read(Target target, std::size_t group, perf::GroupReading& reading);
  /// The same, and has_changed() stays as it is.
  void look(Target target, std::size_t group, perf::GroupReading& reading);
  /// What was lost since the last call, or since the group was opened there.
  std::chrono::nanoseconds take_lost(Target target, std::size_t group);
  /// That an open target was opened for.
  const std::shared_ptr<const cgroup::Cgroup>& cgroup_of(Target target) const {
    return targets_[target].cgroup;
  }
  /// The open targets that were opened, or to which anything was added, since the last call; all of
  /// them if anything was lost. In no order, each once.
  void take_changed(std::vector<Target>& changed);

  /// The cgroup ran for the time `enabled`, which is that of all groups. Meanwhile this one had the
  /// PMU for the time `running`, and counted.
  void add(std::size_t group, std::uint64_t id, std::chrono::nanoseconds enabled,
           std::chrono::nanoseconds running, std::span<const std::uint64_t> counts);
  /// And another one.
  void add_counts(std::size_t group, std::uint64_t id, std::chrono::nanoseconds running,
                  std::span<const std::uint64_t> counts);
  /// Nobody knows who ran for this time.
  void lose(std::chrono::nanoseconds time);

  /// Called at each poll once, after all that happened up to then was added. `now` never falls.
  void end_poll(std::chrono::nanoseconds now);

  /// Ids with increments pending whose path is not known: there is reason to look for it.
  std::size_t awaiting_names();
  /// Since the start.
  const Unnamed& unnamed() const { return unnamed_; }

  std::size_t remembered() const { return ids_.size(); }

 private:
  static constexpr Target kNone = TargetTree::kNone;
  using Row = std::uint16_t;  // so that an Entry has 48 bytes
  static constexpr Row kNoRow = std::numeric_limits<Row>::max();
  static_assert(kMaxPending < kNoRow);

  /// One id. What is remembered of the targets that it belongs to is valid while it is not
  /// outdated: of an unnamed one while no names have come, else while its place in the tree is.
  struct Entry {
    std::uint64_t id = 0;
    TargetTree::Nearest nearest{};  ///< the nearest target; if it is unnamed, that of the names
    Target own = kNone;             ///< the target that was opened for it
    std::uint32_t last_poll = 0;    ///< in which it ran
    std::uint32_t waits_since = 0;  ///< first seen, named, or lost its own target: poll, or of
                                    ///< one that is unnamed waited_ms()
    Row row = kNoRow;               ///< of pending_
    bool is_unnamed : 1 = true;
    bool is_at_target : 1 = false;  ///< no target can come between it and the nearest one
    bool is_dropped : 1 = false;    ///< what was pending is dropped, and nothing is kept any more
    bool is_listed : 1 = false;     ///< in pending_ids_
  };
  struct OpenTarget {
    std::shared_ptr<const cgroup::Cgroup> cgroup;  ///< null: closed
    std::uint32_t groups = 0;                      ///< open ones
    std::uint32_t opened_in = 0;                   ///< as batch_
    std::uint32_t changes = 0;                     ///< wraps
    bool is_listed = false;                        ///< in changed_
  };
  /// One group of a target.
  struct Reader {
    std::uint64_t enabled_before = 0;      ///< when the group was opened there, ns
    std::chrono::nanoseconds lost_then{};  ///< lost_ at the last take_lost()
    std::uint32_t read_at = 0;             ///< OpenTarget::changes at the last read
  };

  /// Like one that is forgotten, until it is seen.
  Entry new_entry(std::uint64_t id) const {
    return {.id = id, .last_poll = poll_ - kPollsRemembered - 1, .waits_since = waited_ms()};
  }
  std::uint32_t waited_ms() const {
    return static_cast<std::uint32_t>(waited_ / std::chrono::milliseconds{1});  // wraps
  }
  bool is_forgotten(const Entry& entry) const;
  Entry& remember(std::uint64_t id);
  Entry& seen(std::uint64_t id);
  bool is_outdated(const Entry& entry) const;
  static bool lacks_its_name(const Entry& entry);
  void find_place(Entry& entry);
  void look_up(Entry& entry) const;
  void settle();

  bool keeps_pending(Entry& entry);
  void add_pending(const Entry& entry, bool to_all);
  void release(Entry& entry);
  void drop(Entry& entry);
  bool has_waited(const Entry& entry) const;
  void drop_old();
  template <typename Step>
  void each_target(const Entry& entry, Step step);

  bool is_new(Target target) const { return targets_[target].opened_in == batch_; }
  Target open_first(const std::shared_ptr<const cgroup::Cgroup>& cgroup);
  void restart(Target target, std::size_t group);
  Reader new_reader(Target target, std::uint64_t enabled_before) const {
    return {enabled_before, lost_, targets_[target].changes};
  }
  void mark_changed(Target target);
  Reader& reader(Target target, std::size_t group) {
    return readers_[target * sums_.groups() + group];
  }
  void arrange_readers(std::size_t groups_before);

  PathOf path_of_;
  std::uint32_t names_epoch_ = 1;
  TargetTree tree_;
  IdTable<Entry> ids_;
  Entry not_remembered_;  ///< the last one of those beyond kMaxIds

  SumRows sums_;                     ///< by target
  std::vector<OpenTarget> targets_;  ///< by target
  std::vector<Reader> readers_;      ///< [target * groups + group]
  std::vector<Target> changed_;
  /// Targets that were opened since the last settle() have this number.
  std::uint32_t batch_ = 1;
  bool is_settled_ = true;

  SumRows pending_;                         ///< by Entry::row
  std::vector<Row> free_rows_;              ///< of pending_
  std::size_t rows_ = 0;                    ///< of pending_
  std::vector<std::uint64_t> pending_ids_;  ///< all those with a row, each once

  std::uint32_t poll_ = 1;
  std::chrono::nanoseconds polled_at_;
  std::chrono::nanoseconds waited_{};  ///< for names, at most a part of kMaxTimeUnnamed in a poll
  std::chrono::nanoseconds lost_{};    ///< since the start
  bool is_lost_listed_ = true;         ///< in changed_
  Unnamed unnamed_;
};

}  // namespace pex::collect
