#include "plan/group_fitter.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "base/aggregation.h"
#include "base/text.h"
#include "events/required_leader.h"
#include "plan/event_trial.h"
#include "plan/group_parts.h"

namespace pex::plan {
namespace {

using Counters = std::vector<perf::CounterSpec>;
using Pieces = std::vector<perf::Piece>;

/// An uncore PMU counts for its package; the CPU that reads it has no meaning.
Aggregation aggregation_of(const config::Group& group, bool is_uncore) {
  return group.aggregate.value_or(is_uncore ? Aggregation::kPackage : Aggregation::kCpu);
}

/// The part of a group that one kernel group could contain.
struct Part {
  const SelectedGroup& group;
  std::string pmu;                         ///< empty: on all CPUs
  std::vector<GroupPart::Member> members;  ///< in the order in which they are opened
  Counters counters;                       ///< of the members

  std::string name() const {
    return "group '" + group.group.name + "'" + (pmu.empty() ? "" : " on " + pmu);
  }
  /// Without what does not change how many counters fit.
  GroupIdentity identity(std::size_t reserve) const {
    GroupIdentity identity{pmu, group.mode, counters, reserve};
    for (perf::CounterSpec& each : identity.events) each.attributes.exclude_guest = false;
    return identity;
  }
  bool is_uncore(std::size_t member) const {
    return group.events[members[member].event].identity.is_uncore;
  }
};

Counters counters_of(const SelectedGroup& group, const std::vector<GroupPart::Member>& members) {
  Counters counters;
  for (const auto& [event, instance] : members) {
    const events::EventSpec& spec = group.events[event];
    counters.push_back({spec.identity.name, spec.instances[instance].attributes});
  }
  return counters;
}

/// Members are in the order of opening; columns stay in that of the configuration.
Part part_of(const SelectedGroup& group, const GroupPart& members,
             const events::PmuCatalogue& pmus) {
  Part part{group, members.pmu, {}, {}};
  const Counters as_configured = counters_of(group, members.members);
  for (const std::size_t member : events::leaders_first(pmus, as_configured).order) {
    part.members.push_back(members.members[member]);
  }
  part.counters = counters_of(group, part.members);
  return part;
}

/// `remedy`, with a hint at the free counters.
Remedy with_doctor(Remedy remedy) {
  return std::move(remedy) + "; " + ProgramTerm::kDoctor + " reports how many counters are free";
}

/// For a group that must not be split. Its first `together` events are never separated.
Error does_not_fit(const Part& part, const perf::Trial& trial, std::size_t together) {
  const std::size_t events = part.counters.size();
  const std::string what =
      part.name() + " does not fit on the PMU with its " + std::to_string(events) + " events";
  if (events > 1 && events == together) {
    return Error{0, what + ", which must be counted together",
                 with_doctor("put fewer events in it")};
  }
  if (events > 1) {
    return Error{0, what, "put fewer events in one group, or allow the split with weak: true"};
  }
  if (trial.failure) {
    const Error& error = trial.failure->error;
    return Error{error.code, {}, error.remedy, error.cause};
  }
  return Error{0, part.name() + " was never scheduled on the PMU",
               with_doctor("stop what uses its counters")};
}

Error has_no_place(const Part& part, int copy) {
  const bool is_second = copy > 0;
  return Error{
      0,
      "pinned " + part.name() +
          (is_second ? " fits on the PMU for scope cpu, but not for scope cgroup as well"
                     : " does not fit on the PMU"),
      with_doctor(is_second ? "pin fewer events, or count them in one scope" : "pin fewer events")};
}

Error leaves_too_few(const Part& part, std::size_t reserve) {
  return Error{0,
               part.name() + " does not fit on the PMU with the groups before it and " +
                   number_of(reserve, "free counter") + " (pmu.reserve)",
               with_doctor("count fewer events, or lower pmu.reserve")};
}

/// The warning about the pieces that a part was split into.
std::vector<Error> split_warnings(const Part& part, const Pieces& pieces) {
  std::string list;
  std::string never_counted;
  std::size_t next = 0;
  for (const perf::Piece& piece : pieces) {
    list += list.empty() ? "{" : " {";
    for (std::size_t i = 0; i < piece.events; ++i, ++next) {
      const std::string& event = part.counters[next].name;
      list += (i == 0 ? "" : ", ") + event;
      if (!piece.counts) never_counted += (never_counted.empty() ? "" : ", ") + event;
    }
    list += '}';
  }
  std::vector<Error> warnings;
  if (pieces.size() > 1) {
    warnings.push_back(Error{
        0, part.name() + " does not fit on the PMU at once, so it is counted as " + list,
        "put related events into one group, because the pieces are counted at different times"});
  }
  if (!never_counted.empty()) {
    warnings.push_back(Error{
        0,
        "in " + part.name() +
            ", these were never scheduled on the PMU even alone: " + never_counted,
        with_doctor("none if the PMU cannot count them; otherwise stop what uses its counters")});
  }
  return warnings;
}

/// Whether the group can lose the PMU, and for how long at a time; and what its PMU requires.
void set_pmu(collect::GroupPlan& planned, const events::PmuCatalogue& pmus) {
  for (const perf::CounterSpec& event : planned.events) {
    const bool is_led = events::required_leader(pmus, event.attributes).has_value();
    planned.needs_its_leader = planned.needs_its_leader || is_led;
    if (pmus.always_counts(event.attributes.type)) continue;
    planned.shares_pmu = true;
    const events::Pmu* pmu =
        planned.pmu.empty() ? pmus.counting(event.attributes.type) : pmus.find(planned.pmu);
    if (pmu != nullptr && pmu->mux_interval_ms.value_or(0) > 0) {
      planned.mux_interval = std::chrono::milliseconds{*pmu->mux_interval_ms};
    }
  }
}

/// One kernel group for each piece, and the published events of each.
void add_pieces(const Part& part, const Pieces& pieces, const events::PmuCatalogue& pmus,
                collect::ScopePlan& plan) {
  std::size_t next = 0;
  std::size_t number = 0;
  for (const perf::Piece& piece : pieces) {
    collect::GroupPlan planned;
    planned.name = part.group.group.name + (++number == 1 ? "" : "/" + std::to_string(number));
    planned.pmu = part.pmu;
    planned.left_out_cpus = part.group.left_out_cpus;
    planned.mode = part.group.mode;
    planned.aggregation = aggregation_of(part.group.group, part.is_uncore(next));
    for (std::size_t i = 0; i < piece.events; ++i, ++next) {
      plan.columns[part.members[next].event].parts.push_back({plan.groups.size(), i});
      planned.events.push_back(part.counters[next]);
    }
    set_pmu(planned, pmus);
    plan.groups.push_back(std::move(planned));
  }
}

/// Groups of software events take no counter from others, so they count all the time; returns a
/// warning if the group has nothing else.
std::optional<Error> set_duty_cycle(const config::Group& configured, double shift,
                                    collect::ScopePlan& plan) {
  if (!configured.duty_cycle || plan.groups.empty()) return {};
  bool has_one = false;
  for (collect::GroupPlan& group : plan.groups) {
    if (!group.shares_pmu) continue;
    group.duty_cycle = {configured.duty_cycle->on, configured.duty_cycle->every, shift};
    has_one = true;
  }
  if (has_one) return {};
  return Error{0,
               "group '" + configured.name +
                   "' has a duty cycle and no hardware event, so it counts all the time",
               "remove its duty_cycle"};
}

/// Tries on the kernel how groups fit. Pinned ones stay open until the end: they take counters from
/// the others, and from each other. With a reserve, so do all others.
class GroupFitter {
 public:
  GroupFitter(const Machine& machine, const std::vector<GroupFit>* in_force, std::size_t reserve);

  /// Groups and columns of either scope. Fails if the group must be dropped.
  Result<collect::ScopePlan> fit(const SelectedGroup& group);

  std::vector<GroupFit> take_fits() { return std::move(fits_); }
  std::vector<Error> take_warnings() { return std::move(warnings_); }

 private:
  std::vector<std::string> kinds_of_cores(const SelectedGroup& group) const;
  Result<std::vector<GroupPart>> parts_of(const SelectedGroup& group) const;
  Result<Pieces> fit_part(const Part& part);
  const GroupFit* in_force(const Part& part) const;
  Result<Pieces> try_pieces(const Part& part, const GroupFit* in_force, bool& is_assumed);
  Result<Pieces> try_pinned(const Part& part, bool& is_assumed);
  const events::Pmu* core_of(const Part& part) const;
  void hold_reserve(const events::Pmu& core, const perf::Place& place);
  perf::Place place_of(const Part& part) const;
  bool passes(const Part& part, const perf::Trial& trial) const;

  const Machine& machine_;
  const std::vector<GroupFit>* in_force_;
  std::vector<std::string> core_pmus_;
  std::vector<perf::CounterGroup> pinned_;  ///< on the CPUs where they were tried
  std::size_t reserve_;
  std::map<int, std::vector<perf::CounterGroup>> reserved_;  ///< counters in use, by CPU
  std::vector<GroupFit> fits_;
  std::vector<Error> warnings_;
};

GroupFitter::GroupFitter(const Machine& machine, const std::vector<GroupFit>* in_force,
                         std::size_t reserve)
    : machine_(machine), in_force_(in_force), reserve_(reserve) {
  for (const events::Pmu* pmu : machine.pmus().core_pmus()) core_pmus_.push_back(pmu->name);
}

Result<collect::ScopePlan> GroupFitter::fit(const SelectedGroup& group) {
  collect::ScopePlan plan;
  for (const events::EventSpec& event : group.events) {
    plan.columns.push_back(
        {event.identity, aggregation_of(group.group, event.identity.is_uncore), {}});
  }
  const Result<std::vector<GroupPart>> parts = parts_of(group);
  if (!parts) return parts.error();
  const auto held = static_cast<std::ptrdiff_t>(pinned_.size());
  for (const GroupPart& members : *parts) {
    if (machine_.probe_cpus.leave_out(members.pmu, group.left_out_cpus)) continue;
    const Part part = part_of(group, members, machine_.pmus());
    const Result<Pieces> pieces = fit_part(part);
    if (!pieces) {  // a part of a group is not the group
      pinned_.erase(pinned_.begin() + held, pinned_.end());
      return pieces.error();
    }
    add_pieces(part, *pieces, machine_.pmus(), plan);
  }
  if (auto warning = set_duty_cycle(group.group, machine_.duty_cycle_shift, plan)) {
    warnings_.push_back(std::move(*warning));
  }
  std::erase_if(plan.columns, [](const auto& column) { return column.parts.empty(); });
  return plan;
}

/// Of a hybrid machine, without those of which all CPUs are left out; else none.
std::vector<std::string> GroupFitter::kinds_of_cores(const SelectedGroup& group) const {
  std::vector<std::string> kinds;
  if (core_pmus_.size() < 2) return kinds;
  std::copy_if(core_pmus_.begin(), core_pmus_.end(), std::back_inserter(kinds),
               [&](const std::string& pmu) {
                 return !machine_.probe_cpus.leave_out(pmu, group.left_out_cpus);
               });
  return kinds;
}

/// The kernel groups of one configured group. Two kinds of cores on a hybrid machine are no split:
/// each CPU has all events.
Result<std::vector<GroupPart>> GroupFitter::parts_of(const SelectedGroup& group) const {
  std::vector<GroupPart> parts = parts_by_pmu(group.events, kinds_of_cores(group));
  const auto is_core = [&](const GroupPart& part) {
    return std::find(core_pmus_.begin(), core_pmus_.end(), part.pmu) != core_pmus_.end();
  };
  const bool across_pmus = parts.size() > 1 && !std::all_of(parts.begin(), parts.end(), is_core);
  if (!across_pmus || group.group.weak) return parts;
  std::string pmus;
  for (const GroupPart& part : parts) {
    pmus += (pmus.empty() ? "" : ", ") + (part.pmu.empty() ? "those of every CPU" : part.pmu);
  }
  return Error{0, "events of several PMUs cannot be one group: " + pmus,
               "put them into separate groups, or allow the split with weak: true"};
}

/// The pieces in which the part fits on the PMU. Fails if the group must be dropped.
Result<Pieces> GroupFitter::fit_part(const Part& part) {
  GroupFit fit{part.group.group.name, part.identity(reserve_), {}};
  Result<Pieces> pieces = try_pieces(part, in_force(part), fit.is_assumed);
  if (pieces) {
    for (Error& warning : split_warnings(part, *pieces)) {
      warnings_.push_back(std::move(warning));
    }
    fit.pieces = *pieces;
  } else {
    fit.dropped = pieces.error();
  }
  fits_.push_back(std::move(fit));
  return pieces;
}

/// The same group in the plan in force; null if there is none. Its counters are closed before its
/// successor's are opened, so what fitted then fits again, whatever a trial in parallel shows.
const GroupFit* GroupFitter::in_force(const Part& part) const {
  if (in_force_ == nullptr) return nullptr;
  const GroupIdentity identity = part.identity(reserve_);
  const auto found = std::find_if(in_force_->begin(), in_force_->end(), [&](const GroupFit& fit) {
    return fit.name == part.group.group.name && fit.identity == identity;
  });
  return found == in_force_->end() ? nullptr : &*found;
}

Result<Pieces> GroupFitter::try_pieces(const Part& part, const GroupFit* in_force,
                                       bool& is_assumed) {
  if (in_force != nullptr && in_force->is_assumed) in_force = nullptr;
  const bool fitted = in_force != nullptr && !in_force->pieces.empty();
  const perf::GroupMode mode = part.group.mode;
  if (mode.pinned && fitted) return in_force->pieces;
  if (mode.pinned || (reserve_ > 0 && core_of(part) != nullptr)) {
    return try_pinned(part, is_assumed);
  }

  const Pieces whole = {{part.counters.size(), true}};
  is_assumed = machine_.is_waiting(part.pmu);
  if (is_assumed) return fitted ? in_force->pieces : whole;
  const bool is_weak = part.group.group.weak;  // another one than in force, perhaps
  if (is_weak && !machine_.probe_cpus.open_together(machine_.kernel, part.pmu, part.counters,
                                                    part.group.left_out_cpus)) {
    return Pieces(part.counters.size(), {1, true});
  }
  const perf::Place place = place_of(part);
  const perf::Trial trial = perf::try_group(machine_.kernel, part.counters, place, mode);
  if (trial.outcome == perf::Trial::Outcome::kCounts) return whole;
  if (fitted && (is_weak || in_force->pieces.size() == 1)) return in_force->pieces;
  if (in_force != nullptr && !fitted && !is_weak) return in_force->dropped;
  is_assumed = in_force == nullptr && passes(part, trial);
  if (is_assumed) return whole;
  if (trial.failure && trial.failure->error.code == ENOSPC) {  // slots: pieces need as many
    return Error{ENOSPC, part.name() + " needs more slots than there are",
                 trial.failure->error.remedy, trial.failure->error.cause};
  }
  const std::size_t together = events::leaders_first(machine_.pmus(), part.counters).together;
  if (!is_weak || (trial.failure && part.counters.size() == together)) {
    return does_not_fit(part, trial, together);
  }
  return perf::split_to_fit(machine_.kernel, part.counters, place, mode, together);
}

/// A pinned group is on the PMU as a whole and all the time, or not at all, so it is not split. In
/// scope cgroup it takes its counters a second time. With a reserve, this holds for each group.
Result<Pieces> GroupFitter::try_pinned(const Part& part, bool& is_assumed) {
  is_assumed = machine_.is_waiting(part.pmu);
  if (is_assumed) return Pieces{{part.counters.size(), true}};
  const perf::Place place = place_of(part);
  const events::Pmu* const core = reserve_ > 0 ? core_of(part) : nullptr;
  if (core != nullptr) hold_reserve(*core, place);
  const perf::GroupMode mode{.pinned = true, .exclusive = part.group.mode.exclusive};
  const config::Group& group = part.group.group;
  const int copies = group.cpu_scope && group.cgroup_scope ? 2 : 1;
  for (int copy = 0; copy < copies; ++copy) {
    perf::Trial trial = perf::try_group(machine_.kernel, part.counters, place, mode);
    // A trial displaces the counters in force that are not pinned.
    const bool has_room = core == nullptr || trial.outcome != perf::Trial::Outcome::kNeverScheduled;
    if (!has_room || !passes(part, trial)) {
      return core == nullptr ? has_no_place(part, copy) : leaves_too_few(part, reserve_);
    }
    is_assumed = is_assumed || trial.outcome != perf::Trial::Outcome::kCounts;
    if (trial.group) pinned_.push_back(std::move(*trial.group));
  }
  return Pieces{{part.counters.size(), true}};
}

/// The core PMU whose counters the part takes; null: it takes none.
const events::Pmu* GroupFitter::core_of(const Part& part) const {
  for (const perf::CounterSpec& event : part.counters) {
    const std::uint32_t type = event.attributes.type;
    if (machine_.pmus().always_counts(type)) continue;
    const events::Pmu* const pmu =
        part.pmu.empty() ? machine_.pmus().counting(type) : machine_.pmus().find(part.pmu);
    if (pmu != nullptr && std::ranges::find(core_pmus_, pmu->name) != core_pmus_.end()) return pmu;
  }
  return nullptr;
}

/// As another program would, which holds as many counters as are to stay free.
void GroupFitter::hold_reserve(const events::Pmu& core, const perf::Place& place) {
  const auto [at, is_first] = reserved_.try_emplace(place.cpu);
  if (!is_first) return;
  const auto event = general_event(machine_.kernel, machine_.resolver, core, place);
  while (event && at->second.size() < reserve_) {
    perf::Trial trial = perf::try_group(machine_.kernel, {&*event, 1}, place, {.pinned = true});
    if (trial.outcome != perf::Trial::Outcome::kCounts) return;
    at->second.push_back(std::move(*trial.group));
  }
}

perf::Place GroupFitter::place_of(const Part& part) const {
  return machine_.trial_place(part.pmu, part.group.left_out_cpus, part.counters);
}

/// The polls handle what may differ when the group is finally opened. At a reload, events of a
/// group that lacks a right are in force (select_events()). On a hybrid machine, a thread may not
/// have run on the CPUs of the PMU.
bool GroupFitter::passes(const Part& part, const perf::Trial& trial) const {
  switch (trial.outcome) {
    case perf::Trial::Outcome::kCounts:
      return true;
    case perf::Trial::Outcome::kRefused: {
      const int code = trial.failure->error.code;
      const GroupFit* const before = in_force(part);
      if (code == ENOSPC) return before != nullptr && before->is_assumed;  // it may hold the slots
      return !is_lasting(code) || (in_force_ != nullptr && is_about_rights(code));
    }
    case perf::Trial::Outcome::kNeverScheduled:
      return in_force_ != nullptr ||
             (machine_.counts_tasks && core_pmus_.size() > 1 && !part.pmu.empty());
  }
  return false;
}

}  // namespace

FittedGroups fit_groups(std::span<const SelectedGroup> groups, const Machine& machine,
                        const std::vector<GroupFit>* in_force, std::size_t reserve) {
  GroupFitter fitter{machine, in_force, reserve};
  FittedGroups fitted;
  std::vector<std::optional<PlannedGroup>> plans(groups.size());
  for (const bool pinned : {true, false}) {
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (groups[i].mode.pinned != pinned) continue;
      const config::Group& group = groups[i].group;
      Result<collect::ScopePlan> plan = fitter.fit(groups[i]);
      if (plan) {
        plans[i] = {group.name, group.cpu_scope, group.cgroup_scope, group.estimator,
                    std::move(*plan)};
      } else {
        fitted.dropped.push_back(
            {group.name, group.cpu_scope, group.cgroup_scope, std::move(plan.error())});
      }
    }
  }
  for (std::optional<PlannedGroup>& plan : plans) {
    if (plan) fitted.plans.push_back(std::move(*plan));
  }
  fitted.fits = fitter.take_fits();
  fitted.warnings = fitter.take_warnings();
  return fitted;
}

std::vector<EventAvailability> without_dropped(std::vector<EventAvailability> events,
                                               std::span<const DroppedGroup> dropped) {
  for (const DroppedGroup& group : dropped) {
    for (EventAvailability& event : events) {
      const bool is_member = event.group == group.name && event.cpu_scope == group.cpu_scope &&
                             event.cgroup_scope == group.cgroup_scope;
      if (!is_member || !event.available) continue;
      event.available = false;
      event.reason = group.reason;
    }
  }
  return events;
}

}  // namespace pex::plan
