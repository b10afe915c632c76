#include "count/learning.h"

#include <algorithm>
#include <utility>

namespace pex::collect {
namespace {

using UpdateOfScope = PerEvent<estimate::ModelUpdate> ModelUpdates::*;

void learn_scope(PerEvent<estimate::EventModel>& models,
                 std::span<const ModelUpdates* const> updates, UpdateOfScope scope) {
  for (std::size_t group = 0; group < models.size(); ++group) {
    for (std::size_t event = 0; event < models[group].size(); ++event) {
      estimate::ModelUpdate all;
      for (const ModelUpdates* of_cpu : updates) all.add((of_cpu->*scope)[group][event]);
      models[group][event].learn(all);
    }
  }
}

}  // namespace

std::vector<std::optional<double>> reference_weights(
    const std::vector<estimate::EventModel>& models) {
  std::vector<std::optional<double>> weights;
  for (const estimate::EventModel& model : models) {
    const bool has_learned = model.reference_rate() > 0;
    weights.push_back(has_learned ? std::optional(model.reference_weight()) : std::nullopt);
  }
  return weights;
}

void ModelUpdates::clear() {
  if (!std::exchange(has_learned, false)) return;
  for (PerEvent<estimate::ModelUpdate>* scope : {&cpu, &cgroup}) {
    for (std::vector<estimate::ModelUpdate>& group : *scope) {
      std::fill(group.begin(), group.end(), estimate::ModelUpdate{});
    }
  }
}

void EventModels::follow(const CountingPlan& before, const CountingPlan& now) {
  const auto blank = [](const GroupPlan& group) {
    return std::vector<estimate::EventModel>(group.estimated());
  };
  follow_groups(before.cpu, now.cpu, cpu, blank);
  follow_groups(before.cgroup, now.cgroup, cgroup, blank);
}

void EventModels::learn(std::span<const ModelUpdates* const> updates) {
  learn_scope(cpu, updates, &ModelUpdates::cpu);
  learn_scope(cgroup, updates, &ModelUpdates::cgroup);
  kernel_mistimes = kernel_mistimes ||
                    std::any_of(updates.begin(), updates.end(),
                                [](const ModelUpdates* of_cpu) { return of_cpu->kernel_mistimes; });
}

}  // namespace pex::collect
