#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <ostream>
#include <string_view>

#include "base/unique_fd.h"
#include "cgroup/tree.h"
#include "host/roots.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"

namespace pex::cgroup {

/// Called as soon as a directory is watched, and so before it is listed. Null: nothing happens.
extern std::function<void(const std::string& directory)> on_watch;

/// For GoogleTest, which finds it in the namespace of the class only.
inline void PrintTo(const Tree::Directory& directory, std::ostream* out) {
  *out << (directory.is_selected ? "selected " : "entered ") << directory.inode;
}

inline const Tree::Clock::time_point kStart{std::chrono::hours{1}};
inline constexpr std::chrono::seconds kMinute{60};

inline Selection selection(std::initializer_list<const char*> include,
                           std::initializer_list<const char*> exclude = {}) {
  Selection wanted;
  for (const char* pattern : include) wanted.include.push_back(*Pattern::parse(pattern));
  for (const char* pattern : exclude) wanted.exclude.push_back(*Pattern::parse(pattern));
  return wanted;
}

inline std::uint64_t inode_at(const std::string& directory) {
  struct stat status {};
  return ::lstat(directory.c_str(), &status) == 0 ? status.st_ino : 0;
}

/// As long as it lives, temporary files are made in memory, where there is room: thousands of
/// directories take seconds on some disks.
class InMemory {
 public:
  InMemory() {
    if (const char* usual = std::getenv("TMPDIR")) usual_ = usual;
    if (::access(kMemory, W_OK) == 0) ::setenv("TMPDIR", kMemory, 1);
  }
  InMemory(const InMemory&) = delete;
  InMemory& operator=(const InMemory&) = delete;
  ~InMemory() { usual_ ? ::setenv("TMPDIR", usual_->c_str(), 1) : ::unsetenv("TMPDIR"); }

 private:
  static constexpr const char* kMemory = "/dev/shm";
  std::optional<std::string> usual_;
};

/// Like that of cgroups it does not use an inode number again, as most file systems do at once:
/// what is removed is kept open.
class CgroupTree {
 public:
  const std::string& root() const { return tree_.root(); }
  std::string path(std::string_view below) const { return tree_.path(below); }
  std::uint64_t inode(std::string_view below) const { return inode_at(path(below)); }
  bool has(std::string_view below) const { return inode(below) != 0; }

  void make(std::string_view directory) { tree_.make_directory(directory); }
  void write(std::string_view file) { tree_.write(file, ""); }
  void rename(std::string_view from, std::string_view to) { tree_.rename(from, to); }
  void remove(const std::string& directory) {
    bury(path(directory));
    for (const auto& below : std::filesystem::recursive_directory_iterator(path(directory))) {
      if (below.is_directory()) bury(below.path().string());
    }
    tree_.remove(directory);
  }

  /// From now on they may be used again: nobody remembers them.
  void let_inodes_go() { removed_.clear(); }

 private:
  static test::TempTree in_memory() {
    const InMemory here;
    return {};
  }
  void bury(const std::string& directory) {
    removed_.emplace_back(::open(directory.c_str(), O_PATH | O_CLOEXEC));
  }

  test::TempTree tree_ = in_memory();
  std::vector<UniqueFd> removed_;
};

inline bool must_update(Tree& tree, Tree::Clock::time_point now = kStart) {
  const Result<bool> changed = tree.update(now);
  EXPECT_TRUE(changed) << describe(changed.error());
  return changed && *changed;
}

class TreeTest : public testing::Test {
 protected:
  /// Knows what is there so far.
  Tree watched(Selection selection) {
    Tree tree{host_.root(), std::move(selection)};
    must_update(tree);
    return tree;
  }

  Tree::Directory selected(std::string_view path) const { return {host_.inode(path), true}; }
  Tree::Directory entered(std::string_view path) const { return {host_.inode(path), false}; }

  CgroupTree host_;
};

inline int most_queued() {
  int most = 0;
  std::ifstream(host::HostRoots{}.sysctl("fs/inotify/max_queued_events")) >> most;
  EXPECT_GT(most, 0);
  return most;
}

/// What happens from now on is not told. Files are quicker than directories.
inline void overflow(int most, CgroupTree& host) {
  host.write("file");
  for (int changes = 0; changes <= most; changes += 4) {
    host.rename("file", "other");
    host.rename("other", "file");
  }
}

}  // namespace pex::cgroup
