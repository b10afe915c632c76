#pragma once

#include <string>
#include <utility>
#include <vector>

#include "events/pmu.h"

namespace pex::plan {

/// On which CPU events are tried before they are counted: the first one that is online and that
/// their PMU has.
class ProbeCpus {
 public:
  /// `pmus` outlives it; `online` is rising and not empty, and without those of `left_out`.
  ProbeCpus(const events::PmuCatalogue& pmus, std::vector<int> online,
            std::vector<int> left_out = {})
      : pmus_(pmus), online_(std::move(online)), left_out_(std::move(left_out)) {}

  /// The first CPU of all without a PMU. `left_out_too` is left out as well.
  int of(const std::string& pmu, const std::vector<int>& left_out_too = {}) const;

  /// Whether all CPUs of `pmu` are left out.
  bool leave_out(const std::string& pmu, const std::vector<int>& left_out_too) const;

 private:
  const events::PmuCatalogue& pmus_;
  std::vector<int> online_;
  std::vector<int> left_out_;
};

}  // namespace pex::plan
