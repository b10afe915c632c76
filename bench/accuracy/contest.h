#pragma once

#include <array>
#include <memory>
#include <vector>

#include "figures.h"

namespace pex::bench {

inline constexpr std::size_t kFormulaCount = 6;
/// In the order of formulas().
using FiguresOfAll = std::array<Figures, kFormulaCount>;

inline constexpr int kPollSeconds[] = {1, 15};

/// Every formula on the groups of one PMU, polled at one interval.
class Contest {
 public:
  Contest(std::size_t groups, double slot_ns, int poll_seconds, int skipped_seconds,
          FiguresOfAll& figures);

  /// Looks at the readings when a poll is due at this second.
  void poll(int second, std::span<const Reading> readings);

 private:
  int poll_seconds_;
  FiguresOfAll& figures_;
  std::vector<Shown> shown_;
  std::vector<std::unique_ptr<Exporter>> exporters_;
  std::vector<Judge> judges_;  ///< one for each formula and group
};

}  // namespace pex::bench
