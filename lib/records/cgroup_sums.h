#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cgroup/cgroup.h"
#include "count/row_set.h"
#include "perf/group_interval.h"
#include "records/id_table.h"
#include "records/sum_rows.h"
#include "records/target_tree.h"

namespace pex::collect {

/// The id of the root of all cgroups, whose tasks include the idle one.
inline constexpr std::uint64_t kRootOfAll = 1;

/// What the cgroups of one CPU did, for those that are counted there: the open slots. Increments
/// come by the id of the cgroup that ran, and are summed up by id. At each poll they are *given* to
/// the slots: each has those of its own id and of all ids at and below its path, since it was
/// opened, until they are read.
///
/// An id belongs to the slot that was opened for it, else to the nearest one at or above its
/// path, and to all slots above that one. Ids are never reused, paths are: a cgroup that was
/// removed and created again is another id at the same path. Its increments belong to the same
/// slot while that is open.
///
/// Cgroups run before their name is known, and before a slot is opened for them. So what an id did
/// is also kept *pending*, for slots to come:
///
///   no path is known --named--> no slot at its path yet --opened--> at its slot
///        \--kMaxTimeUnnamed              \--kMaxPollsNamed polls
///         \--> dropped, and reported      \--> dropped: slots have it from their opening on
///
/// Once named, the increments pending are given to all its slots; later, to those that were
/// opened since. Nothing is given twice.
///
/// Time that is known to be nobody's may be any cgroup's: for each slot it is time in which it
/// may have run, and nothing was counted.
///
/// An increment takes a constant time, and at each poll an id that ran one addition for each slot
/// above it. Not thread-safe.
class CgroupSums {
 public:
  /// The path of the cgroup of an id below the mount, as in cgroup::Cgroup; null if it is unknown.
  /// Valid until the next call. It is called once for each id, and again after changes.
  using PathOf = std::function<const std::string*(std::uint64_t id)>;

  static constexpr std::uint32_t kMaxPollsNamed = 2;
  /// Names are found by reading the tree, which takes time and not polls; but at least
  /// kMinPollsUnnamed.
  static constexpr std::chrono::nanoseconds kMaxTimeUnnamed = std::chrono::minutes{1};
  static constexpr std::uint32_t kMinPollsUnnamed = 3;
  /// Ids that ran since they were given. With more, all are given at once.
  static constexpr std::size_t kMaxRunning = 4096;
  /// Ids with increments pending. Those of further ones are dropped at once.
  static constexpr std::size_t kMaxPending = 4096;
  /// Ids that are remembered. Those of slots are always, and further ones are looked up each time,
  /// with nothing pending.
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
  /// What one group counted at one slot.
  struct Sum {
    std::chrono::nanoseconds enabled{};
    std::vector<std::uint64_t> counts;
  };

  /// `now`: by the clock of end_poll().
  explicit CgroupSums(std::chrono::nanoseconds now = {}) : polled_at_(now) {}

  /// Groups have the numbers of their owner, which are reused. One that exists with as many counts
  /// goes on: it was opened again in the kernel.
  void add_group(std::size_t group, std::size_t counts);
  void remove_group(std::size_t group);

  /// The names have changed.
  void set_names(PathOf path_of);

  /// Opens `group` at a slot, for this cgroup, once until it is closed: with what is pending, if it
  /// is the first group of the slot, as are all that are opened before anything is given.
  void open(std::size_t slot, const std::shared_ptr<const cgroup::Cgroup>& cgroup,
            std::size_t group);
  /// One group of it; the last one closes the slot.
  void close(std::size_t slot);

  /// What a group did at an open slot since the last call: false if that is nothing. `running` is
  /// by its own records, and may be more than `enabled`. `lost` is since the last poll, or since
  /// the slot was opened; for a group that is opened later there, up to a poll more.
  bool take(std::size_t slot, std::size_t group, perf::GroupInterval& since);
  /// Adds the slots at which take() may have something: those that were opened, or to which
  /// anything was given, since the last call; all of them if anything was lost. What is not taken
  /// before the next increments are given is dropped.
  void take_changed(RowSet& slots);

  /// That an open slot was opened for.
  const std::shared_ptr<const cgroup::Cgroup>& cgroup_of(std::size_t slot) const {
    return slots_[target_of(slot)].cgroup;
  }
  /// The poll before that.
  std::chrono::nanoseconds opened_after(std::size_t slot) const {
    return slots_[target_of(slot)].opened_after;
  }

  /// The cgroup ran for the time `enabled`, which is that of all groups. Meanwhile this one had the
  /// PMU for the time `running`, and counted.
  void add(std::size_t group, std::uint64_t id, std::chrono::nanoseconds enabled,
           std::chrono::nanoseconds running, std::span<const std::uint64_t> counts);
  /// And another one.
  void add_counts(std::size_t group, std::uint64_t id, std::chrono::nanoseconds running,
                  std::span<const std::uint64_t> counts);
  /// Nobody knows who ran for this time.
  void lose(std::chrono::nanoseconds time);

  /// Gives all that was added to the slots.
  void give();
  /// The same, at each poll once. `now` never falls.
  void end_poll(std::chrono::nanoseconds now);

  /// From now on the sum of what is given to one slot for one group is kept.
  void watch(std::size_t slot, std::size_t group);
  const Sum& watched() const { return watched_; }

  /// Ids with increments pending whose path is not known: there is reason to look for it.
  std::size_t awaiting_names();
  /// Since the start.
  const Unnamed& unnamed() const { return unnamed_; }

  std::size_t remembered() const { return ids_.size(); }

 private:
  /// A slot in the tree: its number, from 1 on.
  using Target = TargetTree::Target;
  static constexpr Target kNone = TargetTree::kNone;
  static Target target_of(std::size_t slot) { return static_cast<Target>(slot + 1); }

  using Row = std::uint32_t;
  static constexpr int kBitsOfRow = 28;  // so that an Entry has 40 bytes
  static constexpr Row kNoRow = (Row{1} << kBitsOfRow) - 1;

  /// One id. What is remembered of the slots that it belongs to is valid while it is not
  /// outdated: of an unnamed one while no names have come, else while its place in the tree is.
  struct Entry {
    std::uint64_t id = 0;
    TargetTree::Nearest nearest{};      ///< the nearest slot; if it is unnamed, that of the names
    Target own = kNone;                 ///< the slot that was opened for it
    std::uint32_t last_poll = 0;        ///< in which it ran
    std::uint32_t waits_since = 0;      ///< first seen, named, or lost its own slot: poll, or of
                                        ///< one that is unnamed waited_ms()
    Row running = kNoRow;               ///< of rows_: what was added since it was given
    Row pending : kBitsOfRow = kNoRow;  ///< the same: what slots to come have to get
    bool is_unnamed : 1 = true;
    bool is_at_slot : 1 = false;  ///< no slot can come between it and the nearest one
    bool is_dropped : 1 = false;  ///< what was pending is dropped, and nothing is kept any more
    bool is_listed : 1 = false;   ///< in pending_ids_
  };
  struct OpenSlot {
    std::shared_ptr<const cgroup::Cgroup> cgroup;  ///< null: closed
    std::chrono::nanoseconds opened_after{};       ///< as polled_at_
    std::chrono::nanoseconds lost_before{};        ///< lost_ when it was opened
    Row row = kNoRow;                              ///< of rows_: what was given and not taken
    std::uint32_t groups = 0;                      ///< open ones
    std::uint32_t opened_in = 0;                   ///< as batch_
    bool is_listed = false;                        ///< in changed_
  };

  /// Like one that is forgotten, until it is seen.
  Entry new_entry(std::uint64_t id) const {
    return {.id = id, .last_poll = poll_ - kPollsRemembered - 1, .waits_since = waited_ms()};
  }
  std::uint32_t waited_ms() const {
    return static_cast<std::uint32_t>(waited_ / std::chrono::milliseconds{1});  // wraps
  }
  Entry& running(std::uint64_t id);
  void give_unremembered(const Entry& entry);
  void give(Entry& entry);
  void give_row(Target target, Row row);
  void note_given(Target target, Row row);
  Row new_row();
  void begin_giving();
  void mark_changed(Target target);

  bool is_forgotten(const Entry& entry) const;
  void note_seen(Entry& entry);
  bool is_outdated(const Entry& entry) const;
  static bool lacks_its_name(const Entry& entry);
  void find_place(Entry& entry);
  void look_up(Entry& entry) const;
  void settle();

  bool keeps_pending(Entry& entry);
  void give_pending(const Entry& entry, bool to_all);
  void release(Entry& entry);
  void drop(Entry& entry);
  bool has_waited(const Entry& entry) const;
  void drop_old();
  template <typename Step>
  void each_target(const Entry& entry, Step step);

  bool is_new(Target target) const { return slots_[target].opened_in == batch_; }
  void open_first(Target target, const std::shared_ptr<const cgroup::Cgroup>& cgroup);

  PathOf path_of_;
  std::uint32_t names_epoch_ = 1;
  TargetTree tree_;
  IdTable<Entry> ids_;
  std::vector<std::chrono::nanoseconds> lost_before_group_;  ///< by group: lost_ when it was added

  SumRows rows_;                            ///< of ids that ran or wait, and of slots
  std::vector<Row> free_rows_;              ///< of rows_
  Row used_rows_ = 0;                       ///< the same, with these
  std::vector<std::uint64_t> running_ids_;  ///< all those with a row, each once
  Entry not_remembered_;                    ///< the last one of those beyond kMaxIds

  std::vector<OpenSlot> slots_;  ///< by target
  std::vector<Target> changed_;
  bool is_taken_ = false;              ///< what is given, by take_changed()
  std::vector<std::uint64_t> unused_;  ///< counts that are dropped
  /// Slots that were opened since the last settle() have this number.
  std::uint32_t batch_ = 1;
  bool is_settled_ = true;

  std::size_t pending_rows_ = 0;            ///< ids with such a row
  std::vector<std::uint64_t> pending_ids_;  ///< all of these, each once

  std::uint32_t poll_ = 1;
  std::chrono::nanoseconds polled_at_;
  std::chrono::nanoseconds waited_{};  ///< for names, at most a part of kMaxTimeUnnamed in a poll
  std::chrono::nanoseconds lost_{};    ///< since the start
  std::chrono::nanoseconds lost_when_taken_{};
  std::chrono::nanoseconds lost_before_{};  ///< what was given: lost_ then
  Unnamed unnamed_;

  Target watches_ = kNone;
  std::size_t watched_group_ = 0;
  Sum watched_;
};

}  // namespace pex::collect
