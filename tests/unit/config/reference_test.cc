#include "yaml/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/load.h"

namespace pex::config {
namespace {

using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::Eq;
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

/// The lines of the shipped file, each below what its comment says, by the path of its key.
std::map<std::string, std::string> comments_of_the_shipped_file() {
  std::map<std::string, std::string> comments;
  std::ifstream file(PEX_SOURCE_DIR "/config/perf_event_exporter.yaml");
  std::string line, comment, map;
  while (std::getline(file, line)) {
    const std::size_t start = std::min(line.find_first_not_of(' '), line.size());
    const std::size_t colon = std::min(line.find(':'), line.size());
    if (line[start] == '#') {
      comment += line.substr(start + 1);
    } else if (start == line.size()) {
      comment.clear();
    } else {
      const std::string key = line.substr(start, colon - start);
      if (start == 0) map = key;
      if (start == 2) comments[map + "." + key] = comment;
      comment.clear();
    }
  }
  return comments;
}

TEST(KeyReferenceTest, AgreesWithTheCommentsOfTheShippedFile) {
  const std::map<std::string, std::string> comments = comments_of_the_shipped_file();

  for (const yaml::KeyReference& key : configuration_keys()) {
    if (key.map.empty() || key.map.find("[]") != key.map.npos) continue;
    ASSERT_TRUE(comments.contains(path_of(key))) << path_of(key);
    const std::string& comment = comments.at(path_of(key));
    const bool has_bounds = key.form.starts_with("duration") || key.form.starts_with("whole");
    const std::string bounds = has_bounds ? key.form.substr(key.form.find(", ") + 2) : "";
    EXPECT_THAT(comment, HasSubstr(without_backticks(bounds))) << path_of(key);
    const bool is_literal = key.unwritten.starts_with('`') && key.unwritten.ends_with('`');
    const std::string fallback = is_literal ? without_backticks(key.unwritten) + "." : "";
    EXPECT_THAT(comment, HasSubstr("Default: " + fallback)) << path_of(key);
  }
}

TEST(KeyReferenceTest, TheShippedFileExplainsTheKeysOfGroupsAndEvents) {
  const std::string shipped = content_of(PEX_SOURCE_DIR "/config/perf_event_exporter.yaml");

  for (const yaml::KeyReference& key : configuration_keys()) {
    if (!key.map.starts_with("groups[]")) continue;
    EXPECT_THAT(shipped, testing::ContainsRegex("\n#   [a-z_, ]*" + key.name)) << path_of(key);
  }
}

}  // namespace
}  // namespace pex::config
