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
#include "cgroup/fair_shares.h"
#include "cgroup/pace.h"
#include "cgroup/selection.h"
#include "cgroup/tree_watch.h"

namespace pex::cgroup {

/// The directories of a hierarchy that are selected, or below which some could be. Follows what
/// inotify tells of them one by one, so its cost is that of what changes, and looks at the whole
/// tree at first, when that was too much for inotify, and once a minute in any case; but at no more
/// than so many directories a second. Where there are more directories than it may know, those it
/// knows are divided fairly over the tree (fair_shares.h), and what is beyond that is as if it were
/// not there, until there is room when the tree is looked at. Not thread-safe.
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

  /// As many directories are looked at in each second, beside those of one look: some percent of a
  /// CPU, while the queue of inotify overflows all the time or there are no watches.
  static constexpr double kLooksPerSecond = 5'000;

  /// What is not known, with all below it.
  struct Skipped {
    std::size_t beyond_limit = 0;  ///< directories, as of the last look at the whole tree and since
    std::size_t path_too_long = 0;  ///< the same
    std::string most_in;            ///< the directory that has most beyond the limit; empty: none
    std::string longest_in;         ///< one with paths that are too long; empty: none

    bool operator==(const Skipped&) const = default;
  };

  /// `root` is the directory of the hierarchy's root.
  Tree(std::string root, Selection selection, Limits limits);
  Tree(std::string root, Selection selection)
      : Tree(std::move(root), std::move(selection), Limits{}) {}

  /// Whether anything has changed. A directory that cannot be read costs what is below it. Fails
  /// when the tree as a whole cannot be read; then what was known still holds, as a cgroup is only
  /// gone when the tree says so.
  Result<bool> update(Clock::time_point now);

  const std::string& root() const { return root_; }
  const Selection& selection() const { return selection_; }
  const Directories& directories() const { return known_; }

  /// A directory each, left out with all below it.
  const std::map<std::string, Error>& unreadable() const { return unreadable_; }

  Skipped skipped() const;
  std::size_t watched() const { return watch_.watched(); }
  std::size_t unwatched() const { return watch_.unwatched(); }

  /// The paths at which a directory has come, gone or been made anew since the last call: those of
  /// which directories() tells something else now.
  std::vector<std::string> take_changed_paths();

  /// One of them was found to be gone before it has been told.
  void forget(const std::string& path);

  /// Selected ones that were gone before they could be found, since the last call. Those inside of
  /// a directory that was as short-lived are not known of.
  std::uint64_t take_missed();

  /// Whether inotify's queue has overflowed since the last call: some may have come and gone
  /// unseen.
  bool take_overflow();

  /// Whether inotify tells of everything that it is asked for; else each update looks at the whole
  /// tree.
  bool is_watched() const { return watch_.is_complete(); }
  /// Readable when there is something new; -1 when only asking tells. Only for waiting.
  int descriptor() const { return watch_.descriptor(); }

 private:
  struct LeftThere {
    std::size_t beyond_limit = 0;
    std::size_t path_too_long = 0;
  };
  struct Look {
    Directories found;
    std::map<std::string, Error> unreadable;
    std::map<std::string, LeftThere> skipped;  ///< by the directory they are in
    std::set<std::string> gave_way;            ///< known before, or found
    std::size_t visited = 0;
  };

  Result<> look_everywhere(Clock::time_point now);
  Result<> enter_root(Look& look);
  void replace_known(Directories now);
  void restore_places();
  void add_skipped(const std::string& directory, const LeftThere& more);
  bool has_place(const std::string& path, Look& look);
  void give_way(const std::string& path, Look& look);
  bool was_skipped(const std::string& path);
  bool apply(const TreeWatch::Change& change);
  bool came(const std::string& path);
  bool went(const std::string& path);
  void miss(const std::string& path);
  bool erase(const std::string& path);
  Result<> enter(const std::string& path, Look& look);
  Result<> visit(const std::string& path, std::uint64_t inode, Look& look);

  std::string root_;
  Selection selection_;
  Limits limits_;
  TreeWatch watch_;
  Directories known_;
  FairShares places_;  ///< of what is known
  std::map<std::string, LeftThere> skipped_in_;
  Pace looks_;
  std::optional<std::uint64_t> device_;  ///< of the root
  std::map<std::string, Error> unreadable_;
  std::set<std::string> missed_;  ///< counted, and their removal is still to be told
  std::uint64_t missed_count_ = 0;
  bool looked_ = false;  ///< at everything; what came since has been told
  Clock::time_point looked_at_;
  bool overflowed_ = false;
  bool changed_ = false;  ///< and that has not been told
  std::vector<std::string> changed_paths_;
};

/// Whether opening a file failed for want of descriptors, which is over some time.
bool wants_descriptor(int code);

}  // namespace pex::cgroup
