#include "abi/sysctls.h"

#include <cerrno>
#include <iostream>
#include <iterator>
#include <limits>

#include "base/lookup.h"
#include "support/results.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"

namespace pex::perf {
namespace {

using test::FailsWith;
using test::Holds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const SysctlEntry& entry_named(std::string_view name) {
  return *lookup(
      sysctls(), [](const SysctlEntry& entry) { return entry.name; }, name);
}

host::HostRoots roots_of(const test::TempTree& tree) {
  return {tree.path("sys"), tree.path("proc"), {}};
}

TEST(SysctlsTest, HaveUniqueNamesAndNoOverlappingRanges) {
  std::set<std::string_view> names;
  for (const SysctlEntry& entry : sysctls()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    std::int64_t next = -1;
    for (const SysctlRange& range : entry.ranges) {
      EXPECT_GE(range.from, next) << entry.name;
      EXPECT_GE(range.to, range.from) << entry.name;
      next = range.to == std::numeric_limits<std::int64_t>::max() ? range.to : range.to + 1;
    }
  }
}

TEST(SysctlsTest, HaveARemedyForEachValueThatCostsSomething) {
  for (const SysctlEntry& entry : sysctls()) {
    for (const SysctlRange& range : entry.ranges) {
      EXPECT_THAT(range.words, Not(IsEmpty())) << entry.name;
      EXPECT_EQ(range.consequence.empty(), range.remedy.empty()) << entry.name;
    }
  }
}

TEST(SysctlsTest, FindNothingWrongWithTheDefaults) {
  for (const SysctlEntry& entry : sysctls()) {
    const SysctlRange* range = entry.range_of(entry.usual);
    EXPECT_TRUE(range == nullptr || range->consequence.empty()) << entry.name;
  }
}

TEST(SysctlsTest, HaveTheirDefaultsInTheDocument) {
  std::ifstream file{PEX_SOURCE_DIR "/docs/permissions.md"};
  const std::string document{std::istreambuf_iterator<char>(file), {}};
  for (const SysctlEntry& entry : sysctls()) {
    const std::size_t row = document.find("\n| `" + std::string(entry.name) + "` | ");
    ASSERT_NE(row, document.npos) << entry.name;
    const std::string unit = entry.unit.empty() ? "" : " " + std::string(entry.unit);
    EXPECT_THAT(document.substr(row + 1, document.find('\n', row + 1) - row),
                HasSubstr(" | " + std::to_string(entry.usual) + unit + " | "));
  }
}

TEST(SysctlsTest, HaveWordsForTheDefaultOfEachSwitch) {
  for (const SysctlEntry& entry : sysctls()) {
    if (entry.unit.empty()) {
      EXPECT_NE(entry.range_of(entry.usual), nullptr) << entry.name;
    }
  }
}

TEST(SysctlsTest, KnowsWhatValuesCost) {
  struct Row {
    const char* name;
    std::int64_t cheap;
    std::int64_t costly;
    const char* consequence;
  };
  const Row rows[] = {
      {"kernel.perf_event_paranoid", 2, 4, "opens no event"},
      {"kernel.perf_event_max_sample_rate", 4000, 3999, "EINVAL"},
      {"kernel.perf_cpu_time_max_percent", 99, 100, "hang"},
      {"kernel.perf_cpu_time_max_percent", 1, 0, "hang"},
      {"kernel.perf_event_mlock_kb", 260, 259, "EPERM"},
      {"kernel.perf_event_max_stack", 127, 126, "callers"},
      {"kernel.perf_event_max_contexts_per_stack", 2, 1, "callers"},
      {"cpu/rdpmc", 1, 2, "watch"},
  };
  for (const Row& row : rows) {
    const SysctlEntry& entry = entry_named(row.name);
    const SysctlRange* cheap = entry.range_of(row.cheap);
    const SysctlRange* costly = entry.range_of(row.costly);

    EXPECT_TRUE(cheap == nullptr || cheap->consequence.empty()) << row.name;
    ASSERT_NE(costly, nullptr) << row.name;
    EXPECT_THAT(std::string(costly->consequence), HasSubstr(row.consequence));
  }
}

TEST(SysctlsTest, AreReadBelowTheRoots) {
  const test::TempTree tree{{"proc/sys/kernel/perf_event_mlock_kb", "516\n"},
                            {"proc/sys/kernel/perf_event_paranoid", "-1\n"},
                            {"sys/bus/event_source/devices/cpu/rdpmc", "1\n"}};

  for (const auto& [name, value] : {std::pair{"kernel.perf_event_mlock_kb", 516},
                                    {"kernel.perf_event_paranoid", -1},
                                    {"cpu/rdpmc", 1}}) {
    EXPECT_THAT(read_sysctl(entry_named(name), roots_of(tree)), Holds(value)) << name;
  }
}

TEST(SysctlsTest, FindRdpmcWhereCoresAreOfSeveralKinds) {
  const test::TempTree tree{{"sys/bus/event_source/devices/cpu_core/rdpmc", "2\n"},
                            {"sys/bus/event_source/devices/cpu_atom/rdpmc", "2\n"}};

  EXPECT_THAT(read_sysctl(entry_named("cpu/rdpmc"), roots_of(tree)), Holds(2));
}

TEST(SysctlsTest, SayEnoentOfWhatTheKernelDoesNotHave) {
  const test::TempTree tree{{"proc/sys/kernel/"}};

  for (const SysctlEntry& entry : sysctls()) {
    EXPECT_THAT(read_sysctl(entry, roots_of(tree)), FailsWith(ENOENT)) << entry.name;
  }
}

TEST(SysctlsTest, SayEinvalOfWhatIsNoNumber) {
  const test::TempTree tree{{"proc/sys/kernel/perf_event_max_stack", "deep\n"}};

  EXPECT_THAT(read_sysctl(entry_named("kernel.perf_event_max_stack"), roots_of(tree)),
              FailsWith(EINVAL));
}

TEST(SysctlsExample, IsRight) {
  testing::internal::CaptureStdout();

  for (const SysctlEntry& entry : sysctls()) {
    const Result<std::int64_t> value = read_sysctl(entry, host::HostRoots{});
    if (value) std::cout << entry.name << '=' << *value << '\n';
  }

  const std::string printed = testing::internal::GetCapturedStdout();
  if (printed.empty()) GTEST_SKIP() << "no procfs, or a kernel without perf";
  EXPECT_THAT(printed, HasSubstr("kernel.perf_event_max_sample_rate="));
}

}  // namespace
}  // namespace pex::perf
