#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "history/activity.h"

namespace pex::daemon {

/// The recent rates of one of several cgroups, or sums of cgroups.
struct Ranked {
  std::size_t place = 0;  ///< among all that are compared
  history::Rates recent;
};

struct Ranking {
  std::optional<std::size_t> measure;  ///< they are ranked by; nothing when none can be compared
  std::size_t busy = 0;                ///< those with a rate above 0
  std::size_t idle = 0;                ///< those whose rate is 0
  std::vector<Ranked> busiest;         ///< in falling order; none is idle
};

/// Ranks by the first of `measures` that is known of any of `all`, and keeps `most`. Equal ones are
/// in the order of `comes_first`, which gets their places, so that they keep theirs on the page.
Ranking rank(std::vector<Ranked> all, std::size_t measures, std::size_t most,
             const std::function<bool(std::size_t, std::size_t)>& comes_first);

}  // namespace pex::daemon
