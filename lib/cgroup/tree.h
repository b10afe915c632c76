#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/token_bucket.h"
#include "cgroup/fair_shares.h"
#include "cgroup/selection.h"
#include "cgroup/tree_watch.h"

namespace pex::cgroup {

/// The directories of a hierarchy that are selected, or below which some could be. Follows what
/// inotify reports, so its cost is that of what changes. Walks the whole tree at first, when
/// inotify's queue has overflowed, and once a minute in any case; but visits no more than so many
/// directories a second. Where there are more directories than it may know, those it knows are
/// divided fairly over the tree (fair_shares.h). The others are ignored until a walk finds room for
/// them. Not thread-safe.
class Tree {
 public:
  using Clock = std::chrono::steady_clock;

  /// One directory, by its path below the root.
  struct Directory {
    std::uint64_t inode = 0;
    bool is_selected = false;  ///< else it was only entered
    bool operator==(const Directory&) const = default;
  };
  using Directories = std::map<std::string, Directory>;

  /// The most directories that are known, and those of them that are watched.
  struct Limits {
    std::size_t directories = 32'768;
    std::size_t watches = std::numeric_limits<std::size_t>::max();
  };

  /// Of a path, in bytes as it is published: containers in containers have some 400.
  static constexpr std::size_t kMaxPathBytes = 1024;

  /// So many directories are visited in each second, next to those of one walk: some percent of a
  /// CPU, while the queue of inotify overflows all the time or there are no watches.
  static constexpr double kVisitsPerSecond = 5'000;

  /// What is not known, with all below it.
  struct Skipped {
    std::size_t beyond_limit = 0;   ///< directories, as of the last walk and since
    std::size_t path_too_long = 0;  ///< the same
    std::string most_in;            ///< the directory that has most beyond the limit; empty: none
    std::string longest_in;         ///< one with paths that are too long; empty: none

    bool operator==(const Skipped&) const = default;
  };

  /// `root` is the directory of the hierarchy's root.
  Tree(std::string root, Selection selection, Limits limits);
  Tree(std::string root, Selection selection)
      : Tree(std::move(root), std::move(selection), Limits{}) {}

  /// Whether anything has changed. Where a directory cannot be read, what is below it is left out.
  /// Fails when the tree as a whole cannot be read; then what was known still holds, as only the
  /// tree tells that a cgroup is gone.
  Result<bool> update(Clock::time_point now);

  const std::string& root() const { return root_; }
  const Selection& selection() const { return selection_; }
  const Directories& directories() const { return known_; }

  /// A directory each, left out with all below it.
  const std::map<std::string, Error>& unreadable() const { return unreadable_; }

  Skipped skipped() const;
  std::size_t watched() const { return watch_.watched(); }
  std::size_t unwatched() const { return watch_.unwatched(); }

  /// The paths at which a directory has appeared, disappeared or been made again since the last
  /// call: those for which directories() has changed.
  std::vector<std::string> take_changed_paths();

  /// One of them was found to be gone before inotify has reported it.
  void forget(const std::string& path);

  /// Selected ones that were gone before they could be found, since the last call. Without those
  /// inside of a directory that was as short-lived.
  std::uint64_t take_missed();

  /// Whether inotify's queue has overflowed since the last call: some may have appeared and
  /// disappeared unnoticed.
  bool take_overflow();

  /// Whether inotify reports everything that it is asked for; else each update walks the whole
  /// tree.
  bool is_watched() const { return watch_.is_complete(); }
  /// Readable when there is something new; -1 without inotify. Only for waiting.
  int descriptor() const { return watch_.descriptor(); }

 private:
  struct SkipCounts {
    std::size_t beyond_limit = 0;
    std::size_t path_too_long = 0;
  };
  struct Walk {
    Directories found;
    std::map<std::string, Error> unreadable;
    std::map<std::string, SkipCounts> skipped;  ///< by the directory they are in
    std::set<std::string> gave_way;             ///< known before, or found
    std::size_t visited = 0;
  };

  Result<> reconcile(Clock::time_point now);
  Result<> enter_root(Walk& walk);
  void replace_known(Directories now);
  void restore_places();
  void add_skipped(const std::string& directory, const SkipCounts& more);
  bool has_place(const std::string& path, Walk& walk);
  void give_way(const std::string& path, Walk& walk);
  bool was_skipped(const std::string& path);
  bool apply(const TreeWatch::Change& change);
  bool came(const std::string& path);
  bool went(const std::string& path);
  void mark_missed(const std::string& path);
  bool erase(const std::string& path);
  Result<> enter(const std::string& path, Walk& walk);
  Result<> visit(const std::string& path, std::uint64_t inode, Walk& walk);

  std::string root_;
  Selection selection_;
  Limits limits_;
  TreeWatch watch_;
  Directories known_;
  FairShares places_;  ///< of what is known
  std::map<std::string, SkipCounts> skipped_in_;
  TokenBucket visits_;
  std::optional<std::uint64_t> device_;  ///< of the root
  std::map<std::string, Error> unreadable_;
  std::set<std::string> missed_;  ///< counted; inotify has yet to report their removal
  std::uint64_t missed_count_ = 0;
  bool is_reconciled_ = false;  ///< since the last walk inotify has reported everything
  Clock::time_point reconciled_at_;
  bool overflowed_ = false;
  bool changed_ = false;  ///< since the last update that returned so
  std::vector<std::string> changed_paths_;
};

/// Whether opening a file failed for lack of descriptors, which passes.
bool lacks_descriptors(int code);

}  // namespace pex::cgroup
