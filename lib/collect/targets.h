#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cgroup/description.h"
#include "cgroup/discovery.h"
#include "collect/admission.h"
#include "collect/budget.h"
#include "collect/counter_source.h"
#include "collect/descriptor_source.h"
#include "collect/machine_cpus.h"
#include "collect/poll_report.h"
#include "host/roots.h"

namespace pex::collect {

/// One exported cgroup. A cgroup made anew under the path of one that lingers continues its series:
/// there are never two samples of one path, and what was counted stays counted.
struct CgroupTarget {
  std::uint64_t series = 0;  ///< identity of the series; never used again
  std::string path;
  std::shared_ptr<const cgroup::Cgroup> cgroup;  ///< null while it lingers after its end
  std::shared_ptr<const cgroup::Description> description =
      std::make_shared<const cgroup::Description>();
  std::chrono::system_clock::time_point since = {};  ///< when the series began, at 0
};

/// Where to count: immutable, shared by all CPUs of one poll.
struct TargetSet {
  std::shared_ptr<const MachineCpus> cpus = std::make_shared<const MachineCpus>();
  std::vector<CgroupTarget> cgroups;  ///< by rising `series`
  std::size_t present = 0;            ///< of them still exist
  std::size_t waiting = 0;            ///< cgroups whose turn to be opened is still to come
  std::shared_ptr<const cgroup::DiscoveryResult> found =  ///< what they were chosen from; not null
      std::make_shared<const cgroup::DiscoveryResult>();
  std::string_view left_out_reason;                  ///< see Capacity::bound
  std::chrono::system_clock::time_point since = {};  ///< when the CPUs' series began, at 0
};

/// Follows the CPUs and cgroups of the machine. Not thread-safe.
class TargetTracker {
 public:
  using Clock = std::chrono::steady_clock;

  /// What is counted of the cgroups. Without `discovery` none are.
  struct Cgroups {
    std::optional<cgroup::Discovery> discovery;
    cgroup::Describer describer = cgroup::Describer{};
    std::chrono::nanoseconds linger = std::chrono::seconds{60};
  };

  /// `cost` is that of the sources that count (CounterSources).
  TargetTracker(const host::HostRoots& roots, std::shared_ptr<const CountingPlan> plan,
                Cgroups cgroups, Budget budget, CostFunction cost = descriptor_cost);

  /// The targets as of now: the same object as before when nothing changed. Where the machine
  /// cannot tell its CPUs or its cgroups, those of before still hold; each fails on its own, into
  /// the report.
  std::shared_ptr<const TargetSet> update(Clock::time_point now, PollReport& report);

  /// These met a bound that was not foreseen while they were opened (PollFeedback::exhausted). A
  /// part of their counters is worth nothing, so they go, and all are tried again after a while.
  void set_aside(const std::map<std::string, int>& exhausted, Clock::time_point now);

  /// The paths of all that are left out (TargetSet::found tells of the first), by path.
  std::vector<std::string> left_out() const;

  const std::shared_ptr<const CountingPlan>& plan() const { return plan_; }

  /// Readable when cgroups may have come or gone; -1 when only update() tells. Only for waiting.
  int descriptor() const;

 private:
  using Found = cgroup::DiscoveryResult;

  std::shared_ptr<const MachineCpus> find_cpus(PollReport& report);
  Capacity capacity(Clock::time_point now);
  void make_room(std::size_t capacity);
  std::shared_ptr<const Found> find_cgroups(std::size_t capacity, Clock::time_point now,
                                            PollReport& report);
  bool names_changed(Clock::time_point now, PollReport& report);
  bool any_expired(Clock::time_point now) const;
  void tell_of_left_out(const Found& found, const Capacity& capacity, PollReport& report);
  void report_skipped(PollReport& report) const;
  bool may_admit(Clock::time_point now) const;
  std::vector<CgroupTarget> merge(const Found& found, Clock::time_point now, PollReport& report);
  void admit(std::vector<CgroupTarget>& targets, Clock::time_point now);
  void describe(std::vector<CgroupTarget>& targets) const;
  void drop_expired(std::vector<CgroupTarget>& targets, Clock::time_point now);
  void drop_surplus(std::vector<CgroupTarget>& targets);

  std::shared_ptr<const CountingPlan> plan_;
  CpuTracker cpus_;
  Cgroups cgroups_;
  Budget budget_;
  CostFunction cost_;
  Need need_;  ///< with the CPUs of current_
  OpenRate open_rate_;
  Shortage shortage_;
  std::shared_ptr<const TargetSet> current_;
  std::unordered_map<std::uint64_t, Clock::time_point> gone_;  ///< when each lingering series ended
  WaitingLine waiting_;                                        ///< found, and not yet targets
  std::uint64_t next_series_ = 1;
  const std::chrono::system_clock::time_point since_ = std::chrono::system_clock::now();
};

}  // namespace pex::collect
