

#include "config/load.h"
#include "support/test_headers.h"

namespace pex::config {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::SizeIs;

const std::string kFolder = PEX_SOURCE_DIR "/config";
const std::string kDefaultFile = kFolder + "/perf_event_exporter.yaml";
const std::string kWebFile = kFolder + "/examples/web.yaml";  // of another kind than all others

std::vector<std::string> shipped_files() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kFolder)) {
    const bool is_one = entry.path().extension() == ".yaml" && entry.path() != kWebFile;
    if (is_one) paths.push_back(entry.path());
  }
  return paths;
}

Config shipped_config() {
  const Result<Loaded> loaded = load_file(kDefaultFile);
  return loaded ? loaded->config : Config{};
}

/// As if it had been written nowhere.
Cgroups without_positions(Cgroups cgroups) {
  for (PatternEntry& pattern : cgroups.include) pattern.at = {};
  return cgroups;
}

TEST(ShippedFilesTest, AreFound) { EXPECT_THAT(shipped_files(), Contains(kDefaultFile)); }

TEST(ShippedFilesTest, HaveNoErrors) {
  for (const std::string& path : shipped_files()) {
    const Result<Loaded> loaded = load_file(path);

    ASSERT_TRUE(loaded) << path;
    for (const yaml::Diagnostic& error : loaded->diagnostics.errors()) {
      ADD_FAILURE() << yaml::describe(error);
    }
  }
}

TEST(ShippedFilesTest, TheDefaultFileStatesWhatTheDefaultsAre) {
  const Config defaults;

  const Config shipped = shipped_config();

  EXPECT_EQ(shipped.collection, defaults.collection);
  EXPECT_EQ(without_positions(shipped.cgroups), defaults.cgroups);
  EXPECT_EQ(shipped.kubernetes, defaults.kubernetes);
  EXPECT_EQ(shipped.evidence, defaults.evidence);
  EXPECT_EQ(shipped.truth_check, defaults.truth_check);
  EXPECT_EQ(shipped.guests, defaults.guests);
  EXPECT_EQ(shipped.openmetrics, defaults.openmetrics);
  EXPECT_EQ(shipped.limits, defaults.limits);
}

using Names = std::vector<std::string>;
Names names_of(const std::vector<EventEntry>& events) {
  Names names;
  for (const EventEntry& event : events) names.push_back(event.spelling);
  return names;
}

TEST(ShippedFilesTest, TheDefaultFileCountsOnCpusAndForCgroups) {
  const Config shipped = shipped_config();

  Names on_cpus, in_cgroups;
  for (const Group& group : shipped.groups) {
    if (group.cpu_scope) on_cpus.push_back(group.name);
    if (group.cgroup_scope) in_cgroups.push_back(group.name);
  }
  EXPECT_THAT(on_cpus, ElementsAre("core", "cache", "software-cpu", "energy"));
  EXPECT_THAT(in_cgroups, ElementsAre("core", "cache", "software"));
  EXPECT_FALSE(shipped.cgroups.include.empty());
}

/// On a CPU, a clock counts elapsed time, which looks like a CPU that is always busy.
TEST(ShippedFilesTest, TheDefaultFileCountsTheSameOnCpusAsInCgroupsButForTheClock) {
  const Config shipped = shipped_config();

  ASSERT_THAT(shipped.groups, SizeIs(5));
  Names with_clock = names_of(shipped.groups[3].events);
  with_clock.insert(with_clock.begin(), "task-clock");
  EXPECT_EQ(names_of(shipped.groups[2].events), with_clock);
}

}  // namespace
}  // namespace pex::config
