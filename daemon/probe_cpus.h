#pragma once

#include <string>
#include <utility>
#include <vector>

#include "perf/pmu.h"

namespace pex::daemon {

/// On which CPU events are tried before they are counted: the first one that is online and that
/// their PMU has.
class ProbeCpus {
 public:
  /// `pmus` outlives it; `online` is rising and not empty.
  ProbeCpus(const perf::PmuCatalogue& pmus, std::vector<int> online)
      : pmus_(pmus), online_(std::move(online)) {}

  /// The first CPU of all without a PMU.
  int of(const std::string& pmu) const;

 private:
  const perf::PmuCatalogue& pmus_;
  std::vector<int> online_;
};

}  // namespace pex::daemon
