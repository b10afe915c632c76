#pragma once

#include <vector>

#include "comparison.h"
#include "workload.h"

namespace pex::bench {

/// How groups share the PMU: `fits` of `groups` at a time.
struct Sharing {
  int groups = 4;
  int fits = 1;
  int fits_beside_other = 1;  ///< while another session has half of the PMU
};

/// A PMU whose groups take turns, as perf_rotate_context() makes them: at each tick of the timer
/// the first in the list goes to its end, and as many as fit are put on from its head.
class RotatingPmu {
 public:
  explicit RotatingPmu(const Sharing& sharing)
      : sharing_(sharing), groups_(static_cast<std::size_t>(sharing.groups)) {}

  void run(const Slot& slot, double slot_ns, bool beside_other);
  /// One for each group.
  void read(std::vector<Reading>& readings) const;

 private:
  /// As numbers with fractions, so that what is cut off at a reading is not lost.
  struct Sums {
    double running_ns = 0;
    double events = 0;
    double reference = 0;
  };

  Sharing sharing_;
  int head_ = 0;
  std::vector<Sums> groups_;
  Sums all_;
};

}  // namespace pex::bench
