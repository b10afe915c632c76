#include <linux/perf_event.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "events/event_table.h"
#include "events/kinds.h"
#include "events/modifier_letters.h"
#include "host/tracing.h"

// "sched:sched_switch:u"

namespace pex::events {
namespace tracepoint {
namespace {

constexpr const char* kWriteTracepoint = "name one tracepoint, for example 'sched:sched_switch'";

/// "word:rest" is an event with modifiers if the rest can be modifiers, else a tracepoint. The name
/// of a system may contain '-': "xhci-hcd".
bool recognizes(std::string_view word, std::string_view behind) {
  if (!behind.starts_with(':') || is_table_name(word)) return false;
  const std::string_view name = TextCursor(behind.substr(1)).before(kWordEnds);
  return !name.empty() && (is_system_of_probes(word) || !all_are(name, is_modifier));
}

Parsed parse(TextCursor& in, ParsedEvent& event) {
  const std::string system(in.take_while(is_name_character));
  if (!in.take(":")) return misplaced(in);
  event.kind = Tracepoint{system, std::string(in.take_while(is_name_character))};
  if (!in.at_event_end() && in.peek() != ':') {
    return syntax_error(in, "the name of a tracepoint has no " + in_quotes(in.peek()),
                        kWriteTracepoint);
  }
  return parse_modifiers(in, event.modifiers);
}

std::string name_of(const Tracepoint& event) { return event.system + ":" + event.name; }

std::string spell(const ParsedEvent& event) {
  return name_of(std::get<Tracepoint>(event.kind)) + behind_colon(event.modifiers);
}

std::string help_of(const std::string& name) { return "Hits of the tracepoint " + name + "."; }

/// The tracepoints of the scheduler (include/trace/events/sched.h) whose counts are nanoseconds.
/// Only the first belongs to the task that runs; the others are counted for a task that waits, or
/// is about to run.
constexpr std::string_view kTimes[] = {"sched:sched_stat_runtime", "sched:sched_stat_wait",
                                       "sched:sched_stat_sleep", "sched:sched_stat_blocked",
                                       "sched:sched_stat_iowait"};

void describe_time(std::string_view name, EventIdentity& identity) {
  if (std::find(std::begin(kTimes), std::end(kTimes), name) == std::end(kTimes)) return;
  identity.unit = Unit::kSeconds;
  identity.scale = 1e-9;
  identity.help = "Time that the tracepoint " + std::string(name) + " reports.";
  identity.is_of_another_task = name != kTimes[0];
}

Resolved resolve(const Machine& machine, const ParsedEvent& event) {
  const auto& tracepoint = std::get<Tracepoint>(event.kind);
  const auto attributes = tracepoint_on(machine.roots, tracepoint.system, tracepoint.name);
  if (!attributes) {
    Error why = attributes.error();
    why.attempted = "could not " + why.attempted;
    return Unresolved{false, event.at, std::move(why)};
  }
  const std::string name = name_of(tracepoint);
  auto resolved = counted_by_kernel(metric_word(name), help_of(name), *attributes);
  resolved.front().modifiers = ModifierSupport::kTracepoint;
  describe_time(name, resolved.front().spec.identity);
  return resolved;
}

void list(const Machine& machine, std::vector<ListedEvent>& listed) {
  const auto names = host::list_tracepoints(machine.roots);
  if (!names) return;  // resolving one of them reports the reason
  for (const std::string& name : *names) {
    listed.push_back({"tracepoint", name, {}, help_of(name), true});
  }
}

}  // namespace
}  // namespace tracepoint

Result<perf::EventAttributes> tracepoint_on(const host::HostRoots& roots, std::string_view system,
                                            std::string_view name) {
  const Result<std::uint64_t> id = host::tracepoint_id(roots, system, name);
  if (!id) return id.error();
  return perf::EventAttributes{.type = PERF_TYPE_TRACEPOINT, .config = *id};
}

bool is_tracepoint(const perf::EventAttributes& event) {
  return event.type == PERF_TYPE_TRACEPOINT;
}

constinit const Kind kTracepoints{
    .holds = holds<Tracepoint>,
    .recognizes = tracepoint::recognizes,
    .parse = tracepoint::parse,
    .takes = any_modifiers,
    .spell = tracepoint::spell,
    .resolve = tracepoint::resolve,
    .list = tracepoint::list,
};

}  // namespace pex::events
