

#include "config/load.h"
#include "support/test_headers.h"

namespace pex::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kGroup = "groups: [{name: core, events: [cycles], scope: cpu}]\n";

std::vector<std::string> texts(const Cpus& cpus) {
  std::vector<std::string> texts;
  for (const CpuEntry& entry : cpus.exclude) texts.push_back(entry.text);
  return texts;
}

TEST(CpusTest, AreAllCountedUnlessTheFileSetsOtherwise) {
  const Loaded loaded = load_text(kGroup, "c.yaml");

  EXPECT_THAT(loaded.config.cpus.exclude, IsEmpty());
  EXPECT_THAT(loaded.config.groups.front().cpus.exclude, IsEmpty());
}

TEST(CpusTest, AreLeftOutBySetsOfTheKernelAndByNumbers) {
  const Loaded loaded =
      load_text("cpus:\n  exclude: [isolated, nohz_full, \"2-5,8\", 7]\n" + kGroup, "c.yaml");

  ASSERT_THAT(loaded.diagnostics.errors(), IsEmpty());
  EXPECT_THAT(texts(loaded.config.cpus), ElementsAre("isolated", "nohz_full", "2-5,8", "7"));
  EXPECT_EQ(loaded.config.cpus.at.line, 2);
  EXPECT_EQ(loaded.config.cpus.exclude[2].at.key, "cpus.exclude[2]");
}

TEST(CpusTest, AreLeftOutOfASingleGroupAsWell) {
  const Loaded loaded = load_text(
      "groups: [{name: core, events: [cycles], scope: cpu, cpus: {exclude: [3]}}]\n", "c.yaml");

  ASSERT_THAT(loaded.diagnostics.errors(), IsEmpty());
  EXPECT_THAT(texts(loaded.config.groups.front().cpus), ElementsAre("3"));
  EXPECT_THAT(loaded.config.cpus.exclude, IsEmpty());
}

TEST(CpusTest, AreRefusedWithTheirPlaceWhenTheyAreWrittenInAnotherWay) {
  struct Row {
    const char* cpus;
    const char* error;
  };
  const Row rows[] = {
      {"[isolated]", "c.yaml:1:7: cpus: "},
      {"{exclude: isolated}", "c.yaml:1:17: cpus.exclude: "},
      {"{exclude: [isolate]}", "did you mean 'isolated'?"},
      {"{exclude: [\"2 5\"]}", "c.yaml:1:18: cpus.exclude[0]: "},
      {"{exclude: [\"\"]}", "c.yaml:1:18: cpus.exclude[0]: "},
      {"{exclude: [isolated, isolated]}", "c.yaml:1:28: cpus.exclude[1]: "},
      {"{include: [isolated]}", "c.yaml:1:8: cpus.include: unknown key"},
  };
  for (const Row& row : rows) {
    const Loaded loaded = load_text(std::string("cpus: ") + row.cpus + "\n" + kGroup, "c.yaml");

    ASSERT_EQ(loaded.diagnostics.error_count(), 1U) << row.cpus;
    EXPECT_THAT(describe(loaded.diagnostics.errors().front()), HasSubstr(row.error));
  }
}

TEST(CpusTest, AreInListsOfAtMostSixtyFour) {
  std::string list = "0";
  for (int cpu = 1; cpu <= 64; ++cpu) list += ", " + std::to_string(cpu);

  const Loaded loaded = load_text("cpus: {exclude: [" + list + "]}\n" + kGroup, "c.yaml");

  ASSERT_EQ(loaded.diagnostics.error_count(), 1U);
  EXPECT_THAT(describe(loaded.diagnostics.errors().front()), HasSubstr("list at most 64"));
}

}  // namespace
}  // namespace pex::config
