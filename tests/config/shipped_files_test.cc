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

std::vector<std::string> texts(const std::vector<PatternEntry>& patterns) {
  std::vector<std::string> all;
  for (const PatternEntry& pattern : patterns) all.push_back(pattern.text);
  return all;
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

  EXPECT_EQ(shipped.collection.interval, defaults.collection.interval);
  EXPECT_EQ(shipped.collection.max_age, defaults.collection.max_age);
  EXPECT_EQ(texts(shipped.cgroups.include), texts(defaults.cgroups.include));
  EXPECT_EQ(texts(shipped.cgroups.exclude), texts(defaults.cgroups.exclude));
  EXPECT_EQ(shipped.cgroups.nesting, defaults.cgroups.nesting);
  EXPECT_EQ(shipped.cgroups.helpers, defaults.cgroups.helpers);
  EXPECT_EQ(shipped.cgroups.max, defaults.cgroups.max);
  EXPECT_EQ(shipped.cgroups.per_cpu, defaults.cgroups.per_cpu);
  EXPECT_EQ(shipped.cgroups.linger, defaults.cgroups.linger);
  EXPECT_EQ(shipped.cgroups.labels.size(), defaults.cgroups.labels.size());
  EXPECT_EQ(shipped.kubernetes.metadata, defaults.kubernetes.metadata);
  EXPECT_EQ(shipped.kubernetes.log_links, defaults.kubernetes.log_links);
  EXPECT_EQ(shipped.evidence.variance, defaults.evidence.variance);
  EXPECT_EQ(shipped.evidence.reference, defaults.evidence.reference);
  EXPECT_EQ(shipped.limits.max_open_events, defaults.limits.max_open_events);
  EXPECT_EQ(shipped.limits.max_series, defaults.limits.max_series);
  EXPECT_EQ(shipped.limits.opens_per_second, defaults.limits.opens_per_second);
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
