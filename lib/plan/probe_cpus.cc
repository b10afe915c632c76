#include "plan/probe_cpus.h"

#include <algorithm>
#include <cstddef>

#include "events/pmu_readers.h"
#include "plan/event_trial.h"

namespace pex::plan {
namespace {

bool has(const std::vector<int>& cpus, int cpu) {
  return std::binary_search(cpus.begin(), cpus.end(), cpu);
}

/// How many of `events` the kernel does not refuse for good.
std::size_t opened_on(perf::PerfKernel& kernel, int cpu,
                      std::span<const perf::CounterSpec> events) {
  return static_cast<std::size_t>(
      std::count_if(events.begin(), events.end(), [&](const perf::CounterSpec& event) {
        const Result<> tried = try_event(kernel, event, {cpu, -1, {}});
        return tried || !is_lasting(tried.error().code);
      }));
}

}  // namespace

/// None of a PMU that is not known.
std::vector<int> ProbeCpus::cpus_of(const std::string& pmu) const {
  const events::Pmu* known = pmu.empty() ? nullptr : resolver_.pmus().find(pmu);
  if (known == nullptr) return {};
  return events::readers_of(resolver_.roots(), pmu, known->cpus, online_, left_out_);
}

int ProbeCpus::of(const std::string& pmu, const std::vector<int>& left_out_too) const {
  for (const std::vector<int>& cpus : {cpus_of(pmu), online_}) {
    for (const int cpu : cpus) {
      if (has(online_, cpu) && !has(left_out_too, cpu)) return cpu;
    }
  }
  return online_.front();
}

/// None of a PMU that is waiting, or of a core.
std::vector<int> ProbeCpus::readers_of(const std::string& pmu,
                                       const std::vector<int>& left_out_too) const {
  const events::Pmu* const known = resolver_.pmus().find(pmu);
  const bool has_readers =
      known != nullptr && known->kind == events::PmuKind::kUncore && !is_waiting(pmu);
  return has_readers ? all_of(pmu, left_out_too) : std::vector<int>{};
}

int ProbeCpus::where_it_opens(perf::PerfKernel& kernel, const std::string& pmu,
                              std::span<const perf::CounterSpec> events,
                              const std::vector<int>& left_out_too) const {
  for (const int cpu : readers_of(pmu, left_out_too)) {
    if (opened_on(kernel, cpu, events) == events.size()) return cpu;
  }
  return of(pmu, left_out_too);
}

bool ProbeCpus::open_together(perf::PerfKernel& kernel, const std::string& pmu,
                              std::span<const perf::CounterSpec> events,
                              const std::vector<int>& left_out_too) const {
  const std::vector<int> readers = readers_of(pmu, left_out_too);
  return std::all_of(readers.begin(), readers.end(), [&](int cpu) {
    const std::size_t opened = opened_on(kernel, cpu, events);
    return opened == 0 || opened == events.size();
  });
}

std::vector<int> ProbeCpus::all_of(const std::string& pmu,
                                   const std::vector<int>& left_out_too) const {
  std::vector<int> cpus = cpus_of(pmu);
  if (cpus.empty()) cpus = online_;
  std::erase_if(cpus, [&](int cpu) { return !has(online_, cpu) || has(left_out_too, cpu); });
  return cpus;
}

bool ProbeCpus::is_waiting(const std::string& pmu) const {
  if (pmu.empty() || resolver_.pmus().find(pmu) == nullptr) return false;
  const std::vector<int> cpus = cpus_of(pmu);
  return std::none_of(cpus.begin(), cpus.end(),
                      [&](int cpu) { return has(online_, cpu) || has(left_out_, cpu); });
}

bool ProbeCpus::leave_out(const std::string& pmu, const std::vector<int>& left_out_too) const {
  const std::vector<int> cpus = cpus_of(pmu);
  return !cpus.empty() && std::all_of(cpus.begin(), cpus.end(), [&](int cpu) {
    return has(left_out_, cpu) || has(left_out_too, cpu);
  });
}

}  // namespace pex::plan
