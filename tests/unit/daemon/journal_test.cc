#include "daemon/log/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pex::daemon {
namespace {

using testing::Contains;
using testing::ElementsAre;

TEST(JournalTest, TheStreamNamesAFileByDeviceAndInode) {
  EXPECT_TRUE(names_file("9:30142", 9, 30142));
  EXPECT_FALSE(names_file("9:30142", 9, 30143));
  EXPECT_FALSE(names_file("9:30142", 8, 30142));
}

TEST(JournalTest, WhatIsNoStreamNamesNoFile) {
  for (const char* text : {"", ":", "9", "9:", ":30142", "9:301420", "09:30142", "9:30142 "}) {
    EXPECT_FALSE(names_file(text, 9, 30142)) << "'" << text << "'";
  }
}

TEST(JournalTest, AnEntryHasItsMessageAndAFieldForEachThingItReports) {
  const auto entry = journal_fields(LogLevel::kWarn, "it broke",
                                    {{"cgroup", "/a b"}, {"cpu", "3"}, {"errno", "13"}});

  EXPECT_THAT(entry, ElementsAre("MESSAGE=it broke cgroup=\"/a b\" cpu=3 errno=13", "PRIORITY=4",
                                 "SYSLOG_IDENTIFIER=perf_event_exporter", "PERF_CGROUP=/a b",
                                 "PERF_CPU=3", "ERRNO=13"));
}

TEST(JournalTest, LevelsArePrioritiesOfSyslog) {
  EXPECT_THAT(journal_fields(LogLevel::kError, "m", {}), Contains("PRIORITY=3"));
  EXPECT_THAT(journal_fields(LogLevel::kWarn, "m", {}), Contains("PRIORITY=4"));
  EXPECT_THAT(journal_fields(LogLevel::kInfo, "m", {}), Contains("PRIORITY=6"));
  EXPECT_THAT(journal_fields(LogLevel::kDebug, "m", {}), Contains("PRIORITY=7"));
}

TEST(JournalTest, NamesOfFieldsAreOnesThatTheJournalTakes) {
  const std::string longest(64 - std::string("PERF_").size(), 'X');

  const auto entry =
      journal_fields(LogLevel::kInfo, "m", {{"a-key.2", "v"}, {std::string(80, 'x'), "v"}});

  EXPECT_THAT(entry, Contains("PERF_A_KEY_2=v"));
  EXPECT_THAT(entry, Contains("PERF_" + longest + "=v"));
}

TEST(JournalTest, FieldsAreOneLineOfUtf8WhateverTheyHold) {
  const auto entry = journal_fields(LogLevel::kInfo, "read '/caf\xe9'", {{"path", "/caf\xe9\n"}});

  EXPECT_THAT(entry, Contains("MESSAGE=read '/caf\uFFFDe9' path=\"/caf\uFFFDe9\\u000a\""));
  EXPECT_THAT(entry, Contains("PERF_PATH=/caf\uFFFDe9\\u000a"));
}

}  // namespace
}  // namespace pex::daemon
