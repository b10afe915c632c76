#include "exposition/number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace pex::exposition {
namespace {

std::string text_of(Number number) {
  char digits[kNumberBytes];
  return {digits, write(digits, number)};
}

TEST(NumberTest, OfDoublesHasTheShortestDigitsThatAreReadAsTheSame) {
  struct Row {
    double value;
    const char* text;
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Row rows[] = {{0, "0"},
                      {1, "1"},
                      {-1, "-1"},
                      {0.1, "0.1"},
                      {1.0 / 3, "0.3333333333333333"},
                      {1'763'737'200.25, "1763737200.25"},
                      {100'000, "100000"},  // not 1e+05
                      {1e14, "100000000000000"},
                      {1e15, "1e+15"},
                      {-1e5, "-1e+05"},
                      {5e-324, "5e-324"},
                      {-1.7976931348623157e308, "-1.7976931348623157e+308"},
                      {kInfinity, "+Inf"},
                      {-kInfinity, "-Inf"},
                      {std::nan(""), "NaN"}};

  for (const Row& row : rows) EXPECT_EQ(text_of(real(row.value)), row.text);
}

TEST(NumberTest, IsReadAsADoubleInTheUnitThatItIsWrittenIn) {
  EXPECT_EQ(whole(7).as_double(), 7);
  EXPECT_EQ(nanoseconds(1'500'000'000).as_double(), 1.5);
  EXPECT_EQ(real(2.5).as_double(), 2.5);
  EXPECT_FALSE(Number{});
}

TEST(NumberTest, FitsInTheRoomThatIsMadeForIt) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

  EXPECT_LE(text_of(whole(kMax)).size(), kNumberBytes);
  EXPECT_LE(text_of(nanoseconds(kMax)).size(), kNumberBytes);
  EXPECT_LE(text_of(real(-2.2250738585072014e-308)).size(), kNumberBytes);
}

}  // namespace
}  // namespace pex::exposition
