#include "plan/machine/machine_description.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/small_file.h"
#include "base/text.h"
#include "events/event_resolver.h"

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

}  // namespace

MachineDescription describe_machine(const host::HostRoots& roots) {
  MachineDescription machine{host::machine_info(roots), {}};
  const Result<events::EventResolver> resolver = events::EventResolver::create(roots);
  if (resolver) machine.pmu = names_of(resolver->pmus(), roots);
  return machine;
}

}  // namespace pex::plan
