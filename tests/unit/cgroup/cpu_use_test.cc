#include "cgroup/use/cpu_use.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

#include "support/temp_tree.h"

namespace pex::cgroup {
namespace {

using Version = Hierarchy::Version;

TEST(CpuUseTest, IsReadFromCpuStat) {
  struct Row {
    const char* cpu_stat;
    std::optional<std::uint64_t> microseconds;
  };
  const Row rows[] = {
      {"usage_usec 123456\nuser_usec 100000\nsystem_usec 23456\n", 123456},
      {"user_usec 1\nsystem_usec 2\nusage_usec 3\n", 3},
      {"usage_usec 18446744073709551615\n", 18446744073709551615U},
      {"usage_usec 7", 7},
      {"usage_usec 0\n", 0},
      {"user_usec 5\ncore_sched.force_idle_usec 6\n", {}},
      {"old_usage_usec 5\nusage_usec_old 6\n", {}},
      {"usage_usec \n", {}},
      {"usage_usec many\n", {}},
      {"usage_usec -1\n", {}},
      {"usage_usec 18446744073709551616\n", {}},
      {"", {}},
  };

  for (const Row& row : rows) {
    const test::TempTree tree{{"a.slice/b.service/cpu.stat", row.cpu_stat}};

    EXPECT_EQ(cpu_use({tree.root()}, "/a.slice/b.service"), row.microseconds) << row.cpu_stat;
  }
}

TEST(CpuUseTest, OfVersion1IsReadFromTheHierarchyThatAccounts) {
  struct Row {
    const char* usage;
    std::optional<std::uint64_t> microseconds;
  };
  const Row rows[] = {
      {"123456789\n", 123456}, {"999\n", 0}, {"1000", 1}, {"0\n", 0}, {"many\n", {}}, {"", {}},
  };

  for (const Row& row : rows) {
    const test::TempTree tree{{"cpuacct/a/cpuacct.usage", row.usage},
                              {"cpuacct/a/cpu.stat", "usage_usec 5\n"},
                              {"perf_event/a/cpuacct.usage", "6000\n"}};
    const Hierarchy hierarchy{tree.path("perf_event"), Version::kV1, tree.path("cpuacct")};

    EXPECT_EQ(cpu_use(hierarchy, "/a"), row.microseconds) << row.usage;
  }
}

TEST(CpuUseTest, IsNothingWhereTheKernelDoesNotReport) {
  const test::TempTree tree{
      {"a/"}, {"v1/cpuacct.usage", "5000\n"}, {"v1/cpu.stat", "usage_usec 5\n"}};

  EXPECT_EQ(cpu_use({tree.root()}, "/a"), std::nullopt);
  EXPECT_EQ(cpu_use({tree.root()}, "/gone"), std::nullopt);
  EXPECT_EQ(cpu_use({tree.root(), Version::kV1, tree.root()}, "/gone"), std::nullopt);
  EXPECT_EQ(cpu_use({tree.root(), Version::kV1}, "/v1"), std::nullopt);
}

}  // namespace
}  // namespace pex::cgroup
