#include "plan/reference_selector.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "perf/group_trial.h"

namespace pex::plan {
namespace {

constexpr const char* kCycles = "cycles";

/// Finds the reference by trials on the probe CPUs.
class ReferenceSelector {
 public:
  ReferenceSelector(std::span<const PlannedGroup> groups, const Machine& machine)
      : groups_(groups), machine_(machine) {}

  Reference select(const Reference* in_force) {
    if (!any([this](const auto& group, config::Estimator estimator) {
          return may_have_reference(group, estimator, machine_.pmus());
        })) {
      return {};
    }
    if (const std::optional<Reference> free = free_reference()) return *free;
    Reference cycles = cycles_of_all_cores();
    if (in_force != nullptr) {
      if (in_force->cost != Reference::Cost::kCounter) return *in_force;
      cycles.joins_all = in_force->joins_all;
      return cycles;
    }
    return cycles.counters.empty() ? Reference{} : affordable(cycles);
  }

 private:
  /// The part of the enabled time during which each group had the PMU; 0 if it could not be opened.
  using Shares = std::vector<double>;

  template <typename Predicate>
  bool any(Predicate is_so) const {
    return std::any_of(groups_.begin(), groups_.end(), [&](const PlannedGroup& planned) {
      const std::vector<collect::GroupPlan>& groups = planned.counted.groups;
      return std::any_of(groups.begin(), groups.end(),
                         [&](const auto& group) { return is_so(group, planned.estimator); });
    });
  }

  /// It must advance: guests may read the register as 0. And it must be able to join a hardware
  /// group.
  std::optional<Reference> free_reference() {
    const std::optional<perf::CounterSpec> counter =
        events::counter_on(machine_.resolver, kFreeReference, "");
    if (!counter) return {};
    for (const PlannedGroup& planned : groups_) {
      for (const collect::GroupPlan& group : planned.counted.groups) {
        if (!may_have_reference(group, planned.estimator, machine_.pmus())) continue;
        std::vector<perf::CounterSpec> members = {group.events.front(), *counter};
        const perf::Trial trial =
            perf::try_group(machine_.kernel, members,
                            machine_.trial_place(group.pmu, group.left_out_cpus, group.events), {});
        perf::GroupReading reading;
        if (!trial.group || !trial.group->read(machine_.kernel, reading))
          continue;  // try another group
        const bool moves = reading.counts.size() == members.size() && reading.counts.back() > 0;
        if (!moves) return {};
        return Reference{Reference::Cost::kFree, {{"", *counter}}, true};
      }
    }
    return {};
  }

  /// One for each kind of core if there are several; else one for all CPUs.
  Reference cycles_of_all_cores() const {
    Reference reference{Reference::Cost::kCounter, {}, true};
    std::vector<std::string> kinds;
    for (const events::Pmu* core : machine_.pmus().core_pmus()) kinds.push_back(core->name);
    if (kinds.size() < 2) kinds = {""};
    for (const std::string& pmu : kinds) {
      if (const auto cycles = events::counter_on(machine_.resolver, kCycles, pmu)) {
        reference.counters.push_back({pmu, *cycles});
      }
    }
    return reference;
  }

  /// In all groups, or only where it is counted anyway; if that costs no group time on the PMU.
  Reference affordable(Reference cycles) {
    const bool asked = any([](const auto& group, config::Estimator estimator) {
      return group.is_multiplexed() && estimator == config::Estimator::kReference;
    });
    if (!may_be_multiplexed() && !asked) return {};
    const Shares alone = shares({});
    const bool are_multiplexed = std::any_of(
        alone.begin(), alone.end(), [](double share) { return share > 0 && share < kAllTheTime; });
    if (!are_multiplexed && !asked) return {};
    for (const bool joins_all : {true, false}) {
      cycles.joins_all = joins_all;
      const Shares with_cycles = shares(cycles);
      if (!all_still_run(alone, with_cycles)) continue;
      if (costs_nothing(alone, with_cycles) || (asked && !joins_all)) return cycles;
    }
    return {};
  }

  /// Whether two of our groups compete for a PMU.
  bool may_be_multiplexed() const {
    std::map<std::string, int> wanted;
    for (const PlannedGroup& planned : groups_) {
      const int copies = planned.scopes();
      for (const collect::GroupPlan& group : planned.counted.groups) {
        const bool counts = may_have_reference(group, planned.estimator, machine_.pmus());
        if (counts || group.mode.pinned) wanted[group.pmu] += copies;
      }
    }
    return std::any_of(wanted.begin(), wanted.end(),
                       [](const auto& pmu) { return pmu.second > 1; });
  }

  static bool all_still_run(const Shares& before, const Shares& after) {
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (before[i] > 0 && after[i] <= 0) return false;
    }
    return true;
  }

  static bool costs_nothing(const Shares& before, const Shares& after) {
    constexpr double kNoise = 0.95;
    return std::accumulate(after.begin(), after.end(), 0.0) >=
           kNoise * std::accumulate(before.begin(), before.end(), 0.0);
  }

  /// The PMU time of all groups if they are open at once, on whole CPUs instead of the cgroups,
  /// with `reference` in them and in parallel.
  Shares shares(const Reference& reference) {
    std::vector<perf::CounterGroup> parallel;
    std::vector<std::optional<perf::CounterGroup>> opened;
    for (const bool pinned : {true, false}) {
      for (const Scope scope : {Scope::kCpu, Scope::kCgroup}) {
        const collect::ScopePlan plan =
            with_auxiliary_counters(groups_, scope, reference, machine_);
        for (const collect::GroupPlan& group : plan.groups) {
          if (group.mode.pinned != pinned || !group.shares_pmu) continue;
          Result<perf::CounterGroup, perf::OpenFailure> open = perf::CounterGroup::open(
              machine_.kernel, group.events,
              machine_.trial_place(group.pmu, group.left_out_cpus, group.events), group.mode);
          if (!group.is_published) {
            if (open) parallel.push_back(std::move(*open));
          } else {
            opened.emplace_back();
            if (open) opened.back() = std::move(*open);
          }
        }
      }
    }
    std::this_thread::sleep_for(several_rounds());
    Shares shares;
    for (const auto& group : opened) shares.push_back(group ? share_of(*group) : 0);
    return shares;
  }

  /// In which each group is scheduled several times, even if each were alone on the PMU.
  std::chrono::nanoseconds several_rounds() const {
    constexpr int kRounds = 5;
    std::chrono::nanoseconds round{};
    for (const PlannedGroup& planned : groups_) {
      const int copies = planned.scopes();
      for (const collect::GroupPlan& group : planned.counted.groups) {
        if (group.is_multiplexed()) round += copies * group.mux_interval;
      }
    }
    return std::min(kRounds * round, kMaxTrial);
  }

  double share_of(const perf::CounterGroup& group) const {
    perf::GroupReading reading;
    const bool has_times = group.read(machine_.kernel, reading) &&
                           reading.state == perf::GroupReading::State::kCounting &&
                           reading.time_enabled.count() > 0;
    if (!has_times) return 0;
    return static_cast<double>(reading.time_running.count()) /
           static_cast<double>(reading.time_enabled.count());
  }

  static constexpr double kAllTheTime = 0.99;
  static constexpr std::chrono::nanoseconds kMaxTrial = std::chrono::milliseconds{500};
  std::span<const PlannedGroup> groups_;
  const Machine& machine_;
};

}  // namespace

Reference select_reference(std::span<const PlannedGroup> groups, const Machine& machine,
                           const Reference* in_force) {
  return ReferenceSelector{groups, machine}.select(in_force);
}

}  // namespace pex::plan
