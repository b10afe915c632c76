#include "exposition/family.h"

#include <gtest/gtest.h>

namespace pex::exposition {
namespace {

TEST(FamilyTest, IsNamedWithoutWhatItsTypePutsBehindIt) {
  EXPECT_EQ(family_of({"a_seconds_total", "", FamilyType::kCounter}), "a_seconds");
  EXPECT_EQ(family_of({"a_info", "", FamilyType::kInfo}), "a");
  EXPECT_EQ(family_of({"a_info_total", "", FamilyType::kGauge}), "a_info_total");
  EXPECT_EQ(family_of({"a_seconds", "", FamilyType::kGauge}), "a_seconds");
}

TEST(FamilyTest, HasTheUnitThatItsNameEndsWith) {
  EXPECT_EQ(unit_of("a_seconds"), "seconds");
  EXPECT_EQ(unit_of("a_b_bytes"), "bytes");
  EXPECT_EQ(unit_of("a_joules"), "joules");
  EXPECT_EQ(unit_of("a_ratio"), "ratio");
  EXPECT_EQ(unit_of("seconds"), "");
  EXPECT_EQ(unit_of("a_milliseconds"), "");
  EXPECT_EQ(unit_of("a_seconds_old"), "");
}

}  // namespace
}  // namespace pex::exposition
