#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "daemon/cli/options.h"
#include "daemon/doctor/doctor.h"
#include "daemon/doctor/findings.h"
#include "daemon/doctor/records_trial.h"
#include "events/event_resolver.h"
#include "perf/counter_group.h"
#include "perf/perf_kernel.h"
#include "plan/load_plan.h"

namespace pex::daemon {

/// What several checks need, determined once.
struct CheckInputs {
  const Options& options;
  perf::PerfKernel& kernel;
  const Self& self;
  Result<std::vector<int>> online;
  /// Where something is tried: those of `online` that the configuration does not exclude.
  std::vector<int> cpus;
  std::map<int, Error> refused;          ///< by CPU, the error of perf_event_open
  std::optional<std::int64_t> paranoid;  ///< kernel.perf_event_paranoid
  Result<std::string> tracing;           ///< path of tracefs
  Result<events::EventResolver> resolver;
  Result<plan::LoadedPlan, std::vector<yaml::Diagnostic>> planned;
  std::optional<RecordsTrial> records = {};  ///< if records may count cgroups

  /// False if opening was refused on a CPU, and if no CPU could be tried.
  bool may_open() const { return !cpus.empty() && refused.empty(); }
  bool has_core_pmu() const { return resolver && !resolver->pmus().core_pmus().empty(); }
  bool counts_cgroups() const { return planned && !planned->plan.counting.cgroup.empty(); }
};

/// The checks keep references.
CheckInputs check_inputs(const Options& options, perf::PerfKernel& kernel, const Self& self);

/// Why even the dummy event cannot be opened; nothing if it can.
std::optional<Error> refusal_at(perf::PerfKernel& kernel, const perf::Place& place);

using Findings = std::vector<Finding>;

// One function for each subject; no findings if another subject already reports the reason.

Findings check_kernel(const CheckInputs& here);  // check_rights.cc
Findings check_perf_event_open(const CheckInputs& here);
Findings check_paranoid(const CheckInputs& here);
Findings check_capabilities(const CheckInputs& here);
Findings check_seccomp(const CheckInputs& here);

Findings check_cpus(const CheckInputs& here);  // check_machine.cc
Findings check_tracefs(const CheckInputs& here);
Findings check_pmus(const CheckInputs& here);
Findings check_free_counters(const CheckInputs& here);
Findings check_hidden_events(const CheckInputs& here);
Findings check_other_users(const CheckInputs& here);
Findings check_nmi_watchdog(const CheckInputs& here);

Findings check_mux_interval(const CheckInputs& here);  // check_multiplexing.cc
Findings check_cgroup_times(const CheckInputs& here);
Findings check_activity_reference(const CheckInputs& here);

Findings check_sampling(const CheckInputs& here);  // check_sampling.cc

Findings check_switch_records(const CheckInputs& here);  // check_records.cc

Findings check_cgroups(const CheckInputs& here);  // check_configuration.cc
Findings check_uncounted(const CheckInputs& here);
Findings check_open_files(const CheckInputs& here);
Findings check_configuration(const CheckInputs& here);

// Words.

std::string number(std::uint64_t n);
/// without_remedy(), for an `attempted` that begins with a verb: "could not read the PMUs in ...".
std::string could_not(const Error& error);

}  // namespace pex::daemon
