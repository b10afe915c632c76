// Watches of cgroups of the real kernel. They do not end when a cgroup is removed, unlike those of
// directories of other file systems.

#include <cstddef>

#include "cgroup/tree.h"
#include "patterns.h"
#include "real_cgroups.h"
#include "support/test_headers.h"

namespace pex::cgroup {
namespace {

using namespace std::chrono_literals;

class RealTreeWatchTest : public RealCgroupsTest {
 protected:
  void SetUp() override {
    RealCgroupsTest::SetUp();
    if (IsSkipped()) return;
    Selection selected;
    selected.include.push_back(pattern(top_ + "/**"));
    tree_.emplace(hierarchy_.mount, selected, Tree::Limits{});
    update();
  }

  void update() {
    now_ += 100ms;
    ASSERT_TRUE(tree_->update(now_));
  }
  /// That the kernel has for this tree.
  std::size_t watches() const {
    std::ifstream info{"/proc/self/fdinfo/" + std::to_string(tree_->descriptor())};
    std::size_t watches = 0;
    for (std::string line; std::getline(info, line);) watches += line.starts_with("inotify wd:");
    return watches;
  }

  std::optional<Tree> tree_;
  Tree::Clock::time_point now_ = kStart;
};

TEST_F(RealTreeWatchTest, EndWithTheirCgroups) {
  const std::size_t before = watches();
  ASSERT_GT(before, 0U);
  for (int i = 0; i < 100; ++i) {
    const std::string outer = "/new-" + std::to_string(i);
    make(outer);
    make(outer + "/inner");
    update();
    remove(outer + "/inner");
    remove(outer);
    update();
  }
  update();

  EXPECT_EQ(watches(), before);
  EXPECT_EQ(tree_->watched(), before);
}

TEST_F(RealTreeWatchTest, EndWithTheirCgroupsWhereThePathExistsAgain) {
  make("/again");
  update();
  const std::size_t before = watches();
  for (int i = 0; i < 100; ++i) {
    remove("/again");
    make("/again");
    update();
  }
  update();

  EXPECT_EQ(watches(), before);
  EXPECT_EQ(tree_->watched(), before);
}

TEST_F(RealTreeWatchTest, EndWhereTheirCgroupsAreNoLongerSelected) {
  const std::size_t before = watches();
  for (int i = 0; i < 20; ++i) make("/a" + std::to_string(i));
  update();
  ASSERT_EQ(watches(), before + 20);
  Selection others;
  others.include.push_back(pattern(top_ + "/b/**"));

  tree_->select(others);  // by a walk: nothing has happened to them
  update();

  EXPECT_EQ(watches(), before);
  EXPECT_EQ(tree_->watched(), before);
}

}  // namespace
}  // namespace pex::cgroup
