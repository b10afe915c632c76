#include <linux/perf_event.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "base/ascii.h"
#include "base/lookup.h"
#include "base/text.h"
#include "events/core_pmu.h"
#include "events/event_names.h"
#include "events/event_table.h"
#include "events/kinds.h"
#include "events/modifier_letters.h"
#include "events/pmu_sum.h"

// "cycles:u", "L1-dcache-load-misses", "mem-loads": a name of the kernel's tables, or of an event
// of the core PMU. The kind of any text that no other kind recognizes.

namespace pex::events {
namespace named_event {
namespace {

constexpr const char* kWriteUprobe = "a function of a file is written 'uprobe:/bin/bash:readline'";
constexpr const char* kWriteBehindColon =
    "write a modifier, as in 'cycles:u', or a tracepoint, as in 'sched:sched_switch'";

/// Of the names that core PMUs of some machines have in sysfs (arch/x86/events/intel/core.c,
/// drivers/perf/arm_pmuv3.c), those that would pass for misspelled generic names.
constexpr std::string_view kLikeGenericNames[] = {"bus_cycles", "cpu_cycles", "cycles-ct",
                                                  "cycles-t"};

/// What perf stat measures itself (tools/perf/util/tool_pmu.c).
struct ToolEvent {
  std::string_view name;
  const char* remedy;
};
constexpr const char* kCountTaskClock =
    "count 'task-clock', the CPU time in all modes; cgroups have that of each mode in cpu.stat";
constexpr const char* kSeeMachine = "remove it: it describes the machine, and counts nothing";
constexpr ToolEvent kToolEvents[] = {
    {"duration_time", "remove it: rate() divides by the time between two scrapes"},
    {"user_time", kCountTaskClock},
    {"system_time", kCountTaskClock},
    {"num_cpus", "use the metric perf_event_exporter_cpus"},
    {"num_cpus_online", "use the metric perf_event_exporter_cpus"},
    {"system_tsc_freq", "count 'msr/tsc/': its rate is the frequency of the TSC"},
    {"core_wide", kSeeMachine},
    {"has_pmem", kSeeMachine},
    {"num_cores", kSeeMachine},
    {"num_dies", kSeeMachine},
    {"num_packages", kSeeMachine},
    {"smt_on", kSeeMachine},
    {"target_cpu", kSeeMachine},
};

bool recognizes(std::string_view, std::string_view) { return true; }

Parsed parse(TextCursor& in, ParsedEvent& event) {
  const std::string name(in.take_while(is_name_character));
  event.kind = NamedEvent{name};
  if (in.at_event_end()) return {};
  if (!in.take(":")) return misplaced(in);
  if (!is_table_name(name) && in.before(kWordEnds).empty()) {
    const bool is_file = in.rest().starts_with('/');
    return missing(in, "a modifier or the name of a tracepoint",
                   is_file ? kWriteUprobe : kWriteBehindColon);
  }
  return parse_letters(in, event.modifiers);
}

std::string spell(const ParsedEvent& event) {
  return std::get<NamedEvent>(event.kind).name + behind_colon(event.modifiers);
}

void canonicalize(EventKind& event) {
  std::string& name = std::get<NamedEvent>(event).name;
  if (const GenericEvent* generic = find_generic_event(name)) name = generic->name;
}

std::vector<Resolution> resolve_software(const GenericEvent& event) {
  perf::EventAttributes attributes;
  attributes.type = event.type;
  attributes.config = event.config;
  std::vector<Resolution> resolved =
      counted_by_kernel(std::string(event.metric), std::string(event.help), attributes);
  resolved.front().modifiers = event.modifiers;
  EventIdentity& identity = resolved.front().spec.identity;
  identity.unit = event.unit;
  identity.cpu_help = event.cpu_help;
  if (event.unit == Unit::kSeconds) identity.scale = 1e-9;
  return resolved;
}

/// Of the tables: the same on every machine.
std::vector<std::string> generic_names() {
  std::vector<std::string> names;
  for (const GenericEvent& event : generic_events()) {
    names.emplace_back(event.name);
    if (!event.alias.empty()) names.emplace_back(event.alias);
  }
  for (const CacheEvent& event : cache_events()) names.push_back(event.name);
  return names;
}

/// An error if it is like a name that every machine has, whatever this one has, so that none finds
/// an error where another finds an event; else core PMUs of others may have it.
Unresolved unknown(const PmuCatalogue& pmus, const std::string& name, TextOffset at) {
  if (const ToolEvent* tool = lookup(kToolEvents, &ToolEvent::name, name)) {
    return invalid(at, "'" + name + "' is measured by perf itself, and is no event of the kernel",
                   tool->remedy);
  }
  std::vector<std::string> known = generic_names();
  const bool is_excepted = std::find(std::begin(kLikeGenericNames), std::end(kLikeGenericNames),
                                     name) != std::end(kLikeGenericNames);
  if (is_misspelled(name, known) && !is_excepted) {
    return invalid(at, "there is no event '" + name + "'",
                   did_you_mean(name, known, "see " + ProgramTerm::kEventList));
  }
  const std::string what = "no core PMU of this machine has an event '" + name + "'";
  for (const Pmu& pmu : pmus.pmus()) {
    if (!pmu.events.contains(name)) continue;
    return unavailable(at, 0, what,
                       "write '" + std::string(without_number(pmu.name)) + "/" + name + "/'");
  }
  for (const Pmu* pmu : pmus.core_pmus()) {
    for (const auto& [event, terms] : pmu->events) known.push_back(event);
  }
  const std::optional<std::string> similar = nearest(name, known);
  return unavailable(at, ENOENT, what,
                     kOfOtherCpus + (similar ? "; the most similar name here is '" + *similar + "'"
                                             : std::string{}));
}

Resolved resolve(const Machine& machine, const ParsedEvent& event) {
  const std::string& name = std::get<NamedEvent>(event.kind).name;
  if (const GenericEvent* generic = find_generic_event(name)) {
    if (generic->type == PERF_TYPE_SOFTWARE) return resolve_software(*generic);
    return counted_by_core_pmus(machine, {generic->type, generic->config},
                                std::string(generic->metric), generic->help);
  }
  if (const CacheEvent* cache = find_cache_event(name)) {
    return counted_by_core_pmus(machine, {PERF_TYPE_HW_CACHE, cache->config}, metric_word(name),
                                cache->help);
  }
  if (auto resolved = resolve_on_core_pmus(machine, name, event.at)) return *std::move(resolved);
  return unknown(machine.pmus, name, event.at);
}

void list_generic(std::uint32_t type, std::string_view kind, std::vector<ListedEvent>& listed) {
  for (const GenericEvent& event : generic_events()) {
    if (event.type != type) continue;
    std::string help(event.help);
    if (!event.cpu_help.empty()) {
      std::string on_cpus(event.cpu_help);
      on_cpus.front() = to_lower_ascii(on_cpus.front());
      help += " With scope cpu: " + on_cpus;
    }
    listed.push_back({kind, std::string(event.name), {}, std::move(help), false});
  }
}

void list(const Machine&, std::vector<ListedEvent>& listed) {
  list_generic(PERF_TYPE_HARDWARE, "hardware", listed);
  list_generic(PERF_TYPE_SOFTWARE, "software", listed);
  for (const CacheEvent& event : cache_events()) {
    listed.push_back({"cache", event.name, {}, event.help, false});
  }
}

}  // namespace
}  // namespace named_event

constinit const Kind kNamedEvents{
    .holds = holds<NamedEvent>,
    .recognizes = named_event::recognizes,
    .parse = named_event::parse,
    .takes = any_modifiers,
    .spell = named_event::spell,
    .canonicalize = named_event::canonicalize,
    .resolve = named_event::resolve,
    .list = named_event::list,
};

}  // namespace pex::events
