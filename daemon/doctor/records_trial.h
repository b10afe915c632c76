#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "collect/counting_plan.h"
#include "daemon/doctor/doctor.h"
#include "perf/perf_kernel.h"

namespace pex::daemon {

/// Whether this machine writes records of switches between cgroups (collect::SwitchRecording).
struct RecordsTrial {
  std::optional<Error> refused;  ///< the first refusal
  std::size_t buffer_bytes = 0;  ///< of the smallest ring; may be less than what was asked for
  std::uint64_t records = 0;     ///< that were written during the trial
  std::vector<int> incomplete;   ///< CPUs on which records are missing
};

/// Counts cgroups by records on each of the first CPUs, for some time (Self::trial).
RecordsTrial try_records(perf::PerfKernel& kernel, const Self& self, const std::vector<int>& cpus,
                         const collect::CountingPlan& plan, std::size_t buffer_bytes);

}  // namespace pex::daemon
