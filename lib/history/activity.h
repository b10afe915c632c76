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
/// exact values has the totals. Takes about a kilobyte for a cgroup, and forgets it with its
/// series. A new plan counts anew, so it begins anew. Not thread-safe.
class Activity {
 public:
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;

  static constexpr std::chrono::seconds kSpacing{5};
  static constexpr std::size_t kPoints = 60;
  static constexpr std::chrono::seconds kRecent{60};

  enum class Measure { kCpuTime, kCycles, kInstructions };
  static constexpr std::size_t kMeasures = 3;

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
  using Totals = std::array<std::optional<double>, kMeasures>;
  using Point = std::array<float, kMeasures>;  ///< per second
  static constexpr Point kUnknownPoint{kUnknown, kUnknown, kUnknown};

  /// Seconds a group wanted the PMU, and had it.
  struct Turns {
    double enabled = 0;
    double running = 0;
  };
  /// Of all groups of a scope; only those that can lose the PMU are followed.
  using TurnsOfGroups = std::vector<Turns>;

  /// The whole host, or one cgroup.
  struct Track {
    std::uint64_t series = 0;
    Totals totals;        ///< when the newest point ended
    TurnsOfGroups turns;  ///< then, in total
    std::vector<Point> points = std::vector<Point>(kPoints, kUnknownPoint);  ///< a ring
    bool is_current = false;
  };
  struct Reading {
    std::uint64_t series = 0;
    Totals totals;
    TurnsOfGroups turns;
  };

  static Reading read_host(const collect::Snapshot& snapshot);
  static std::vector<Reading> read_cgroups(const collect::Snapshot& snapshot);
  bool is_due(Clock::time_point now);
  void start(const collect::Snapshot& snapshot);
  void open_point(Clock::time_point now);
  void advance_cgroups(const collect::Snapshot& snapshot);
  static Track track_from_zero(const Reading& reading);
  void advance(Track& track, Reading reading, Scope scope);
  void fill_point(Track& track, const Reading& reading, Scope scope);
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
  std::deque<End> ends_;  ///< of the points; at most kPoints, the newest last
  std::size_t made_ = 0;  ///< points ever made of this plan
  Track host_;
  std::unordered_map<std::string, Track> cgroups_;  ///< by path
  /// By Scope a ring: in that point.
  std::array<std::vector<TurnsOfGroups>, 2> turns_ = {std::vector<TurnsOfGroups>(kPoints),
                                                      std::vector<TurnsOfGroups>(kPoints)};
};

}  // namespace pex::history
