#pragma once

#include <string>
#include <vector>

#include "events/resolution.h"

namespace pex::events {

/// What the terms of an event mean to one PMU.
struct EncodedTerms {
  perf::EventAttributes attributes;
  const PmuNamedEvent* named = nullptr;  ///< the event of the PMU's own among them; borrowed
  std::string name;                      ///< its name; empty without one
};

/// A term without a value that is an event of the PMU stands for the terms of that event, in which
/// those with a value of their own take the place of the event's. `config` to `config3` set whole
/// words, wherever they stand; to these, as perf has it, come the bits of the other terms. In one
/// thing we differ: perf adds the bits of the event's value for a term to those of the other. Two
/// events of the PMU are refused: the bits of both would ask for a third.
Result<EncodedTerms, Unresolved> encode_terms(const Pmu& pmu, const std::vector<Term>& terms);

/// The name of the PMU's own event that `attributes` ask for, or null; borrowed.
const std::string* event_of(const Pmu& pmu, const perf::EventAttributes& attributes);

/// What sysfs says that one count of the event is worth.
void use_worth(const PmuNamedEvent& named, EventIdentity& identity);

/// What a table calls the PMU's own `event`, when it has it.
void use_better_name(const Pmu& pmu, const std::string& event, EventIdentity& identity);

/// "event=0x3c,umask=0x1,inv"
std::string text_of(const std::vector<Term>& terms);

}  // namespace pex::events
