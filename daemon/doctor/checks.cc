#include "daemon/doctor/checks.h"

#include <utility>

#include "daemon/cli/words.h"
#include "events/event_table.h"
#include "host/permissions.h"
#include "host/topology.h"
#include "host/tracing.h"

namespace pex::daemon {
namespace {

/// The dummy event: counts nothing and takes no counter.
std::vector<perf::CounterSpec> dummy_event() { return {events::generic_counter("dummy")}; }

using Planned = Result<plan::LoadedPlan, std::vector<yaml::Diagnostic>>;

/// A configuration with errors excludes none.
std::vector<int> tried_cpus(const Result<std::vector<int>>& online, const Planned& planned) {
  if (planned) return planned->cpus->online;
  return online ? *online : std::vector<int>{};
}

std::map<int, Error> refusals(perf::PerfKernel& kernel, const std::vector<int>& cpus) {
  std::map<int, Error> refused;
  for (const int cpu : cpus) {
    if (const std::optional<Error> error = refusal_at(kernel, {cpu, -1, {}})) {
      refused.emplace(cpu, *error);
    }
  }
  return refused;
}

}  // namespace

CheckInputs check_inputs(const Options& options, perf::PerfKernel& kernel, const Self& self) {
  const Result<std::vector<int>> online = host::online_cpus(options.roots);
  const Result<std::int64_t> paranoid =
      host::read_sysctl(options.roots, "kernel/perf_event_paranoid");
  Planned planned = plan::load_and_plan(options.config_file, options.roots, kernel, nullptr,
                                        options.unknown_keys);
  const std::vector<int> cpus = tried_cpus(online, planned);
  CheckInputs here{options,
                   kernel,
                   self,
                   online,
                   cpus,
                   refusals(kernel, cpus),
                   paranoid ? std::optional(*paranoid) : std::nullopt,
                   host::find_tracing(options.roots),
                   events::EventResolver::create(options.roots),
                   std::move(planned)};
  if (here.may_open() && here.counts_cgroups() && plan::may_use_records(*here.planned)) {
    here.records = try_records(kernel, self, here.cpus, here.planned->plan.counting,
                               here.planned->config.cgroups.records_buffer,
                               plan::tracepoint_of_moves(options.roots));
  }
  return here;
}

std::optional<Error> refusal_at(perf::PerfKernel& kernel, const perf::Place& place) {
  const auto opened = perf::CounterGroup::open(kernel, dummy_event(), place, {});
  return opened ? std::nullopt : std::optional(opened.error().error);
}

std::string number(std::uint64_t n) { return std::to_string(n); }

std::string could_not(const Error& error) { return "could not " + without_remedy(error); }

}  // namespace pex::daemon
