#include "records/sum_rows.h"

#include <cstdint>

#include "support/test_headers.h"

namespace pex::collect {
namespace {

using testing::ElementsAre;
using Counts = std::vector<std::uint64_t>;

TEST(SumRowsTest, AGroupThatIsAddedOrRemovedLeavesTheSumsOfOthers) {
  SumRows sums;
  sums.add_group(0, 2);
  sums.add_group(2, 1);
  sums.clear(1);
  sums.add_time(1, 5);
  sums.add_counts(1, 0, 4, Counts{10, 20});
  sums.add_counts(1, 2, 3, Counts{30});

  sums.add_group(1, 3);
  sums.remove_group(0);

  EXPECT_EQ(sums.enabled(1), 5U);
  EXPECT_THAT(sums.counts(1, 2), ElementsAre(30));
  EXPECT_THAT(sums.counts(1, 1), ElementsAre(0, 0, 0));
  EXPECT_FALSE(sums.has_group(0));
  Counts counts(1);
  EXPECT_EQ(sums.take(1, 2, counts).running, 3U);
}

TEST(SumRowsTest, AGroupThatExistsGoesOnUnlessItHasAnotherNumberOfCounts) {
  SumRows sums;
  EXPECT_TRUE(sums.add_group(0, 1));
  sums.clear(0);
  sums.add_counts(0, 0, 1, Counts{7});

  EXPECT_FALSE(sums.add_group(0, 1));
  EXPECT_THAT(sums.counts(0, 0), ElementsAre(7));
  EXPECT_TRUE(sums.add_group(0, 2));
  EXPECT_THAT(sums.counts(0, 0), ElementsAre(0, 0));
}

TEST(SumRowsTest, EachGroupIsTakenOnceWithTheTimeSinceThen) {
  SumRows sums;
  sums.add_group(0, 1);
  sums.add_group(1, 1);
  sums.clear(0);
  sums.add_time(0, 5);
  sums.add_counts(0, 0, 4, Counts{10});
  sums.add_group(2, 1);  // without the time before
  sums.add_time(0, 2);

  Counts counts(1);
  const SumRows::Times first = sums.take(0, 0, counts);
  EXPECT_EQ(first.enabled, 7U);
  EXPECT_EQ(first.running, 4U);
  EXPECT_THAT(counts, ElementsAre(10));
  sums.add_time(0, 1);
  EXPECT_EQ(sums.take(0, 0, counts).enabled, 1U);
  EXPECT_THAT(counts, ElementsAre(0));
  EXPECT_EQ(sums.take(0, 1, counts).enabled, 8U);
  EXPECT_EQ(sums.take(0, 2, counts).enabled, 3U);
}

TEST(SumRowsTest, IgnoresCountsOfAnotherNumberAndOfUnknownGroups) {
  SumRows sums;
  sums.add_group(0, 1);
  sums.clear(0);

  sums.add_counts(0, 0, 1, Counts{1, 2});
  sums.add_counts(0, 5, 1, Counts{1});

  EXPECT_THAT(sums.counts(0, 0), ElementsAre(0));
  Counts counts(1);
  EXPECT_EQ(sums.take(0, 0, counts).running, 0U);
}

}  // namespace
}  // namespace pex::collect
