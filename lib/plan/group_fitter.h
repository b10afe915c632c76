#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collect/counting_plan.h"
#include "perf/counter_group.h"
#include "perf/group_trial.h"
#include "perf/perf_kernel.h"
#include "plan/event_selector.h"
#include "plan/group_parts.h"
#include "plan/plan.h"
#include "plan/probe_cpus.h"

namespace pex::plan {

/// The second half of planning, from events to the groups that the kernel is asked for: one for
/// each PMU, in as few pieces as fit on it. Fills the counting plan; what had to be split or
/// dropped goes into the plan's remarks and events.
class GroupFitter {
 public:
  /// All outlive it. `in_force` as for make_plan.
  GroupFitter(const events::PmuCatalogue& pmus, perf::PerfKernel& kernel, const ProbeCpus& cpus,
              const Plan* in_force, Plan& plan);

  /// Groups and columns of either scope; none when it had to be dropped.
  collect::ScopePlan lay_out(const ChosenGroup& chosen);

  /// After the last group: those pinned ones that were held open meanwhile are closed.
  void release_pinned() { pinned_.clear(); }

 private:
  using Counters = std::vector<perf::CounterSpec>;
  std::vector<plan::GroupPart> parts_of(const ChosenGroup& chosen);
  static Counters counters_of(const ChosenGroup& chosen, const plan::GroupPart& part);
  void put_leaders_first(const ChosenGroup& chosen, plan::GroupPart& part) const;
  bool add_part(const ChosenGroup& chosen, const plan::GroupPart& part, collect::ScopePlan& layout);
  void set_pmu(collect::GroupPlan& planned, const plan::GroupPart& part,
               std::span<const perf::CounterSpec> events) const;
  std::optional<std::vector<perf::Piece>> pieces_of(const ChosenGroup& chosen,
                                                    const plan::GroupPart& part,
                                                    const Counters& events);
  std::optional<std::vector<perf::Piece>> pieces_by_trial(const ChosenGroup& chosen,
                                                          const plan::GroupPart& part,
                                                          const Counters& events,
                                                          const FittingGroup* in_force);
  const FittingGroup* in_force(const ChosenGroup& chosen, const plan::GroupPart& part,
                               const Counters& events) const;
  bool takes_its_place(const ChosenGroup& chosen, const plan::GroupPart& part,
                       const Counters& events);
  bool passes(const perf::Trial& trial) const;
  void say_split(const std::string& name, const Counters& events,
                 const std::vector<perf::Piece>& pieces);
  void drop(const ChosenGroup& chosen, const Error& reason);

  const events::PmuCatalogue& pmus_;
  perf::PerfKernel& kernel_;
  const ProbeCpus& cpus_;
  const Plan* in_force_;
  Plan& plan_;
  std::vector<perf::CounterGroup> pinned_;  ///< on the CPUs where they were tried
  std::vector<std::string> core_pmus_;
};

}  // namespace pex::plan
