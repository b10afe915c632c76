#include "daemon/doctor/platforms.h"

#include "base/lookup.h"
#include "host/machine_info.h"

namespace pex::daemon {
namespace {

/// In place of a field of the firmware's table: who made the tables of ACPI.
constexpr std::string_view kAcpiMaker = "ACPI";

constexpr std::string_view kEc2Remedy =
    "use a .metal size, or one of a whole socket (*5.12xlarge, *6i.16xlarge, *7i.24xlarge); all "
    "sizes of *6g, *7 and later have basic events";
constexpr std::string_view kQemuRemedy =
    "on the host, start QEMU with -cpu host,pmu=on; in libvirt, write <pmu state='on'/> in "
    "<features>";

/// Special entries precede general ones.
struct PlatformEntry {
  std::string_view hypervisor;  ///< as MachineInfo has it
  std::string_view field;       ///< of the firmware's table; empty: any machine of the hypervisor
  std::string_view text;        ///< in the field
  std::string_view name;
  std::string_view remedy;  ///< what the page above the entry says
};
constexpr PlatformEntry kPlatforms[] = {
    // https://github.com/aws/aws-graviton-getting-started/blob/main/perfrunbook/debug_hw_perf.md
    // https://aws.amazon.com/blogs/architecture/compute-abstractions-on-aws-a-visual-story/
    {"amazon", "", "", "Amazon EC2", kEc2Remedy},
    {"xen", "bios_version", "amazon", "Amazon EC2", kEc2Remedy},
    // https://cloud.google.com/compute/docs/pmu-overview
    {"google", "", "", "Google Compute Engine",
     "in a C4 or C4A, set --performance-monitoring-unit=standard (or architectural; or enhanced, "
     "in "
     "a C4 with 96 or 192 vCPUs)"},
    // https://github.com/Azure/azure-cli/issues/24697
    {"microsoft", "chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77", "Microsoft Azure",
     "no option of Azure's command line enables a PMU: count software events, or use another "
     "platform"},
    // https://learn.microsoft.com/windows-server/virtualization/hyper-v/manage/performance-monitoring-hardware
    {"microsoft", "", "", "Hyper-V",
     "on a host with an Intel CPU, stop the machine and run Set-VMProcessor NAME -Perfmon "
     "@(\"pmu\")"},
    // https://knowledge.broadcom.com/external/article/344161
    {"vmware", "", "", "VMware",
     "stop the machine, and select 'Virtualize CPU performance counters' in its CPU settings "
     "(vpmc.enable = \"TRUE\")"},
    // https://docs.openstack.org/nova/latest/admin/cpu-topologies.html
    {"kvm", "product_name", "OpenStack", "OpenStack",
     "set the property hw:pmu=True of the flavor, or hw_pmu=True of the image, and create the "
     "server again"},
    // https://www.qemu.org/docs/master/system/arm/cpu-features.html
    // https://libvirt.org/formatdomain.html#hypervisor-features
    {"kvm", "", "", "KVM", kQemuRemedy},
    {"qemu", "", "", "QEMU", kQemuRemedy},
    // https://xenbits.xen.org/docs/unstable/misc/xen-command-line.html
    {"xen", "", "", "Xen",
     "on the host, start Xen with vpmu=on, which its manual advises against for production"},
    // https://github.com/rr-debugger/rr/issues/1554, of https://www.virtualbox.org/ticket/12495
    {"oracle", "", "", "VirtualBox", "use another hypervisor: this one has no virtual PMU"},
    // https://github.com/OpenVZ/prlctl/blob/master/src/CmdParam.cpp
    {"parallels", "", "", "Parallels", "on the host, run prlctl set NAME --pmu-virt on"},
    // https://github.com/firecracker-microvm/firecracker/blob/main/docs/cpu_templates/cpuid-normalization.md
    {host::MachineInfo::kUnknownHypervisor, kAcpiMaker, "FIRECK", "Firecracker",
     "use another hypervisor: this one hides the PMU of Intel CPUs, with every CPU template"},
};

}  // namespace

std::optional<Platform> platform_of(const host::HostRoots& roots) {
  const std::string hypervisor = host::machine_info(roots).hypervisor;
  const auto is_here = [&](const PlatformEntry& each) {
    if (each.hypervisor != hypervisor) return false;
    if (each.field.empty()) return true;
    const std::string text = each.field == kAcpiMaker
                                 ? host::acpi_maker(roots)
                                 : host::firmware_field(roots, std::string(each.field));
    return text.find(each.text) != text.npos;
  };
  const PlatformEntry* const found = lookup(kPlatforms, is_here, true);
  if (found == nullptr) return {};
  Platform platform{std::string(found->name), found->remedy};
  // Its product is the type of the instance.
  if (hypervisor == "amazon") platform.name += ", " + host::firmware_field(roots, "product_name");
  return platform;
}

}  // namespace pex::daemon
