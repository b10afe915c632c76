#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/boot_clock.h"
#include "base/scope.h"
#include "count/snapshot.h"
#include "history/reading.h"

namespace pex::history {

/// Rates of one cgroup, of one sum of cgroups, or of the whole host. Nothing: unknown, which is not
/// 0.
struct Rates {
  std::vector<std::optional<double>> per_second;  ///< of each measure, in its unit
  std::optional<double> instructions_per_cycle;   ///< over the same time; nothing without cycles
};

/// The rates of cgroups, of their sums and of the host in the last minutes: the increments between
/// snapshots, at most one each kSpacing, and the last kPoints of them. The counts of a cgroup
/// before the first snapshot that contains it belong to the point of that snapshot. For display
/// only: the totals have the exact values. Where the plan changes, the rates of events that both
/// plans have go on; of those that count from zero again, one point is unknown. The points of a sum
/// begin when it is no longer published as 0. Not thread-safe.
///
/// Memory is bounded by the cgroups and sums that have series, regardless of the number of CPUs and
/// the time: at most 2 kB, the path or the labels, and 16 bytes for each group. So 2000 cgroups
/// with 8 groups and paths of 100 bytes take at most 4 MB, and a megabyte more while a snapshot is
/// read.
class Activity {
 public:
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;

  static constexpr std::chrono::seconds kSpacing{5};
  static constexpr std::size_t kPoints = 60;
  static constexpr std::chrono::seconds kRecent{60};
  static constexpr std::size_t kMaxMeasuresOfHost = 64;
  static constexpr std::size_t kMaxMeasuresOfCgroup = 6;

  /// CPU time: in no counted cgroup, and of the machine.
  struct CpuTime {
    Seconds uncounted;
    Seconds machine;
  };

  /// A poll has ended at `now`, and the CPU time to date is `used`. Cheap unless the last point is
  /// kSpacing old.
  void add(const collect::Snapshot& snapshot, Clock::time_point now, const CpuTime& used = {});

  /// The duration of "recent": kRecent, rounded to whole points, or of the points so far.
  Seconds recent() const;
  /// The duration of all points together.
  Seconds span() const;
  /// For each point, how long before the newest one it ended; the oldest comes first.
  std::vector<Seconds> ages() const;

  /// The events whose rates are kept.
  const std::vector<Measure>& measures(Scope scope) const { return measures_[index(scope)]; }

  Rates recent_of_host() const;
  CpuTime recent_cpu_time() const;
  Rates recent_of_cgroup(const std::string& path) const;
  /// `name` and `values` of a SumPlan and of one of its sums.
  Rates recent_of_sum(const std::string& name, const std::vector<std::string>& values) const;

  /// Each point per second, in the order of ages(); nothing where it is unknown.
  using Points = std::vector<std::optional<double>>;
  Points points_of_host(std::size_t measure) const;
  Points points_of_cgroup(const std::string& path, std::size_t measure) const;
  Points points_of_sum(const std::string& name, const std::vector<std::string>& values,
                       std::size_t measure) const;

  /// The part of the recent enabled time of a group during which it had the PMU. Nothing if it is
  /// unknown, and for groups that cannot lose the PMU.
  std::optional<double> recent_running_ratio(Scope scope, std::size_t group) const;

 private:
  /// The whole host, one cgroup, or one sum.
  struct Track {
    Reading reading;            ///< when the newest point ended
    std::vector<float> points;  ///< per second: a ring of kPoints for each measure
    bool is_current = false;
  };

  using SumKey = std::pair<std::string, std::vector<std::string>>;  ///< its name and values

  static constexpr std::size_t index(Scope scope) { return static_cast<std::size_t>(scope); }
  bool is_due(Clock::time_point now);
  void start(const collect::Snapshot& snapshot);
  void follow(const collect::Snapshot& snapshot);
  void change(const collect::Snapshot& snapshot);
  void open_point(Clock::time_point now, const CpuTime& used);
  void advance_cgroups(const collect::Snapshot& snapshot);
  void advance_sums(const collect::Snapshot& snapshot);
  Track new_track(Scope scope) const;
  Track track_from_zero(const Reading& reading) const;
  void advance(Track& track, Reading reading, Scope scope);
  void fill_point(Track& track, const Reading& reading);
  void add_pmu_times(const PmuTimes& before, const PmuTimes& now, Scope scope);
  std::size_t slot(std::size_t age) const;  ///< of a ring; the newest has age 0
  std::size_t recent_points() const;
  Rates recent_of(const Track& track, Scope scope) const;
  Rates recent_of_cgroups(const Track* track) const;  ///< of one, or of a sum of them
  Points points_of(const Track* track, std::size_t measure) const;
  /// Null if there is none.
  template <typename Tracks>
  static const Track* find(const Tracks& tracks, const typename Tracks::key_type& key) {
    const auto found = tracks.find(key);
    return found == tracks.end() ? nullptr : &found->second;
  }

  /// The plan that a scope had before, and its measures.
  struct Before {
    const collect::ScopePlan& plan;
    const std::vector<Measure>& measures;
  };
  void change_scope(Track& track, Scope scope, const Before& before) const;

  struct End {
    Clock::time_point at;
    Seconds length{};
    CpuTime used{};                       ///< in the point
    std::array<PmuTimes, 2> pmu_times{};  ///< the same, by Scope
  };
  const End& end(std::size_t age) const { return ends_[ends_.size() - 1 - age]; }

  std::shared_ptr<const collect::CountingPlan> plan_;
  BootClock::time_point since_;                   ///< when the totals began, at 0
  std::array<std::vector<Measure>, 2> measures_;  ///< by Scope; of that plan
  std::optional<Clock::time_point> last_;  ///< when the newest point ended, or the first one began
  CpuTime used_{};                         ///< to date at that time
  Clock::time_point due_;
  std::deque<End> ends_;         ///< of the points; at most kPoints, the newest last
  std::size_t points_made_ = 0;  ///< points ever made of this plan
  Track host_;
  std::unordered_map<std::string, Track> cgroups_;  ///< by path
  std::map<SumKey, Track> sums_;
};

}  // namespace pex::history
