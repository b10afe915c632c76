#include "targets/counting_plan.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <set>

namespace pex::collect {

std::vector<std::string> pmus_of(const CountingPlan& plan) {
  std::set<std::string> pmus;
  for (const ScopePlan* scope : {&plan.cpu, &plan.cgroup}) {
    for (const GroupPlan& group : scope->groups) {
      if (!group.pmu.empty()) pmus.insert(group.pmu);
    }
  }
  return {pmus.begin(), pmus.end()};
}

bool has_probe_in_file(const GroupPlan& group) {
  return std::any_of(group.events.begin(), group.events.end(), [](const perf::CounterSpec& event) {
    return event.attributes.probe.starts_with('/');
  });
}

namespace {

/// Whether both are the same but for their ids and duty cycles, and for where in the plan the
/// groups are that they are estimated by.
bool is_counted_alike(const GroupPlan& one, GroupPlan other) {
  const auto& places = one.auxiliary;
  if (places.always_on.has_value() != other.auxiliary.always_on.has_value() ||
      places.reference_always.has_value() != other.auxiliary.reference_always.has_value()) {
    return false;
  }
  other.id = one.id;
  other.duty_cycle = one.duty_cycle;
  other.refuses_impossible = one.refuses_impossible;
  other.auxiliary.always_on = places.always_on;
  if (places.reference_always) {
    other.auxiliary.reference_always->group = places.reference_always->group;
  }
  return one == other;
}

bool are_same_series(const PublishedEvent& one, const PublishedEvent& other) {
  return one.event.metric == other.event.metric && one.event.unit == other.event.unit &&
         one.event.labels == other.event.labels;
}

/// Gives the groups of one scope their ids.
class ScopeChange {
 public:
  ScopeChange(const ScopePlan& before, ScopePlan& now)
      : before_(before), now_(now), must_restart_(now.groups.size()) {}

  /// A group that restarts may have others restart, until nothing changes.
  void assign() {
    do {
      find_same();
    } while (separates_parts());
    static std::atomic<GroupId> last = kNoGroup;
    for (GroupPlan& group : now_.groups) {
      if (group.id == kNoGroup) group.id = ++last;
    }
  }

 private:
  /// The groups that others are estimated by come before those.
  void find_same() {
    for (GroupPlan& group : now_.groups) group.id = kNoGroup;
    for (std::size_t i = 0; i < now_.groups.size(); ++i) {
      const auto same = std::find_if(before_.groups.begin(), before_.groups.end(),
                                     [&](const auto& old) { return is_same(old, now_.groups[i]); });
      if (!must_restart_[i] && same != before_.groups.end()) now_.groups[i].id = same->id;
    }
  }

  bool is_same(const GroupPlan& old, const GroupPlan& group) const {
    const AuxiliaryCounters& was = old.auxiliary;
    const AuxiliaryCounters& is = group.auxiliary;
    return is_counted_alike(old, group) && !has_probe_in_file(old) &&
           (!is.always_on || goes_on(*was.always_on, *is.always_on)) &&
           (!is.reference_always ||
            goes_on(was.reference_always->group, is.reference_always->group));
  }

  bool goes_on(std::size_t old, std::size_t group) const {
    const GroupId id = now_.groups[group].id;
    return id != kNoGroup && id == before_.groups[old].id;
  }

  /// Whether more groups must restart: those of a series, if a part of it does.
  bool separates_parts() {
    bool any = false;
    for (const PublishedEvent& column : now_.columns) {
      if (goes_on(column)) continue;
      for (const EventAt& part : column.parts) {
        any = any || now_.groups[part.group].id != kNoGroup;
        must_restart_[part.group] = true;
      }
    }
    return any;
  }

  /// The series is new, or the sum of the very same counts in the same unit.
  bool goes_on(const PublishedEvent& column) const {
    const auto is_new = [&](const EventAt& part) { return now_.groups[part.group].id == kNoGroup; };
    if (std::any_of(column.parts.begin(), column.parts.end(), is_new)) return false;
    const auto old =
        std::find_if(before_.columns.begin(), before_.columns.end(),
                     [&](const PublishedEvent& one) { return are_same_series(one, column); });
    if (old == before_.columns.end()) return true;
    const auto has_same = [&](const EventAt& now) {
      return std::any_of(old->parts.begin(), old->parts.end(), [&](const EventAt& was) {
        return was.event == now.event && goes_on(was.group, now.group);
      });
    };
    return old->event.scale == column.event.scale && old->parts.size() == column.parts.size() &&
           std::all_of(column.parts.begin(), column.parts.end(), has_same);
  }

  const ScopePlan& before_;
  ScopePlan& now_;
  std::vector<bool> must_restart_;  ///< by group of the new plan
};

}  // namespace

void continue_plan(const CountingPlan& before, CountingPlan& plan) {
  ScopeChange(before.cpu, plan.cpu).assign();
  ScopeChange(before.cgroup, plan.cgroup).assign();
}

std::optional<std::size_t> find_group(const ScopePlan& scope, GroupId id) {
  for (std::size_t i = 0; i < scope.groups.size() && id != kNoGroup; ++i) {
    if (scope.groups[i].id == id) return i;
  }
  return {};
}

std::string_view configured_name(std::string_view group) {
  return group.substr(0, group.find('/'));
}

std::string_view configured_name(const GroupPlan& group) { return configured_name(group.name); }

bool is_estimated(const PublishedEvent& column, const ScopePlan& plan) {
  return std::any_of(column.parts.begin(), column.parts.end(),
                     [&](const EventAt& part) { return plan.groups[part.group].shares_pmu; });
}

bool has_evidence(RowKind rows, const Evidence& evidence) {
  switch (rows) {
    case RowKind::kCpu:
      break;
    case RowKind::kCgroup:
      return evidence.cgroups == CgroupEvidence::kEach;
    case RowKind::kSum:
      return evidence.cgroups != CgroupEvidence::kNone;
  }
  return true;
}

namespace {

/// A counter, and its start time.
std::size_t series_of_counter(const Evidence& evidence) { return evidence.created ? 2 : 1; }

}  // namespace

std::size_t series_of_group(RowKind rows, const GroupPlan& group, const Evidence& evidence,
                            bool is_estimated) {
  constexpr std::size_t kTimes = 2;        // enabled, running
  constexpr std::size_t kTimesOffPmu = 2;  // imputed, unmeasured
  constexpr std::size_t kReferences = 2;   // all of it, and what was sampled
  if (!group.is_published || !has_evidence(rows, evidence)) return 0;
  const bool has_reference = evidence.reference && group.auxiliary.reference;
  const std::size_t counters =
      kTimes + (is_estimated ? kTimesOffPmu : 0) + (has_reference ? kReferences : 0);
  return counters * series_of_counter(evidence);
}

SumPlan sum_of_shared_series() {
  SumPlan sum;
  sum.labels = {"cgroup"};
  sum.max = std::numeric_limits<std::size_t>::max();  // each has a cgroup, of which there is one
  sum.idle = sum.zero_for = {};
  sum.is_series = true;
  return sum;
}

std::size_t series_of_column(RowKind rows, const Evidence& evidence, bool is_estimated) {
  constexpr std::size_t kValue = 1;
  constexpr std::size_t kObserved = 1;
  const bool has_parts = is_estimated && has_evidence(rows, evidence);
  const std::size_t parts = has_parts ? kObserved + (evidence.variance ? 1 : 0) : 0;
  return (kValue + parts) * series_of_counter(evidence);
}

}  // namespace pex::collect
