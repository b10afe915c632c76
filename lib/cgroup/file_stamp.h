#pragma once

#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace pex::cgroup {

/// Of a file, or of the names in a directory. One that has changed has another; but for a change in
/// the same tick of the kernel's clock, of 10 ms at most.
struct FileStamp {
  std::uint64_t inode = 0;
  std::int64_t nanoseconds = 0;  ///< of the last change, since 1970
  std::int64_t size = 0;

  bool operator==(const FileStamp&) const = default;
};

/// Of what `path` leads to. Fails with the errno of stat(2).
inline Result<FileStamp, int> stamp_of(const std::string& path) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  struct stat of {};
  if (::stat(path.c_str(), &of) != 0) return errno;
  return FileStamp{of.st_ino, of.st_mtim.tv_sec * kSecond + of.st_mtim.tv_nsec, of.st_size};
}

}  // namespace pex::cgroup
