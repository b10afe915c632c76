#include "daemon/doctor/records_trial.h"

#include <algorithm>
#include <thread>

#include "records/record_source.h"
#include "records/switch_recording.h"

namespace pex::daemon {
namespace {

constexpr std::size_t kMaxCpus = 4;

void try_on(perf::PerfKernel& kernel, const Self& self, int cpu, const collect::CountingPlan& plan,
            std::size_t buffer_bytes, const collect::SwitchRecording::Moves& moves,
            RecordsTrial& trial) {
  ++trial.cpus;
  const auto recording = collect::SwitchRecording::open(
      kernel, cpu, {buffer_bytes, collect::kMinRecordsBuffer}, plan, [] { return std::nullopt; },
      moves);
  if (!recording) {
    if (!trial.refused) trial.refused = recording.error();
    return;
  }
  std::this_thread::sleep_for(self.trial);
  const collect::SwitchAttribution::Statistics seen = (*recording)->poll({});
  trial.records += seen.records;
  if (moves && !trial.no_moves) trial.no_moves = (*recording)->moves_refused();
  if (!seen.are_complete) trial.incomplete.push_back(cpu);
  trial.buffer_bytes = std::min(trial.buffer_bytes, (*recording)->ring_bytes());
}

}  // namespace

RecordsTrial try_records(perf::PerfKernel& kernel, const Self& self, const std::vector<int>& cpus,
                         const collect::CountingPlan& plan, std::size_t buffer_bytes,
                         const Result<perf::EventAttributes>& moves) {
  RecordsTrial trial;
  trial.buffer_bytes = buffer_bytes;
  collect::SwitchRecording::Moves tracepoint;
  moves ? void(tracepoint = *moves) : void(trial.no_moves = moves.error());
  for (std::size_t i = 0; i < std::min(cpus.size(), kMaxCpus); ++i) {
    (void)self.run_bound_to(
        cpus[i], [&] { try_on(kernel, self, cpus[i], plan, buffer_bytes, tracepoint, trial); });
  }
  return trial;
}

std::optional<bool> would_use_records(const plan::LoadedPlan& planned, perf::PerfKernel& kernel,
                                      const Self& self) {
  const config::Cgroups& cgroups = planned.config.cgroups;
  if (cgroups.source != config::CgroupSource::kAuto || !plan::may_use_records(planned)) return {};
  return try_records(kernel, self, planned.cpus->online, planned.plan.counting,
                     cgroups.records_buffer, Error{})
      .has_succeeded();
}

}  // namespace pex::daemon
