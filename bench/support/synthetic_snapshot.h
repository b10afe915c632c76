#pragma once

#include <cstddef>

#include "count/snapshot.h"
#include "exposition/self_metrics.h"

namespace pex::bench {

/// How many there are of each.
struct Shape {
  const char* name;
  std::size_t cgroups;
  std::size_t cpus;  ///< with a row for each one of a cgroup; 0: their sum
  std::size_t events;

  std::size_t rows() const { return cgroups * (cpus > 0 ? cpus : 1); }
};

/// A snapshot of containers of Kubernetes, each with a path and labels of the usual length, and
/// software events in groups of ten, whose values have nine to thirteen digits.
collect::Snapshot synthetic_snapshot(const Shape& shape);

/// In place of the exporter's own metrics.
class NoMetrics final : public exposition::SelfReading {
 public:
  void write(const exposition::Selection&, exposition::FormatWriter&) const override {}
};

}  // namespace pex::bench
