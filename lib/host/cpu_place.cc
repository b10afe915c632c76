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
#include "host/cpu_list.h"

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

std::vector<int> cpus_in(const std::string& file) {
  const Result<std::string> text = read_small_file(file);
  if (!text) return {};
  const Result<std::vector<int>> cpus = parse_cpu_list(without_final_newline(*text));
  return cpus ? *cpus : std::vector<int>{};
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

bool has(const std::vector<int>& cpus, int cpu) {
  return std::find(cpus.begin(), cpus.end(), cpu) != cpus.end();
}

/// Of two with the same numbers. One that was read while the other was offline does not list it.
bool are_of_one_core(const CpuPlace& a, const CpuPlace& b) {
  const bool is_unknown = a.threads.empty() || b.threads.empty();
  return a.cluster == b.cluster && (is_unknown || has(a.threads, b.cpu) || has(b.threads, a.cpu));
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
                  .cluster = id_in(topology + "cluster_id").value_or(-1),
                  .threads = cpus_in(topology + "thread_siblings_list")};
}

void separate_cores(std::map<int, CpuPlace>& places) {
  using Threads = std::vector<CpuPlace*>;
  std::map<std::tuple<int, int, int>, std::vector<Threads>> cores;  // by package, die and number
  for (auto& [cpu, of] : places) {
    CpuPlace& place = of;
    std::vector<Threads>& alike = cores[{place.package, place.die, place.core}];
    const auto own = std::find_if(alike.begin(), alike.end(), [&](const Threads& core) {
      return std::any_of(core.begin(), core.end(),
                         [&](const CpuPlace* thread) { return are_of_one_core(*thread, place); });
    });
    (own == alike.end() ? alike.emplace_back() : *own).push_back(&place);
  }
  const bool are_separate = std::all_of(cores.begin(), cores.end(),
                                        [](const auto& alike) { return alike.second.size() == 1; });
  if (are_separate) return;
  for (const auto& [number, alike] : cores) {
    for (const Threads& core : alike) {
      for (CpuPlace* const thread : core) thread->core = core.front()->cpu;
    }
  }
}

}  // namespace pex::host
