#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/token_bucket.h"
#include "base/unique_fd.h"
#include "cgroup/fair_shares.h"

namespace pex::cgroup {

/// Reports which directories have appeared or disappeared since the last call, by inotify(7).
/// Watches at most `max_watches` directories, divided fairly over the tree (fair_shares.h).
class TreeWatch {
 public:
  using Clock = TokenBucket::Clock;

  /// A directory in a watched one. By the time it is reported, it may be gone again, or recreated.
  struct Change {
    enum class Kind { kAppeared, kDisappeared };
    Kind kind = Kind::kAppeared;
    std::string path;  ///< the watched one's, '/' and its name
    int watch = -1;    ///< of the watched one. Another directory of the same path has another one
    bool operator==(const Change&) const = default;
  };
  struct Changes {
    std::vector<Change> each;  ///< in order
    bool are_unknown = false;  ///< the queue overflowed, or the kernel refuses to watch: walk the
                               ///< tree
    bool were_lost = false;    ///< the queue overflowed
    bool are_all = false;      ///< nothing is left in the queue
    std::vector<int> ended;    ///< watches that report nothing more; their numbers are not reused
  };

  /// Events taken at once and per second: as many as the kernel's queue holds by default, and what
  /// costs a few percent of a CPU. The rest stays in the queue.
  static constexpr double kEventsAtOnce = 32'768;
  static constexpr double kEventsPerSecond = 5'000;

  explicit TreeWatch(std::size_t max_watches = std::numeric_limits<std::size_t>::max());

  /// Reports on the children of `directory` as on those of `path`; watching it again is harmless.
  /// To miss nothing, watch first and list afterwards.
  void add(const std::string& directory, const std::string& path);

  /// Stops watching the path.
  void remove(const std::string& path);
  /// The directory is gone: its watch ends, once what it has reported is taken. The kernel does not
  /// end that of a cgroup: dentry_unlink_inode() in fs/dcache.c asks whether the inode has links
  /// left, and those of kernfs have (until "kernfs: Send IN_DELETE_SELF and IN_IGNORED", 2026). An
  /// unwatched one is no longer counted.
  void disappeared(const std::string& path);

  /// All directories will be added again, until finish(); those that are gone have disappeared()
  /// by then. What these have reported is still to be taken; but after an overflow of the queue
  /// their ends may never be reported, so they are dropped.
  void start_over();
  /// Returns whether the queue has overflowed since the last call.
  bool finish();

  /// The changes since the last call. If inotify or a directory's watch is refused, as there are
  /// limits on both, changes are unknown every time until all directories could be added.
  Changes take(Clock::time_point now);

  /// Of the directory at `path`, if it is watched.
  std::optional<int> watch_of(const std::string& path) const;

  bool is_complete() const { return inotify_ && complete_; }
  std::size_t watched() const { return watches_.size(); }
  /// Added, and not watched because of the limit.
  std::size_t unwatched() const { return unwatched_.size(); }

  /// Readable if there are changes; -1 without inotify. Only for waiting.
  int descriptor() const { return inotify_.get(); }

 private:
  bool has_room_for(const std::string& path);
  void end_watch(int watch) const;
  std::optional<int> stop(const std::string& path);
  void ended(std::unordered_map<int, std::string>::iterator watched);
  bool read_some(Clock::time_point now, Changes& changes);

  std::size_t max_watches_;
  UniqueFd inotify_;
  std::unordered_map<int, std::string> paths_;  ///< by watch descriptor, until its end is taken
  std::unordered_map<std::string, int> watches_;
  FairShares places_;  ///< of the watched directories
  TokenBucket events_{{kEventsPerSecond, kEventsAtOnce}};
  std::unordered_set<std::string> unwatched_;  ///< since the last start_over()
  bool complete_ = true;
  bool lost_ends_ = false;  ///< since the last finish()
};

}  // namespace pex::cgroup
