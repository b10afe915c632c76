#pragma once

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>

#include "cgroup/hierarchy.h"
#include "support/test_headers.h"
#include "watched_tree.h"

namespace pex::cgroup {

/// A directory of its own in the hierarchy of the real kernel, which is removed with all cgroups in
/// it at the end. The test is skipped where cgroups cannot be made.
class RealCgroupsTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto found = find_hierarchy({});
    if (!found || !*found) GTEST_SKIP() << "no cgroup tree here has perf_event: NOT tested";
    hierarchy_ = **found;
    top_ = "/pex-names-" + std::to_string(::getpid());
    if (::mkdir((hierarchy_.mount + top_).c_str(), 0755) != 0) {
      top_.clear();
      GTEST_SKIP() << "cgroups cannot be made here: NOT tested";
    }
  }
  void TearDown() override {
    if (top_.empty()) return;
    std::vector<std::string> all{hierarchy_.mount + top_};
    for (const auto& below : std::filesystem::recursive_directory_iterator(all.front())) {
      if (below.is_directory()) all.push_back(below.path().string());
    }
    std::sort(all.rbegin(), all.rend());  // what is inside comes first
    for (const std::string& each : all) EXPECT_TRUE(remove_directory(each)) << each;
  }

  /// Below the own directory: "" is that one.
  std::string path(const std::string& below) const { return top_ + below; }
  std::string directory(const std::string& below) const { return hierarchy_.mount + path(below); }
  std::uint64_t id(const std::string& below) const { return inode_at(directory(below)); }

  std::uint64_t make(const std::string& below) const {
    EXPECT_EQ(::mkdir(directory(below).c_str(), 0755), 0) << below;
    return id(below);
  }
  void remove(const std::string& below) const {
    EXPECT_TRUE(remove_directory(directory(below))) << below;
  }

  /// In a child process in that cgroup. It ends well if `work` returns true.
  void in_child(const std::string& below, const std::function<bool()>& work) const {
    const pid_t child = ::fork();
    if (child == 0) {
      std::ofstream{directory(below) + "/cgroup.procs"} << "0" << std::flush;
      ::_exit(work() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }

  Hierarchy hierarchy_;
  std::string top_;

 private:
  /// A process that has just ended may still be in it.
  static bool remove_directory(const std::string& directory) {
    for (int i = 0; i < 1000; ++i) {
      if (::rmdir(directory.c_str()) == 0) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    return false;
  }
};

}  // namespace pex::cgroup
