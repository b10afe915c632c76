#include "events/event_resolver.h"

#include "base/text.h"
#include "events/event_draft.h"

namespace pex::events {
namespace {

/// The canonical spelling: without aliases, and without modifiers that change no counter.
std::string name_of(ParsedEvent event, const Modifiers& modifiers) {
  if (auto* named = std::get_if<NamedEvent>(&event.kind)) named->name = canonical_name(named->name);
  event.modifiers = modifiers;
  return spelling(event);
}

}  // namespace

Unresolved mistake(TextOffset at, std::string what, std::string remedy) {
  return {true, at, Error{0, std::move(what), std::move(remedy)}};
}

Unresolved not_here(TextOffset at, int code, std::string what, std::string remedy) {
  return {false, at, Error{code, std::move(what), std::move(remedy)}};
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known,
                         const std::string& otherwise) {
  const std::optional<std::string> meant = nearest(word, known);
  return meant ? "did you mean '" + *meant + "'?" : otherwise;
}

Result<EventResolver> EventResolver::create(const host::HostRoots& roots) {
  Result<PmuCatalogue> pmus = PmuCatalogue::read(roots);
  if (!pmus) return pmus.error();
  return EventResolver(roots, std::move(*pmus));
}

Result<std::vector<EventSpec>, Unresolved> EventResolver::resolve(const ParsedEvent& event) const {
  const Machine machine{roots_, pmus_};
  Drafts drafts = std::visit(
      [&](const auto& kind) -> Drafts { return draft(machine, kind, event.at); }, event.kind);
  if (!drafts) return drafts.error();

  const Modifiers modifiers = effective(event.modifiers);
  std::vector<EventSpec> specs;
  for (Draft& drafted : *drafts) {
    drafted.spec.identity.name = name_of(event, modifiers);
    if (const auto refusal = refusal_of(modifiers, on_machine(pmus_, drafted.modifiers))) {
      return mistake(event.at, "'" + drafted.spec.identity.name + "'" + std::string(*refusal),
                     "write '" + name_of(event, {}) + "'");
    }
    apply(modifiers, drafted.spec);
    specs.push_back(std::move(drafted.spec));
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

}  // namespace pex::events
