#include "host/machine_files.h"

#include <glob.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "base/small_file.h"
#include "base/text.h"
#include "host/tracing.h"

namespace pex::host {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFile = 4 * 1024 * 1024;  // of /proc/cpuinfo with thousands of CPUs

/// Patterns of glob(7), below the roots. Nothing that identifies the machine or its owner.
constexpr std::string_view kOfSysfs[] = {
    "devices/system/cpu/{online,present,isolated,nohz_full}",
    "devices/system/cpu/cpu[0-9]*/node[0-9]*",
    "devices/system/cpu/cpu[0-9]*/topology/{core_id,die_id,physical_package_id,cluster_id,"
    "thread_siblings_list}",
    "bus/event_source/devices/*/{type,cpus,cpumask,perf_event_mux_interval_ms}",
    "bus/event_source/devices/*/{format,events,caps}/*",
    "hypervisor/type",
    "module/{kvm_intel,kvm_amd}/parameters/enable_mediated_pmu",
    "class/dmi/id/{product_name,sys_vendor,board_vendor,bios_vendor}",
};
constexpr std::string_view kOfProcfs[] = {"cpuinfo", "meminfo", "sys/kernel/osrelease"};

/// Each file that matches `pattern` below `root`, as if `root` was called `name`.
void add(const std::string& root, std::string_view pattern, const std::string& name,
         MachineFiles& files) {
  glob_t found{};
  if (::glob((root + "/" + std::string(pattern)).c_str(), GLOB_BRACE, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) {
      const std::string path = found.gl_pathv[i];
      const std::string copy = name + path.substr(root.size());
      const Result<std::string> text = read_small_file(path, kMaxFile);
      if (text) {
        files[copy] = text->substr(0, text->find("\n\n"));
      } else if (text.error().code == EISDIR) {
        files[copy + "/"] = {};
      }
    }
  }
  ::globfree(&found);
}

/// Whether a path stays below one of the roots.
bool is_below_a_root(std::string_view path) {
  const std::vector<std::string_view> parts = split(path, '/');
  const std::string_view root = parts.front();
  return parts.size() > 1 && (root == "sys" || root == "proc" || root == "cgroup") &&
         std::find(parts.begin(), parts.end(), "..") == parts.end() && path.find('\0') == path.npos;
}

std::error_code write(const fs::path& path, const std::string& content) {
  std::error_code failed;
  fs::create_directories(path.parent_path(), failed);
  if (failed || !path.has_filename()) return failed;
  std::ofstream file{path, std::ios::binary};
  file << content;
  file.close();
  return file ? failed : std::error_code(EIO, std::generic_category());
}

}  // namespace

MachineFiles read_machine_files(const HostRoots& roots) {
  MachineFiles files;
  for (const std::string_view pattern : kOfSysfs) add(roots.sysfs, pattern, "sys", files);
  for (const std::string_view pattern : kOfProcfs) add(roots.procfs, pattern, "proc", files);
  if (const Result<std::string> tracing = find_tracing(roots)) {
    add(*tracing, "events/*/*/id", "sys/kernel/tracing", files);
  }
  return files;
}

Result<HostRoots> write_machine_files(const MachineFiles& files, const std::string& directory) {
  HostRoots roots{directory + "/sys", directory + "/proc", {}};
  for (const auto& [path, content] : files) {
    if (!is_below_a_root(path)) {
      return Error{EINVAL, "copy '" + path + "', which is no file of a machine", {}};
    }
    const std::error_code failed = write(directory + "/" + path, content);
    if (failed) return Error{failed.value(), "write '" + directory + "/" + path + "'", {}};
    if (path.starts_with("cgroup/")) roots.cgroupfs = directory + "/cgroup";
  }
  // Without it, the mounts could not be read.
  if (const std::error_code failed = write(roots.mounts(), {})) {
    return Error{failed.value(), "write '" + roots.mounts() + "'", {}};
  }
  return roots;
}

}  // namespace pex::host
