#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/unique_fd.h"

namespace pex::daemon {

/// Whether a file was created or written at its path, where a program may be writing to it still,
/// or moved there, as a whole: inotify(7) on its directory. Knows nothing of what another host
/// does, nor of anything if there is no inotify, or too much happens at once.
class CreationWatch {
 public:
  /// `file` may be a link: it is about what that leads to.
  explicit CreationWatch(std::string file) : file_(std::move(file)) {}

  /// Before the file is looked at: watches its directory, which may be another one.
  void follow();
  /// After that. True: the last file that has come there was created, or written since; false: it
  /// was moved there, or a link leads to another directory; none: nothing was since the last call.
  std::optional<bool> take();

 private:
  std::string file_;
  std::string real_;  ///< without links, as of the last time that it existed
  UniqueFd inotify_;
  int watch_ = -1;
  std::optional<bool> is_created_;
};

}  // namespace pex::daemon
