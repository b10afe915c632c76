#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <functional>
#include <memory>
#include <vector>

#include "count/snapshot.h"

namespace pex::exposition {

/// The counts for a program that embeds this library and has a prometheus::Registry or Exposer:
/// register this there. Its families, labels and help texts are those that the daemon serves;
/// values are doubles, so above 2^53 they are not exact. Building them costs a heap object for each
/// label of each sample.
class SnapshotCollectable final : public prometheus::Collectable {
 public:
  using Source = std::function<std::shared_ptr<const collect::Snapshot>()>;

  /// `latest` returns the last snapshot, or null before there is one. Called on the thread that
  /// collects.
  explicit SnapshotCollectable(Source latest);

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  Source latest_;
};

}  // namespace pex::exposition
