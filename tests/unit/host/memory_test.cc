#include "host/memory.h"

#include "support/temp_tree.h"
#include "support/test_headers.h"

namespace pex::host {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

class MemoryTest : public testing::Test {
 protected:
  HostRoots roots() { return {.procfs = tree_.path("proc"), .cgroupfs = {}}; }
  void mount(const std::string& type, const std::string& options, const std::string& root = "/") {
    tree_.write("proc/self/mountinfo", "30 24 0:27 " + root + " " + tree_.path("cgroup") +
                                           " rw - " + type + " cgroup " + options + "\n");
  }

  test::TempTree tree_;
};

TEST_F(MemoryTest, IsThatOfTheMachine) {
  tree_.write("proc/meminfo", "MemTotal:       16384256 kB\nMemFree:         123 kB\n");
  EXPECT_EQ(total_memory(roots()), std::uint64_t{16'384'256} * 1024);
}

TEST_F(MemoryTest, IsUnknownIfItDoesNotFitIntoANumberOfBytes) {
  tree_.write("proc/meminfo", "MemTotal: 18014398509481983 kB\n");
  EXPECT_EQ(total_memory(roots()), std::uint64_t{18'014'398'509'481'983} * 1024);

  tree_.write("proc/meminfo", "MemTotal: 18014398509481984 kB\n");
  EXPECT_EQ(total_memory(roots()), std::nullopt);
}

TEST_F(MemoryTest, IsUnknownWithoutTheFile) {
  EXPECT_EQ(total_memory(roots()), std::nullopt);
  EXPECT_EQ(memory_limit(roots()), std::nullopt);
}

TEST_F(MemoryTest, IsUnknownWhereTheFileHoldsGarbage) {
  for (const char* const text : {"MemTotal:       a lot\n", "MemFree: 123 kB\n", "\n"}) {
    tree_.write("proc/meminfo", text);
    EXPECT_EQ(total_memory(roots()), std::nullopt) << text;
  }
}

TEST_F(MemoryTest, LimitIsUnknownWhereTheOwnCgroupIsNotListed) {
  mount("cgroup2", "rw");
  tree_.write("cgroup/memory.max", "134217728\n");
  for (const char* const text : {"no line of a hierarchy\n", "5:cpu\n", "5:cpu:/a\n", "\n"}) {
    tree_.write("proc/thread-self/cgroup", text);
    EXPECT_EQ(memory_limit(roots()), std::nullopt) << text;
  }
}

TEST_F(MemoryTest, LimitIsTheLowestOfTheOwnCgroupAndThoseAboveIt) {
  mount("cgroup2", "rw");
  tree_.write("proc/thread-self/cgroup", "0::/a.slice/b.service\n");
  tree_.write("cgroup/a.slice/memory.max", std::to_string(kGiB) + "\n");
  tree_.write("cgroup/a.slice/b.service/memory.max", "max\n");
  EXPECT_EQ(memory_limit(roots()), kGiB);

  tree_.write("cgroup/a.slice/b.service/memory.max", std::to_string(kGiB / 2) + "\n");
  EXPECT_EQ(memory_limit(roots()), kGiB / 2);
}

/// Also for the second one, whose name only begins like that of the mounted root.
TEST_F(MemoryTest, LimitOfAContainerIsThatOfTheMountedRoot) {
  mount("cgroup2", "rw", "/kubepods/pod1");
  tree_.write("cgroup/memory.max", "134217728\n");
  tree_.write("cgroup0/memory.max", "4096\n");
  for (const char* own : {"0::/kubepods/pod1\n", "0::/kubepods/pod10\n"}) {
    tree_.write("proc/thread-self/cgroup", own);
    EXPECT_EQ(memory_limit(roots()), 134'217'728U) << own;
  }
}

TEST_F(MemoryTest, LimitOfVersion1IsThatOfItsMemoryController) {
  mount("cgroup", "rw,memory");
  tree_.write("proc/thread-self/cgroup", "5:perf_event:/x\n4:cpu,memory:/a\n0::/other\n");
  tree_.write("cgroup/a/memory.limit_in_bytes", "1048576\n");
  EXPECT_EQ(memory_limit(roots()), 1'048'576U);
}

}  // namespace
}  // namespace pex::host
