#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace pex::test {

/// A small tree of files and directories, written next to the assertion that needs it:
///
///   TempTree tree{{"sys/devices/system/cpu/online", "0-3\n"}, {"cgroup/system.slice/"}};
///
/// It lies in a temporary directory of its own, which is removed with all that is in it at the end.
/// Paths are those below that directory, with or without a leading '/'. Anything that cannot be
/// done throws std::filesystem::filesystem_error.
class TempTree {
 public:
  struct Entry {
    std::string_view path;  ///< ending with '/': a directory
    std::string_view content = {};
  };

  TempTree(std::initializer_list<Entry> entries = {});
  TempTree(const TempTree&) = delete;
  TempTree& operator=(const TempTree&) = delete;
  ~TempTree();

  /// Absolute, without a '/' at its end.
  const std::string& root() const { return root_; }
  std::string path(std::string_view below) const;

  /// Both make the directories above that are missing. A file that is there is written again.
  void write(std::string_view file, std::string_view content);
  void make_directory(std::string_view directory);

  /// A file, or a directory with all that is in it.
  void remove(std::string_view below);
  void rename(std::string_view from, std::string_view to);

 private:
  std::string root_;
};

}  // namespace pex::test
