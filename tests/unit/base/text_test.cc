#include "base/text.h"

#include <cstdint>
#include <limits>

#include "support/test_headers.h"

namespace pex {
namespace {

using ::testing::ElementsAre;

TEST(ParseUnsignedTest, TakesWholeDecimalNumbersUpTo64Bits) {
  EXPECT_EQ(parse_unsigned("0"), 0u);
  EXPECT_EQ(parse_unsigned("010"), 10u);
  EXPECT_EQ(parse_unsigned("18446744073709551615"), std::numeric_limits<std::uint64_t>::max());
}

TEST(ParseUnsignedTest, RefusesEverythingElse) {
  for (const char* text : {"", " ", "-1", "+1", " 1", "1 ", "1x", "0x10", "1.0", "1e3", "one",
                           "18446744073709551616", "99999999999999999999999999"}) {
    EXPECT_EQ(parse_unsigned(text), std::nullopt) << "'" << text << "'";
  }
}

RC_GTEST_PROP(ParseUnsignedTest, ReadsBackEveryNumber, (std::uint64_t value)) {
  RC_ASSERT(parse_unsigned(std::to_string(value)) == value);
}

TEST(SplitTest, GivesEveryPieceEvenTheEmptyOnes) {
  EXPECT_THAT(split("a,b", ','), ElementsAre("a", "b"));
  EXPECT_THAT(split(",a,,b,", ','), ElementsAre("", "a", "", "b", ""));
  EXPECT_THAT(split("a", ','), ElementsAre("a"));
  EXPECT_THAT(split("", ','), ElementsAre(""));
}

RC_GTEST_PROP(SplitTest, LosesNothing, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab,")));

  std::string joined;
  for (const std::string_view piece : split(text, ',')) {
    RC_ASSERT(piece.find(',') == std::string_view::npos);
    (joined += piece) += ',';
  }

  RC_ASSERT(joined == text + ",");
}

TEST(JoinTest, PutsTheSameBetweenAllWords) {
  EXPECT_EQ(join(std::vector<std::string>{"a", "b", "c"}), "a, b, c");
  EXPECT_EQ(join(std::set<std::string>{"a", "b"}, " or "), "a or b");
  EXPECT_EQ(join(std::vector<std::string>{"a"}), "a");
  EXPECT_EQ(join(std::vector<std::string>{}), "");
}

TEST(NumberOfTest, TakesTheSingularForOneAlone) {
  EXPECT_EQ(number_of(0, "cgroup"), "0 cgroups");
  EXPECT_EQ(number_of(1, "cgroup"), "1 cgroup");
  EXPECT_EQ(number_of(1, "directory", "directories"), "1 directory");
  EXPECT_EQ(number_of(2, "directory", "directories"), "2 directories");
}

TEST(TrimmedTest, TakesBlanksAndTabsFromBothEnds) {
  EXPECT_EQ(trim(" \ta b\t "), "a b");
  EXPECT_EQ(trim("a"), "a");
  EXPECT_EQ(trim(" \t "), "");
  EXPECT_EQ(trim(""), "");
  EXPECT_EQ(trim("a\n"), "a\n");
}

TEST(NearestTest, IsTheWordThatWasMostLikelyMeant) {
  const std::vector<std::string> known{"cycles", "instructions", "cache-misses", "branch-misses"};

  EXPECT_EQ(nearest("cycels", known), "cycles");
  EXPECT_EQ(nearest("instruction", known), "instructions");
  EXPECT_EQ(nearest("cache_misses", known), "cache-misses");
  EXPECT_EQ(nearest("cycles", known), "cycles");
  EXPECT_EQ(nearest("CYCLES", known), "cycles");
}

TEST(NearestTest, IsNothingWhenMoreThanAThirdOfTheLettersDiffer) {
  const std::vector<std::string> known{"cycles"};

  EXPECT_EQ(nearest("cyclxx", known), "cycles");  // 2 of 6
  EXPECT_EQ(nearest("cycxxx", known), std::nullopt);
  EXPECT_EQ(nearest("cy", known), std::nullopt);
  EXPECT_EQ(nearest("", known), std::nullopt);
  EXPECT_EQ(nearest("cycles", {}), std::nullopt);
}

TEST(NearestTest, IsNothingWhenSeveralAreEquallyNear) {
  EXPECT_EQ(nearest("TLS14", {"TLS10", "TLS11", "TLS12", "TLS13"}), std::nullopt);
  EXPECT_EQ(nearest("abx", {"abc", "abd"}), std::nullopt);
  EXPECT_EQ(nearest("abcdef", {"abcdxx", "abcdyy", "abcdez"}), "abcdez");
  EXPECT_EQ(nearest("abcdef", {"abcdez", "abcdxx", "abcdyy"}), "abcdez");
  EXPECT_EQ(nearest("abx", {"abc", "abc"}), "abc");
}

TEST(NearestTest, IsNothingWhenMoreThanEightLettersDiffer) {
  const std::string word(100, 'a');

  EXPECT_EQ(nearest(word, {std::string(92, 'a')}), std::string(92, 'a'));
  EXPECT_EQ(nearest(word, {std::string(91, 'a')}), std::nullopt);
}

TEST(EditDistanceTest, GivesUpAtOnceWhenTheLengthsAloneDifferTooMuch) {
  const std::string other(1'000'000, 'a');

  for (int i = 0; i < 1'000; ++i) {  // 10^10 steps if it looked at the letters
    EXPECT_EQ(edit_distance("aaaaaaaaa", other, 9), 9U);
  }
}

/// The definition, without a bound.
std::size_t plain_distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      const std::size_t replaced = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, replaced});
    }
  }
  return cost[a.size()][b.size()];
}

RC_GTEST_PROP(EditDistanceTest, IsTheDistanceOrTheLimit, ()) {
  const auto word = rc::gen::container<std::string>(rc::gen::inRange('a', 'd'));
  const std::string a = *word;
  const std::string b = *word;
  const std::size_t limit = *rc::gen::inRange<std::size_t>(1, 12);

  RC_ASSERT(edit_distance(a, b, limit) == std::min(plain_distance(a, b), limit));
}

}  // namespace
}  // namespace pex
