#pragma once

#include <string_view>
#include <vector>

#include "count/snapshot.h"
#include "exposition/collected_family.h"
#include "exposition/poll_metrics.h"

namespace pex::daemon {

/// Why the exporter is not ready, for a client; empty if it is. `snapshot` is null before the first
/// poll. With `needs_events` it is not ready while no configured event is counted anywhere, unless
/// only cgroups are counted and there are none.
std::string_view why_not_ready(const collect::Snapshot* snapshot, bool needs_events);

/// Whether anything is counted, by that rule, as a metric; from the first poll on.
class Counting final : public prometheus::Collectable {
 public:
  /// `polls` outlives it.
  explicit Counting(const exposition::PollMetrics& polls) : polls_(polls) {}

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const exposition::PollMetrics& polls_;
};

}  // namespace pex::daemon
