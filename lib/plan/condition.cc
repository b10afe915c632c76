#include "plan/condition.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/text.h"
#include "host/kernel_version.h"

namespace pex::plan {
namespace {

using Reason = std::optional<std::string>;

/// For a value of the machine that may not be known.
std::string known(const std::string& value) { return value.empty() ? "an unknown one" : value; }

Reason unmet_vendor(const config::When& when, const Machine& machine) {
  const std::string& vendor = machine.info.vendor;
  const auto is_it = [&](const std::string& name) { return iequals(name, vendor); };
  if (when.vendor.empty() || std::any_of(when.vendor.begin(), when.vendor.end(), is_it)) return {};
  return "when.vendor: it needs " + join(when.vendor, " or ") + ", and this machine has " +
         known(vendor);
}

Reason unmet_cpus(const config::When& when, const Machine& machine) {
  const std::size_t cpus = machine.online_cpus.size();
  if (!when.cpus || (when.cpus->min <= cpus && cpus <= when.cpus->max)) return {};
  const bool are_few = cpus < when.cpus->min;
  return "when.cpus: it needs at " + std::string(are_few ? "least " : "most ") +
         std::to_string(are_few ? when.cpus->min : when.cpus->max) +
         " CPUs, and this machine has " + std::to_string(cpus);
}

Reason unmet_virtual(const config::When& when, const Machine& machine) {
  if (!when.is_virtual || *when.is_virtual == machine.info.is_virtual()) return {};
  return *when.is_virtual
             ? std::string("when.virtual: it is for virtual machines, and this is none")
             : "when.virtual: it is not for virtual machines, and this is one (hypervisor: " +
                   machine.info.hypervisor + ")";
}

Reason unmet_pmu(const config::When& when, const Machine& machine) {
  if (!when.pmu || !machine.pmus().matching(*when.pmu).empty()) return {};
  return "when.pmu: this machine has no PMU '" + *when.pmu + "'";
}

Reason unmet_kernel(const config::When& when, const Machine& machine) {
  if (!when.kernel) return {};
  const auto& [major, minor, patch] = *when.kernel;
  const auto running = host::parse_kernel_version(machine.info.kernel);
  if (running && *running >= host::KernelVersion{major, minor, patch}) return {};
  return "when.kernel: it needs Linux " + std::to_string(major) + "." + std::to_string(minor) +
         (patch == 0 ? "" : "." + std::to_string(patch)) + ", and this machine has " +
         known(machine.info.kernel);
}

}  // namespace

Error left_out(const LeftOutGroup& group) {
  return Error{0, "group '" + group.name + "' is left out: " + group.reason, {}};
}

std::optional<std::string> unmet(const config::When& when, const Machine& machine) {
  for (const auto condition : {unmet_vendor, unmet_cpus, unmet_virtual, unmet_pmu, unmet_kernel}) {
    if (Reason reason = condition(when, machine)) return reason;
  }
  return {};
}

}  // namespace pex::plan
