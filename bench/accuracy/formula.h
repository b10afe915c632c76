#pragma once

#include <memory>
#include <span>

#include "rotation.h"

namespace pex::bench {

/// What an exporter shows for one group.
struct Shown {
  double value = 0;
  double variance = 0;  ///< summed; 0 for those that state none
};

/// What turns the readings of the groups that share one PMU, each counting the same event, into
/// counters.
class Exporter {
 public:
  Exporter() = default;
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;
  virtual ~Exporter() = default;

  /// One of each for each group, every time for the same groups.
  virtual void poll(std::span<const Reading> readings, std::span<Shown> shown) = 0;
};

struct Formula {
  const char* name;
  const char* used_by;
  std::unique_ptr<Exporter> (*make)(std::size_t groups, double slot_ns);
};

std::span<const Formula> formulas();

/// Places in formulas() that are spoken of by name.
inline constexpr std::size_t kLifetime = 1;
inline constexpr std::size_t kDelta = 3;
inline constexpr std::size_t kOurs = 5;

}  // namespace pex::bench
