#include "host/cpu_place.h"

#include <algorithm>
#include <climits>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "base/directory.h"
#include "base/small_file.h"
#include "base/text.h"
#include "host/cpu_list.h"

namespace pex::host {
namespace {

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
  const auto names = list_directory(cpu_folder, std::numeric_limits<std::size_t>::max());
  for (const std::string& name : names ? *names : std::vector<std::string>{}) {
    if (!name.starts_with(kNode)) continue;
    if (const std::optional<int> node = parse_id(name.substr(kNode.size()))) return node;
  }
  return {};
}

/// The CPUs of a machine, core by core.
class Cores {
 public:
  using Threads = std::vector<CpuPlace*>;

  void add(CpuPlace& place) {
    const std::size_t core = core_of(place);
    cores_.resize(std::max(cores_.size(), core + 1));
    cores_[core].push_back(&place);
    by_cpu_[place.cpu] = core;
    for (const int thread : place.threads) by_cpu_.emplace(thread, core);
    by_numbers_.emplace(numbers_of(place), core);
  }
  /// Whether the numbers of each one are its own, and those of all its threads.
  bool have_numbers() const {
    std::set<Numbers> seen;
    return std::all_of(cores_.begin(), cores_.end(), [&](const Threads& core) {
      const Numbers own = numbers_of(*core.front());
      const auto [package, die, number, cluster] = own;
      return std::all_of(core.begin(), core.end(),
                         [&](const CpuPlace* thread) { return numbers_of(*thread) == own; }) &&
             seen.insert({package, die, number, 0}).second;
    });
  }
  const std::vector<Threads>& all() const { return cores_; }

 private:
  using Numbers = std::tuple<int, int, int, int>;  // package, die, core, cluster

  static Numbers numbers_of(const CpuPlace& place) {
    return {place.package, place.die, place.core, place.cluster};
  }
  /// By its threads, of which one that was read while the other was offline does not list it; or by
  /// its numbers where threads are not known.
  std::size_t core_of(const CpuPlace& place) const {
    if (const auto listed = by_cpu_.find(place.cpu); listed != by_cpu_.end()) return listed->second;
    for (const int thread : place.threads) {
      if (const auto known = by_cpu_.find(thread); known != by_cpu_.end()) return known->second;
    }
    const auto same = by_numbers_.find(numbers_of(place));
    const bool is_same = same != by_numbers_.end() &&
                         (place.threads.empty() || cores_[same->second].front()->threads.empty());
    return is_same ? same->second : cores_.size();
  }

  std::vector<Threads> cores_;
  std::map<int, std::size_t> by_cpu_;  ///< also of CPUs that are listed as threads
  std::map<Numbers, std::size_t> by_numbers_;
};

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
  Cores cores;
  for (auto& [cpu, place] : places) cores.add(place);
  if (cores.have_numbers()) return;
  for (const Cores::Threads& core : cores.all()) {
    for (CpuPlace* const thread : core) thread->core = core.front()->cpu;
  }
}

}  // namespace pex::host
