#pragma once

#include "estimate/event_model.h"

namespace pex::estimate {

/// One event in one interval, by what its windows on the PMU saw.
struct Estimate {
  double extrapolated = 0;  ///< events outside the windows; never negative, always finite
  double sampled_size = 0;  ///< s, the windows' part of size
  double size = 0;  ///< S, of the whole interval; 0: no activity, so nothing could be learned
  double information = 0;  ///< 0 to 1: s as part of what the windows should have seen
};

/// The ratio estimator of group_estimator.h, as a pure function. `interval` without a reference
/// (`has_reference`) is scaled by time. `history` are recent intervals of the same target, all zero
/// when there are none; `mux_interval` in ns.
Estimate estimate(const Observed& interval, bool has_reference, const Observed& history,
                  const EventModel& model, double mux_interval);

/// What `estimate` is off by, as the square of its standard error in events^2: by its difference
/// from `last_rate`, the events per size of the interval before, in which `last_size` was sampled.
/// 0 when there was none (`last_size` 0): then nothing is known of it.
double successive_difference_variance(const Estimate& estimate, double events, double last_rate,
                                      double last_size);

}  // namespace pex::estimate
