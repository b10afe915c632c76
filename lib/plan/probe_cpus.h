#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "events/event_resolver.h"
#include "perf/counter_group.h"
#include "perf/perf_kernel.h"

namespace pex::plan {

/// The CPU on which events are tried before they are counted: the first online one of their PMU.
class ProbeCpus {
 public:
  /// `resolver` outlives it; `online` is rising and not empty, and does not contain CPUs of
  /// `left_out`.
  ProbeCpus(const events::EventResolver& resolver, std::vector<int> online,
            std::vector<int> left_out = {})
      : resolver_(resolver), online_(std::move(online)), left_out_(std::move(left_out)) {}

  /// Without a PMU the first CPU of all. `left_out_too` is left out as well.
  int of(const std::string& pmu, const std::vector<int>& left_out_too = {}) const;

  /// The same; of the readers of an uncore PMU the first one on which the kernel refuses none of
  /// `events` for good: a unit may be missing in one package, or die.
  int where_it_opens(perf::PerfKernel& kernel, const std::string& pmu,
                     std::span<const perf::CounterSpec> events,
                     const std::vector<int>& left_out_too = {}) const;

  /// Whether each reader of an uncore PMU opens all of `events`, or none.
  bool open_together(perf::PerfKernel& kernel, const std::string& pmu,
                     std::span<const perf::CounterSpec> events,
                     const std::vector<int>& left_out_too) const;

  /// All that are online; none of a PMU that is waiting.
  std::vector<int> all_of(const std::string& pmu, const std::vector<int>& left_out_too) const;

  /// Whether `pmu` has no CPU that is online, so that nothing can be tried there: it is counted
  /// when it has one.
  bool is_waiting(const std::string& pmu) const;

  /// Whether all CPUs of `pmu` are left out.
  bool leave_out(const std::string& pmu, const std::vector<int>& left_out_too) const;

 private:
  std::vector<int> cpus_of(const std::string& pmu) const;
  std::vector<int> readers_of(const std::string& pmu, const std::vector<int>& left_out_too) const;

  const events::EventResolver& resolver_;
  std::vector<int> online_;
  std::vector<int> left_out_;
};

}  // namespace pex::plan
