#include "yaml/reference.h"

#include "config/load.h"
#include "support/test_headers.h"

namespace pex::config {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

yaml::KeyReference key_called(const std::string& path) {
  for (const yaml::KeyReference& key : configuration_keys()) {
    if (path_of(key) == path) return key;
  }
  ADD_FAILURE() << "no key " << path;
  return {};
}

TEST(KeyReferenceTest, HasTheBoundsAndDefaultsThatHold) {
  const yaml::KeyReference interval = key_called("collection.interval");
  const yaml::KeyReference max = key_called("cgroups.max");
  const yaml::KeyReference aggregate = key_called("groups[].aggregate");

  EXPECT_EQ(interval.form, "duration, `100ms` to `1h`");
  EXPECT_EQ(interval.unwritten, "`1s`");
  EXPECT_EQ(max.form, "whole number, `0` to `100000`");
  EXPECT_EQ(max.unwritten, "`256`");
  EXPECT_EQ(aggregate.form, "`cpu`, `core`, `die`, `package`, `numa_node` or `host`");
  EXPECT_EQ(aggregate.unwritten, "`cpu`; of uncore PMUs `package`");
  EXPECT_EQ(key_called("groups[].weak").unwritten, "`true`");
  EXPECT_TRUE(key_called("groups[].events[].event").is_needed);
}

TEST(KeyReferenceTest, ReportsOfEachKeyItsFormAndWhatHoldsWithoutIt) {
  for (const yaml::KeyReference& key : configuration_keys()) {
    EXPECT_THAT(key.form, Not(IsEmpty())) << path_of(key);
    const bool holds_a_map = key.form == "map";
    EXPECT_EQ(key.unwritten.empty(), key.is_needed || holds_a_map) << path_of(key);
  }
}

}  // namespace
}  // namespace pex::config
