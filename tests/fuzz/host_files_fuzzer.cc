#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "abi/sysctls.h"
#include "cgroup/use/cpu_use.h"
#include "fuzz/file_tree.h"
#include "fuzz/fuzzing.h"
#include "host/command_line.h"
#include "host/cpu_list.h"
#include "host/cpu_place.h"
#include "host/kernel_version.h"
#include "host/machine_info.h"
#include "host/memory.h"
#include "host/permissions.h"
#include "host/process.h"
#include "host/topology.h"
#include "host/tracing.h"

namespace {

using pex::fuzz::FileTree;
using pex::fuzz::require;

constexpr int kHighestCpu = 65'535;

void check_cpus(const pex::Result<std::vector<int>>& cpus) {
  if (!cpus) return;
  require(std::is_sorted(cpus->begin(), cpus->end()));
  require(std::adjacent_find(cpus->begin(), cpus->end()) == cpus->end());
  require(cpus->empty() || (cpus->front() >= 0 && cpus->back() <= kHighestCpu));
  const auto again = pex::host::parse_cpu_list(pex::host::format_cpu_list(*cpus));
  require(again && *again == *cpus);
}

void check_topology(const pex::host::HostRoots& roots) {
  const auto online = pex::host::online_cpus(roots);
  require(!online || !online->empty());
  check_cpus(online);
  check_cpus(pex::host::isolated_cpus(roots));
  check_cpus(pex::host::nohz_full_cpus(roots));
  for (const int cpu : {0, 1, 7}) {
    const pex::host::CpuPlace place = pex::host::read_cpu_place(roots, cpu);
    require(place.cpu == cpu && place.core >= 0 && place.die >= 0);
    require(place.package >= 0 && place.numa_node >= 0);
  }
}

void check_machine(const pex::host::HostRoots& roots) {
  const pex::host::MachineInfo info = pex::host::machine_info(roots);
  for (const std::string& value :
       {info.vendor, info.family, info.model, info.stepping, info.model_name, info.microcode}) {
    require(value.find('\n') == std::string::npos);
  }
  require(info.kernel.size() <= 64 * 1024 && info.hypervisor.size() <= 64 * 1024);
  (void)pex::host::parse_kernel_version(info.kernel);
}

/// A number that is published stands in the file: it has not wrapped.
void check_memory(const FileTree& tree) {
  constexpr std::uint64_t kKiB = 1024;
  const auto total = pex::host::total_memory(tree.roots());
  require(!total ||
          tree.content("proc/meminfo").find(std::to_string(*total / kKiB)) != std::string::npos);
}

void check_processes(const FileTree& tree) {
  const auto time = pex::host::cpu_time(tree.roots(), 1);
  require(!time || time->count() >= 0);
  require(time || !time.error().attempted.empty());
  (void)pex::host::parse_permissions(tree.content("proc/self/status"));
  const std::string line = tree.content("proc/1/cmdline");
  std::size_t words = 0;
  for (const std::string& word : pex::host::parse_command_line(line)) words += word.size() + 1;
  require(words <= line.size() + 1);
  for (const pex::perf::SysctlEntry& entry : pex::perf::sysctls()) {
    const auto value = read_sysctl(entry, tree.roots());
    if (value) (void)entry.range_of(*value);
  }
}

/// Not with a mount table, which could lead to the real one.
void check_tracing(const FileTree& tree) {
  if (!tree.content("proc/self/mountinfo").empty()) return;
  const auto listed = pex::host::list_tracepoints(tree.roots());
  require(!listed || std::is_sorted(listed->begin(), listed->end()));
  (void)pex::host::tracepoint_id(tree.roots(), "sched", "sched_switch");
}

void check_cpu_use(const FileTree& tree) {
  using Version = pex::cgroup::Hierarchy::Version;
  const std::string mount = tree.root() + "/cgroup";
  const auto v2 = pex::cgroup::cpu_use({.mount = mount, .version = Version::kV2}, "/a");
  const std::string text = tree.content("cgroup/a/cpu.stat");
  const bool is_there_once = text.find("usage_usec ") == text.rfind("usage_usec ");
  require(!v2 || !is_there_once || text.find(std::to_string(*v2)) != std::string::npos);
  (void)pex::cgroup::cpu_use({.mount = mount, .version = Version::kV1, .accounting = mount}, "/a");
}

}  // namespace

/// Files of sysfs and procfs with any content give values that can be published, or none.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const FileTree tree{pex::fuzz::text_of(data, size)};

  check_topology(tree.roots());
  check_machine(tree.roots());
  check_memory(tree);
  check_processes(tree);
  check_tracing(tree);
  check_cpu_use(tree);
  return 0;
}
