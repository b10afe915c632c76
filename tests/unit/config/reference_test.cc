#include "yaml/reference.h"

#include <iterator>

#include "config/load.h"
#include "support/test_headers.h"

namespace pex::config {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

yaml::KeyReference key_called(const std::string& path) {
  for (const yaml::KeyReference& key : configuration_keys()) {
    if (path_of(key) == path) return key;
  }
  ADD_FAILURE() << "no key " << path;
  return {};
}

std::string without_backticks(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), '`'), text.end());
  return text;
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

TEST(KeyReferenceTest, ReportsOfEachKeyWhatItMeansAndWhatHoldsWithoutIt) {
  const std::vector<yaml::KeyReference> keys = configuration_keys();

  for (const yaml::KeyReference& key : keys) {
    EXPECT_THAT(key.meaning, EndsWith(".")) << path_of(key);
    EXPECT_THAT(key.form, Not(IsEmpty())) << path_of(key);
    const bool holds_a_map = key.form == "map";
    EXPECT_EQ(key.unwritten.empty(), key.is_needed || holds_a_map) << path_of(key);
  }
}

/// generate_docs writes these comments.
TEST(KeyReferenceTest, TheShippedFileHasEachKeyWithASummaryAndTheDefaultInOneLine) {
  const std::string shipped = content_of(PEX_SOURCE_DIR "/config/perf_event_exporter.yaml");

  for (const yaml::KeyReference& key : configuration_keys()) {
    if (key.map.find("[]") != key.map.npos || key.form == "map") continue;
    const std::string indent = key.map.empty() ? "" : "  ";
    const std::string fallback = key.unwritten.empty() ? "" : " Default: " + key.unwritten + ".";
    const std::string comment = indent + "# " + without_backticks(summary_of(key) + fallback);
    EXPECT_THAT(shipped, HasSubstr("\n" + comment + "\n" + indent + key.name + ":"));
    EXPECT_LE(comment.size(), 100U) << comment;
  }
}

TEST(KeyReferenceTest, ASummaryIsTheFirstSentence) {
  yaml::KeyReference key;
  key.meaning = "Maximum age, such as 1.5s; older counts are read first. One read serves all.";
  EXPECT_EQ(summary_of(key), "Maximum age, such as 1.5s; older counts are read first.");
  key.meaning = "Help text of the metric.";
  EXPECT_EQ(summary_of(key), "Help text of the metric.");
}

}  // namespace
}  // namespace pex::config
