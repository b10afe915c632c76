#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/text.h"
#include "base/utf8.h"
#include "daemon/cli/words.h"
#include "daemon/doctor/checks.h"
#include "daemon/doctor/platforms.h"
#include "events/event_syntax.h"
#include "events/event_table.h"
#include "host/cpu_list.h"
#include "host/perf_users.h"
#include "host/permissions.h"
#include "perf/open_remedy.h"
#include "plan/machine/free_counters.h"
#include "plan/probe_cpus.h"

// The machine's CPUs, PMUs and counters.

namespace pex::daemon {
namespace {

using State = Finding::State;

/// Groups that are left out count none, and an optional one may lack what cannot be remedied.
bool needs_tracepoints(const plan::LoadedPlan& planned, int code) {
  const auto is_tracepoint = [](const events::ParsedEvent& event) {
    return std::holds_alternative<events::Tracepoint>(event.kind);
  };
  const std::vector<plan::LeftOutGroup>& left_out = planned.plan.left_out_groups;
  for (const config::Group& group : planned.config.groups) {
    const bool is_left_out =
        std::any_of(left_out.begin(), left_out.end(),
                    [&](const plan::LeftOutGroup& each) { return each.name == group.name; });
    if (is_left_out || (group.optional && !perf::can_be_remedied(code))) continue;
    for (const config::EventEntry& entry : group.events) {
      const auto parsed = events::parse_events(entry.spelling);
      if (parsed && std::any_of(parsed->events.begin(), parsed->events.end(), is_tracepoint)) {
        return true;
      }
    }
  }
  return false;
}

/// "uncore_imc (8) on CPUs 0,28": all PMUs of one family and kind, and all their CPUs.
std::string families(std::span<const events::Pmu> pmus, events::PmuKind kind) {
  const bool is_core = kind == events::PmuKind::kCore;
  std::map<std::string, std::pair<std::size_t, std::set<int>>> found;
  for (const events::Pmu& pmu : pmus) {
    if (pmu.kind != kind) continue;
    auto& [size, cpus] = found[is_core ? pmu.name : events::without_instance(pmu.name)];
    ++size;
    cpus.insert(pmu.cpus.begin(), pmu.cpus.end());
  }
  std::vector<std::string> names;
  for (const auto& [name, family] : found) {
    const auto& [size, cpus] = family;
    names.push_back(name + (size > 1 ? " (" + number(size) + ")" : "") +
                    (!cpus.empty() ? " on " + host::name_cpus({cpus.begin(), cpus.end()})
                     : kind == events::PmuKind::kUncore ? " on no CPU now"
                                                        : ""));
  }
  return join(names, kind == events::PmuKind::kOther ? ", " : "; ");
}

Finding counters_of(const CheckInputs& here, const events::Pmu& pmu) {
  constexpr const char* kSubject = "free counters";
  const std::vector<int> excluded = plan::without(*here.online, here.cpus);
  const plan::ProbeCpus probe_cpus{*here.resolver, here.cpus, excluded};
  if (probe_cpus.leave_out(pmu.name, {})) {
    return unknown(kSubject, pmu.name + ": not known, because all its CPUs are excluded");
  }
  if (pmu.is_on_some_cpus && probe_cpus.is_waiting(pmu.name)) {
    return unknown(kSubject, pmu.name + ": not known, because none of its CPUs is online");
  }
  const int cpu = probe_cpus.of(pmu.name);
  const std::optional<plan::FreeCounters> free =
      plan::count_free_counters(here.kernel, *here.resolver, pmu, cpu);
  if (!free) {
    return {State::kNote, kSubject, pmu.name + ": not known, because no hardware event opens on it",
            "hardware events cannot be counted",
            "see the kernel's error for each event: perf_event_exporter list"};
  }
  const std::string what = pmu.name + ": " + number(free->general) + " for any event and " +
                           number(free->fixed) + " fixed (CPU " + std::to_string(cpu) + ")";
  if (free->general > 0) return good(kSubject, what);
  return {State::kNote, kSubject, what, "hardware events are rarely or never counted",
          "find what uses all counters: see 'NMI watchdog', and look for other programs that "
          "pin events"};
}

Finding no_core_pmu(const std::optional<Platform>& platform) {
  return {
      State::kNote, "core PMUs",
      "none: this machine has no hardware counters" + (platform ? " (" + platform->name + ")" : ""),
      "cycles, instructions, cache and branch events cannot be counted; software events, "
      "tracepoints and probes can",
      platform ? std::string(platform->remedy)
               : "in a virtual machine: enable a virtual PMU (QEMU: -cpu host,pmu=on), or use "
                 "an instance type that has one"};
}

}  // namespace

Findings check_cpus(const CheckInputs& here) {
  if (here.online) return {good("CPUs", host::format_cpu_list(*here.online) + " online")};
  const Error& error = here.online.error();
  return {{State::kBad, "CPUs", could_not(error), "nothing can be counted", worded(error.remedy)}};
}

Findings check_tracefs(const CheckInputs& here) {
  if (here.tracing) return {good("tracefs", "readable in " + *here.tracing)};
  const Error& error = here.tracing.error();
  const bool needed = here.planned && needs_tracepoints(*here.planned, error.code);
  return {{needed ? State::kBad : State::kNote, "tracefs", could_not(error),
           needed ? "the tracepoints of the configuration cannot be counted"
                  : "tracepoints cannot be counted; the configuration has none",
           worded(error.remedy)}};
}

Findings check_pmus(const CheckInputs& here) {
  if (!here.resolver) {
    const Error& error = here.resolver.error();
    return {{State::kBad, "PMUs", could_not(error), "no event is known", worded(error.remedy)}};
  }
  const std::span<const events::Pmu> pmus = here.resolver->pmus().pmus();
  if (pmus.empty()) {
    return {{State::kNote, "PMUs", "none in " + here.options.roots.event_sources(),
             "hardware, uncore and PMU events are not known",
             "set --path.sysfs to where the host's sysfs is mounted"}};
  }
  Findings findings;
  if (here.has_core_pmu()) {
    findings.push_back(good("core PMUs", families(pmus, events::PmuKind::kCore)));
  } else {
    findings.push_back(no_core_pmu(platform_of(here.options.roots)));
  }
  if (const std::string uncore = families(pmus, events::PmuKind::kUncore); !uncore.empty()) {
    findings.push_back(good("uncore PMUs", uncore));
  }
  findings.push_back(good("other PMUs", families(pmus, events::PmuKind::kOther)));
  return findings;
}

Findings check_free_counters(const CheckInputs& here) {
  Findings findings;
  if (!here.has_core_pmu() || !here.may_open()) return findings;
  const std::vector<const events::Pmu*> pmus = here.resolver->pmus().core_pmus();
  std::transform(pmus.begin(), pmus.end(), std::back_inserter(findings),
                 [&](const events::Pmu* pmu) { return counters_of(here, *pmu); });
  return findings;
}

/// Of a virtual machine: hypervisors hide events, which CPUs themselves have.
Findings check_hidden_events(const CheckInputs& here) {
  constexpr std::string_view kNames[] = {"cycles", "instructions", "cache-references",
                                         "cache-misses", "branch-misses"};
  if (!here.has_core_pmu() || !here.may_open()) return {};
  const std::optional<Platform> platform = platform_of(here.options.roots);
  if (!platform) return {};
  std::vector<std::string> hidden;
  for (const std::string_view name : kNames) {
    const std::vector<perf::CounterSpec> event = {events::generic_counter(name)};
    const auto opened =
        perf::CounterGroup::open(here.kernel, event, {here.cpus.front(), -1, {}}, {});
    if (!opened && !perf::can_be_remedied(opened.error().error.code)) hidden.emplace_back(name);
  }
  if (hidden.empty()) return {};
  return {{State::kNote, "hidden events", join(hidden, ", ") + " (" + platform->name + ")",
           "they cannot be counted", std::string(platform->remedy)}};
}

/// Programs are named by those who run them: whatever their names have is printed harmlessly.
Findings check_other_users(const CheckInputs& here) {
  constexpr const char* kSubject = "other programs";
  constexpr std::size_t kMaxNamed = 5;
  const host::PerfUsers found = host::find_perf_users(here.options.roots);
  std::string what;
  for (std::size_t i = 0; i < found.users.size() && i < kMaxNamed; ++i) {
    const host::PerfUser& user = found.users[i];
    what += (what.empty() ? "" : ", ") + printable(user.name) + " (PID " +
            std::to_string(user.pid) + ") has " + number_of(user.events, "perf event");
  }
  if (found.users.size() > kMaxNamed) {
    what += ", and " + number_of(found.users.size() - kMaxNamed, "other program");
  }
  if (found.unreadable > 0) {
    const std::string unseen = "the descriptors of " +
                               number_of(found.unreadable, "process", "processes") +
                               " cannot be listed";
    if (what.empty()) {
      return {unknown(kSubject, "whether they have perf events is not known: " + unseen)};
    }
    what += "; " + unseen;
  }
  if (what.empty()) return {good(kSubject, "none has perf events")};
  if (!here.has_core_pmu()) return {good(kSubject, what)};
  return {{State::kNote, kSubject, what,
           "hardware events of several programs share the counters of the PMU; what others pin is "
           "not available",
           "stop what is not needed, or leave counters to it: POST /-/pause, or a duty_cycle"}};
}

Findings check_nmi_watchdog(const CheckInputs& here) {
  const auto on = host::read_sysctl(here.options.roots, "kernel/nmi_watchdog");
  const bool is_known =
      on || (on.error().code == ENOENT && here.paranoid);  // other settings can be read
  if (!is_known) return {unknown("NMI watchdog", "not known: the setting cannot be read")};
  if (!on) return {good("NMI watchdog", "none in this kernel")};
  if (*on == 0) return {good("NMI watchdog", "off")};
  if (!here.resolver) {
    return {
        unknown("NMI watchdog",
                "on; whether it takes a counter is not known, because the PMUs cannot be read")};
  }
  if (!here.has_core_pmu())
    return {good("NMI watchdog", "on; this machine has no counter that it could take")};
  return {{State::kNote, "NMI watchdog", "on",
           "it takes one counter of every CPU, so fewer events fit in a group and more groups "
           "are multiplexed",
           "set sysctl kernel.nmi_watchdog=0, which disables the detection of CPUs that hang "
           "with interrupts off"}};
}

}  // namespace pex::daemon
