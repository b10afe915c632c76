#include "plan/condition.h"

#include <cerrno>
#include <tuple>

#include "plan/availability.h"
#include "support/planning.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"

namespace pex::plan {
namespace {

using test::errors_of;
using test::groups_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A virtual machine with four CPUs.
class ConditionTest : public testing::Test {
 protected:
  test::PlanOrErrors plan(const std::string& groups) {
    const host::HostRoots roots{tree_.path("sys"), tree_.path("proc"), tree_.path("cgroup")};
    return test::plan_on(roots, groups, kernel_);
  }

  /// Why a group with this `when` is left out; empty: it is not.
  std::string reason_of(const std::string& when) {
    const auto planned =
        plan("  - {name: a, events: [page-faults], scope: cpu, when: " + when + "}");
    EXPECT_THAT(errors_of(planned), IsEmpty());
    EXPECT_EQ(planned.counting.cpu.empty(), !planned.left_out_groups.empty());
    EXPECT_EQ(planned.events.empty(), !planned.left_out_groups.empty());
    return planned.left_out_groups.empty() ? "" : planned.left_out_groups[0].reason;
  }

  test::TempTree tree_{
      {"sys/devices/system/cpu/online", "0-3\n"},
      {"sys/bus/event_source/devices/uncore_imc_0/type", "20\n"},
      {"sys/class/dmi/id/sys_vendor", "QEMU\n"},
      {"proc/cpuinfo", "vendor_id\t: GenuineIntel\nflags\t\t: fpu hypervisor\n"},
      {"proc/sys/kernel/osrelease", "5.10.0-28-amd64\n"},
      {"cgroup/"},
  };
  test::ScriptedKernel kernel_;
};

TEST_F(ConditionTest, IsMetByAMachineThatHasWhatItAsksFor) {
  for (const char* when :
       {"{vendor: GenuineIntel}", "{vendor: [AuthenticAMD, genuineintel]}", "{cpus: 4}",
        "{cpus: 2-4}", "{virtual: true}", "{pmu: uncore_imc}", "{kernel: 5.10}", "{kernel: 5}",
        "{vendor: GenuineIntel, cpus: 4, virtual: true, pmu: imc, kernel: 4.19.2}"}) {
    EXPECT_EQ(reason_of(when), "") << when;
  }
}

TEST_F(ConditionTest, LeavesAGroupOutWithItsReason) {
  struct Row {
    const char* when;
    const char* reason;
  };
  const Row rows[] = {
      {"{vendor: [AuthenticAMD, ARM]}",
       "when.vendor: it needs AuthenticAMD or ARM, and this machine has GenuineIntel"},
      {"{cpus: 8}", "when.cpus: it needs at least 8 CPUs, and this machine has 4"},
      {"{cpus: 1-2}", "when.cpus: it needs at most 2 CPUs, and this machine has 4"},
      {"{virtual: false}",
       "when.virtual: it is not for virtual machines, and this is one (hypervisor: qemu)"},
      {"{pmu: power}", "when.pmu: this machine has no PMU 'power'"},
      {"{kernel: 5.13}", "when.kernel: it needs Linux 5.13, and this machine has 5.10.0-28-amd64"},
      {"{kernel: 5.10.2}",
       "when.kernel: it needs Linux 5.10.2, and this machine has 5.10.0-28-amd64"},
      {"{virtual: true, kernel: 6}",
       "when.kernel: it needs Linux 6.0, and this machine has 5.10.0-28-amd64"},
  };

  for (const Row& row : rows) EXPECT_EQ(reason_of(row.when), row.reason) << row.when;
}

TEST_F(ConditionTest, IsNotMetByWhatIsNotKnown) {
  tree_.remove("proc");

  EXPECT_EQ(reason_of("{vendor: GenuineIntel}"),
            "when.vendor: it needs GenuineIntel, and this machine has an unknown one");
  EXPECT_EQ(reason_of("{kernel: 4.19}"),
            "when.kernel: it needs Linux 4.19, and this machine has an unknown one");
}

TEST_F(ConditionTest, AllowsTheSameSeriesInGroupsForDifferentMachines) {
  const auto planned = plan(
      "  - {name: intel, events: [page-faults], scope: cpu, when: {vendor: GenuineIntel}}\n"
      "  - {name: amd, events: [page-faults], scope: cpu, when: {vendor: AuthenticAMD}}");

  EXPECT_THAT(errors_of(planned), IsEmpty());
  EXPECT_THAT(groups_of(planned.counting.cpu), ElementsAre("intel: page-faults"));
  ASSERT_EQ(planned.left_out_groups.size(), 1U);
  EXPECT_EQ(planned.left_out_groups[0].name, "amd");
}

TEST_F(ConditionTest, DoesNotHideErrorsOfTheGroup) {
  EXPECT_THAT(
      errors_of(plan("  - {name: a, events: [page-folts], scope: cpu, when: {virtual: false}}")),
      ElementsAre(HasSubstr("c.yaml:2:24")));
}

TEST_F(ConditionTest, OfAnotherVendorHidesWhatThisMachineDoesNotHave) {
  const std::string idle = "  - {name: a, events: [cycles], scope: cpu, exclude_idle: true";
  const std::string hypervisor = "  - {name: a, events: ['cycles:h'], scope: cpu";
  const std::string of_intel = "  - {name: a, events: [mem-loads], scope: cpu";

  for (const auto& [group, why] : {std::pair{idle, "an x86 CPU counts"},
                                   {hypervisor, "an x86 CPU counts"},
                                   {of_intel, "'mem-loads'"}}) {
    const auto elsewhere = test::plan_on("amd_zen", group + ", when: {vendor: ARM}}");
    EXPECT_THAT(errors_of(elsewhere), IsEmpty());
    EXPECT_THAT(left_out_lines(elsewhere), ElementsAre(HasSubstr("left out by its 'when'")));
    EXPECT_THAT(left_out_lines(test::plan_on("amd_zen", group + "}")), ElementsAre(HasSubstr(why)));
  }
}

TEST_F(ConditionTest, ANameThatCorePmusOfOtherMachinesHaveIsLeftOutWithAWarningUnlessOptional) {
  for (const std::string name : {"mem-loads", "topdown-retiring", "l2d_cache", "cycles-t"}) {
    const std::string group = "  - {name: a, events: [cs, " + name + "], scope: cpu";
    const auto required = plan(group + "}");
    const auto optional = plan(group + ", optional: true}");

    EXPECT_THAT(left_out_lines(required), ElementsAre(HasSubstr("'" + name + "'")));
    EXPECT_THAT(left_out_lines(optional), IsEmpty()) << name;
    for (const auto& planned : {required, optional}) {
      EXPECT_THAT(errors_of(planned), IsEmpty()) << name;
      EXPECT_THAT(groups_of(planned.counting.cpu), ElementsAre("a: context-switches"));
    }
  }
}

TEST_F(ConditionTest, CausesNoWarningWhereItIsNotMet) {
  const auto planned = plan(
      "  - {name: a, events: [page-faults], scope: cpu}\n"
      "  - {name: b, events: [power/energy-pkg/], scope: cpu, when: {pmu: power}}");

  EXPECT_THAT(left_out_lines(planned), IsEmpty());
  EXPECT_EQ(availability(planned).size(), 1U);
}

TEST_F(ConditionTest, NothingLeftToCountIsAWarning) {
  const auto planned = plan(
      "  - {name: a, events: [page-faults], scope: cpu, when: {virtual: false}}\n"
      "  - {name: b, events: [power/energy-pkg/], scope: cpu, optional: true}");

  EXPECT_THAT(left_out_lines(planned), ElementsAre(HasSubstr("nothing is counted here")));
}

TEST_F(ConditionTest, WhatAnOptionalGroupLacksIsNoWarning) {
  kernel_.refuse("branches", ENOENT);
  const auto planned = plan(
      "  - {name: a, events: [page-faults, branches], scope: cpu, optional: true}\n"
      "  - {name: b, events: [power/energy-pkg/], scope: cpu, optional: true}");

  EXPECT_THAT(left_out_lines(planned), IsEmpty());
  const auto available = availability(planned);
  EXPECT_EQ(available.size(), 1U);
  EXPECT_TRUE(available.at({"page-faults", Scope::kCpu}).everywhere);
  EXPECT_EQ(planned.events.size(), 3U);
}

TEST_F(ConditionTest, WhatAnOptionalGroupMayNotCountOrAnotherRequiresIsStillReported) {
  const std::string optional =
      "  - {name: a, events: [page-faults, branches], scope: cpu, optional: true}\n";
  const std::string required = "  - {name: b, events: [{event: branches, name: more}], scope: cpu}";
  for (const auto& [code, groups, why] :
       {std::tuple{EACCES, optional, "EACCES"}, {ENOENT, optional + required, "branches"}}) {
    kernel_.refuse("branches", code);

    const auto planned = plan(groups);

    EXPECT_THAT(left_out_lines(planned), ElementsAre(HasSubstr(why)));
    EXPECT_FALSE(availability(planned).at({"branches", Scope::kCpu}).everywhere);
  }
}

TEST_F(ConditionTest, ANameThatNoMachineHasIsAWarningInAnOptionalGroup) {
  const auto planned = plan("  - {name: a, events: [cs, cylces], scope: cpu, optional: true}");

  EXPECT_THAT(errors_of(planned), IsEmpty());
  EXPECT_EQ(availability(planned).size(), 2U);
  EXPECT_TRUE(availability(planned).at({"context-switches", Scope::kCpu}).everywhere);
  EXPECT_THAT(left_out_lines(planned), ElementsAre(HasSubstr("did you mean 'cycles'?")));
}

}  // namespace
}  // namespace pex::plan
