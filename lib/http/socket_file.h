#pragma once

#include <sys/types.h>

#include <string>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"

namespace pex::http {

/// The file of a unix socket (unix(7)) that we created. Removed at the end, unless it has been
/// replaced.
class SocketFile {
 public:
  SocketFile() = default;
  SocketFile(SocketFile&& other) noexcept { *this = std::move(other); }
  SocketFile& operator=(SocketFile&& other) noexcept;
  ~SocketFile() { remove(); }

  /// Binds `socket` to `path`. Replaces a socket file without a listener.
  static Result<SocketFile> bind(const UniqueFd& socket, const std::string& path);

  /// A directory that does not answer is left as it is.
  void remove();

 private:
  SocketFile(std::string path, dev_t device, ino_t inode)
      : path_(std::move(path)), device_(device), inode_(inode) {}

  std::string path_;  ///< empty: none
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace pex::http
