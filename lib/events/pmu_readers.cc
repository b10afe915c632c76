#include "events/pmu_readers.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>

#include "host/cpu_place.h"
#include "host/machine_info.h"

namespace pex::events {
namespace {

bool has(const std::vector<int>& cpus, int cpu) {
  return std::binary_search(cpus.begin(), cpus.end(), cpu);
}

/// The places of CPUs, each read once.
class Places {
 public:
  explicit Places(const host::HostRoots& roots) : roots_(roots) {}

  const host::CpuPlace& of(int cpu) {
    const auto known = known_.find(cpu);
    return known != known_.end()
               ? known->second
               : known_.emplace(cpu, host::read_cpu_place(roots_, cpu)).first->second;
  }
  bool share_package(int a, int b) { return of(a).package == of(b).package; }
  bool share_die(int a, int b) { return share_package(a, b) && of(a).die == of(b).die; }
  bool share_core(int a, int b) {
    const std::vector<int>& threads = of(a).threads;
    return a == b || std::find(threads.begin(), threads.end(), b) != threads.end();
  }

 private:
  const host::HostRoots& roots_;
  std::map<int, host::CpuPlace> known_;
};

bool is_of_amd(const host::HostRoots& roots) {
  const std::string vendor = host::machine_info(roots).vendor;
  return vendor == "AuthenticAMD" || vendor == "HygonGenuine";
}

std::vector<int> one_of_each_package(const std::vector<int>& cpus, Places& places) {
  std::vector<int> first;
  for (const int cpu : cpus) {
    const auto is_of_same = [&](int other) { return places.share_package(cpu, other); };
    if (std::none_of(first.begin(), first.end(), is_of_same)) first.push_back(cpu);
  }
  return first;
}

/// Of `counted`, in the largest part of the machine that has no other reader; the reader itself if
/// there is none.
int stand_in(int reader, const std::vector<int>& readers, const std::vector<int>& counted,
             Places& places) {
  for (const auto shares : {&Places::share_package, &Places::share_die, &Places::share_core}) {
    const auto is_there = [&](int cpu) { return (places.*shares)(reader, cpu); };
    if (std::count_if(readers.begin(), readers.end(), is_there) > 1) continue;
    const auto found = std::find_if(counted.begin(), counted.end(), is_there);
    return found == counted.end() ? reader : *found;
  }
  return reader;
}

}  // namespace

bool is_uncore(const host::HostRoots& roots, const std::string& pmu) {
  std::error_code failed;
  return !std::filesystem::exists(roots.event_sources() + "/" + pmu + "/cpus", failed) && !failed;
}

std::vector<int> readers_of(const host::HostRoots& roots, const std::string& pmu,
                            const std::vector<int>& named, const std::vector<int>& counted,
                            const std::vector<int>& left_out) {
  const bool is_energy = pmu == "power" && named.size() > 1;
  const bool lacks_any =
      std::any_of(named.begin(), named.end(), [&](int cpu) { return has(left_out, cpu); });
  if ((!is_energy && !lacks_any) || !is_uncore(roots, pmu)) return named;
  Places places(roots);
  const std::vector<int> readers =
      is_energy && is_of_amd(roots) ? one_of_each_package(named, places) : named;
  std::vector<int> used;
  for (const int reader : readers) {
    used.push_back(has(left_out, reader) ? stand_in(reader, readers, counted, places) : reader);
  }
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  return used;
}

}  // namespace pex::events
