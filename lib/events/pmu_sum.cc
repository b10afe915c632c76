#include "events/pmu_sum.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include "base/aggregation.h"
#include "base/lookup.h"
#include "base/text.h"
#include "events/core_pmu.h"
#include "events/pmu_terms.h"

namespace pex::events {
namespace {

/// The event on one PMU.
struct OnPmu {
  const Pmu* pmu = nullptr;
  EncodedTerms encoded;
};

/// "cpu_core/cycles/": a generic name instead of terms, which perf allows for core PMUs.
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

/// The PMUs that lack the event.
struct Failure {
  const Pmu* pmu = nullptr;
  Unresolved why;
};

/// The results of the PMUs of one family.
struct Family {
  std::string_view name;
  std::vector<OnPmu> found;
  std::vector<Failure> failed;
};

constexpr std::string_view kUncore = "uncore_";

std::string metric_of(const Pmu& pmu, const PmuEvent& event) {
  if (!event.given_name.empty()) return metric_word(event.given_name);
  const std::string text = text_of(event.terms);
  if (pmu.kind == PmuKind::kCore && !text.empty()) return metric_word(text);
  return metric_word(without_instance(family_of(pmu)) + "_" + text);
}

/// What distinguishes it from others of the same metric: the core PMUs of a hybrid machine, one of
/// several PMUs of a kind that the event names, and families with a number or address.
std::optional<std::string> label_of(const Pmu& pmu, const PmuEvent& event, bool is_hybrid) {
  if (pmu.kind == PmuKind::kCore) return is_hybrid ? std::optional(pmu.name) : std::nullopt;
  const std::string family{family_of(pmu)};
  const bool is_one_of_many = pmu.name != family && pmu.name.ends_with(event.pmu) &&
                              event.pmu.size() + kUncore.size() >= pmu.name.size();
  if (is_one_of_many) return pmu.name;  // also "imc_0" of "uncore_imc_0"
  return without_instance(family) == family ? std::nullopt : std::optional(family);
}

/// "chip=0" of "PM_X,chip=0": a value that is not in the named event chooses an instance, unless
/// the PMU is a core's.
bool is_instance(const OnPmu& on, const Term& term) {
  if (!term.value || on.encoded.named == nullptr || on.pmu->kind == PmuKind::kCore) return false;
  const std::string begin = term.name + "=";
  const std::vector<std::string_view> written = split(on.encoded.named->terms, ',');
  return std::none_of(written.begin(), written.end(), [&](std::string_view text) {
    return text.starts_with(begin) && text.size() > begin.size() && is_digit(text[begin.size()]);
  });
}

/// The term, unless a label of a place or PMU has that name.
std::string label_of(const Term& term) {
  std::string word = metric_word(term.name);
  const bool is_taken = word == "pmu" || is_digit(word.front()) ||
                        lookup(kAggregationEntries, &AggregationEntry::word, word) != nullptr;
  return is_taken ? "pmu_" + word : word;
}

/// The same for all core PMUs of a hybrid machine, whose series share a metric.
std::string help_of(const Pmu& pmu, const PmuEvent& event) {
  const std::string where =
      pmu.kind == PmuKind::kCore ? "the core PMU" : "PMU " + std::string(family_of(pmu));
  return "Event " + text_of(event.terms) + " of " + where + ".";
}

EventIdentity identity_of(const OnPmu& on, const PmuEvent& event, bool is_hybrid) {
  EventIdentity identity;
  PmuEvent of_all = event;
  std::erase_if(of_all.terms, [&](const Term& term) { return is_instance(on, term); });
  identity.metric = metric_of(*on.pmu, of_all);
  identity.help = help_of(*on.pmu, of_all);
  if (on.encoded.named != nullptr) use_worth(*on.encoded.named, identity);
  if (auto label = label_of(*on.pmu, event, is_hybrid)) {
    identity.labels = {{"pmu", *std::move(label)}};
  }
  for (const Term& term : event.terms) {
    if (is_instance(on, term)) {
      identity.labels.emplace_back(label_of(term), std::to_string(*term.value));
    }
  }
  identity.is_uncore = on.pmu->kind == PmuKind::kUncore;
  const bool is_event_alone = event.given_name.empty() && event.terms.size() == 1;
  if (is_event_alone) use_better_name(*on.pmu, on.encoded.name, identity);
  return identity;
}

Resolution resolution_of(const Machine& machine, const Family& family, const PmuEvent& event) {
  const OnPmu& first = family.found.front();
  Resolution resolution{
      {identity_of(first, event, machine.is_hybrid()), {}},
      first.pmu->kind == PmuKind::kCore ? ModifierSupport::kAll : ModifierSupport::kWholePmu};
  for (const OnPmu& on : family.found) {
    resolution.spec.instances.push_back({machine.where_it_counts(*on.pmu), on.encoded.attributes});
  }
  return resolution;
}

std::vector<Family> ask(const std::vector<const Pmu*>& pmus, const PmuEvent& event) {
  std::vector<Family> families;
  for (const Pmu* pmu : pmus) {
    Family* family = lookup(families, &Family::name, family_of(*pmu));
    if (family == nullptr) family = &families.emplace_back(Family{family_of(*pmu), {}, {}});
    Result<OnPmu, Unresolved> on = encode_on(*pmu, event);
    if (on) {
      family->found.push_back(*std::move(on));
    } else {
      family->failed.push_back({pmu, on.error()});
    }
  }
  return families;
}

std::string as_of(const Pmu& pmu, const PmuEvent& event) {
  return "as in '" + pmu.name + "/" + text_of(event.terms) + "/'";
}

Unresolved lacking(const Family& family, const PmuEvent& event) {
  const OnPmu& first = family.found.front();
  const auto& [pmu, why] = family.failed.front();
  const bool has_no_such_event =
      first.encoded.named != nullptr && !pmu->events.contains(first.encoded.name);
  const std::string what = has_no_such_event
                               ? "PMU '" + pmu->name + "' has no event '" + first.encoded.name + "'"
                               : why.error.attempted;
  return unavailable(why.at, why.error.code != 0 ? why.error.code : EINVAL,
                     what + ", and the sum over " + std::string(family.name) + " would lack it",
                     "name the PMUs that have it, " + as_of(*first.pmu, event));
}

bool are_worth_the_same(const OnPmu& one, const OnPmu& other) {
  static const PmuNamedEvent kNoName;  // for events without a name
  const PmuNamedEvent& a = one.encoded.named != nullptr ? *one.encoded.named : kNoName;
  const PmuNamedEvent& b = other.encoded.named != nullptr ? *other.encoded.named : kNoName;
  return a.unit == b.unit && a.scale == b.scale;
}

/// A sum that lacks a PMU, or adds different units, would be wrong.
std::optional<Unresolved> why_no_sum(const Family& family, const PmuEvent& event, TextOffset at) {
  if (!family.failed.empty()) return lacking(family, event);
  const OnPmu& first = family.found.front();
  for (const OnPmu& on : family.found) {
    if (are_worth_the_same(first, on)) continue;
    return unavailable(at, EINVAL,
                       "PMU '" + on.pmu->name + "' counts '" + text_of(event.terms) +
                           "' in a unit other than PMU '" + first.pmu->name +
                           "', and they have no sum",
                       "name PMUs of one unit, " + as_of(*first.pmu, event));
  }
  return {};
}

}  // namespace

std::string_view family_of(const Pmu& pmu) {
  return pmu.kind == PmuKind::kCore ? std::string_view(pmu.name) : without_number(pmu.name);
}

Resolved resolve_on(const Machine& machine, const std::vector<const Pmu*>& pmus,
                    const PmuEvent& event, TextOffset at) {
  const std::vector<Family> families = ask(pmus, event);
  std::vector<Resolution> resolutions;
  for (const Family& family : families) {
    if (family.found.empty())
      continue;  // with a pattern over several families, not all need to have it
    if (const auto why = why_no_sum(family, event, at)) return *why;
    resolutions.push_back(resolution_of(machine, family, event));
  }
  if (resolutions.empty()) return families.front().failed.front().why;
  return resolutions;
}

std::optional<Resolved> resolve_on_core_pmus(const Machine& machine, const std::string& name,
                                             TextOffset at) {
  std::vector<const Pmu*> knowing = machine.pmus.core_pmus();
  std::erase_if(knowing, [&](const Pmu* pmu) { return !pmu->events.contains(name); });
  if (knowing.empty()) return {};
  return resolve_on(machine, knowing, PmuEvent{{}, {Term{name, {}, at}}, {}}, at);
}

}  // namespace pex::events
