#include "cgroup/pace.h"

#include <algorithm>

namespace pex::cgroup {

double Pace::left_at(Clock::time_point now) {
  const std::chrono::duration<double> passed = now - filled_.value_or(now);
  left_ = std::min(at_once_, left_ + std::max(passed.count(), 0.0) * per_second_);
  filled_ = now;
  return left_;
}

}  // namespace pex::cgroup
