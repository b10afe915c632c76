#include "host/machine_info.h"

#include "support/temp_tree.h"
#include "support/test_headers.h"

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

// As the kernels of these machines write them (show_cpuinfo of arch/*/kernel), without long lines.
constexpr const char* kPower10 =
    "processor\t: 0\n"
    "cpu\t\t: POWER10 (architected), altivec supported\n"
    "clock\t\t: 2750.000000MHz\n"
    "revision\t: 2.0 (pvr 0080 0200)\n"
    "\n"
    "timebase\t: 512000000\n"
    "platform\t: pSeries\n"
    "model\t\t: IBM,9043-MRX\n"
    "machine\t\t: CHRP IBM,9043-MRX\n"
    "MMU\t\t: Radix\n";
constexpr const char* kZ16 =
    "vendor_id       : IBM/S390\n"
    "# processors    : 2\n"
    "bogomips per cpu: 3241.00\n"
    "max thread id   : 0\n"
    "features\t: esan3 zarch stfle msa ldisp eimm dfp edat etf3eh highgprs te vx sie \n"
    "facilities      : 0 1 2 3 4 6 7 8 9 10 12\n"
    "cache0          : level=1 type=Data scope=Private size=128K line_size=256 associativity=8\n"
    "processor 0: version = 00,  identification = 0A5BC8,  machine = 3931\n"
    "processor 1: version = 00,  identification = 0A5BC8,  machine = 3931\n"
    "\n"
    "cpu number      : 0\n"
    "version         : 00\n"
    "cpu MHz dynamic : 5200\n";
constexpr const char* kSiFive =
    "processor\t: 0\n"
    "hart\t\t: 1\n"
    "isa\t\t: rv64imafdc_zicntr_zicsr_zifencei_zihpm_zba_zbb\n"
    "mmu\t\t: sv39\n"
    "uarch\t\t: sifive,u74-mc\n"
    "mvendorid\t: 0x489\n"
    "marchid\t\t: 0x8000000000000007\n"
    "mimpid\t\t: 0x4210427\n"
    "\n"
    "processor\t: 1\n";
constexpr const char* kRiscvOfQemu =
    "processor\t: 0\n"
    "hart\t\t: 0\n"
    "isa\t\t: rv64imafdcvh_zba_zbb_zbc_zbs\n"
    "mmu\t\t: sv48\n"
    "mvendorid\t: 0x0\n"
    "marchid\t\t: 0x0\n"
    "mimpid\t\t: 0x0\n";
constexpr const char* kLoongson =
    "system type\t\t: generic-loongson-machine\n"
    "\n"
    "processor\t\t: 0\n"
    "package\t\t\t: 0\n"
    "core\t\t\t: 0\n"
    "CPU Family\t\t: Loongson-64bit\n"
    "Model Name\t\t: Loongson-3A5000-HV\n"
    "CPU Revision\t\t: 0x11\n"
    "FPU Revision\t\t: 0x00\n"
    "ISA\t\t\t: loongarch32 loongarch64\n"
    "\n"
    "processor\t\t: 1\n";

TEST_F(MachineInfoTest, HasTheFieldsOfOtherArchitecturesAndNothingThatIsUnknown) {
  const std::pair<const char*, MachineInfo> rows[] = {
      {kPower10, {.vendor = "IBM", .stepping = "2.0", .model_name = "POWER10"}},
      {kZ16, {.vendor = "IBM/S390", .model = "3931"}},
      {kSiFive,
       {.vendor = "SiFive",
        .model = "0x8000000000000007",
        .stepping = "0x4210427",
        .model_name = "sifive,u74-mc"}},
      {kRiscvOfQemu, {}},
      {kLoongson,
       {.family = "Loongson-64bit", .stepping = "0x11", .model_name = "Loongson-3A5000-HV"}},
  };

  for (const auto& [text, expected] : rows) {
    tree_.write("proc/cpuinfo", text);

    EXPECT_EQ(info(), expected) << text;
  }
}

TEST_F(MachineInfoTest, ReadsTheFirstCpuOfAFileOfAnyLength) {
  std::string cpus = kIntel;
  cpus.append(1 << 20, 'x');
  tree_.write("proc/cpuinfo", cpus);

  EXPECT_EQ(info().vendor, "GenuineIntel");
}

TEST_F(MachineInfoTest, NamesTheHypervisorByWhatTheMachineReportsOfIt) {
  constexpr const char* kCpus = "proc/cpuinfo";
  constexpr const char* kVendor = "sys/class/dmi/id/sys_vendor";
  constexpr const char* kProduct = "sys/class/dmi/id/product_name";
  constexpr const char* kPartition = "proc/device-tree/ibm,partition-name";
  constexpr const char* kCompatible = "proc/device-tree/hypervisor/compatible";
  const std::string s390 = "Manufacturer: IBM\n\nLPAR Number: 12\n";
  struct Row {
    const char* machine;
    std::vector<std::pair<const char*, std::string>> files;
    const char* hypervisor;
  };
  const Row rows[] = {
      {"Hyper-V", {{kCpus, kIntelGuest}, {kProduct, "Virtual Machine\n"}}, "microsoft"},
      {"KVM", {{kCpus, kIntelGuest}, {kProduct, "KVM\n"}}, "kvm"},
      {"QEMU", {{kCpus, kIntelGuest}, {kVendor, "QEMU\n"}}, "qemu"},
      {"VMware", {{kCpus, kIntelGuest}, {kVendor, "VMware, Inc.\n"}}, "vmware"},
      {"Amazon", {{kCpus, kNeoverse}, {kVendor, "Amazon EC2\n"}}, "amazon"},
      {"Xen", {{kCpus, kIntelGuest}, {"sys/hypervisor/type", "xen\n"}}, "xen"},
      {"one that nothing names", {{kCpus, kIntelGuest}, {kVendor, "Acme\n"}}, "unknown"},
      {"hardware of a cloud", {{kCpus, kIntel}, {kVendor, "Amazon EC2\n"}}, ""},
      {"Arm hardware of a cloud",
       {{kCpus, kNeoverse}, {kVendor, "Amazon EC2\n"}, {kProduct, "m7g.metal\n"}},
       ""},
      {"S390", {{"proc/sysinfo", s390}}, ""},
      {"S390 and KVM",
       {{"proc/sysinfo", s390 + "\nVM00 Name: WEB\nVM00 Control Program: KVM/Linux\n"}},
       "kvm"},
      {"z/VM", {{"proc/sysinfo", s390 + "\nVM00 Control Program: z/VM    7.3.0\n"}}, "zvm"},
      {"Power", {{kPartition, {"lpar7\0", 6}}}, "powervm"},
      {"Power and KVM", {{kPartition, "l\n"}, {kCompatible, {"linux,kvm\0", 10}}}, "kvm"},
  };
  for (const Row& row : rows) {
    test::TempTree tree;
    for (const auto& [file, text] : row.files) tree.write(file, text);

    const MachineInfo info =
        machine_info({.sysfs = tree.path("sys"), .procfs = tree.path("proc"), .cgroupfs = {}});

    EXPECT_EQ(info.hypervisor, row.hypervisor) << row.machine;
    EXPECT_EQ(info.is_virtual(), !info.hypervisor.empty()) << row.machine;
  }
}

TEST_F(MachineInfoTest, ReadsWhoMadeTheFirmware) {
  tree_.write("sys/class/dmi/id/bios_version", "4.11.amazon\n");
  tree_.write("sys/firmware/acpi/tables/FACP", std::string("FACP\x14\x01\0\0\x06"
                                                           "fFIRECKFCVMFADT",
                                                           24));
  const HostRoots roots{.sysfs = tree_.path("sys"), .procfs = {}, .cgroupfs = {}};

  EXPECT_EQ(firmware_field(roots, "bios_version"), "4.11.amazon");
  EXPECT_EQ(acpi_maker(roots), "FIRECK");
  tree_.write("sys/firmware/acpi/tables/FACP", "FACP");
  EXPECT_EQ(acpi_maker(roots), "");
}

}  // namespace
}  // namespace pex::host
