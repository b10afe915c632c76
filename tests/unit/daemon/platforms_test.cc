#include "daemon/doctor/platforms.h"

#include <string_view>

#include "support/temp_tree.h"
#include "support/test_headers.h"

namespace pex::daemon {
namespace {

using testing::HasSubstr;

constexpr const char* kGuest = "processor\t: 0\nflags\t\t: fpu hypervisor vme\n\n";
constexpr const char* kHardware = "processor\t: 0\nflags\t\t: fpu vme\n\n";
constexpr const char* kArm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n\n";
constexpr const char* kFacp =
    "FACP\x14\x01\x01\x01\x06"
    "fFIRECKFCVMFADT";

struct Machine {
  const char* cpus;
  std::vector<test::TempTree::Entry> files;  ///< below sys, without a final newline

  std::optional<Platform> platform() const {
    test::TempTree tree{{"proc/cpuinfo", cpus}};
    for (const auto& [path, text] : files) {
      tree.write("sys/" + std::string(path), std::string(text) + "\n");
    }
    return platform_of({tree.path("sys"), tree.path("proc"), {}});
  }
};

/// As the vendors write them.
Machine with_dmi(const char* cpus, const char* vendor, const char* product,
                 std::vector<test::TempTree::Entry> more = {}) {
  more.push_back({"class/dmi/id/sys_vendor", vendor});
  more.push_back({"class/dmi/id/product_name", product});
  return {cpus, more};
}

TEST(PlatformsTest, HaveANameAndARemedyOfTwoLinesForEachCloudAndHypervisor) {
  const struct {
    Machine machine;
    const char* name;
    const char* remedy;
  } rows[] = {
      {with_dmi(kGuest, "Amazon EC2", "m5.large"), "Amazon EC2, m5.large", ".metal"},
      {with_dmi(kArm, "Amazon EC2", "m7g.large"), "Amazon EC2, m7g.large", "*7 and later"},
      {with_dmi(kGuest, "Xen", "HVM domU",
                {{"hypervisor/type", "xen"}, {"class/dmi/id/bios_version", "4.11.amazon"}}),
       "Amazon EC2", ".metal"},
      {with_dmi(kGuest, "Google", "Google Compute Engine"), "Google Compute Engine",
       "--performance-monitoring-unit=standard"},
      {with_dmi(kArm, "Google", "Google Compute Engine"), "Google Compute Engine", "C4A"},
      {with_dmi(kGuest, "Microsoft Corporation", "Virtual Machine",
                {{"class/dmi/id/chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77"}}),
       "Microsoft Azure", "no option"},
      {with_dmi(kGuest, "Microsoft Corporation", "Virtual Machine",
                {{"class/dmi/id/chassis_asset_tag", "2831-3616-5111-4725-4021-3187-13"}}),
       "Hyper-V", "Set-VMProcessor NAME -Perfmon @(\"pmu\")"},
      {with_dmi(kGuest, "VMware, Inc.", "VMware Virtual Platform"), "VMware", "vpmc.enable"},
      {with_dmi(kArm, "VMware, Inc.", "VMware20,1"), "VMware", "vpmc.enable"},
      {with_dmi(kGuest, "OpenStack Foundation", "OpenStack Nova"), "OpenStack", "hw:pmu=True"},
      {with_dmi(kGuest, "Red Hat", "KVM"), "KVM", "<pmu state='on'/>"},
      {with_dmi(kGuest, "QEMU", "Standard PC (Q35 + ICH9, 2009)"), "QEMU", "-cpu host,pmu=on"},
      {with_dmi(kArm, "QEMU", "QEMU Virtual Machine"), "QEMU", "-cpu host,pmu=on"},
      {with_dmi(kGuest, "Xen", "HVM domU",
                {{"hypervisor/type", "xen"}, {"class/dmi/id/bios_version", "4.17.3"}}),
       "Xen", "vpmu=on"},
      {with_dmi(kGuest, "innotek GmbH", "VirtualBox"), "VirtualBox", "no virtual PMU"},
      {with_dmi(kGuest, "Parallels Software International Inc.", "Parallels Virtual Platform"),
       "Parallels", "--pmu-virt on"},
      {with_dmi(kArm, "Parallels International GmbH.", "Parallels ARM Virtual Machine"),
       "Parallels", "--pmu-virt on"},
      {{kGuest, {{"firmware/acpi/tables/FACP", kFacp}}}, "Firecracker", "every CPU template"},
  };
  constexpr std::size_t kTwoLines = 2 * 68;

  for (const auto& [machine, name, remedy] : rows) {
    const std::optional<Platform> platform = machine.platform();

    ASSERT_TRUE(platform) << name;
    EXPECT_EQ(platform->name, name);
    EXPECT_THAT(platform->remedy, HasSubstr(remedy)) << name;
    EXPECT_LE(platform->remedy.size(), kTwoLines) << name;
  }
}

TEST(PlatformsTest, AreUnknownForAVendorThatTheTableDoesNotHave) {
  EXPECT_FALSE(with_dmi(kGuest, "Acme", "Acme Cloud").platform());
  EXPECT_FALSE((Machine{kGuest, {}}.platform()));
  EXPECT_FALSE((Machine{kGuest, {{"firmware/acpi/tables/FACP", "FACP"}}}.platform()));
}

TEST(PlatformsTest, AreNoneForHardware) {
  EXPECT_FALSE(with_dmi(kHardware, "Dell Inc.", "PowerEdge R750").platform());
  EXPECT_FALSE(with_dmi(kHardware, "Amazon EC2", "m5.metal").platform());
  EXPECT_FALSE(with_dmi(kArm, "Amazon EC2", "m7g.metal").platform());
}

}  // namespace
}  // namespace pex::daemon
