#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "config/load.h"
#include "config/web_config.h"

namespace pex::config {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
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

std::vector<std::string> messages(const std::vector<Error>& mistakes) {
  std::vector<std::string> all;
  for (const Error& error : mistakes) all.push_back(describe(error));
  return all;
}

/// As if it had been written nowhere.
Cgroups without_positions(Cgroups cgroups) {
  for (PatternEntry& pattern : cgroups.include) pattern.at = {};
  return cgroups;
}

TEST(ShippedFilesTest, AreFound) { EXPECT_THAT(shipped_files(), Contains(kDefaultFile)); }

TEST(ShippedFilesTest, HaveNoMistakes) {
  for (const std::string& path : shipped_files()) {
    EXPECT_THAT(messages(load_file(path).mistakes), IsEmpty()) << path;
  }
}

TEST(ShippedFilesTest, TheDefaultFileSaysWhatTheDefaultsAre) {
  const Config defaults;

  const Config shipped = load_file(kDefaultFile).config;

  EXPECT_EQ(shipped.collection, defaults.collection);
  EXPECT_EQ(without_positions(shipped.cgroups), defaults.cgroups);
  EXPECT_EQ(shipped.kubernetes, defaults.kubernetes);
  EXPECT_EQ(shipped.evidence, defaults.evidence);
  EXPECT_EQ(shipped.openmetrics, defaults.openmetrics);
  EXPECT_EQ(shipped.limits, defaults.limits);
}

TEST(ShippedFilesTest, TheDefaultFileCountsOnCpusAndForCgroups) {
  const Config shipped = load_file(kDefaultFile).config;

  ASSERT_THAT(shipped.groups, SizeIs(4));
  for (const Group& group : shipped.groups) {
    EXPECT_TRUE(group.cpu_scope) << group.name;
    EXPECT_EQ(group.cgroup_scope, group.name != "energy") << group.name;
  }
  EXPECT_FALSE(shipped.cgroups.include.empty());
}

TEST(ShippedFilesTest, TheWebConfigurationHasEveryKeyAndNoMistakes) {
  const LoadedWebConfig loaded = load_web_config_file(kWebFile);

  ASSERT_THAT(messages(loaded.mistakes), IsEmpty());
  EXPECT_THAT(loaded.config.remarks, IsEmpty());
  ASSERT_TRUE(loaded.config.tls);
  EXPECT_EQ(loaded.config.tls->certificate.file, kFolder + "/examples/exporter.crt");
  EXPECT_FALSE(loaded.config.tls->client_ca.empty());
  EXPECT_THAT(loaded.config.tls->ciphers, SizeIs(4));
  EXPECT_THAT(loaded.config.tls->curves, SizeIs(2));
  EXPECT_THAT(loaded.config.tls->client_allowed_sans, SizeIs(1));
  EXPECT_THAT(loaded.config.headers, SizeIs(5));
  EXPECT_THAT(loaded.config.users, SizeIs(1));
  EXPECT_TRUE(loaded.config.rate_limit);
}

}  // namespace
}  // namespace pex::config
