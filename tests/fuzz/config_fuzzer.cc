#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/load.h"
#include "events/event_resolver.h"
#include "fuzz/diagnostics.h"
#include "fuzz/fuzzing.h"
#include "host/machine_info.h"
#include "host/topology.h"
#include "plan/plan.h"
#include "support/planning.h"
#include "support/scripted_kernel.h"

namespace {

using pex::fuzz::require;

/// A machine of the unit tests, which is read once.
struct FixedMachine {
  explicit FixedMachine(const std::string& name)
      : resolver(*pex::events::EventResolver::create(pex::test::machine(name))) {
    if (const auto online = pex::host::online_cpus(resolver.roots())) cpus = *online;
  }

  pex::events::EventResolver resolver;
  std::vector<int> cpus{0};
  pex::host::MachineInfo info = pex::host::machine_info(resolver.roots());
};

/// Without an error of the machine: one that names no place in the file.
void require_errors_of_names(const std::vector<pex::yaml::Diagnostic>& errors) {
  require(!errors.empty());
  for (const pex::yaml::Diagnostic& error : errors) {
    const std::string line = describe(error);
    require(!error.message.empty());
    require(pex::fuzz::is_one_line(line) && line.size() < 10'000);
  }
}

void require_a_plan_or_errors(const pex::config::Loaded& loaded, const FixedMachine& on) {
  pex::test::ScriptedKernel kernel{on.resolver.roots().cgroupfs};
  const pex::plan::Machine machine{
      .resolver = on.resolver, .kernel = kernel, .online_cpus = on.cpus, .info = on.info};
  const auto errors = pex::plan::check_names(loaded.config, machine);
  if (loaded.diagnostics.has_errors()) return;
  const auto plan = pex::plan::make_plan(loaded.config, machine);
  require(plan.has_value() == errors.empty());
  if (!plan) require_errors_of_names(plan.error());
  require(kernel.still_open() == 0);
}

}  // namespace

/// Any text gives a configuration, and that a plan for each machine, or errors. An exception that
/// leaves a call ends the run by itself.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const FixedMachine hybrid{"intel_hybrid"};
  static const FixedMachine bare{""};
  const std::string name = "fuzz.yaml";

  const pex::config::Loaded loaded = pex::config::load_text(pex::fuzz::text_of(data, size), name);

  require(!loaded.config.groups.empty() || loaded.diagnostics.has_errors());
  pex::fuzz::require_that_they_point(loaded.diagnostics.errors(), name);
  for (const FixedMachine* machine : {&hybrid, &bare}) require_a_plan_or_errors(loaded, *machine);
  return 0;
}
