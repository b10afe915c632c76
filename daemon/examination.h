#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "daemon/counting.h"
#include "daemon/doctor.h"
#include "daemon/findings.h"
#include "daemon/options.h"
#include "perf/counter_group.h"
#include "perf/event_resolver.h"
#include "perf/perf_kernel.h"

namespace pex::daemon {

/// What more than one subject of the doctor looks at, looked at once.
struct Examination {
  const Options& options;
  perf::PerfKernel& kernel;
  const Self& self;
  Result<std::vector<int>> online;
  std::map<int, Error> refused;          ///< by CPU, what perf_event_open said
  std::optional<std::int64_t> paranoid;  ///< kernel.perf_event_paranoid
  Result<std::string> tracing;           ///< where tracefs is
  Result<perf::EventResolver> resolver;
  Result<Planned, std::vector<Error>> planned;

  bool has_core_pmu() const { return resolver && !resolver->pmus().core_pmus().empty(); }
  bool counts_cgroups() const { return planned && !planned->plan.counting.cgroup.empty(); }
};

/// References stay with the examination.
Examination look_at(const Options& options, perf::PerfKernel& kernel, const Self& self);

/// What keeps even an event that counts nothing from being opened; nothing when that is allowed.
std::optional<Error> refusal_at(perf::PerfKernel& kernel, const perf::Place& place);

using Findings = std::vector<Finding>;

// One function for each subject; none when another subject says already why it cannot be told.

Findings on_kernel(const Examination& here);  // examine_rights.cc
Findings on_perf_event_open(const Examination& here);
Findings on_paranoid(const Examination& here);
Findings on_capabilities(const Examination& here);
Findings on_seccomp(const Examination& here);

Findings on_cpus(const Examination& here);  // examine_machine.cc
Findings on_tracefs(const Examination& here);
Findings on_pmus(const Examination& here);
Findings on_free_counters(const Examination& here);
Findings on_nmi_watchdog(const Examination& here);

Findings on_mux_interval(const Examination& here);  // examine_turns.cc
Findings on_cgroup_times(const Examination& here);
Findings on_activity_reference(const Examination& here);

Findings on_cgroups(const Examination& here);  // examine_configuration.cc
Findings on_open_files(const Examination& here);
Findings on_configuration(const Examination& here);

// Words.

std::string number(std::uint64_t n);
/// "1 cgroup", "2 cgroups"
std::string number_of(std::size_t n, const std::string& things);
/// "CPU 3", "CPUs 0-1,8"
std::string cpus_of(const std::vector<int>& cpus);
std::string joined(const std::vector<std::string>& words, const char* between = ", ");
/// describe() of all but its remedy, which has a line of its own.
std::string without_remedy(const Error& error);
/// The same, where `attempted` begins with a verb: "could not read the PMUs in ...".
std::string could_not(const Error& error);

}  // namespace pex::daemon
