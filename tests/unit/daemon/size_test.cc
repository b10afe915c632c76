

#include "daemon/commands/commands.h"
#include "support/scripted_kernel.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"
#include "unit/daemon/commands.h"

namespace pex::daemon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class SizeTest : public testing::Test {
 protected:
  SizeTest() { options_.size_cpus = 4; }

  /// Of groups of two events with `scope`; and the other keys.
  Printed size(const std::string& scope, const std::string& others) {
    tree_.write("config.yaml",
                "groups: [{name: soft, events: [cs, faults], scope: " + scope + "}]\n" + others);
    return printed_by([this] { return print_size(options_, kernel_); });
  }
  /// Of cgroups that are counted by descriptors, on a machine that is too small for them.
  std::string complaint(std::size_t cgroups, int max_open_events) {
    options_.size_cgroups = cgroups;
    const Printed printed = size("[cpu, cgroup]",
                                 "cgroups: {source: descriptors}\n"
                                 "limits: {max_open_events: " +
                                     std::to_string(max_open_events) + "}\n");
    EXPECT_EQ(printed.status, kFailed);
    return printed.out;
  }

  test::TempTree tree_{{"sys/devices/system/cpu/online", "0\n"}, {"cgroup/cgroup.procs", ""}};
  test::ScriptedKernel kernel_{tree_.path("cgroup")};
  Options options_ = options_in(tree_);
};

TEST_F(SizeTest, SaysThatTheExporterDoesNotStartWhereTheCpusAloneExceedALimit) {
  const Printed printed = size("cpu", "limits: {max_open_events: 11, max_series: 15}\n");

  EXPECT_EQ(printed.status, kFailed);
  EXPECT_THAT(printed.out,
              AllOf(HasSubstr("by descriptors, the groups of scope cpu take 12 counters, and "
                              "limits.max_open_events is 11: the exporter does not start. Remedy: "
                              "set limits.max_open_events to 12\n"),
                    HasSubstr("by descriptors, the groups of scope cpu and the sums take 16 "
                              "series, and limits.max_series is 15: the exporter does not start"),
                    Not(HasSubstr("left out"))));
}

TEST_F(SizeTest, SaysThatCgroupsWouldBeLeftOutWhereOnlyTheCpusFit) {
  EXPECT_THAT(complaint(1, 19),
              HasSubstr("by descriptors, 1 cgroup takes 20 counters, and "
                        "limits.max_open_events is 19: some of them would be left out. "
                        "Remedy: set limits.max_open_events to 20\n"));
}

TEST_F(SizeTest, AdvisesRoomForTheCgroupsWhereNotEvenTheCpusFit) {
  EXPECT_THAT(complaint(10, 1),
              HasSubstr("the groups of scope cpu take 12 counters, and "
                        "limits.max_open_events is 1: the exporter does not start. Remedy: "
                        "set limits.max_open_events to 92\n"));
}

TEST_F(SizeTest, LocksARingOfRecordsAndOneOfNamesOnEachCpu) {
  const Printed printed = size("cgroup", "cgroups: {source: records, records_buffer: 512KiB}\n");

  EXPECT_THAT(printed.out, HasSubstr("locked memory                 2.1 MiB"))
      << "four times 512 KiB, 16 KiB and a page of each";
}

TEST_F(SizeTest, OfAConfigurationWithoutCgroupsIsThatByDescriptors) {
  const Printed printed = size("cpu", "cgroups: {source: records}\n");

  EXPECT_EQ(printed.status, kOk);
  EXPECT_THAT(printed.out, HasSubstr("by descriptors"));
}

}  // namespace
}  // namespace pex::daemon
