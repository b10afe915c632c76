#pragma once

#include <string>
#include <string_view>

#include "history/activity.h"

namespace pex::daemon {

/// A small line of `points` as inline SVG. The right end is now, the left one as long ago as
/// kPoints take, or all points if that is longer; the height is that of the highest point. What is
/// not known is a gap. `what` is read out, with what it is now and has been at most: "CPUs used".
std::string sparkline(std::string_view what, const history::Activity::Points& points,
                      const std::vector<history::Activity::Seconds>& ages,
                      history::Activity::Seconds span);

/// A horizontal bar, filled up to `ratio`, of which all above 1 is 1. Says nothing by itself: the
/// number stands next to it.
std::string bar(double ratio);

/// The highest one; nothing when none is known.
std::optional<double> peak_of(const history::Activity::Points& points);

}  // namespace pex::daemon
