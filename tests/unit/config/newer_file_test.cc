

#include "config/default_config.h"
#include "config/load.h"
#include "support/test_headers.h"

namespace pex::config::newer_file_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kOneGroup = "groups: [{name: core, events: [cycles], scope: cpu}]\n";
const std::string kNewer = "requires: '>=99.1'\n";
const std::string kFor99 =
    "c.yaml:1:11: requires: the file is for version >=99.1, and this one is " +
    std::string(kVersion);
const std::string kIgnored = kFor99 + ". Remedy: update this program";

Loaded load_as_service(const std::string& text) {
  return load_text(text, "c.yaml", UnknownKeys::kWarnIfNewer);
}

std::vector<std::string> errors(const Loaded& loaded) {
  std::vector<std::string> all;
  for (const yaml::Diagnostic& error : loaded.diagnostics.errors()) all.push_back(describe(error));
  return all;
}

std::vector<std::string> warnings(const Loaded& loaded) {
  std::vector<std::string> all;
  for (const Error& warning : loaded.config.origin.warnings) all.push_back(describe(warning));
  return all;
}

std::vector<std::string> groups(const Loaded& loaded) {
  std::vector<std::string> names;
  for (const Group& group : loaded.config.groups) names.push_back(group.name);
  return names;
}

TEST(NewerFileTest, AServiceIgnoresKeysThatItDoesNotKnow) {
  const Loaded loaded = load_as_service(kNewer + kOneGroup +
                                        "colour: blue\n"
                                        "collection: {interval: 5s, intervall: 6s}\n");

  EXPECT_THAT(errors(loaded), IsEmpty());
  EXPECT_THAT(warnings(loaded),
              ElementsAre(kIgnored, "c.yaml:3:1: colour: unknown key: ignored",
                          "c.yaml:4:28: collection.intervall: unknown key: ignored"));
  EXPECT_EQ(loaded.config.origin.unknown_keys, 2U);
  EXPECT_EQ(loaded.config.collection.interval, std::chrono::seconds{5});
  EXPECT_THAT(groups(loaded), ElementsAre("core"));
}

TEST(NewerFileTest, APersonIsToldWhatWouldBeIgnored) {
  const Loaded loaded = load_text(kNewer + kOneGroup + "colour: blue\n", "c.yaml");

  EXPECT_THAT(errors(loaded),
              ElementsAre(HasSubstr(kFor99), HasSubstr("c.yaml:3:1: colour: unknown key. Remedy")));
}

TEST(NewerFileTest, AnUnknownKeyOfAFileForThisVersionIsAnErrorForAServiceToo) {
  for (const std::string& required : {std::string(), std::string("requires: 0.0.1\n"),
                                      "requires: '>= " + std::string(kVersion) + "'\n"}) {
    const Loaded loaded = load_as_service(required + kOneGroup + "colour: blue\n");

    EXPECT_THAT(errors(loaded), ElementsAre(HasSubstr("colour: unknown key. Remedy"))) << required;
  }
}

TEST(NewerFileTest, UnknownKeysOfAnyFileCanBeIgnored) {
  const Loaded loaded = load_text(kOneGroup + "colour: blue\n", "c.yaml", UnknownKeys::kWarn);

  EXPECT_THAT(errors(loaded), IsEmpty());
  EXPECT_THAT(warnings(loaded), ElementsAre("c.yaml:2:1: colour: unknown key: ignored"));
}

TEST(NewerFileTest, WhatTheVersionIsMustBeClear) {
  for (const char* wrong : {"'<1'", "newest", "'>=1.2.3.4'", "[1]", "''"}) {
    EXPECT_THAT(errors(load_as_service("requires: " + std::string(wrong) + "\n" + kOneGroup)),
                SizeIs(1))
        << wrong;
  }
}

TEST(NewerFileTest, AGroupThatIsNotKnownAsAWholeIsLeftOutWithAllThatIsWrongInIt) {
  const Loaded loaded =
      load_as_service(kNewer +
                      "groups:\n"
                      "  - {name: a, events: [cycles], scope: cpu, threads: 5}\n"
                      "  - {name: b, events: [cycles], scope: [cpu, task]}\n"
                      "  - {name: c, events_of: x, pinned: sometimes, cpus: 7}\n"
                      "  - {name: d, events: [cycles], scope: cpu, when: {moon: 1}}\n"
                      "  - {name: e, events: [cycles], scope: cpu}\n");

  EXPECT_THAT(errors(loaded), IsEmpty());
  EXPECT_THAT(groups(loaded), ElementsAre("e"));
  EXPECT_THAT(loaded.config.origin.left_out_groups, ElementsAre("a", "b", "c", "d"));
  EXPECT_EQ(loaded.config.origin.unknown_keys, 5U);
  EXPECT_THAT(warnings(loaded)[1],
              "c.yaml:3:5: groups[0]: left out, because this version does not know all of it");
}

TEST(NewerFileTest, WithoutAGroupThatIsKnownNothingIsCounted) {
  EXPECT_THAT(errors(load_as_service(kNewer + "group_files: [x]\n")), IsEmpty());
  EXPECT_THAT(errors(load_as_service(kNewer + "groups: [{name: a, size: 5}]\n")), IsEmpty());
  EXPECT_THAT(errors(load_as_service(kNewer)), ElementsAre(HasSubstr("no groups")));
}

TEST(NewerFileTest, RulesAndSumsThatAreNotKnownAsAWholeAreLeftOut) {
  const Loaded loaded = load_as_service(
      kNewer + kOneGroup +
      "cgroups:\n"
      "  labels: [{match: /a, set: {team: x}, unless: /b}, {match: /c, set: {team: y}}]\n"
      "  sums: [{name: a, by: [team], of: threads}, {name: b, by: [team]}]\n");

  EXPECT_THAT(errors(loaded), IsEmpty());
  ASSERT_THAT(loaded.config.cgroups.labels, SizeIs(1));
  EXPECT_EQ(loaded.config.cgroups.labels.front().match.text, "/c");
  ASSERT_THAT(loaded.config.cgroups.sums, SizeIs(1));
  EXPECT_EQ(loaded.config.cgroups.sums.front().name, "b");
}

TEST(NewerFileTest, AnUnknownWordIsAsIfItsKeyHadNotBeenWritten) {
  const Loaded loaded =
      load_as_service(kNewer + kOneGroup + "cgroups: {nesting: roots, helpers: some, max: 7}\n");

  EXPECT_THAT(errors(loaded), IsEmpty());
  EXPECT_EQ(loaded.config.cgroups.nesting, Cgroups{}.nesting);
  EXPECT_EQ(loaded.config.cgroups.max, 7U);
  EXPECT_EQ(loaded.config.origin.unknown_keys, 2U);
}

TEST(NewerFileTest, OtherValuesThatAreNotAcceptedAreErrors) {
  const Loaded loaded = load_as_service(kNewer + kOneGroup +
                                        "collection: {interval: 1ms}\n"
                                        "limits: {max_open_events: all}\n");

  EXPECT_THAT(errors(loaded), SizeIs(2));
}

}  // namespace
}  // namespace pex::config::newer_file_test
