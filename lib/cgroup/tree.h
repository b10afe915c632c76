#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/token_bucket.h"
#include "cgroup/cgroup.h"
#include "cgroup/cgroup_names.h"
#include "cgroup/fair_shares.h"
#include "cgroup/name_index.h"
#include "cgroup/selection.h"
#include "cgroup/tree_watch.h"

namespace pex::cgroup {

/// The directories of a hierarchy that are selected, or may contain selected ones; and what else is
/// in those, inside of a selected one of which only the leaves are wanted. Follows inotify,
/// so its cost is that of the changes. Walks the whole tree at first, when inotify's queue has
/// overflowed, and at least once a minute; but visits a bounded number of directories per second.
/// If there are more directories than the limit, it is divided fairly over the tree
/// (fair_shares.h); the others are ignored until a walk finds room for them. Not thread-safe.
///
/// While all have names (name_all), the walks find all other directories as well, as many as the
/// limit, divided in the same way. These are not watched: what the kernel reports has their names
/// sooner.
class Tree {
 public:
  using Clock = std::chrono::steady_clock;

  /// One directory, by its path below the root.
  struct Directory {
    std::uint64_t inode = 0;
    bool is_selected = false;  ///< else only entered
    bool is_followed = true;   ///< for the selection; else only named
    unsigned walk = 0;         ///< the number of the one that has found it, or was the last before
    bool operator==(const Directory& other) const {
      return inode == other.inode && is_selected == other.is_selected;
    }
  };
  using Directories = std::map<std::string, Directory>;

  /// The length of a path, in bytes as published: nested containers have some 400.
  static constexpr std::size_t kMaxPathBytes = 1024;

  /// The limits on known directories, on watched ones, and on the length of paths.
  struct Limits {
    std::size_t directories = 32'768;
    std::size_t watches = std::numeric_limits<std::size_t>::max();
    std::size_t path_bytes = kMaxPathBytes;  ///< at most that
  };

  /// Directories visited per second, in addition to those of one walk: some percent of a CPU, while
  /// the queue of inotify overflows all the time or there are no watches.
  static constexpr double kVisitsPerSecond = 5'000;

  /// What is skipped, with everything below it.
  struct Skipped {
    std::size_t beyond_limit = 0;   ///< directories, as of the last walk and since
    std::size_t path_too_long = 0;  ///< the same
    std::string most_in;            ///< the directory with most beyond the limit; empty: none
    std::string longest_in;         ///< a directory with paths that are too long; empty: none

    bool operator==(const Skipped&) const = default;
  };

  /// `root` is the directory of the hierarchy's root.
  Tree(std::string root, Selection selection, Limits limits);
  Tree(std::string root, Selection selection)
      : Tree(std::move(root), std::move(selection), Limits{}) {}

  /// Returns whether anything has changed. If a directory cannot be read, everything below it is
  /// left out. Fails if the tree as a whole cannot be read; then the known directories stay, as
  /// only a readable tree shows that a cgroup is gone. `lacks_names`: there are ids without a name,
  /// so that it walks sooner where it may not know of a directory yet.
  Result<bool> update(Clock::time_point now, bool lacks_names = false);

  /// Another selection from the next update() on, which walks the whole tree.
  void select(Selection selection);

  /// Whether all directories have names, from the next update() on.
  void name_all(bool all);
  bool names_all() const { return names_all_; }
  /// The names of the known directories, of those that are below a path that is too long, and of
  /// some that are gone; none unless all have names. The same object while nothing has changed.
  const std::shared_ptr<const CgroupNames>& names() { return names_.names(); }
  /// These existed a short time ago. A path with a '/' at its end is that of a directory above.
  /// Returns those that had no name yet.
  std::vector<NamedCgroup> learn(std::vector<NamedCgroup> reported);

  const std::string& root() const { return root_; }
  /// As of the last walk; nothing before it.
  std::optional<std::uint64_t> root_inode() const { return root_inode_; }
  const Selection& selection() const { return selection_; }
  const Directories& directories() const { return known_; }
  /// Those that are followed.
  std::size_t followed() const { return places_.held(); }
  /// Whether the directory at `path`, or one above it, is selected.
  bool is_within_selected(std::string path) const;

  bool is_too_long(const std::string& path) const;

  /// One error for each directory; it is left out with everything below it.
  const std::map<std::string, Error>& unreadable() const { return unreadable_; }

  Skipped skipped() const;
  std::size_t watched() const { return watch_.watched(); }
  std::size_t unwatched() const { return watch_.unwatched(); }

  /// The paths at which a directory was created, removed or recreated since the last call: those
  /// for which directories() has changed.
  std::vector<std::string> take_changed_paths() { return std::exchange(changed_paths_, {}); }

  /// One of them was found to be gone before inotify reported it.
  void forget(const std::string& path);

  /// Selected directories that were gone before they could be found, since the last call. Without
  /// those inside of a directory that was as short-lived. A path is there as often as it was
  /// missed.
  std::vector<std::string> take_missed_paths() { return std::exchange(missed_paths_, {}); }
  std::uint64_t take_missed() { return take_missed_paths().size(); }

  /// Whether inotify's queue has overflowed since the last call: directories may have appeared and
  /// disappeared undetected.
  bool take_overflow() { return std::exchange(overflowed_, false); }

  /// Whether inotify reports everything; otherwise each update walks the whole tree.
  bool is_watched() const { return watch_.is_complete(); }
  /// Readable if there are changes; -1 without inotify. Only for waiting.
  int descriptor() const { return watch_.descriptor(); }

 private:
  bool is_wanted(const std::string& path) const;

  struct SkipCounts {
    std::size_t beyond_limit = 0;
    std::size_t path_too_long = 0;
  };
  struct Walk {
    std::set<std::string> displaced;  ///< known before, or found
    std::size_t visited = 0;
  };

  Result<> reconcile(Clock::time_point now);
  Result<> enter_root(Walk& walk);
  void know(const std::string& path, const Directory& now);
  void disappear(const std::string& path, const Directory& directory);
  void forget_unfound();
  FairShares& places_of(const Directory& directory) {
    return directory.is_followed ? places_ : places_of_named_;
  }
  bool has_place(const std::string& path, const Directory& now, Walk& walk);
  void give_way(const std::string& path, Walk& walk);
  bool was_skipped(const std::string& path);
  void skip(const std::string& path, std::size_t SkipCounts::*reason);
  void apply(const TreeWatch::Change& change);
  void appeared(const TreeWatch::Change& change);
  void disappeared(const TreeWatch::Change& change);
  bool is_missed(const TreeWatch::Change& change) const;
  void mark_missed(const std::string& path, std::optional<int> watch);
  void erase(const std::string& path);
  std::string name_for(std::string path) const;
  NameIndex::Presence presence_of(std::uint64_t id, const std::string& path) const;
  void name_below(const std::string& path, std::uint64_t inode, Walk& walk);
  Result<> enter(const std::string& path, Walk& walk);
  Result<> visit(const std::string& path, std::uint64_t inode, Walk& walk);

  std::string root_;
  Selection selection_;
  Limits limits_;
  TreeWatch watch_;
  Directories known_;
  FairShares places_;  ///< of the known directories that are followed
  FairShares places_of_named_;
  std::map<std::string, SkipCounts> skipped_in_;  ///< by the directory they are in
  // Hashes of skipped paths, as inotify may report them once more: until all of its queue has been
  // read after the walk. At most as many as there may be directories.
  std::unordered_set<std::size_t> skipped_by_walks_;
  std::unordered_set<std::size_t> skipped_by_earlier_walks_;
  TokenBucket visits_;
  std::optional<std::uint64_t> device_;  ///< of the root
  std::optional<std::uint64_t> root_inode_;
  bool names_all_ = false;
  NameIndex names_;
  std::map<std::string, Error> unreadable_;
  /// Paths that are counted, and whose removal the watch has not reported yet.
  std::map<int, std::set<std::string>> missed_;
  std::vector<std::string> missed_paths_;  ///< not taken yet
  unsigned walk_ = 0;                      ///< the number of the last one
  bool is_reconciled_ = false;             ///< since the last walk inotify has reported everything
  Clock::time_point reconciled_at_;
  bool overflowed_ = false;
  bool changed_ = false;  ///< since the last update that returned true
  std::vector<std::string> changed_paths_;
};

/// Longer than that, as it would be published.
bool is_path_too_long(const std::string& path, std::size_t bytes = Tree::kMaxPathBytes);

}  // namespace pex::cgroup
