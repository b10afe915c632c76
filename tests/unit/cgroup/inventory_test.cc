#include "cgroup/inventory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_tree.h"

namespace pex::cgroup {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(InventoryTest, HasEachCgroupByItsPath) {
  const test::TempTree tree{{"b/x/"}, {"a/cgroup.procs"}, {"b/y/"}};

  const Inventory all = take_inventory(tree.root());

  EXPECT_THAT(all.cgroups, ElementsAre("/a", "/b", "/b/x", "/b/y"));
  EXPECT_THAT(all.unreadable, IsEmpty());
  EXPECT_FALSE(all.is_cut_off);
}

TEST(InventoryTest, StopsAtTheLimit) {
  const test::TempTree tree{{"a/"}, {"b/x/"}, {"b/y/"}};

  EXPECT_FALSE(take_inventory(tree.root(), 4).is_cut_off);
  const Inventory some = take_inventory(tree.root(), 3);
  EXPECT_TRUE(some.is_cut_off);
  EXPECT_THAT(some.cgroups, SizeIs(3));
}

TEST(InventoryTest, NamesWhatItCannotRead) {
  const test::TempTree tree{{"file"}};  // read as a directory, also root is refused

  EXPECT_THAT(take_inventory(tree.path("file")).unreadable, ElementsAre("/"));
  EXPECT_THAT(take_inventory(tree.path("none")).unreadable, ElementsAre("/"));
}

}  // namespace
}  // namespace pex::cgroup
