#include "host/cpu_place.h"

#include <algorithm>
#include <climits>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>

#include "base/small_file.h"
#include "base/text.h"

namespace pex::host {
namespace {

namespace fs = std::filesystem;

/// Nothing for -1, the kernel's value for unknown.
std::optional<int> parse_id(std::string_view text) {
  const std::optional<std::uint64_t> id = parse_unsigned(text);
  if (!id || *id > INT_MAX) return {};
  return static_cast<int>(*id);
}

std::optional<int> id_in(const std::string& file) {
  Result<std::string> text = read_small_file(file);
  return text ? parse_id(without_final_newline(*std::move(text))) : std::nullopt;
}

/// The kernel shows it as a link: cpu16/node1.
std::optional<int> numa_node_of(const std::string& cpu_folder) {
  constexpr std::string_view kNode = "node";
  std::error_code code;
  for (fs::directory_iterator entry{cpu_folder, code}, end; !code && entry != end;
       entry.increment(code)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(kNode)) continue;
    if (const std::optional<int> node = parse_id(name.substr(kNode.size()))) return node;
  }
  return {};
}

}  // namespace

CpuPlace read_cpu_place(const HostRoots& roots, int cpu) {
  const std::string folder = roots.cpu(cpu);
  const std::string topology = folder + "/topology/";
  return CpuPlace{.cpu = cpu,
                  .core = id_in(topology + "core_id").value_or(cpu),
                  .die = id_in(topology + "die_id").value_or(0),
                  .package = id_in(topology + "physical_package_id").value_or(0),
                  .numa_node = numa_node_of(folder).value_or(0),
                  .cluster = id_in(topology + "cluster_id").value_or(-1)};
}

void separate_cores(std::map<int, CpuPlace>& places) {
  using Core = std::tuple<int, int, int>;
  std::map<Core, std::map<int, int>> first_cpus;  // by cluster
  const auto core_of = [](const CpuPlace& place) {
    return Core{place.package, place.die, place.core};
  };
  for (const auto& [cpu, place] : places) first_cpus[core_of(place)].emplace(place.cluster, cpu);
  const bool are_separate = std::all_of(first_cpus.begin(), first_cpus.end(),
                                        [](const auto& core) { return core.second.size() == 1; });
  if (are_separate) return;
  for (auto& [cpu, place] : places) place.core = first_cpus[core_of(place)][place.cluster];
}

}  // namespace pex::host
