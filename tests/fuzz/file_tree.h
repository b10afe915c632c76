#pragma once

#include <map>
#include <string>
#include <string_view>

#include "host/roots.h"
#include "support/temp_tree.h"

namespace pex::fuzz {

/// The trees of a machine that an input describes, in a temporary directory:
///
///   === sys/devices/system/cpu/online
///   0-3
///   === proc/self/mountinfo
///   25 1 0:23 / @ROOT@/cgroup rw - cgroup2 cgroup2 rw
///
/// A line of "=== " and a path begins a file, whose content is all up to the next such line; a path
/// that ends with '/' is a directory. @ROOT@ is the temporary directory. Paths that leave it, or
/// that cannot be written, are left out, as is all that is beyond kMaxFiles.
class FileTree {
 public:
  static constexpr std::size_t kMaxFiles = 64;

  explicit FileTree(std::string_view input);

  const std::string& root() const { return tree_.root(); }
  host::HostRoots roots() const;

  /// By their paths, as they were written.
  const std::map<std::string, std::string>& files() const { return files_; }
  /// Empty for one that there is not.
  std::string content(const std::string& path) const;

 private:
  void write(std::string_view path, std::string_view content);

  test::TempTree tree_;
  std::map<std::string, std::string> files_;
};

}  // namespace pex::fuzz
