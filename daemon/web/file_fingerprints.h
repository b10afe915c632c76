#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace pex::daemon {

/// Detects changes of files by device, inode, size and times; follows links. "No such file" is a
/// state as well.
class FileFingerprints {
 public:
  /// One more file, as it is now.
  void add(std::string path);

  std::vector<std::string> paths() const;

  /// The same files, as they are now.
  FileFingerprints again() const;

  /// Whether all of them exist, and none has changed at or after `time`.
  bool are_older_than(std::chrono::system_clock::time_point time) const;

  /// Whether all of them exist, and are the same files as there: what has changed was written into
  /// them.
  bool are_files_of(const FileFingerprints& other) const;

  /// Whether all of them exist, and nothing was done to any of them since it was written: if it is
  /// moved, the time of its change is later.
  bool are_as_written() const;

  bool operator==(const FileFingerprints&) const = default;

 private:
  struct Stamp {
    dev_t device = 0;
    ino_t inode = 0;
    off_t bytes = -1;  ///< -1: does not exist
    long long modified_ns = 0;
    long long changed_ns = 0;
    bool operator==(const Stamp&) const = default;
  };
  static Stamp read(const std::string& path);

  std::vector<std::pair<std::string, Stamp>> files_;
};

}  // namespace pex::daemon
