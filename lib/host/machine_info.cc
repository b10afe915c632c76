#include "host/machine_info.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <iterator>
#include <map>
#include <string_view>

#include "base/lookup.h"
#include "base/small_file.h"
#include "base/text.h"

namespace pex::host {
namespace {

/// Implementers of Arm cores, as MIDR_EL1 numbers them (Arm Architecture Reference Manual; "CPU
/// implementer" in /proc/cpuinfo), and of RISC-V (arch/riscv/include/asm/vendorid_list.h).
struct ImplementerEntry {
  std::string_view number;
  std::string_view name;
};
constexpr ImplementerEntry kImplementers[] = {
    {"0x41", "ARM"},       {"0x42", "Broadcom"}, {"0x43", "Cavium"},  {"0x46", "Fujitsu"},
    {"0x48", "HiSilicon"}, {"0x4e", "NVIDIA"},   {"0x50", "APM"},     {"0x51", "Qualcomm"},
    {"0x53", "Samsung"},   {"0x56", "Marvell"},  {"0x61", "Apple"},   {"0x69", "Intel"},
    {"0x6d", "Microsoft"}, {"0x70", "Phytium"},  {"0xc0", "Ampere"},  {"0x127", "MIPS"},
    {"0x29", "Microchip"}, {"0x31e", "Andes"},   {"0x489", "SiFive"}, {"0x5b7", "T-Head"},
};

/// Cores of servers and of common boards, by their part numbers (technical reference manuals).
struct PartEntry {
  std::string_view implementer;
  std::string_view part;
  std::string_view name;
};
constexpr PartEntry kParts[] = {
    {"0x41", "0xd03", "Cortex-A53"},  {"0x41", "0xd05", "Cortex-A55"},
    {"0x41", "0xd07", "Cortex-A57"},  {"0x41", "0xd08", "Cortex-A72"},
    {"0x41", "0xd09", "Cortex-A73"},  {"0x41", "0xd0a", "Cortex-A75"},
    {"0x41", "0xd0b", "Cortex-A76"},  {"0x41", "0xd0c", "Neoverse-N1"},
    {"0x41", "0xd40", "Neoverse-V1"}, {"0x41", "0xd41", "Cortex-A78"},
    {"0x41", "0xd49", "Neoverse-N2"}, {"0x41", "0xd4a", "Neoverse-E1"},
    {"0x41", "0xd4f", "Neoverse-V2"}, {"0x41", "0xd84", "Neoverse-V3"},
    {"0x41", "0xd8e", "Neoverse-N3"}, {"0x43", "0x0af", "ThunderX2"},
    {"0x46", "0x001", "A64FX"},       {"0x48", "0xd01", "Kunpeng-920"},
    {"0xc0", "0xac3", "Ampere-1"},    {"0xc0", "0xac4", "Ampere-1a"},
};

/// Hypervisors by how a field of the firmware's table begins, and the words for them of
/// systemd-detect-virt(1). Special entries precede general ones.
struct HypervisorEntry {
  std::string_view text;
  std::string_view name;
};
constexpr HypervisorEntry kHypervisors[] = {
    {"Amazon EC2", "amazon"},
    {"Google Compute Engine", "google"},
    {"KVM", "kvm"},
    {"OpenStack", "kvm"},
    {"KubeVirt", "kvm"},
    {"RHEV", "kvm"},
    {"QEMU", "qemu"},
    {"VMware", "vmware"},
    {"VMW", "vmware"},
    {"innotek GmbH", "oracle"},
    {"VirtualBox", "oracle"},
    {"Xen", "xen"},
    {"Parallels", "parallels"},
    {"BHYVE", "bhyve"},
    {"Apple Virtualization", "apple"},
    {"Virtual Machine", "microsoft"},  // of Hyper-V; the vendor's hardware has other product names
    {"Hyper-V", "microsoft"},
};
/// The product comes first: OpenStack and KubeVirt run on QEMU.
constexpr const char* kFirmwareFields[] = {"product_name", "sys_vendor", "board_vendor",
                                           "bios_vendor"};
/// Products of a cloud that have the vendor of its virtual machines, and no hypervisor.
constexpr std::string_view kBareMetal = ".metal";

std::string text_of(const std::string& path) {
  const Result<std::string> text = read_small_file(path);
  return text ? std::string(trim(without_final_newline(*text))) : std::string();
}

/// The beginning of a file, which may be as long as there are CPUs.
std::string beginning_of(const std::string& path) {
  constexpr std::size_t kEnough = 16 * 1024;  // the lines of one CPU take less than 4 KiB
  const Result<UniqueFd> file = open_regular_file(path);
  std::string text;
  if (!file) return text;
  std::array<char, 4096> block;
  while (text.size() < kEnough) {
    const ssize_t got = ::read(file->get(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
  return text;
}

using Fields = std::map<std::string_view, std::string_view>;

/// "key : value" of the first CPU, and the lines before it (LoongArch). Borrows from `text`.
Fields first_cpu(std::string_view text) {
  Fields fields;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == line.npos && fields.size() > 1) break;  // an empty line ends a CPU
    if (colon == line.npos) continue;
    fields.emplace(trim(line.substr(0, colon)), trim(line.substr(colon + 1)));
  }
  return fields;
}

std::string_view value_of(const Fields& fields, std::string_view key) {
  const auto found = fields.find(key);
  return found == fields.end() ? std::string_view() : found->second;
}

bool has_word(std::string_view text, std::string_view word) {
  const auto words = split(text, ' ');
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// A field of the first CPU, as kernels call it (arch/{x86,powerpc,s390,riscv,loongarch}). No two
/// of them have a key in common.
struct FieldEntry {
  std::string_view key;
  std::string MachineInfo::*field;
  const char* end = "";  ///< the rest from one of these characters on is about something else
};
constexpr FieldEntry kFields[] = {
    {"vendor_id", &MachineInfo::vendor},
    {"cpu family", &MachineInfo::family},
    {"model", &MachineInfo::model},
    {"stepping", &MachineInfo::stepping},
    {"model name", &MachineInfo::model_name},
    {"microcode", &MachineInfo::microcode},
    {"cpu", &MachineInfo::model_name, "(,"},    // "POWER10 (architected), altivec supported"
    {"revision", &MachineInfo::stepping, "("},  // "2.0 (pvr 0080 0200)"
    {"mvendorid", &MachineInfo::vendor},
    {"marchid", &MachineInfo::model},
    {"mimpid", &MachineInfo::stepping},
    {"uarch", &MachineInfo::model_name},
    {"CPU Family", &MachineInfo::family},
    {"Model Name", &MachineInfo::model_name},
    {"CPU Revision", &MachineInfo::stepping},
};
/// 0 in a register of RISC-V: it is not implemented.
constexpr std::string_view kUnknown[] = {"0x0", "unknown"};

/// Of s390, "version = 00,  identification = 0A5BC8,  machine = 3931".
std::string_view machine_type(const Fields& cpu) {
  constexpr std::string_view kMachine = "machine = ";
  const std::string_view text = value_of(cpu, "processor 0");
  const std::size_t at = text.find(kMachine);
  return at == text.npos ? std::string_view() : text.substr(at + kMachine.size());
}

std::string vendor_name(std::string_view vendor) {
  const auto* known = lookup(kImplementers, &ImplementerEntry::number, vendor);
  return std::string(known == nullptr ? vendor : known->name);
}

void describe_cpu(const Fields& cpu, MachineInfo& info) {
  info.model = machine_type(cpu);
  for (const auto& [key, field, end] : kFields) {
    const std::string_view text = value_of(cpu, key);
    const std::string_view value = trim(text.substr(0, text.find_first_of(end)));
    if (!value.empty() && std::ranges::find(kUnknown, value) == std::end(kUnknown)) {
      info.*field = value;
    }
  }
  info.vendor = info.model_name.starts_with("POWER") ? "IBM" : vendor_name(info.vendor);
}

/// "r3p1", as Arm's manuals write it, of variant 0x3 and revision 1.
std::string arm_stepping(std::string_view variant, std::string_view revision) {
  if (!variant.starts_with("0x") || revision.empty()) return {};
  return "r" + std::string(variant.substr(2)) + "p" + std::string(revision);
}

void describe_arm(const Fields& cpu, MachineInfo& info) {
  const std::string_view implementer = value_of(cpu, "CPU implementer");
  const std::string_view part = value_of(cpu, "CPU part");
  info.vendor = vendor_name(implementer);
  info.family = value_of(cpu, "CPU architecture");
  info.model = part;
  info.stepping = arm_stepping(value_of(cpu, "CPU variant"), value_of(cpu, "CPU revision"));
  const auto is_core = [&](const PartEntry& each) {
    return each.implementer == implementer && each.part == part;
  };
  if (const PartEntry* core = lookup(kParts, is_core, true)) info.model_name = core->name;
}

/// By the firmware's table; empty for one that belongs to no hypervisor.
std::string hypervisor_of_firmware(const HostRoots& roots) {
  if (firmware_field(roots, "product_name").ends_with(kBareMetal)) return {};
  for (const char* field : kFirmwareFields) {
    const std::string text = firmware_field(roots, field);
    const auto begins = [&](const HypervisorEntry& each) { return text.starts_with(each.text); };
    if (const auto* found = lookup(kHypervisors, begins, true)) return std::string(found->name);
  }
  return {};
}

/// Of s390, "VM00 Control Program: KVM/Linux" or "z/VM    7.3.0"; a partition has no such line.
std::string hypervisor_of_s390(const HostRoots& roots) {
  constexpr std::string_view kProgram = "VM00 Control Program:";
  const std::string text = beginning_of(roots.system_info());
  const std::size_t at = text.find(kProgram);
  if (at == text.npos) return {};
  const std::string_view program = trim(std::string_view(text).substr(at + kProgram.size()));
  if (program.starts_with("z/VM")) return "zvm";
  return program.starts_with("KVM") ? "kvm" : MachineInfo::kUnknownHypervisor;
}

/// Of POWER; a partition of PowerVM has a name.
std::string hypervisor_of_power(const HostRoots& roots) {
  if (beginning_of(roots.device_tree("hypervisor/compatible")).starts_with("linux,kvm")) {
    return "kvm";
  }
  return beginning_of(roots.device_tree("ibm,partition-name")).empty() ? "" : "powervm";
}

/// A CPU of x86 reports a hypervisor by a flag, and the files only name it. Other CPUs report
/// nothing.
std::string hypervisor_of(const HostRoots& roots, const Fields& cpu) {
  const bool is_x86 = cpu.contains("flags");
  if (is_x86 && !has_word(value_of(cpu, "flags"), "hypervisor")) return {};
  if (std::string type = text_of(roots.hypervisor_type()); !type.empty()) return type;
  std::string named = hypervisor_of_firmware(roots);
  if (named.empty()) named = hypervisor_of_s390(roots);
  if (named.empty()) named = hypervisor_of_power(roots);
  return named.empty() && is_x86 ? MachineInfo::kUnknownHypervisor : named;
}

}  // namespace

MachineInfo machine_info(const HostRoots& roots) {
  MachineInfo info;
  const std::string cpus = beginning_of(roots.cpu_info());
  const Fields cpu = first_cpu(cpus);
  if (cpu.contains("CPU implementer")) {
    describe_arm(cpu, info);
  } else {
    describe_cpu(cpu, info);
  }
  info.hypervisor = hypervisor_of(roots, cpu);
  info.kernel = text_of(roots.sysctl("kernel/osrelease"));
  return info;
}

std::string firmware_field(const HostRoots& roots, const std::string& field) {
  return text_of(roots.firmware(field));
}

std::string acpi_maker(const HostRoots& roots) {
  const std::string table = text_of(roots.acpi_table("FACP"));
  return table.size() < 16 ? std::string() : table.substr(10, 6);  // ACPI specification, 5.2.6
}

}  // namespace pex::host
