#pragma once

#include <prometheus/collectable.h>

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "host/self_process.h"

namespace pex::exposition {

/// The standard metrics of a process.
class ProcessMetrics final : public prometheus::Collectable {
 public:
  /// Reads this process; nothing if it cannot be read.
  using Source = std::function<std::optional<host::SelfProcess>()>;

  explicit ProcessMetrics(Source read) : read_(std::move(read)) {}

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  Source read_;
};

}  // namespace pex::exposition
