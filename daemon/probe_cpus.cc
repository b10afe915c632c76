#include "daemon/probe_cpus.h"

#include <algorithm>

namespace pex::daemon {

int ProbeCpus::of(const std::string& pmu) const {
  const perf::Pmu* known = pmu.empty() ? nullptr : pmus_.find(pmu);
  if (known == nullptr) return online_.front();
  for (const int cpu : known->cpus) {
    if (std::binary_search(online_.begin(), online_.end(), cpu)) return cpu;
  }
  return online_.front();
}

}  // namespace pex::daemon
