#include "host/machine_info.h"

#include <gtest/gtest.h>

#include <string>

#include "support/temp_tree.h"

namespace pex::host {
namespace {

constexpr const char* kIntel =
    "processor\t: 0\n"
    "vendor_id\t: GenuineIntel\n"
    "cpu family\t: 6\n"
    "model\t\t: 106\n"
    "model name\t: Intel(R) Xeon(R) Platinum 8370C CPU @ 2.80GHz\n"
    "stepping\t: 6\n"
    "microcode\t: 0xd0003d1\n"
    "flags\t\t: fpu vme rdtscp\n"
    "\n"
    "processor\t: 1\n"
    "vendor_id\t: AuthenticAMD\n";

constexpr const char* kIntelGuest =
    "processor\t: 0\nvendor_id\t: GenuineIntel\nflags\t\t: fpu hypervisor vme\n\n";

constexpr const char* kNeoverse =
    "processor\t: 0\n"
    "BogoMIPS\t: 243.75\n"
    "Features\t: fp asimd evtstrm aes\n"
    "CPU implementer\t: 0x41\n"
    "CPU architecture: 8\n"
    "CPU variant\t: 0x3\n"
    "CPU part\t: 0xd0c\n"
    "CPU revision\t: 1\n"
    "\n"
    "processor\t: 1\n"
    "CPU implementer\t: 0x51\n";

class MachineInfoTest : public testing::Test {
 protected:
  MachineInfo info() const {
    return machine_info({.sysfs = tree_.path("sys"), .procfs = tree_.path("proc"), .cgroupfs = {}});
  }
  std::string hypervisor_with(const char* cpus, const char* field, const char* text) {
    tree_.write("proc/cpuinfo", cpus);
    tree_.write(std::string("sys/class/dmi/id/") + field, text);
    const std::string hypervisor = info().hypervisor;
    tree_.remove("sys/class");
    return hypervisor;
  }

  test::TempTree tree_;
};

TEST_F(MachineInfoTest, IsEmptyWhereNothingCanBeRead) { EXPECT_EQ(info(), MachineInfo{}); }

TEST_F(MachineInfoTest, HasTheFieldsOfTheFirstCpu) {
  tree_.write("proc/cpuinfo", kIntel);
  tree_.write("proc/sys/kernel/osrelease", "6.12.57+deb13-amd64\n");

  const MachineInfo expected = {.vendor = "GenuineIntel",
                                .family = "6",
                                .model = "106",
                                .stepping = "6",
                                .model_name = "Intel(R) Xeon(R) Platinum 8370C CPU @ 2.80GHz",
                                .microcode = "0xd0003d1",
                                .hypervisor = "",
                                .kernel = "6.12.57+deb13-amd64"};
  EXPECT_EQ(info(), expected);
  EXPECT_FALSE(info().is_virtual());
}

TEST_F(MachineInfoTest, NamesTheImplementerAndTheCoreOfArm) {
  tree_.write("proc/cpuinfo", kNeoverse);

  const MachineInfo expected = {.vendor = "ARM",
                                .family = "8",
                                .model = "0xd0c",
                                .stepping = "r3p1",
                                .model_name = "Neoverse-N1",
                                .microcode = "",
                                .hypervisor = "",
                                .kernel = ""};
  EXPECT_EQ(info(), expected);
}

TEST_F(MachineInfoTest, HasTheNumbersOfAnUnknownArmCore) {
  tree_.write("proc/cpuinfo", "CPU implementer\t: 0xfe\nCPU part\t: 0x123\n");

  EXPECT_EQ(info().vendor, "0xfe");
  EXPECT_EQ(info().model, "0x123");
  EXPECT_EQ(info().model_name, "");
  EXPECT_EQ(info().stepping, "");
}

TEST_F(MachineInfoTest, ReadsTheFirstCpuOfAFileOfAnyLength) {
  std::string cpus = kIntel;
  cpus.append(1 << 20, 'x');
  tree_.write("proc/cpuinfo", cpus);

  EXPECT_EQ(info().vendor, "GenuineIntel");
}

TEST_F(MachineInfoTest, NamesTheHypervisorByTheFirmware) {
  EXPECT_EQ(hypervisor_with(kIntelGuest, "product_name", "Virtual Machine\n"), "microsoft");
  EXPECT_EQ(hypervisor_with(kIntelGuest, "product_name", "KVM\n"), "kvm");
  EXPECT_EQ(hypervisor_with(kIntelGuest, "sys_vendor", "QEMU\n"), "qemu");
  EXPECT_EQ(hypervisor_with(kIntelGuest, "sys_vendor", "VMware, Inc.\n"), "vmware");
  EXPECT_EQ(hypervisor_with(kNeoverse, "sys_vendor", "Amazon EC2\n"), "amazon");
}

TEST_F(MachineInfoTest, NamesTheHypervisorOfXenByItsFile) {
  tree_.write("proc/cpuinfo", kIntelGuest);
  tree_.write("sys/hypervisor/type", "xen\n");

  EXPECT_EQ(info().hypervisor, "xen");
}

TEST_F(MachineInfoTest, KnowsAHypervisorThatNothingNames) {
  EXPECT_EQ(hypervisor_with(kIntelGuest, "sys_vendor", "Acme\n"), "unknown");
  EXPECT_TRUE(info().is_virtual());
}

TEST_F(MachineInfoTest, HasNoHypervisorOnHardwareOfACloud) {
  EXPECT_EQ(hypervisor_with(kIntel, "sys_vendor", "Amazon EC2\n"), "");
  tree_.write("sys/class/dmi/id/product_name", "m7g.metal\n");
  EXPECT_EQ(hypervisor_with(kNeoverse, "sys_vendor", "Amazon EC2\n"), "");
}

}  // namespace
}  // namespace pex::host
