#include "collect/learning.h"

#include <algorithm>

namespace pex::collect {
namespace {

using ScopeLessons = PerEvent<estimate::ModelUpdate> PollLessons::*;

void learn_scope(PerEvent<estimate::EventModel>& models,
                 std::span<const PollLessons* const> lessons, ScopeLessons scope) {
  for (std::size_t group = 0; group < models.size(); ++group) {
    for (std::size_t event = 0; event < models[group].size(); ++event) {
      estimate::ModelUpdate all;
      for (const PollLessons* of_cpu : lessons) all.add((of_cpu->*scope)[group][event]);
      models[group][event].learn(all);
    }
  }
}

}  // namespace

void PollLessons::clear() {
  for (PerEvent<estimate::ModelUpdate>* scope : {&cpu, &cgroup}) {
    for (std::vector<estimate::ModelUpdate>& group : *scope) {
      std::fill(group.begin(), group.end(), estimate::ModelUpdate{});
    }
  }
}

void EventModels::learn(std::span<const PollLessons* const> lessons) {
  learn_scope(cpu, lessons, &PollLessons::cpu);
  learn_scope(cgroup, lessons, &PollLessons::cgroup);
  kernel_mistimes = kernel_mistimes ||
                    std::any_of(lessons.begin(), lessons.end(),
                                [](const PollLessons* of_cpu) { return of_cpu->kernel_mistimes; });
}

}  // namespace pex::collect
