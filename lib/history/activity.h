#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/scope.h"
#include "collect/snapshot.h"
#include "history/reading.h"

namespace pex::history {

/// What one cgroup, or the whole host, does per second. Nothing: not counted, or not known, which
/// is not 0.
struct Rates {
  std::optional<double> cpus;  ///< CPU seconds; of a cgroup only, as the host's clock never rests
  std::optional<double> cycles;
  std::optional<double> instructions;
  std::optional<double> instructions_per_cycle;  ///< over the same time; nothing without cycles
};

/// What cgroups and the host have done in the last minutes: the increments between snapshots, at
/// most one each kSpacing, and the last kPoints of them. What a cgroup did before the first
/// snapshot that has it belongs to the point of that snapshot. For people to look at: whoever needs
/// exact values has the totals. A new plan counts from zero, so it starts again. Not thread-safe.
///
/// Memory is bounded by the cgroups that have series, whatever the number of CPUs and however long
/// it runs: at most 1 kB, the path and 16 bytes for each group. So 2000 cgroups with 8 groups and
/// paths of 100 bytes take at most 2.5 MB, and half a megabyte more while a snapshot is read.
class Activity {
 public:
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;

  static constexpr std::chrono::seconds kSpacing{5};
  static constexpr std::size_t kPoints = 60;
  static constexpr std::chrono::seconds kRecent{60};

  /// A poll has ended just `now`. Cheap unless the last point is kSpacing old.
  void add(const collect::Snapshot& snapshot, Clock::time_point now);

  /// How long what is called recent took: kRecent, rounded to whole points, or what there is of it.
  Seconds recent() const;
  /// How long all points together took.
  Seconds span() const;
  /// Of each point how long ago it ended when the newest one did; the oldest comes first.
  std::vector<Seconds> ages() const;

  Rates recent_of_host() const;
  Rates recent_of_cgroup(const std::string& path) const;

  /// Each point per second, as ages(); nothing where it is not known.
  using Points = std::vector<std::optional<double>>;
  Points points_of_host(Measure measure) const;
  Points points_of_cgroup(const std::string& path, Measure measure) const;

  /// Of the time that a group of the plan recently wanted the PMU, the part that it had it. Nothing
  /// when it is not known, and for groups that cannot lose the PMU.
  std::optional<double> recent_running_ratio(Scope scope, std::size_t group) const;

 private:
  static constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();
  using Point = std::array<float, kMeasures>;  ///< per second
  static constexpr Point kUnknownPoint{kUnknown, kUnknown, kUnknown};

  /// The whole host, or one cgroup.
  struct Track {
    Reading reading;                                       ///< when the newest point ended
    std::array<Point, kPoints> points = unknown_points();  ///< a ring
    bool is_current = false;
  };

  static constexpr std::array<Point, kPoints> unknown_points() {
    std::array<Point, kPoints> points{};
    points.fill(kUnknownPoint);
    return points;
  }
  bool is_due(Clock::time_point now);
  void start(const collect::Snapshot& snapshot);
  void open_point(Clock::time_point now);
  void advance_cgroups(const collect::Snapshot& snapshot);
  static Track track_from_zero(const Reading& reading);
  void advance(Track& track, Reading reading, Scope scope);
  void fill_point(Track& track, const Reading& reading);
  void add_pmu_times(const PmuTimes& before, const PmuTimes& now, Scope scope);
  std::size_t slot(std::size_t age) const;  ///< of a ring; the newest has age 0
  std::size_t recent_points() const;
  Rates recent_of(const Track& track) const;
  Points points_of(const Track& track, Measure measure) const;
  const Track* find(const std::string& path) const;

  struct End {
    Clock::time_point at;
    Seconds length{};
  };

  std::shared_ptr<const collect::CountingPlan> plan_;
  std::optional<Clock::time_point> last_;  ///< when the newest point ended, or the first one began
  Clock::time_point due_;
  std::deque<End> ends_;         ///< of the points; at most kPoints, the newest last
  std::size_t points_made_ = 0;  ///< points ever made of this plan
  Track host_;
  std::unordered_map<std::string, Track> cgroups_;  ///< by path
  /// By Scope a ring: in that point.
  std::array<std::vector<PmuTimes>, 2> pmu_times_ = {std::vector<PmuTimes>(kPoints),
                                                     std::vector<PmuTimes>(kPoints)};
};

}  // namespace pex::history
