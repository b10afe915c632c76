#include "daemon/web/served_times.h"

#include <algorithm>

#include "base/duration.h"

namespace pex::daemon {
namespace {

bool counts_cgroups(const config::Config& config) {
  return std::ranges::any_of(config.groups, &config::Group::cgroup_scope);
}

}  // namespace

/// They may be 0 for scrapers that know the start times of counters.
void ServedTimes::configure(const config::Config& config) {
  times_.clear();
  if (!counts_cgroups(config)) return;
  const auto add = [&](Time time) {
    if (time.time > std::chrono::nanoseconds{0} || !config.openmetrics.created)
      times_.push_back(std::move(time));
  };
  if (config.cgroups.series != config::CgroupSeries::kNone) {
    add({.name = "cgroups.linger",
         .to_set = "cgroups.linger",
         .lost = "what a cgroup counted between its last scrape and its end is lost",
         .time = config.cgroups.linger});
  }
  for (const config::CgroupSum& sum : config.cgroups.sums) {
    add({.name = "zero_for of sum '" + sum.name + "'",
         .to_set = "zero_for of the sum",
         .lost = "rate() and increase() lack what a new sum has counted before its first scrape",
         .time = sum.zero_for});
  }
}

/// With a regular client the mean of a few intervals is some milliseconds off.
bool ServedTimes::Time::is_shorter_than(std::chrono::nanoseconds interval) const {
  return interval - time > time / 50;
}

Error ServedTimes::Time::warning(std::chrono::nanoseconds interval) const {
  constexpr std::chrono::seconds kInSeconds{10};
  const std::chrono::seconds every = std::chrono::ceil<std::chrono::seconds>(interval);
  const std::chrono::seconds whole = std::max(every, kInSeconds);
  return {0,
          name + " is " + format_part(time, whole) + ", and a client scrapes every " +
              format_part(every, whole) + ": " + std::string(lost),
          "set " + to_set + " to " + std::to_string(2 * every.count()) + "s"};
}

std::vector<Error> ServedTimes::too_short(std::optional<std::chrono::nanoseconds> interval) const {
  std::vector<Error> warnings;
  for (const Time& time : times_) {
    if (interval && time.is_shorter_than(*interval)) warnings.push_back(time.warning(*interval));
  }
  return warnings;
}

std::vector<Error> ServedTimes::take_too_short(std::optional<std::chrono::nanoseconds> interval) {
  std::vector<Error> warnings;
  for (Time& time : times_) {
    if (!interval || !time.is_shorter_than(*interval)) continue;
    const std::chrono::seconds every = std::chrono::ceil<std::chrono::seconds>(*interval);
    if (every <= time.warned_of) continue;
    time.warned_of = every;
    warnings.push_back(time.warning(*interval));
  }
  return warnings;
}

}  // namespace pex::daemon
