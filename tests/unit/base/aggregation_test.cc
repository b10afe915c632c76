#include "base/aggregation.h"

#include <string_view>

#include "support/test_headers.h"

namespace pex {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string_view> labels(Aggregation aggregation) {
  const auto labels = labels_of(aggregation);
  return {labels.begin(), labels.end()};
}

TEST(AggregationTest, LabelsGoFromTheLargestPartToTheSmallest) {
  EXPECT_THAT(labels(Aggregation::kCpu), ElementsAre("cpu"));
  EXPECT_THAT(labels(Aggregation::kCore), ElementsAre("package", "die", "core"));
  EXPECT_THAT(labels(Aggregation::kDie), ElementsAre("package", "die"));
  EXPECT_THAT(labels(Aggregation::kPackage), ElementsAre("package"));
  EXPECT_THAT(labels(Aggregation::kNumaNode), ElementsAre("numa_node"));
  EXPECT_THAT(labels(Aggregation::kHost), IsEmpty());
}

TEST(AggregationTest, EntriesAreInTheOrderOfTheEnumerators) {
  for (const AggregationEntry& entry : kAggregationEntries) {
    EXPECT_EQ(entry_of(entry.aggregation).word, entry.word);
  }
}

}  // namespace
}  // namespace pex
