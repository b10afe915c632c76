#include "daemon/commands/machine_record.h"

#include <cerrno>

#include "daemon/commands/commands.h"
#include "support/scripted_kernel.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"
#include "unit/daemon/commands.h"

namespace pex::daemon::machine_record_test {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kConfig =
    "groups: [{name: core, events: [cycles, branches, 'sched:sched_switch'], scope: cpu},\n"
    "  {name: soft, events: [cs], scope: cgroup}]\n"
    "cgroups: {include: [/a.slice/*], source: descriptors}\n";

class MachineRecordTest : public testing::Test {
 protected:
  MachineRecordTest() { options_.machine_file = here_.path("machine.json"); }

  /// The output of `doctor --output=json` there.
  std::string recorded() {
    return printed_by([this] { return print_machine(options_in(there_), kernel_there_); }).out;
  }

  /// Why it is no record.
  Error refusal() {
    const Result<> read = on_recorded_machine(options_.machine_file, [](const auto&, auto&) {});
    return read ? Error{} : read.error();
  }

  /// What a check says here of the machine there.
  std::string checked(ExitStatus expected) {
    here_.write("machine.json", recorded());
    const Printed printed = printed_by([this] { return check_config(options_, kernel_here_); });
    EXPECT_EQ(printed.status, expected);
    return printed.out;
  }

  const test::TempTree there_{{"sys/devices/system/cpu/online", "0-7\n"},
                              {"sys/bus/event_source/devices/cpu/type", "4\n"},
                              {"sys/kernel/tracing/events/sched/sched_switch/id", "310\n"},
                              {"proc/sys/kernel/osrelease", "6.1.0\n"},
                              {"cgroup/cgroup.controllers", ""},
                              {"cgroup/a.slice/b.service/"}};
  test::ScriptedKernel kernel_there_{there_.path("cgroup")};
  test::TempTree here_{{"config.yaml", kConfig}};
  test::ScriptedKernel kernel_here_;  ///< nothing is opened in it
  Options options_ = options_in(here_);
};

TEST_F(MachineRecordTest, AConfigurationIsCheckedElsewhere) {
  const std::string text = checked(kOk);

  EXPECT_THAT(text, AllOf(HasSubstr("machine: '" + options_.machine_file + "'\nnot checked: "),
                          ContainsRegex("core +cycles +cpu +perf_cpu_cycles_total +yes\n"),
                          ContainsRegex("core +sched:sched_switch +cpu .* +yes\n"),
                          HasSubstr("counters      32, and 8 for each cgroup\n"),
                          HasSubstr("1 cgroup matches now"), HasSubstr("\nvalid: 4 of 4 events")));
  EXPECT_THAT(kernel_here_.opened_groups(), testing::IsEmpty());
}

TEST_F(MachineRecordTest, AnEventThatTheKernelThereRefusesCannotBeCounted) {
  kernel_there_.refuse("branches", ENOENT);

  EXPECT_THAT(checked(kFailed), AllOf(ContainsRegex("core +branches +cpu +.* +no .ENOENT.\n"),
                                      HasSubstr("\nvalid: 3 of 4 events")));
}

TEST_F(MachineRecordTest, IsNotMadeWithoutTheRightToOpenEvents) {
  kernel_there_.refuse("dummy", EACCES);
  here_.write("machine.json", recorded());

  EXPECT_THAT(refusal().attempted, HasSubstr("which has no record of a machine"));
}

TEST_F(MachineRecordTest, LeavesNoFiles) {
  here_.write("machine.json", recorded());
  std::string sysfs;
  EXPECT_TRUE(on_recorded_machine(options_.machine_file, [&](const auto& roots, auto&) {
    sysfs = roots.sysfs;
    EXPECT_TRUE(std::filesystem::exists(sysfs));
  }));
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(sysfs).parent_path()));
}

TEST_F(MachineRecordTest, AFileThatIsNoRecordIsRefused) {
  for (const char* wrong : {"", "{}", "[1]", "{\"machine\": {\"files\": 1}}"}) {
    here_.write("machine.json", wrong);
    EXPECT_THAT(refusal().attempted, HasSubstr("which has no record of a machine")) << wrong;
  }
  here_.write("machine.json", "{\"machine\": {\"files\": {\"../x\": \"\"}, \"refused\": []}}");
  EXPECT_THAT(refusal().attempted, HasSubstr("'../x', which is no file of a machine"));
  here_.remove("machine.json");
  EXPECT_EQ(refusal().code, ENOENT);
}

TEST_F(MachineRecordTest, HasTheFindingsOfDoctor) {
  EXPECT_THAT(recorded(),
              AllOf(HasSubstr("\"state\":\"ok\",\"subject\":\"kernel\""), Not(HasSubstr("\n{"))));
}

}  // namespace
}  // namespace pex::daemon::machine_record_test
