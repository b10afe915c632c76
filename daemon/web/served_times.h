#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/config.h"

namespace pex::daemon {

/// The configured times for which values are served that each scraper should see: the last ones of
/// a removed cgroup (`cgroups.linger`), and the first 0 of a new sum (`zero_for`). Each should be
/// longer than the longest interval at which a client scrapes, or the client misses counts.
class ServedTimes {
 public:
  /// Those of `config`, none of which was warned of.
  void configure(const config::Config& config);

  /// A warning of each time that is shorter than `interval`.
  std::vector<Error> too_short(std::optional<std::chrono::nanoseconds> interval) const;

  /// The same, without times of which a warning was taken for as long an interval: a client that is
  /// late now and then is not regular for a while.
  std::vector<Error> take_too_short(std::optional<std::chrono::nanoseconds> interval);

 private:
  struct Time {
    std::string name;       ///< "cgroups.linger"
    std::string to_set;     ///< the same, in a remedy
    std::string_view lost;  ///< what a client misses if it is too short
    std::chrono::nanoseconds time{};
    std::chrono::seconds warned_of{};  ///< the interval

    bool is_shorter_than(std::chrono::nanoseconds interval) const;
    Error warning(std::chrono::nanoseconds interval) const;
  };

  std::vector<Time> times_;
};

}  // namespace pex::daemon
