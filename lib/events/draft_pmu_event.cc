#include <algorithm>
#include <cerrno>
#include <iterator>
#include <set>
#include <utility>

#include "events/event_draft.h"
#include "events/event_names.h"
#include "events/pmu_terms.h"

// "pmu/terms/": each PMU that the name matches is asked what the terms mean to it, and those that
// share the work of one kind become one event.

namespace pex::events {
namespace {

/// The event on one PMU.
struct OnPmu {
  const Pmu* pmu = nullptr;
  EncodedTerms encoded;
};

/// What an operator may have meant: not the PMUs that every kernel is made of.
std::set<std::string> names_of_hardware(const PmuCatalogue& pmus) {
  static constexpr std::string_view kOfTheKernel[] = {"breakpoint", "kprobe", "software",
                                                      "tracepoint", "uprobe"};
  std::set<std::string> names;
  for (const Pmu& pmu : pmus.pmus()) {
    if (std::find(std::begin(kOfTheKernel), std::end(kOfTheKernel), pmu.name) ==
        std::end(kOfTheKernel)) {
      names.emplace(without_number(pmu.name));
    }
  }
  return names;
}

Unresolved no_such_pmu(const PmuCatalogue& pmus, const std::string& pattern, TextOffset at) {
  const std::set<std::string> names = names_of_hardware(pmus);
  std::string all = pmus.pmus().empty()
                        ? "use a kernel with CONFIG_PERF_EVENTS"
                        : "load its driver, if the hardware has one and this is no virtual machine";
  const char* separator = "; the PMUs here are ";
  for (const std::string& name : names) {
    all.append(std::exchange(separator, ", ")).append(name);
  }
  return not_here(at, ENOENT, "this machine has no PMU '" + pattern + "'",
                  did_you_mean(pattern, {names.begin(), names.end()}, all));
}

/// "cpu_core/cycles/": a generic name in place of terms, which perf allows of core PMUs.
std::optional<CoreEvent> generic_event(const Pmu& pmu, const std::vector<Term>& terms) {
  const bool is_name = terms.size() == 1 && !terms.front().value;
  if (pmu.kind != PmuKind::kCore || !is_name || pmu.events.contains(terms.front().name)) return {};
  return find_core_event(terms.front().name);
}

Result<OnPmu, Unresolved> encode_on(const Pmu& pmu, const PmuEvent& event) {
  if (const auto generic = generic_event(pmu, event.terms)) {
    return OnPmu{&pmu, {attributes_on(pmu, *generic), nullptr, {}}};
  }
  Result<EncodedTerms, Unresolved> encoded = encode_terms(pmu, event.terms);
  if (!encoded) return encoded.error();
  return OnPmu{&pmu, std::move(*encoded)};
}

/// Where it was asked in vain.
struct Failure {
  const Pmu* pmu = nullptr;
  Unresolved why;
};

/// What the PMUs of one kind answered.
struct OfOneKind {
  std::string_view kind;
  std::vector<OnPmu> found;
  std::vector<Failure> failed;
};

/// PMUs of one kind are one event; the core PMUs of a hybrid machine are different things.
std::string_view kind_of(const Pmu& pmu) {
  return pmu.kind == PmuKind::kCore ? std::string_view(pmu.name) : without_number(pmu.name);
}

std::string metric_of(const Pmu& pmu, const PmuEvent& event) {
  if (!event.given_name.empty()) return metric_word(event.given_name);
  const std::string text = text_of(event.terms);
  if (pmu.kind == PmuKind::kCore && !text.empty()) return metric_word(text);
  return metric_word(std::string(kind_of(pmu)) + "_" + text);
}

/// The same for all core PMUs of a hybrid machine, whose series are of one metric.
std::string help_of(const Pmu& pmu, const PmuEvent& event) {
  const std::string where =
      pmu.kind == PmuKind::kCore ? "the core PMU" : "PMU " + std::string(kind_of(pmu));
  return "Event " + text_of(event.terms) + " of " + where + ".";
}

EventIdentity identity_of(const OnPmu& on, const PmuEvent& event, bool is_hybrid) {
  EventIdentity identity;
  identity.metric = metric_of(*on.pmu, event);
  identity.help = help_of(*on.pmu, event);
  if (on.encoded.named != nullptr) use_worth(*on.encoded.named, identity);
  if (is_hybrid && on.pmu->kind == PmuKind::kCore) identity.labels = {{"pmu", on.pmu->name}};
  identity.is_uncore = on.pmu->kind == PmuKind::kUncore;
  const bool is_event_alone = event.given_name.empty() && event.terms.size() == 1;
  if (is_event_alone) use_better_name(*on.pmu, on.encoded.name, identity);
  return identity;
}

/// Empty where every CPU has it: then no list of CPUs needs to be asked.
std::string pmu_of_instance(const Pmu& pmu, bool is_hybrid) {
  const bool is_on_some_cpus =
      pmu.kind == PmuKind::kUncore || (pmu.kind == PmuKind::kCore && is_hybrid);
  return is_on_some_cpus ? pmu.name : "";
}

Draft draft_of(const OfOneKind& kind, const PmuEvent& event, bool is_hybrid) {
  const OnPmu& first = kind.found.front();
  Draft draft{
      {identity_of(first, event, is_hybrid), {}},
      first.pmu->kind == PmuKind::kCore ? ModifierSupport::kAll : ModifierSupport::kWholePmu};
  for (const OnPmu& on : kind.found) {
    draft.spec.instances.push_back({pmu_of_instance(*on.pmu, is_hybrid), on.encoded.attributes});
  }
  return draft;
}

std::vector<OfOneKind> ask(const std::vector<const Pmu*>& pmus, const PmuEvent& event) {
  std::vector<OfOneKind> kinds;
  for (const Pmu* pmu : pmus) {
    auto kind = std::find_if(kinds.begin(), kinds.end(),
                             [pmu](const OfOneKind& known) { return known.kind == kind_of(*pmu); });
    if (kind == kinds.end()) kind = kinds.insert(kind, {kind_of(*pmu), {}, {}});
    Result<OnPmu, Unresolved> on = encode_on(*pmu, event);
    if (on) {
      kind->found.push_back(*std::move(on));
    } else {
      kind->failed.push_back({pmu, on.error()});
    }
  }
  return kinds;
}

std::string as_of(const Pmu& pmu, const PmuEvent& event) {
  return "as in '" + pmu.name + "/" + text_of(event.terms) + "/'";
}

Unresolved lacking(const OfOneKind& kind, const PmuEvent& event) {
  const OnPmu& first = kind.found.front();
  const auto& [pmu, why] = kind.failed.front();
  const bool has_no_such_event =
      first.encoded.named != nullptr && !pmu->events.contains(first.encoded.name);
  const std::string what = has_no_such_event
                               ? "PMU '" + pmu->name + "' has no event '" + first.encoded.name + "'"
                               : why.error.attempted;
  return not_here(why.at, why.error.code != 0 ? why.error.code : EINVAL,
                  what + ", and the sum over " + std::string(kind.kind) + " would lack it",
                  "name the PMUs that have it, " + as_of(*first.pmu, event));
}

bool are_worth_the_same(const OnPmu& one, const OnPmu& other) {
  static const PmuNamedEvent kNoName;  // the worth of what has none
  const PmuNamedEvent& a = one.encoded.named != nullptr ? *one.encoded.named : kNoName;
  const PmuNamedEvent& b = other.encoded.named != nullptr ? *other.encoded.named : kNoName;
  return a.unit == b.unit && a.scale == b.scale;
}

/// A sum that lacks a PMU, or adds what is worth something else, would pass for that of them all.
std::optional<Unresolved> why_no_sum(const OfOneKind& kind, const PmuEvent& event, TextOffset at) {
  if (!kind.failed.empty()) return lacking(kind, event);
  const OnPmu& first = kind.found.front();
  for (const OnPmu& on : kind.found) {
    if (are_worth_the_same(first, on)) continue;
    return not_here(at, EINVAL,
                    "PMU '" + on.pmu->name + "' counts '" + text_of(event.terms) +
                        "' in another unit than PMU '" + first.pmu->name +
                        "', and they have no sum",
                    "name PMUs of one unit, " + as_of(*first.pmu, event));
  }
  return {};
}

}  // namespace

Drafts draft_on(const Machine& machine, const std::vector<const Pmu*>& pmus, const PmuEvent& event,
                TextOffset at) {
  if (!event.given_name.empty() && metric_word(event.given_name).empty()) {
    return mistake(at, "the name '" + event.given_name + "' has no letter or digit",
                   "name it with letters, digits and '_'");
  }
  const std::vector<OfOneKind> kinds = ask(pmus, event);
  std::vector<Draft> drafts;
  for (const OfOneKind& kind : kinds) {
    if (kind.found.empty()) continue;  // of a pattern over several kinds, not all need to have it
    if (const auto why = why_no_sum(kind, event, at)) return *why;
    drafts.push_back(draft_of(kind, event, machine.is_hybrid()));
  }
  if (drafts.empty()) return kinds.front().failed.front().why;
  return drafts;
}

Drafts draft(const Machine& machine, const PmuEvent& event, TextOffset at) {
  const std::vector<const Pmu*> pmus = machine.pmus.matching(event.pmu);
  if (pmus.empty()) return no_such_pmu(machine.pmus, event.pmu, at);
  return draft_on(machine, pmus, event, at);
}

}  // namespace pex::events
