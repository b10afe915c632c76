#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "cgroup/selection.h"
#include "cgroup/tree_watch.h"

namespace pex::cgroup {

/// The directories of a hierarchy that are selected, or below which some could be. Follows what
/// inotify tells of them one by one, so its cost is that of what changes, and looks at the whole
/// tree at first, when that was too much for inotify, and once a minute in any case. Not
/// thread-safe.
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

  /// `root` is the directory of the hierarchy's root.
  Tree(std::string root, Selection selection);

  /// Whether anything has changed. A directory that cannot be read costs what is below it. Fails
  /// when the tree as a whole cannot be read; then what was known still holds, as a cgroup is only
  /// gone when the tree says so.
  Result<bool> update(Clock::time_point now);

  const std::string& root() const { return root_; }
  const Selection& selection() const { return selection_; }
  const Directories& directories() const { return known_; }

  /// A directory each, left out with all below it.
  const std::map<std::string, Error>& unreadable() const { return unreadable_; }

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

  /// Whether inotify tells of everything; else each update looks at the whole tree.
  bool is_watched() const { return watch_.is_complete(); }
  /// Readable when there is something new; -1 when only asking tells. Only for waiting.
  int descriptor() const { return watch_.descriptor(); }

 private:
  struct Look {
    Directories found;
    std::map<std::string, Error> unreadable;
  };

  Result<> look_everywhere();
  void replace_known(Directories now);
  bool apply(const TreeWatch::Change& change);
  bool came(const std::string& path);
  bool went(const std::string& path);
  void miss(const std::string& path);
  bool erase(const std::string& path);
  Result<> enter(const std::string& path, Look& look);
  Result<> visit(const std::string& path, std::uint64_t inode, Look& look);

  std::string root_;
  Selection selection_;
  TreeWatch watch_;
  Directories known_;
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
