#pragma once

#include <string_view>

#include "perf/perf_kernel.h"

namespace pex::perf {

/// What an operator can change when opening `request` failed with `code`; empty when there is
/// nothing to advise. The same errno means different things for different requests: one table
/// (open_remedy.cc) holds them all.
std::string_view open_remedy(int code, const CounterRequest& request);

}  // namespace pex::perf
