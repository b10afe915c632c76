#include "collect/records/lost_shares.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace pex::collect {
namespace {

constexpr int kBisections = 40;
/// Times the shortest mean length. The intervals of one cgroup differ in length as well, so the
/// mean of all says nothing of cgroups that switch about as often as each other: one whose
/// intervals are a tenth longer has at least three quarters of its share, one with twice the length
/// may have a twentieth.
constexpr double kMaxTilt = 3;

double mean_length(const RecordedRuns& runs) {
  return static_cast<double>(runs.time) / static_cast<double>(runs.intervals);
}

/// Of those that can be divided by: only they can have lost intervals.
bool has_length(const RecordedRuns& runs) { return runs.time > 0 && runs.intervals > 0; }

/// The shortest mean length of a cgroup; nothing if none has one.
std::optional<double> shortest(std::span<const RecordedRuns> cgroups) {
  double shortest = std::numeric_limits<double>::infinity();
  for (const RecordedRuns& runs : cgroups) {
    if (has_length(runs)) shortest = std::min(shortest, mean_length(runs));
  }
  return std::isinf(shortest) ? std::nullopt : std::optional(shortest);
}

/// The divisions to choose from: the greater the tilt (1/ns), the more of the time belongs to
/// cgroups with short intervals.
class TiltedShares {
 public:
  TiltedShares(std::span<const RecordedRuns> cgroups, double shortest)
      : cgroups_(cgroups), shortest_(shortest) {}

  double time_of(const RecordedRuns& runs, double tilt) const {
    if (!has_length(runs)) return 0;
    return static_cast<double>(runs.time) * std::exp(-tilt * (mean_length(runs) - shortest_));
  }
  /// Of the intervals, in ns. It falls as the tilt grows, towards the shortest.
  double mean_at(double tilt) const {
    double time = 0;
    double intervals = 0;
    for (const RecordedRuns& runs : cgroups_) {
      if (!has_length(runs)) continue;
      const double part = time_of(runs, tilt);
      time += part;
      intervals += part / mean_length(runs);
    }
    return time / intervals;
  }
  /// At which the intervals have this mean length, or as near as it gets.
  double tilt_for(double mean) const {
    double low = 0;
    double high = kMaxTilt / shortest_;
    for (int step = 0; step < kBisections; ++step) {
      const double middle = (low + high) / 2;
      (mean_at(middle) > mean ? low : high) = middle;
    }
    return high;
  }

 private:
  std::span<const RecordedRuns> cgroups_;
  double shortest_;
};

std::vector<double> parts_of_all(std::vector<double> times) {
  double all = 0;
  for (const double time : times) all += time;
  for (double& time : times) {
    time = all > 0 ? time / all : 1.0 / static_cast<double>(times.size());
  }
  return times;
}

}  // namespace

std::vector<double> lost_shares(std::span<const RecordedRuns> cgroups, std::uint64_t time,
                                std::uint64_t intervals) {
  std::vector<double> times;
  times.reserve(cgroups.size());
  const std::optional<double> least = shortest(cgroups);
  const double mean = static_cast<double>(time) / static_cast<double>(intervals);
  if (intervals == 0 || !least || TiltedShares(cgroups, *least).mean_at(0) <= mean) {
    for (const RecordedRuns& runs : cgroups) times.push_back(static_cast<double>(runs.time));
    return parts_of_all(std::move(times));
  }
  const TiltedShares shares{cgroups, *least};
  const double tilt = shares.tilt_for(mean);
  for (const RecordedRuns& runs : cgroups) times.push_back(shares.time_of(runs, tilt));
  return parts_of_all(std::move(times));
}

}  // namespace pex::collect
