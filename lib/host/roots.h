#pragma once

#include <string>

namespace pex::host {

/// Where the host's trees are mounted: "/sys" on a host, "/host/sys" in a container that mounts
/// them, a folder of plain files in a test. All code that reads them uses this, so fixtures and
/// hosts run the same code. No other room contains a path of these trees.
struct HostRoots {
  std::string sysfs = "/sys";
  std::string procfs = "/proc";
  std::string cgroupfs;  ///< empty: found in the mount table

  std::string online_cpus() const { return sysfs + "/devices/system/cpu/online"; }
  std::string present_cpus() const { return sysfs + "/devices/system/cpu/present"; }
  std::string isolated_cpus() const { return sysfs + "/devices/system/cpu/isolated"; }
  std::string nohz_full_cpus() const { return sysfs + "/devices/system/cpu/nohz_full"; }
  /// One folder for each PMU of the kernel.
  std::string event_sources() const { return sysfs + "/bus/event_source/devices"; }
  /// The name of the microarchitecture, as drivers of some PMUs have it: "skylake".
  std::string pmu_name(const std::string& pmu) const {
    return event_sources() + "/" + pmu + "/caps/pmu_name";
  }
  std::string cpu(int number) const {
    return sysfs + "/devices/system/cpu/cpu" + std::to_string(number);
  }
  /// What the kernel reports about each CPU.
  std::string cpu_info() const { return procfs + "/cpuinfo"; }
  /// The hypervisor, as guests of Xen have it.
  std::string hypervisor_type() const { return sysfs + "/hypervisor/type"; }
  /// On s390: what it is, and the hypervisors above it.
  std::string system_info() const { return procfs + "/sysinfo"; }
  /// On POWER: a property of the firmware's tree, "hypervisor/compatible".
  std::string device_tree(const std::string& property) const {
    return procfs + "/device-tree/" + property;
  }
  /// A field of the firmware's table (DMI): "sys_vendor".
  std::string firmware(const std::string& field) const { return sysfs + "/class/dmi/id/" + field; }
  /// A table of ACPI, by its signature: "FACP". Only root can read it.
  std::string acpi_table(const std::string& signature) const {
    return sysfs + "/firmware/acpi/tables/" + signature;
  }
  /// The usual mount points of tracefs, first choice first; see tracing.h.
  std::string tracing() const { return sysfs + "/kernel/tracing"; }
  std::string legacy_tracing() const { return sysfs + "/kernel/debug/tracing"; }
  /// A setting of the kernel: "kernel/perf_event_paranoid".
  std::string sysctl(const std::string& name) const { return procfs + "/sys/" + name; }
  /// A random text for each start of the machine (random(4)).
  std::string boot_id() const { return sysctl("kernel/random/boot_id"); }
  /// One folder for each thread of a process.
  std::string threads(int pid) const { return procfs + "/" + std::to_string(pid) + "/task"; }
  /// The cgroups of the calling thread (cgroups(7), "/proc/pid/cgroup").
  std::string own_cgroups() const { return procfs + "/thread-self/cgroup"; }
  /// The memory of the machine (proc_meminfo(5)).
  std::string memory() const { return procfs + "/meminfo"; }
  /// The mounts of this process, whose paths we can open.
  std::string mounts() const { return procfs + "/self/mountinfo"; }
};

}  // namespace pex::host
