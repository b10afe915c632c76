#include "host/machine_files.h"

#include "base/small_file.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"

namespace pex::host::machine_files_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

TEST(MachineFilesTest, AreWhatDecidesWhatCanBeCounted) {
  const test::TempTree tree{{"sys/devices/system/cpu/online", "0-1\n"},
                            {"sys/devices/system/cpu/cpu1/node0/"},
                            {"sys/devices/system/cpu/cpu1/topology/core_id", "7\n"},
                            {"sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "1\n"},
                            {"sys/bus/event_source/devices/cpu/type", "4\n"},
                            {"sys/bus/event_source/devices/cpu/format/event", "config:0-7\n"},
                            {"sys/bus/event_source/devices/cpu/power/control", "auto\n"},
                            {"sys/class/dmi/id/sys_vendor", "QEMU\n"},
                            {"sys/class/dmi/id/product_serial", "secret\n"},
                            {"sys/kernel/debug/tracing/events/sched/sched_switch/id", "310\n"},
                            {"proc/cpuinfo", "processor : 0\n\nprocessor : 1\n"}};

  EXPECT_THAT(
      read_machine_files({tree.path("sys"), tree.path("proc"), {}}),
      UnorderedElementsAre(Pair("sys/devices/system/cpu/online", "0-1\n"),
                           Pair("sys/devices/system/cpu/cpu1/node0/", ""),
                           Pair("sys/devices/system/cpu/cpu1/topology/core_id", "7\n"),
                           Pair("sys/bus/event_source/devices/cpu/type", "4\n"),
                           Pair("sys/bus/event_source/devices/cpu/format/event", "config:0-7\n"),
                           Pair("sys/class/dmi/id/sys_vendor", "QEMU\n"),
                           Pair("sys/kernel/tracing/events/sched/sched_switch/id", "310\n"),
                           Pair("proc/cpuinfo", "processor : 0")));
}

TEST(MachineFilesTest, AreTheSameMachineElsewhere) {
  const test::TempTree elsewhere;
  const MachineFiles files = {{"sys/devices/system/cpu/online", "0-1\n"},
                              {"proc/sys/kernel/osrelease", "6.1.0\n"},
                              {"cgroup/a.slice/", ""}};

  const Result<HostRoots> roots = write_machine_files(files, elsewhere.root());

  ASSERT_TRUE(roots);
  EXPECT_EQ(*read_small_file(roots->online_cpus()), "0-1\n");
  EXPECT_EQ(*read_small_file(roots->sysctl("kernel/osrelease")), "6.1.0\n");
  EXPECT_EQ(roots->cgroupfs, elsewhere.path("cgroup"));
  EXPECT_EQ(read_small_file(roots->cgroupfs + "/a.slice").error().code, EISDIR);
}

TEST(MachineFilesTest, AreNotWrittenElsewhere) {
  const test::TempTree tree;
  for (const char* path : {"sys/../../x", "etc/passwd", "/etc/passwd", "sys", "proc/..", ""}) {
    const Result<HostRoots> roots = write_machine_files({{path, "x"}}, tree.path("machine"));

    ASSERT_FALSE(roots) << path;
    EXPECT_THAT(roots.error().attempted, HasSubstr("no file of a machine"));
  }
}

}  // namespace
}  // namespace pex::host::machine_files_test
