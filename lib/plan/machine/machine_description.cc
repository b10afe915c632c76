#include "plan/machine/machine_description.h"

#include <algorithm>
#include <optional>

#include "base/small_file.h"
#include "base/text.h"
#include "events/event_resolver.h"
#include "host/topology.h"
#include "plan/cpu_selector.h"
#include "plan/machine/free_counters.h"
#include "plan/probe_cpus.h"

namespace pex::plan {
namespace {

/// The names of the core PMUs, each once: those of one microarchitecture have one.
std::string names_of(const events::PmuCatalogue& pmus, const host::HostRoots& roots) {
  std::vector<std::string> names;
  for (const events::Pmu* pmu : pmus.core_pmus()) {
    const Result<std::string> given = read_small_file(roots.pmu_name(pmu->name));
    const std::string name = given ? without_final_newline(*given) : pmu->name;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return join(names, ",");
}

void append(std::string& list, std::size_t number) {
  list.append(list.empty() ? "" : ",").append(std::to_string(number));
}

}  // namespace

MachineDescription describe_machine(const host::HostRoots& roots, perf::PerfKernel& kernel,
                                    const std::vector<int>& left_out_cpus) {
  MachineDescription machine{host::machine_info(roots), {}, {}, {}};
  const Result<events::EventResolver> resolver = events::EventResolver::create(roots);
  if (!resolver) return machine;
  machine.pmu = names_of(resolver->pmus(), roots);
  const Result<std::vector<int>> online = host::online_cpus(roots);
  if (!online) return machine;

  const ProbeCpus cpus{resolver->pmus(), without(*online, left_out_cpus), left_out_cpus};
  std::string general;
  std::string fixed;
  for (const events::Pmu* pmu : resolver->pmus().core_pmus()) {
    if (cpus.leave_out(pmu->name, {})) return machine;
    const std::optional<FreeCounters> free =
        count_free_counters(kernel, *resolver, *pmu, cpus.of(pmu->name));
    if (!free) return machine;
    append(general, free->general);
    append(fixed, free->fixed);
  }
  machine.general_counters = general;
  machine.fixed_counters = fixed;
  return machine;
}

}  // namespace pex::plan
