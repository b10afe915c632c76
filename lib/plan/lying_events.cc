#include "plan/lying_events.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace pex::plan {
namespace {

/// The same event has one verdict, whatever its modifiers.
const perf::Verdict* find_verdict(const Checked& checked, const events::EventInstance& instance) {
  const perf::EventAttributes& event = instance.attributes;
  for (const perf::CheckedEvents& kind : checked) {
    for (std::size_t i = 0; kind.pmu == instance.pmu && i < kind.events.size(); ++i) {
      const perf::EventAttributes& known = kind.events[i].attributes;
      if (known.type == event.type && known.config == event.config) return &kind.verdicts[i];
    }
  }
  return nullptr;
}

void add(const events::EventSpec& event, std::vector<int> cpus, const Checked& before,
         Checked& checked) {
  const events::EventInstance& instance = event.instances.front();
  const bool is_known = find_verdict(checked, instance) != nullptr;
  if (is_known || cpus.empty() || !perf::quantity_of(instance.attributes)) return;
  auto kind = std::find_if(checked.begin(), checked.end(),
                           [&](const auto& known) { return known.pmu == instance.pmu; });
  if (kind == checked.end()) {
    kind = checked.insert(kind, {instance.pmu, std::move(cpus), {}, {}});
  }
  const perf::Verdict* const verdict = find_verdict(before, instance);
  kind->events.push_back({event.identity.name, instance.attributes});
  kind->verdicts.push_back(verdict == nullptr ? perf::Verdict{} : *verdict);
}

std::vector<bool> lies_of(const Checked& checked) {
  std::vector<bool> lies;
  for (const perf::CheckedEvents& kind : checked) {
    for (const perf::Verdict& verdict : kind.verdicts) lies.push_back(perf::is_lie(verdict.truth));
  }
  return lies;
}

}  // namespace

Checked check_events(const SelectedEvents& selected, const Machine& machine,
                     const Checked& before) {
  Checked checked;
  for (const SelectedGroup& group : selected.groups) {
    for (const events::EventSpec& event : group.events) {
      add(event, machine.probe_cpus.all_of(event.instances.front().pmu, group.left_out_cpus),
          before, checked);
    }
  }
  for (perf::CheckedEvents& kind : checked) perf::check_truth(machine.kernel, kind);
  return checked;
}

bool have_lies_changed(perf::PerfKernel& kernel, Checked checked) {
  const std::vector<bool> before = lies_of(checked);
  for (perf::CheckedEvents& kind : checked) perf::check_truth(kernel, kind);
  return lies_of(checked) != before;
}

bool has_lies(const Checked& checked) {
  const std::vector<bool> lies = lies_of(checked);
  return std::find(lies.begin(), lies.end(), true) != lies.end();
}

void leave_out_lies(const Checked& checked, SelectedEvents& selected) {
  for (SelectedGroup& group : selected.groups) {
    std::erase_if(group.events, [&](const events::EventSpec& event) {
      const perf::Verdict* const verdict = find_verdict(checked, event.instances.front());
      if (verdict == nullptr || !perf::is_lie(verdict->truth)) return false;
      for (EventAvailability& known : selected.events) {
        if (known.group != group.group.name || known.identity != event.identity) continue;
        known.available = false;
        known.truth = verdict->truth;
        known.reason = Error{0, verdict->evidence,
                             "use a machine whose PMU counts; 'truth_check: off' counts such "
                             "events all the same"};
      }
      return true;
    });
  }
}

}  // namespace pex::plan
