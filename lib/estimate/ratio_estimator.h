#pragma once

#include "estimate/event_model.h"

namespace pex::estimate {

/// One event in one interval, by its windows on the PMU.
struct Estimate {
  double extrapolated = 0;  ///< events outside the windows; never negative, always finite
  double sampled_size = 0;  ///< s, the windows' part of size
  double size = 0;          ///< S, of the whole interval; 0: no activity, so nothing was learned
  double information = 0;   ///< 0 to 1: s relative to the windows' fair share
};

/// The ratio estimator of group_estimator.h, as a pure function. `interval` without a reference
/// (`has_reference`) is scaled by time. `history` are recent intervals of the same target, all zero
/// if there are none; `mux_interval` in ns.
Estimate estimate(const Observed& interval, bool has_reference, const Observed& history,
                  const EventModel& model, double mux_interval);

/// The squared standard error of `estimate` in events^2: from its difference to `last_rate`, the
/// events per size of the previous interval; of that, `last_size` was sampled. 0 without one
/// (`last_size` 0): then it is unknown.
double successive_difference_variance(const Estimate& estimate, double events, double last_rate,
                                      double last_size);

}  // namespace pex::estimate
