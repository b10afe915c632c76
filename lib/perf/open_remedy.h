#pragma once

#include <string_view>
#include <vector>

#include "perf/perf_kernel.h"

namespace pex::perf {

/// What an operator can change when opening `request` failed with `code`; empty when there is
/// nothing to advise. The same errno means different things for different requests: one table
/// (open_remedy.cc) holds them all.
std::string_view open_remedy(int code, const CounterRequest& request);

/// A row of that table, for the documents; the first one that fits is the answer.
struct OpenRemedy {
  int code;                ///< an errno
  std::string_view about;  ///< which requests, in Markdown; empty: all others
  std::string_view remedy;
};
std::vector<OpenRemedy> open_remedies();

}  // namespace pex::perf
