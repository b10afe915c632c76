#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "daemon/commands/commands.h"
#include "support/scripted_kernel.h"
#include "support/temp_tree.h"

namespace pex::daemon {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class SizeTest : public testing::Test {
 protected:
  SizeTest() {
    options_.roots = {
        .sysfs = tree_.path("sys"), .procfs = tree_.path("proc"), .cgroupfs = tree_.path("cgroup")};
    options_.config_file = tree_.path("c.yaml");
    options_.size_cpus = 4;
  }

  /// Of groups of two events with `scope`; and the other keys.
  std::pair<ExitStatus, std::string> size(const std::string& scope, const std::string& others) {
    tree_.write("c.yaml",
                "groups: [{name: soft, events: [cs, faults], scope: " + scope + "}]\n" + others);
    testing::internal::CaptureStdout();
    const ExitStatus status = print_size(options_, kernel_);
    return {status, testing::internal::GetCapturedStdout()};
  }

  test::TempTree tree_{{"sys/devices/system/cpu/online", "0\n"}, {"cgroup/cgroup.procs", ""}};
  test::ScriptedKernel kernel_{tree_.path("cgroup")};
  Options options_;
};

TEST_F(SizeTest, SaysThatTheExporterDoesNotStartWhereTheCpusAloneExceedALimit) {
  const auto [status, text] = size("cpu", "limits: {max_open_events: 11, max_series: 15}\n");

  EXPECT_EQ(status, kFailed);
  EXPECT_THAT(text, HasSubstr("by descriptors, the groups of scope cpu take 12 counters, and "
                              "limits.max_open_events is 11: the exporter does not start. Remedy: "
                              "set limits.max_open_events to 12\n"));
  EXPECT_THAT(text, HasSubstr("by descriptors, the groups of scope cpu and the sums take 16 "
                              "series, and limits.max_series is 15: the exporter does not start"));
  EXPECT_THAT(text, Not(HasSubstr("left out")));
}

TEST_F(SizeTest, SaysThatCgroupsWouldBeLeftOutWhereOnlyTheCpusFit) {
  options_.size_cgroups = 1;
  const auto [status, text] = size("[cpu, cgroup]",
                                   "cgroups: {source: descriptors}\n"
                                   "limits: {max_open_events: 19}\n");

  EXPECT_EQ(status, kFailed);
  EXPECT_THAT(text, HasSubstr("by descriptors, 1 cgroup takes 20 counters, and "
                              "limits.max_open_events is 19: some of them would be left out. "
                              "Remedy: set limits.max_open_events to 20\n"));
}

TEST_F(SizeTest, AdvisesRoomForTheCgroupsWhereNotEvenTheCpusFit) {
  options_.size_cgroups = 10;
  const auto [status, text] = size("[cpu, cgroup]",
                                   "cgroups: {source: descriptors}\n"
                                   "limits: {max_open_events: 1}\n");

  EXPECT_EQ(status, kFailed);
  EXPECT_THAT(text, HasSubstr("the groups of scope cpu take 12 counters, and "
                              "limits.max_open_events is 1: the exporter does not start. Remedy: "
                              "set limits.max_open_events to 92\n"));
}

TEST_F(SizeTest, OfAConfigurationWithoutCgroupsIsThatByDescriptors) {
  const auto [status, text] = size("cpu", "cgroups: {source: records}\n");

  EXPECT_EQ(status, kOk);
  EXPECT_THAT(text, HasSubstr("by descriptors"));
}

}  // namespace
}  // namespace pex::daemon
