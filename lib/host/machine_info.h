#pragma once

#include <string>

#include "host/roots.h"

namespace pex::host {

/// What identifies the kind of machine: CPU model, hypervisor and kernel. Unknown values are empty.
/// If the CPUs differ, the values are those of the first online one.
struct MachineInfo {
  std::string vendor;      ///< "GenuineIntel", "ARM", "IBM/S390", "SiFive"
  std::string family;      ///< x86: CPU family, decimal; Arm: CPU architecture, "8"
  std::string model;       ///< x86: model, decimal; Arm: CPU part; s390: machine type, "3931"
  std::string stepping;    ///< x86: stepping; Arm: variant and revision, "r3p1"; POWER: "2.0"
  std::string model_name;  ///< "AMD EPYC 9654 96-Core Processor", "Neoverse-N1", "POWER10"
  std::string microcode;   ///< "0xd0003d1"; x86 only
  /// With the words of systemd-detect-virt(1): "kvm", "vmware", "amazon"; kUnknownHypervisor if the
  /// CPU reports one that nothing names. Empty: none is known.
  std::string hypervisor;
  std::string kernel;  ///< release: "6.12.57+deb13-amd64"

  static constexpr const char* kUnknownHypervisor = "unknown";

  bool is_virtual() const { return !hypervisor.empty(); }
  bool operator==(const MachineInfo&) const = default;
};

/// Reads what can be read.
MachineInfo machine_info(const HostRoots& roots);

/// A field of the firmware's table (DMI): "sys_vendor". Empty if it cannot be read.
std::string firmware_field(const HostRoots& roots, const std::string& field);

/// Who made the tables of ACPI (OEMID): "FIRECK" for Firecracker. Empty if they cannot be read.
std::string acpi_maker(const HostRoots& roots);

}  // namespace pex::host
