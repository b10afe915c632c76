#pragma once

#include <vector>

#include "comparison.h"

namespace pex::bench {

/// Every workload under every way of sharing the PMU and at each poll interval, 2 hours of so many
/// seeds; the same figures with any number of threads.
std::vector<Case> simulate(int seeds, unsigned threads);

}  // namespace pex::bench
