#pragma once

#include <optional>
#include <span>
#include <vector>

#include "estimate/event_model.h"
#include "targets/counting_plan.h"

namespace pex::collect {

/// A value for each estimated event: [group of the scope][event of the group].
template <typename T>
using PerEvent = std::vector<std::vector<T>>;

template <typename T>
PerEvent<T> for_each_event(const ScopePlan& plan) {
  PerEvent<T> all;
  for (const GroupPlan& group : plan.groups) all.emplace_back(group.estimated());
  return all;
}

/// The statistics of one CPU for the models, from one poll or reconciliation.
struct ModelUpdates {
  explicit ModelUpdates(const CountingPlan& plan)
      : cpu(for_each_event<estimate::ModelUpdate>(plan.cpu)),
        cgroup(for_each_event<estimate::ModelUpdate>(plan.cgroup)) {}

  PerEvent<estimate::ModelUpdate> cpu;
  PerEvent<estimate::ModelUpdate> cgroup;
  bool kernel_mistimes = false;  ///< known before, or seen in this poll (estimate::Interval)
  bool has_learned = false;      ///< false: nothing but exact counts, which add nothing

  void clear();
};

/// As GroupTable has them.
std::vector<std::optional<double>> reference_weights(
    const std::vector<estimate::EventModel>& models);

/// What was learned about each event from all its targets on all CPUs. Workers read it during a
/// poll; it is updated between two polls.
struct EventModels {
  explicit EventModels(const CountingPlan& plan)
      : cpu(for_each_event<estimate::EventModel>(plan.cpu)),
        cgroup(for_each_event<estimate::EventModel>(plan.cgroup)) {}

  PerEvent<estimate::EventModel> cpu;
  PerEvent<estimate::EventModel> cgroup;
  bool kernel_mistimes = false;  ///< some CPU has seen it

  /// Those of the groups that both plans have stay.
  void follow(const CountingPlan& before, const CountingPlan& now);

  /// From all CPUs at once, so that the order of the CPUs has no effect.
  void learn(std::span<const ModelUpdates* const> updates);
};

}  // namespace pex::collect
