#include "events/event_resolver.h"

#include <algorithm>
#include <cerrno>

#include "base/ascii.h"
#include "base/text.h"
#include "events/kinds.h"
#include "host/guest_pmu.h"

namespace pex::events {
namespace {

/// The canonical spelling: without aliases, and without modifiers that do not affect the counter.
std::string name_of(ParsedEvent event, const Modifiers& modifiers) {
  const Kind& kind = kind_of(event.kind);
  if (kind.canonicalize != nullptr) kind.canonicalize(event.kind);
  event.modifiers = modifiers;
  return kind.spell(event);
}

/// Where the modifiers do not name a side.
void exclude_guests(const PmuCatalogue& pmus, EventSpec& spec) {
  for (EventInstance& instance : spec.instances) {
    const Pmu* const pmu = pmus.counting(instance.attributes.type);
    const bool is_of_core = pmu != nullptr && pmu->kind == PmuKind::kCore;
    if (!is_of_core || instance.attributes.exclude_host) continue;
    spec.is_without_guests |= !instance.attributes.exclude_guest;
    instance.attributes.exclude_guest = true;
  }
}

}  // namespace

std::string Machine::where_it_counts(const Pmu& pmu) const {
  const bool is_core_of_some = pmu.kind == PmuKind::kCore && (is_hybrid() || pmu.is_on_some_cpus);
  return pmu.kind == PmuKind::kUncore || is_core_of_some ? pmu.name : "";
}

std::vector<Resolution> counted_by_kernel(std::string metric, std::string help,
                                          const perf::EventAttributes& attributes) {
  EventIdentity identity;
  identity.metric = std::move(metric);
  identity.help = std::move(help);
  return {Resolution{{identity, {{"", attributes}}}, ModifierSupport::kUserKernel}};
}

Unresolved invalid(TextOffset at, std::string what, Remedy remedy) {
  return {true, at, Error{0, std::move(what), std::move(remedy)}};
}

Unresolved unavailable(TextOffset at, int code, std::string what, Remedy remedy) {
  return {false, at, Error{code, std::move(what), std::move(remedy)}};
}

bool is_on_every_machine(const EventKind& event) {
  const auto* named = std::get_if<NamedEvent>(&event);
  if (named != nullptr) return is_table_name(named->name);
  return std::holds_alternative<RawEvent>(event) || std::holds_alternative<Breakpoint>(event);
}

bool is_misspelled(std::string_view word, const std::vector<std::string>& known) {
  constexpr std::size_t kMaxChanges = 2;
  return std::any_of(known.begin(), known.end(), [&](const std::string& other) {
    return iequals(word, other) || edit_distance(word, other, kMaxChanges + 1) <= kMaxChanges;
  });
}

Remedy did_you_mean(std::string_view word, const std::vector<std::string>& known,
                    const Remedy& otherwise) {
  const std::optional<std::string> meant = nearest(word, known);
  return meant ? Remedy("did you mean '" + *meant + "'?") : otherwise;
}

Result<EventResolver> EventResolver::create(const host::HostRoots& roots,
                                            std::optional<bool> counts_guests) {
  Result<PmuCatalogue> pmus = PmuCatalogue::read(roots);
  if (!pmus) return pmus.error();
  if (!counts_guests) counts_guests = host::gives_pmu_to_guests(roots) == false;
  return EventResolver(roots, std::move(*pmus), *counts_guests);
}

Result<std::vector<EventSpec>, Unresolved> EventResolver::resolve(const ParsedEvent& event) const {
  Resolved resolved = kind_of(event.kind).resolve({roots_, pmus_}, event);
  const AsTracepoint& other = event.as_tracepoint;
  if (!resolved && !std::holds_alternative<Tracepoint>(event.kind) && !other.point.system.empty() &&
      tracepoint_on(roots_, other.point.system, other.point.name)) {
    return resolve({other.point, other.modifiers, event.at});
  }
  if (!resolved) return resolved.error();

  const Modifiers modifiers = effective(event.modifiers);
  std::vector<EventSpec> specs;
  for (Resolution& resolution : *resolved) {
    EventSpec& spec = resolution.spec;
    spec.identity.name = name_of(event, modifiers);
    if (const auto refusal = refusal_of(modifiers, on_machine(pmus_, resolution.modifiers))) {
      const bool is_of_x86_only = !refusal_of(modifiers, resolution.modifiers);
      Unresolved refused = unavailable(event.at, is_of_x86_only ? EOPNOTSUPP : 0,
                                       "'" + spec.identity.name + "'" + std::string(*refusal),
                                       "write '" + name_of(event, {}) + "'");
      refused.on_every_machine = is_on_every_machine(event.kind) && !is_of_x86_only;
      return refused;
    }
    apply(modifiers, spec);
    if (!counts_guests_) exclude_guests(pmus_, spec);
    specs.push_back(std::move(spec));
  }
  return specs;
}

std::optional<perf::CounterSpec> counter_on(const EventResolver& resolver, std::string_view event,
                                            std::string_view pmu) {
  const Result<ParsedEvents, SyntaxError> parsed = parse_events(event);
  if (!parsed) return {};
  const Result<std::vector<EventSpec>, Unresolved> specs = resolver.resolve(parsed->events.front());
  if (!specs) return {};
  for (const EventSpec& spec : *specs) {
    for (const EventInstance& instance : spec.instances) {
      if (instance.pmu.empty() || instance.pmu == pmu) {
        return perf::CounterSpec{spec.identity.name, instance.attributes};
      }
    }
  }
  return {};
}

std::vector<ListedEvent> list_events(const EventResolver& resolver) {
  std::vector<ListedEvent> listed;
  for (const Kind* kind : kKinds) {
    if (kind->list != nullptr) kind->list({resolver.roots(), resolver.pmus()}, listed);
  }
  return listed;
}

}  // namespace pex::events
