#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "base/unique_fd.h"

namespace pex::cgroup {

/// Tells which directories have come or gone since it was last asked, by inotify(7).
class TreeWatch {
 public:
  /// One directory in a watched one. By the time it is told, it may be gone again, or back.
  struct Change {
    enum class Kind { kCame, kWent };
    Kind kind = Kind::kCame;
    std::string path;  ///< the watched one's, '/' and its name
    bool operator==(const Change&) const = default;
  };
  struct Changes {
    std::vector<Change> each;  ///< in their order
    bool are_unknown = false;  ///< the queue overflowed, or not all is watched: look everywhere
    bool were_lost = false;    ///< the queue overflowed
  };

  TreeWatch();

  /// Reports on the children of `directory` as on those of `path`; watching it again is harmless.
  /// To miss nothing, watch first and list afterwards. A removed directory is forgotten by itself.
  void add(const std::string& directory, const std::string& path);

  /// All directories are going to be added again.
  void start_over();

  /// What was reported since the last call. Where inotify or a directory's watch is refused, as
  /// there are limits on both, changes are unknown every time until all could be added.
  Changes take();

  bool is_complete() const { return inotify_ && complete_; }

  /// Readable when there is something to take; -1 without inotify. Only for waiting.
  int descriptor() const { return inotify_.get(); }

 private:
  UniqueFd inotify_;
  std::unordered_map<int, std::string> paths_;  ///< by watch descriptor
  bool complete_ = true;
};

}  // namespace pex::cgroup
