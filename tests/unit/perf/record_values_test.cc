#include "perf/record/record_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <cstddef>
#include <iostream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "perf/record/branch_stack.h"
#include "perf/record/callchain.h"
#include "perf/record/data_source.h"
#include "perf/record/read_format.h"
#include "perf/record/record.h"
#include "perf/record/sample_layout.h"
#include "perf/sampling_table.h"

namespace pex::perf {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

/// The rows of all tables about records.
std::vector<AbiEntry> all_rows() {
  std::vector<AbiEntry> rows(record_values().begin(), record_values().end());
  const auto add = [&](const auto& table) {
    for (const auto& row : table) rows.push_back(row.abi);
  };
  add(sample_fields());
  add(read_formats());
  add(branch_options());
  add(callchain_contexts());
  add(data_source_fields());
  add(data_source_values());
  add(record_types());
  add(record_misc_entries());
  return rows;
}

std::set<std::string> tests_of_this_program() {
  std::set<std::string> names;
  const testing::UnitTest& program = *testing::UnitTest::GetInstance();
  for (int suite = 0; suite < program.total_test_suite_count(); ++suite) {
    const testing::TestSuite& tests = *program.GetTestSuite(suite);
    for (int test = 0; test < tests.total_test_count(); ++test) {
      names.insert(std::string(tests.name()) + "." + tests.GetTestInfo(test)->name());
    }
  }
  return names;
}

TEST(RecordValuesTest, EachRowNamesATestThatExists) {
  const std::set<std::string> tests = tests_of_this_program();

  for (const AbiEntry& row : all_rows()) {
    EXPECT_TRUE(tests.contains(std::string(row.test))) << row.name << ": " << row.test;
  }
}

TEST(RecordValuesTest, EachRowIsWhole) {
  std::set<std::string_view> names;
  for (const AbiEntry& row : all_rows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " is there twice";
    EXPECT_THAT(std::string(row.since), MatchesRegex("[2-9]\\.[0-9]+(\\.[0-9]+)?")) << row.name;
    EXPECT_FALSE(row.meaning.empty() || row.meaning.ends_with('.')) << row.name;
    EXPECT_THAT(std::string(row.where), MatchesRegex("perf/record/[a-z_]+\\.h")) << row.name;
    EXPECT_TRUE(row.not_used.empty()) << row.name;
  }
}

std::string_view since(std::string_view name) {
  for (const AbiEntry& row : all_rows()) {
    if (row.name == name) return row.since;
  }
  return "no such row";
}

/// PERF_RECORD_KSYMBOL is written for the flag ksymbol, and so on.
TEST(RecordValuesTest, EachRecordIsAsOldAsTheFlagThatAsksForIt) {
  std::size_t compared = 0;
  for (const AttrFlagEntry& flag : attr_flags()) {
    std::string name = "PERF_RECORD_";
    for (const char letter : flag.abi.name) {
      name += static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    }
    if (since(name) == "no such row") continue;
    EXPECT_EQ(since(name), flag.abi.since) << name;
    ++compared;
  }
  EXPECT_GE(compared, 8U);
}

TEST(RecordValuesTest, TheValuesOfARecordAreNotOlderThanTheRecord) {
  for (const char* const name : {"NET_NS_INDEX", "UTS_NS_INDEX", "IPC_NS_INDEX", "PID_NS_INDEX",
                                 "USER_NS_INDEX", "MNT_NS_INDEX", "CGROUP_NS_INDEX"}) {
    EXPECT_EQ(since(name), "4.12") << name;
  }
}

TEST(RecordValuesTest, TheFormatsOfCoresightAreOfOneRelease) {
  for (const char* const name :
       {"PERF_AUX_FLAG_PMU_FORMAT_TYPE_MASK", "PERF_AUX_FLAG_CORESIGHT_FORMAT_CORESIGHT",
        "PERF_AUX_FLAG_CORESIGHT_FORMAT_RAW"}) {
    EXPECT_EQ(since(name), "5.13") << name;
  }
}

TEST(RecordValuesExample, PrintsSinceWhenAValueExists) {
  testing::internal::CaptureStdout();

  for (const AbiEntry& value : record_values()) {
    std::cout << value.name << ": since Linux " << value.since << '\n';
  }

  EXPECT_THAT(testing::internal::GetCapturedStdout(),
              HasSubstr("PERF_BR_ERET: since Linux 5.18\n"));
}

}  // namespace
}  // namespace pex::perf
