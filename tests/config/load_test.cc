#include "config/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pex::config {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::string kOneGroup = "groups: [{name: core, events: [cycles], scope: cpu}]\n";

std::vector<std::string> messages(const Loaded& loaded) {
  std::vector<std::string> all;
  for (const Error& error : loaded.mistakes) all.push_back(describe(error));
  return all;
}

std::vector<std::string> spellings(const Group& group) {
  std::vector<std::string> all;
  for (const EventEntry& event : group.events) all.push_back(event.spelling);
  return all;
}

TEST(LoadTest, TakesTheDefaultOfEveryKeyThatIsLeftOut) {
  const Loaded loaded = load_text(kOneGroup, "c.yaml");

  ASSERT_THAT(messages(loaded), IsEmpty());
  EXPECT_EQ(loaded.config.collection.interval, 1s);
  EXPECT_THAT(loaded.config.cgroups.include, Contains("/system.slice/*.service"));
  EXPECT_THAT(loaded.config.cgroups.exclude, Contains("/machine.slice/libpod-conmon-*.scope"));
  EXPECT_EQ(loaded.config.cgroups.max, 256u);
  EXPECT_EQ(loaded.config.cgroups.linger, 60s);
  EXPECT_EQ(loaded.config.limits.max_open_events, 65'536u);
  EXPECT_EQ(loaded.config.limits.max_series, 50'000u);
  EXPECT_FALSE(loaded.config.groups[0].pinned);
}

TEST(LoadTest, ReadsEveryKey) {
  const Loaded loaded = load_text(
      "collection: {interval: 250ms}\n"
      "groups:\n"
      "  - name: core-2_x\n"
      "    events: [cycles, 'cpu/event=0x3c,umask=0x1/', \"power/energy-pkg/\"]\n"
      "    scope: [cgroup, cpu]\n"
      "    pinned: true\n"
      "cgroups:\n"
      "  include: [/system.slice/*.service, \"/kubepods.slice/**\"]\n"
      "  exclude: [/a]\n"
      "  max: 10\n"
      "  linger: 2m\n"
      "limits: {max_open_events: 1000, max_series: 2000}\n",
      "c.yaml");

  ASSERT_THAT(messages(loaded), IsEmpty());
  EXPECT_EQ(loaded.config.collection.interval, 250ms);
  ASSERT_EQ(loaded.config.groups.size(), 1u);
  const Group& group = loaded.config.groups[0];
  EXPECT_EQ(group.name, "core-2_x");
  EXPECT_THAT(spellings(group),
              ElementsAre("cycles", "cpu/event=0x3c,umask=0x1/", "power/energy-pkg/"));
  EXPECT_TRUE(group.cpu_scope);
  EXPECT_TRUE(group.cgroup_scope);
  EXPECT_TRUE(group.pinned);
  EXPECT_THAT(loaded.config.cgroups.include,
              ElementsAre("/system.slice/*.service", "/kubepods.slice/**"));
  EXPECT_THAT(loaded.config.cgroups.exclude, ElementsAre("/a"));
  EXPECT_EQ(loaded.config.cgroups.max, 10u);
  EXPECT_EQ(loaded.config.cgroups.linger, 2min);
  EXPECT_EQ(loaded.config.limits.max_open_events, 1000u);
  EXPECT_EQ(loaded.config.limits.max_series, 2000u);
}

TEST(LoadTest, TakesBothEndsOfEveryRange) {
  const Loaded least = load_text(kOneGroup +
                                     "collection: {interval: 100ms}\n"
                                     "cgroups: {max: 0, linger: 0s}\n"
                                     "limits: {max_open_events: 1, max_series: 1}\n",
                                 "c.yaml");
  const Loaded most = load_text(kOneGroup +
                                    "collection: {interval: 1h}\n"
                                    "cgroups: {max: 100000, linger: 60m}\n"
                                    "limits: {max_open_events: 10000000, max_series: 10000000}\n",
                                "c.yaml");

  EXPECT_THAT(messages(least), IsEmpty());
  EXPECT_THAT(messages(most), IsEmpty());
}

TEST(LoadTest, TakesOneScopeAsAWord) {
  const Loaded loaded = load_text("groups: [{name: a, events: [cycles], scope: cgroup}]", "c.yaml");

  ASSERT_THAT(messages(loaded), IsEmpty());
  EXPECT_FALSE(loaded.config.groups[0].cpu_scope);
  EXPECT_TRUE(loaded.config.groups[0].cgroup_scope);
}

TEST(LoadTest, TakesTheLongestNameAndTheMostEvents) {
  const std::string name(64, 'a');
  std::string events = "e0";
  for (int i = 1; i < 64; ++i) events += ", e" + std::to_string(i);

  const Loaded loaded =
      load_text("groups: [{name: " + name + ", events: [" + events + "], scope: cpu}]", "c.yaml");

  ASSERT_THAT(messages(loaded), IsEmpty());
  EXPECT_EQ(loaded.config.groups[0].name, name);
  EXPECT_EQ(loaded.config.groups[0].events.size(), 64u);
}

TEST(LoadTest, KeepsWhereGroupsAndEventsStand) {
  const Loaded loaded = load_text(
      "groups:\n"
      "  - name: core\n"
      "    events: [cycles]\n"
      "    scope: cpu\n"
      "  - name: cache\n"
      "    events:\n"
      "      - cache-misses\n"
      "      - cache-references\n"
      "    scope: cpu\n",
      "c.yaml");

  ASSERT_THAT(messages(loaded), IsEmpty());
  const Group& cache = loaded.config.groups[1];
  EXPECT_EQ(cache.at.file, "c.yaml");
  EXPECT_EQ(cache.at.line, 5);
  EXPECT_EQ(cache.at.column, 5);
  EXPECT_EQ(cache.at.key, "groups[1]");
  EXPECT_EQ(cache.events[1].at.line, 8);
  EXPECT_EQ(cache.events[1].at.column, 9);
  EXPECT_EQ(cache.events[1].at.key, "groups[1].events[1]");
}

TEST(LoadTest, ReadsAFileWrittenOnWindows) {
  const Loaded loaded = load_text(
      "\xef\xbb\xbfgroups:\r\n"
      "  - name: core\r\n"
      "    events: [cycles, instructions]\r\n"
      "    scope: cpu\r\n"
      "collection:\r\n"
      "  interval: 5\r\n",
      "c.yaml");

  EXPECT_THAT(messages(loaded), ElementsAre("c.yaml:6:13: collection.interval: '5' has no unit. "
                                            "Remedy: write 5s or 500ms"));
  EXPECT_THAT(spellings(loaded.config.groups[0]), ElementsAre("cycles", "instructions"));
}

TEST(LoadTest, DoesNotCountTheByteOrderMarkAsAColumn) {
  const Loaded loaded = load_text("\xef\xbb\xbfgroup: 1", "c.yaml");

  EXPECT_THAT(
      messages(loaded),
      ::testing::Contains("c.yaml:1:1: group: unknown key. Remedy: did you mean 'groups'?"));
}

TEST(LoadTest, TakesTextInAnyLanguage) {
  const Loaded loaded = load_text(
      "# Größe, 大きさ, 🐧\n" + kOneGroup + "cgroups: {include: [/größe/大きさ-*]}\n", "c.yaml");

  ASSERT_THAT(messages(loaded), IsEmpty());
  EXPECT_THAT(loaded.config.cgroups.include, ElementsAre("/größe/大きさ-*"));
}

TEST(LoadTest, TakesTheMarksAroundOneDocument) {
  EXPECT_THAT(messages(load_text("---\n" + kOneGroup + "...\n", "c.yaml")), IsEmpty());
}

TEST(LoadTest, ReportsEveryMistakeInTheOrderOfTheFile) {
  const Loaded loaded = load_text(
      "limits: {max_series: many}\n"
      "collection:\n"
      "  interval: 5\n"
      "groups:\n"
      "  - name: Core\n"
      "    events: [cycles, cycles]\n"
      "cgroups: {max: -1}\n",
      "c.yaml");

  EXPECT_THAT(
      messages(loaded),
      ElementsAre(
          "c.yaml:1:22: limits.max_series: 'many' is not a number. "
          "Remedy: write a whole number from 1 to 10000000, in plain digits",
          "c.yaml:3:13: collection.interval: '5' has no unit. Remedy: write 5s or 500ms",
          "c.yaml:5:5: groups[0]: the group has no scope. "
          "Remedy: add 'scope: cpu', cgroup or [cpu, cgroup]",
          "c.yaml:5:11: groups[0].name: 'Core' is not a name. "
          "Remedy: use 1 to 64 of a-z, 0-9, '_' and '-', the first of them a letter",
          "c.yaml:6:22: groups[0].events[1]: 'cycles' stands twice, first on line 6 column 14. "
          "Remedy: remove one of the two",
          "c.yaml:7:16: cgroups.max: '-1' is negative. "
          "Remedy: write a whole number from 0 to 100000, in plain digits"));
}

TEST(LoadTest, KeepsTheDefaultWhereAMistakeStands) {
  const Loaded loaded = load_text(kOneGroup + "collection: {interval: 5}\n", "c.yaml");

  EXPECT_EQ(loaded.mistakes.size(), 1u);
  EXPECT_EQ(loaded.config.collection.interval, 1s);
}

TEST(LoadTest, StopsListingAfterAHundredMistakes) {
  std::string text = kOneGroup;
  for (int i = 0; i < 150; ++i) text += "key" + std::to_string(i) + ": 1\n";

  const Loaded loaded = load_text(text, "c.yaml");

  ASSERT_EQ(loaded.mistakes.size(), 101u);
  EXPECT_EQ(describe(loaded.mistakes.back()),
            "c.yaml: and 50 more mistakes. Remedy: correct those above first");
}

TEST(LoadTest, RefusesAnAliasBombWithoutExpandingIt) {
  std::string text = "a0: &a0 [x]\n";
  for (int i = 1; i < 40; ++i) {
    const std::string name = 'a' + std::to_string(i);
    const std::string before = "*a" + std::to_string(i - 1);
    text += name + ": &" + name + " [" + before + ", " + before + "]\n";
  }

  const Loaded loaded = load_text(text + "groups: *a39\n", "c.yaml");

  EXPECT_THAT(messages(loaded),
              ::testing::Contains("c.yaml:41:9: groups: a YAML alias stands here. "
                                  "Remedy: write the value itself; aliases are not followed"));
}

/// One kind of text that is short to write and could be long to read.
class HostileTextTest : public ::testing::TestWithParam<std::string> {};

TEST_P(HostileTextTest, IsRefusedAtTheSizeLimit) {
  std::string text;
  while (text.size() + GetParam().size() <= kMaxConfigBytes) text += GetParam();

  const Loaded loaded = load_text(text, "c.yaml");

  EXPECT_FALSE(loaded.mistakes.empty());
  EXPECT_LE(loaded.mistakes.size(), 101u);
}

INSTANTIATE_TEST_SUITE_P(LoadTest, HostileTextTest,
                         ::testing::Values("[", "{", "- ", "-\n", "? ", "a: ", "a:\n", ",", ",\n",
                                           "&a ", "*a ", "!x ", "\"", "'", "|\n", ": ", "---\n",
                                           "{a: ", "[a, ", "%", "\t", "groups: [*a,"));

TEST(MistakeTest, LeavesOutThePlaceAndTheKeyWhenThereIsNone) {
  EXPECT_EQ(describe(mistake({"c.yaml", 14, 13, "a.b"}, "is wrong", "change it")),
            "c.yaml:14:13: a.b: is wrong. Remedy: change it");
  EXPECT_EQ(describe(mistake({"c.yaml", 14, 13, ""}, "is wrong", "")), "c.yaml:14:13: is wrong");
  EXPECT_EQ(describe(mistake({"c.yaml", 0, 0, ""}, "is wrong", "")), "c.yaml: is wrong");
}

}  // namespace
}  // namespace pex::config
