#include "plan/group_fitter.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "events/required_leader.h"
#include "plan/event_trial.h"

namespace pex::plan {
namespace {

/// What an uncore PMU counts is of its package; which CPU reads it means nothing.
Aggregation aggregation_of(const config::Group& group, bool is_uncore) {
  return group.aggregate.value_or(is_uncore ? Aggregation::kPackage : Aggregation::kCpu);
}

std::string name_of(const ChosenGroup& chosen, const plan::GroupPart& part) {
  return "group '" + chosen.group.name + "'" + (part.pmu.empty() ? "" : " on " + part.pmu);
}

/// Of a group that is not to be split.
Error does_not_fit(const std::string& group, const perf::Trial& trial, std::size_t events,
                   std::size_t together) {
  if (events > 1 && events == together) {
    return Error{
        0,
        group + " does not fit on the PMU with its " + std::to_string(events) +
            " events, which are counted together only",
        "put fewer events in it; " + ProgramTerm::kDoctor + " tells how many counters are free"};
  }
  if (events == 1) {
    return trial.failure ? Error{trial.failure->error.code, {}, trial.failure->error.remedy}
                         : Error{0, group + " has no turn on the PMU",
                                 "stop what holds its counters: " + ProgramTerm::kDoctor +
                                     " tells how many are free"};
  }
  return Error{0, group + " does not fit on the PMU with its " + std::to_string(events) + " events",
               "put fewer events in one group, or allow the split with weak: true"};
}

Error has_no_place(const std::string& group, int copy) {
  return Error{0,
               "pinned " + group + " has no place on the PMU" +
                   (copy == 0 ? "" : " for its cgroups next to that for the CPUs"),
               Remedy(ProgramTerm::kDoctor) +
                   " tells how many counters are free; pin fewer events" +
                   (copy == 0 ? "" : ", or count them in one scope")};
}

}  // namespace

GroupFitter::GroupFitter(const events::PmuCatalogue& pmus, perf::PerfKernel& kernel,
                         const ProbeCpus& cpus, const Plan* in_force, Plan& plan)
    : pmus_(pmus), kernel_(kernel), cpus_(cpus), in_force_(in_force), plan_(plan) {
  for (const events::Pmu* pmu : pmus.core_pmus()) core_pmus_.push_back(pmu->name);
}

collect::ScopePlan GroupFitter::lay_out(const ChosenGroup& chosen) {
  collect::ScopePlan layout;
  for (const events::EventSpec& event : chosen.events) {
    layout.columns.push_back(
        {event.identity, aggregation_of(chosen.group, event.identity.is_uncore), {}});
  }
  const auto held = static_cast<std::ptrdiff_t>(pinned_.size());
  for (plan::GroupPart& part : parts_of(chosen)) {
    if (cpus_.leave_out(part.pmu, chosen.left_out_cpus)) continue;
    put_leaders_first(chosen, part);
    if (add_part(chosen, part, layout)) continue;
    pinned_.erase(pinned_.begin() + held, pinned_.end());
    return {};  // a part of a group would not be the group
  }
  std::erase_if(layout.columns,
                [](const collect::PublishedEvent& column) { return column.parts.empty(); });
  return layout;
}

/// Kernel groups that hold what was written as one. That a hybrid machine has two kinds of cores is
/// no split: each CPU has all events.
std::vector<plan::GroupPart> GroupFitter::parts_of(const ChosenGroup& chosen) {
  std::vector<plan::GroupPart> parts = plan::parts_by_pmu(chosen.events, core_pmus_);
  const auto is_core = [&](const plan::GroupPart& part) {
    return std::find(core_pmus_.begin(), core_pmus_.end(), part.pmu) != core_pmus_.end();
  };
  const bool across_pmus = parts.size() > 1 && !std::all_of(parts.begin(), parts.end(), is_core);
  if (!across_pmus || chosen.group.weak) return parts;
  std::string pmus;
  for (const plan::GroupPart& part : parts) {
    pmus += (pmus.empty() ? "" : ", ") + (part.pmu.empty() ? "those of every CPU" : part.pmu);
  }
  drop(chosen, Error{0, "events of several PMUs cannot be one group: " + pmus,
                     "put them into groups of their own, or allow the split with weak: true"});
  return {};
}

GroupFitter::Counters GroupFitter::counters_of(const ChosenGroup& chosen,
                                               const plan::GroupPart& part) {
  Counters events;
  for (const auto& [event, instance] : part.members) {
    const events::EventSpec& spec = chosen.events[event];
    events.push_back({spec.identity.name, spec.instances[instance].attributes});
  }
  return events;
}

/// In the order in which the kernel opens them; columns stay in that of the configuration.
void GroupFitter::put_leaders_first(const ChosenGroup& chosen, plan::GroupPart& part) const {
  std::vector<plan::GroupPart::Member> ordered;
  for (const std::size_t member : events::leaders_first(pmus_, counters_of(chosen, part)).order) {
    ordered.push_back(part.members[member]);
  }
  part.members = std::move(ordered);
}

/// False when it had to be dropped.
bool GroupFitter::add_part(const ChosenGroup& chosen, const plan::GroupPart& part,
                           collect::ScopePlan& layout) {
  Counters events = counters_of(chosen, part);
  std::size_t next = 0;
  std::size_t number = 0;
  const std::optional<std::vector<perf::Piece>> pieces = pieces_of(chosen, part, events);
  if (!pieces) return false;
  for (const perf::Piece& piece : *pieces) {
    collect::GroupPlan planned;
    planned.name = chosen.group.name + (++number == 1 ? "" : "/" + std::to_string(number));
    planned.pmu = part.pmu;
    planned.left_out_cpus = chosen.left_out_cpus;
    planned.mode = chosen.mode;
    set_pmu(planned, part, std::span(events).subspan(next, piece.events));
    planned.aggregation =
        aggregation_of(chosen.group, chosen.events[part.members[next].event].identity.is_uncore);
    for (std::size_t i = 0; i < piece.events; ++i, ++next) {
      layout.columns[part.members[next].event].parts.push_back({layout.groups.size(), i});
      planned.events.push_back(std::move(events[next]));
    }
    layout.groups.push_back(std::move(planned));
  }
  return true;
}

/// Whether the group can lose the PMU, and for how long at a time.
void GroupFitter::set_pmu(collect::GroupPlan& planned, const plan::GroupPart& part,
                          std::span<const perf::CounterSpec> events) const {
  for (const perf::CounterSpec& event : events) {
    if (pmus_.always_counts(event.attributes.type)) continue;
    planned.shares_pmu = true;
    const events::Pmu* pmu =
        part.pmu.empty() ? pmus_.counting(event.attributes.type) : pmus_.find(part.pmu);
    if (pmu != nullptr && pmu->mux_interval_ms.value_or(0) > 0) {
      planned.slot = std::chrono::milliseconds{*pmu->mux_interval_ms};
    }
  }
}

/// The pieces in which the part fits on the PMU; nothing when it must be dropped, which then has
/// been said.
std::optional<std::vector<perf::Piece>> GroupFitter::pieces_of(const ChosenGroup& chosen,
                                                               const plan::GroupPart& part,
                                                               const Counters& events) {
  std::optional<std::vector<perf::Piece>> pieces =
      pieces_by_trial(chosen, part, events, in_force(chosen, part, events));
  FittingGroup tried{chosen.group.name, part.pmu, chosen.mode, events, {}};
  if (pieces) {
    say_split(name_of(chosen, part), events, *pieces);
    tried.pieces = *pieces;
  } else {
    tried.left_out = plan_.events[chosen.availability.front()].reason;
  }
  plan_.fitting.push_back(std::move(tried));
  return pieces;
}

/// The same group in force; null when there is none. Its counters are closed before its
/// successor's are opened, so what fitted then fits again, whatever a trial beside them says.
const FittingGroup* GroupFitter::in_force(const ChosenGroup& chosen, const plan::GroupPart& part,
                                          const Counters& events) const {
  if (in_force_ == nullptr) return nullptr;
  const auto same = [&](const FittingGroup& group) {
    return group.name == chosen.group.name && group.pmu == part.pmu && group.mode == chosen.mode &&
           group.events == events;
  };
  const auto found = std::find_if(in_force_->fitting.begin(), in_force_->fitting.end(), same);
  return found == in_force_->fitting.end() ? nullptr : &*found;
}

std::optional<std::vector<perf::Piece>> GroupFitter::pieces_by_trial(const ChosenGroup& chosen,
                                                                     const plan::GroupPart& part,
                                                                     const Counters& events,
                                                                     const FittingGroup* in_force) {
  const std::vector<perf::Piece> whole = {{events.size(), true}};
  if (chosen.mode.pinned) {
    if (in_force != nullptr && !in_force->pieces.empty()) return in_force->pieces;
    if (!takes_its_place(chosen, part, events)) return {};
    return whole;
  }
  const perf::Place place{cpus_.of(part.pmu, chosen.left_out_cpus), -1, {}};
  const perf::Trial trial = perf::try_group(kernel_, events, place, chosen.mode);
  if (trial.outcome == perf::Trial::Outcome::kCounts) return whole;
  if (in_force != nullptr && !in_force->pieces.empty()) return in_force->pieces;
  if (in_force != nullptr) {
    drop(chosen, in_force->left_out);
    return {};
  }
  if (passes(trial)) return whole;
  const std::string name = name_of(chosen, part);
  if (trial.failure && trial.failure->error.code == ENOSPC) {  // slots: pieces need as many
    drop(chosen,
         Error{ENOSPC, name + " needs more slots than there are", trial.failure->error.remedy});
    return {};
  }
  const std::size_t together = events::leaders_first(pmus_, events).together;
  if (!chosen.group.weak || (trial.failure && events.size() == together)) {
    drop(chosen, does_not_fit(name, trial, events.size(), together));
    return {};
  }
  return perf::split_to_fit(kernel_, events, place, chosen.mode, together);
}

/// A pinned group is on the PMU as a whole and all the time, or not at all, so it is not split. In
/// scope cgroup it takes the counters once more, next to those for the CPU.
bool GroupFitter::takes_its_place(const ChosenGroup& chosen, const plan::GroupPart& part,
                                  const Counters& events) {
  const perf::Place place{cpus_.of(part.pmu, chosen.left_out_cpus), -1, {}};
  const int copies = chosen.group.cpu_scope && chosen.group.cgroup_scope ? 2 : 1;
  for (int copy = 0; copy < copies; ++copy) {
    perf::Trial trial = perf::try_group(kernel_, events, place, chosen.mode);
    if (!passes(trial)) {
      drop(chosen, has_no_place(name_of(chosen, part), copy));
      return false;
    }
    if (trial.group) pinned_.push_back(std::move(*trial.group));
  }
  return true;
}

/// What may be different by the time the group is opened for good is left to the polls.
bool GroupFitter::passes(const perf::Trial& trial) const {
  switch (trial.outcome) {
    case perf::Trial::Outcome::kCounts:
      return true;
    case perf::Trial::Outcome::kRefused:
      return trial.failure->error.code != ENOSPC && !is_lasting(trial.failure->error.code);
    case perf::Trial::Outcome::kNeverScheduled:
      return in_force_ != nullptr;
  }
  return false;
}

void GroupFitter::say_split(const std::string& name, const Counters& events,
                            const std::vector<perf::Piece>& pieces) {
  std::string list;
  std::string without_turn;
  std::size_t next = 0;
  for (const perf::Piece& piece : pieces) {
    list += list.empty() ? "{" : " {";
    for (std::size_t i = 0; i < piece.events; ++i, ++next) {
      list += (i == 0 ? "" : ", ") + events[next].name;
      if (!piece.counts) without_turn += (without_turn.empty() ? "" : ", ") + events[next].name;
    }
    list += '}';
  }
  if (pieces.size() > 1) {
    plan_.remarks.push_back(
        Error{0, name + " does not fit on the PMU at once, so it is counted as " + list,
              "make groups of what belongs together, as what is in different pieces is counted at "
              "different moments"});
  }
  if (!without_turn.empty()) {
    plan_.remarks.push_back(
        Error{0, "in " + name + ", these had no turn on the PMU even alone: " + without_turn,
              "none if the PMU cannot count them; else stop what holds its counters: " +
                  ProgramTerm::kDoctor + " tells how many are free"});
  }
}

void GroupFitter::drop(const ChosenGroup& chosen, const Error& reason) {
  for (const std::size_t index : chosen.availability) {
    plan_.events[index].available = false;
    plan_.events[index].reason = reason;
  }
}

}  // namespace pex::plan
