#include "plan/probe_cpus.h"

#include <algorithm>

namespace pex::plan {
namespace {

bool has(const std::vector<int>& cpus, int cpu) {
  return std::binary_search(cpus.begin(), cpus.end(), cpu);
}

}  // namespace

int ProbeCpus::of(const std::string& pmu, const std::vector<int>& left_out_too) const {
  const events::Pmu* known = pmu.empty() ? nullptr : pmus_.find(pmu);
  for (const std::vector<int>* cpus : {known == nullptr ? &online_ : &known->cpus, &online_}) {
    for (const int cpu : *cpus) {
      if (has(online_, cpu) && !has(left_out_too, cpu)) return cpu;
    }
  }
  return online_.front();
}

bool ProbeCpus::leave_out(const std::string& pmu, const std::vector<int>& left_out_too) const {
  const events::Pmu* known = pmu.empty() ? nullptr : pmus_.find(pmu);
  return known != nullptr && !known->cpus.empty() &&
         std::all_of(known->cpus.begin(), known->cpus.end(),
                     [&](int cpu) { return has(left_out_, cpu) || has(left_out_too, cpu); });
}

}  // namespace pex::plan
