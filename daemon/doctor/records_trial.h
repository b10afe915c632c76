#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "daemon/doctor/doctor.h"
#include "perf/perf_kernel.h"
#include "plan/load_plan.h"
#include "targets/counting_plan.h"

namespace pex::daemon {

/// Whether this machine writes records of switches between cgroups (collect::SwitchRecording).
struct RecordsTrial {
  std::size_t cpus = 0;           ///< on which it was made; the process may not run on others
  std::optional<Error> refused;   ///< the first refusal
  std::size_t buffer_bytes = 0;   ///< of the smallest ring; may be less than what was asked for
  std::uint64_t records = 0;      ///< that were written during the trial
  std::vector<int> incomplete;    ///< CPUs on which records are missing
  std::optional<Error> no_moves;  ///< why moves of tasks to other cgroups are not noted

  bool has_succeeded() const { return cpus > 0 && !refused && incomplete.empty(); }
};

/// Counts cgroups by records on each of the first CPUs, for some time (Self::trial). `moves`: as of
/// plan::tracepoint_of_moves().
RecordsTrial try_records(perf::PerfKernel& kernel, const Self& self, const std::vector<int>& cpus,
                         const collect::CountingPlan& plan, std::size_t buffer_bytes,
                         const Result<perf::EventAttributes>& moves);

/// Whether cgroups would be counted by records here, where `source: auto` leaves that open: as far
/// as a trial shows. Else nothing, as the configuration says it.
std::optional<bool> would_use_records(const plan::LoadedPlan& planned, perf::PerfKernel& kernel,
                                      const Self& self = {});

}  // namespace pex::daemon
