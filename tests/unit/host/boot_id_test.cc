#include "host/boot_id.h"

#include <gtest/gtest.h>

#include "support/temp_tree.h"

namespace pex::host {
namespace {

double fraction(const test::TempTree& tree) {
  HostRoots roots;
  roots.procfs = tree.root();
  return boot_fraction(roots);
}

TEST(BootIdTest, AnotherOneGivesAnotherFraction) {
  const char* const file = "sys/kernel/random/boot_id";
  const double one = fraction(test::TempTree{{file, "0b6f8a0e-6d0c-4a6b-8f2e-1c1d5a3e9f10\n"}});
  const double other = fraction(test::TempTree{{file, "0b6f8a0e-6d0c-4a6b-8f2e-1c1d5a3e9f11\n"}});

  EXPECT_NE(one, other);
  for (const double value : {one, other}) {
    EXPECT_GE(value, 0);
    EXPECT_LE(value, 1);
  }
}

TEST(BootIdTest, OneThatCannotBeReadIsZero) { EXPECT_EQ(fraction(test::TempTree{}), 0); }

TEST(BootIdTest, IsTheSameEachTime) {
  EXPECT_EQ(boot_fraction({}), boot_fraction({}));
  EXPECT_GT(boot_fraction({}), 0);
}

}  // namespace
}  // namespace pex::host
