#pragma once

#include <string>

#include "base/unique_fd.h"

namespace pex::cgroup {

/// Tells whether directories may have come or gone since it was last asked, by inotify(7). Where a
/// directory cannot be watched (limit of watches reached) it answers yes every time: correct, only
/// slower.
class TreeWatch {
 public:
  TreeWatch();

  /// Watches the children of one directory; watching it again is harmless. To miss nothing, watch
  /// first and list afterwards. A removed directory is forgotten by the kernel itself.
  void add(const std::string& directory);

  /// Takes what has been reported since the last call. An overflow of the queue counts as a change.
  bool changed();

 private:
  UniqueFd inotify_;
  bool blind_ = false;
};

}  // namespace pex::cgroup
