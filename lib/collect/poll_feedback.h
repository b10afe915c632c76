#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace pex::collect {

/// What the part of a poll on one CPU or, merged, on all, means for the targets of the next one.
struct PollFeedback {
  /// Cgroups that met a bound while they were opened, by path: errno.
  std::map<std::string, int> exhausted;
  /// Targets that were gone before all their counters were open: their series.
  std::set<std::uint64_t> unopened;

  void merge(const PollFeedback& part) {
    exhausted.insert(part.exhausted.begin(), part.exhausted.end());
    unopened.insert(part.unopened.begin(), part.unopened.end());
  }
};

}  // namespace pex::collect
