#pragma once

#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "count/snapshot.h"
#include "exposition/collected_family.h"
#include "exposition/poll_metrics.h"

namespace pex::daemon {

/// Why the exporter is not ready, for a client; empty if it is. `snapshot` is null before the first
/// poll. With `needs_events` it is not ready while no configured event is counted anywhere, unless
/// only cgroups are counted and there are none.
std::string_view why_not_ready(const collect::Snapshot* snapshot, bool needs_events);

/// Why less is counted than the groups of the configuration.
struct Reduction {
  Counted to = Counted::kNothing;
  std::string_view reason;  ///< configuration, crashes, pause
};

/// Whether anything is counted, by that rule, and why it is less, as metrics; from the first poll
/// on.
class Counting final : public prometheus::Collectable {
 public:
  using Reductions = std::function<std::vector<Reduction>()>;

  /// `polls` outlives it.
  Counting(const exposition::PollMetrics& polls, Reductions reductions)
      : polls_(polls), reductions_(std::move(reductions)) {}

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const exposition::PollMetrics& polls_;
  Reductions reductions_;
};

}  // namespace pex::daemon
