#pragma once

#include <string>
#include <vector>

#include "events/resolution.h"

namespace pex::events {

/// The encoding of an event's terms for one PMU.
struct EncodedTerms {
  perf::EventAttributes attributes;
  const PmuNamedEvent* named = nullptr;  ///< the PMU's named event among them; borrowed
  std::string name;                      ///< its name; empty without one
};

/// A term without a value that is a named event of the PMU is replaced by the terms of that event;
/// a value given by the user overrides the event's. `config` to `config3` set whole words, in any
/// position; as in perf, the bits of the other terms are added. Unlike perf, which adds the bits of
/// both, a user's value replaces the event's. Two named events are refused: the bits of both would
/// select a third.
Result<EncodedTerms, Unresolved> encode_terms(const Pmu& pmu, const std::vector<Term>& terms);

/// The named event of the PMU that `attributes` select, or null; borrowed.
const std::string* event_of(const Pmu& pmu, const perf::EventAttributes& attributes);

/// The terms whose values the named event of the PMU leaves to the user: "chip" of "chip=?".
std::vector<std::string> open_terms(const Pmu& pmu, const std::string& event);

/// The value of one count of the event, according to sysfs.
void use_worth(const PmuNamedEvent& named, EventIdentity& identity);

/// The metric of the PMU's named `event` in the table, if it has it.
void use_better_name(const Pmu& pmu, const std::string& event, EventIdentity& identity);

/// "event=0x3c,umask=0x1,inv"
std::string text_of(const std::vector<Term>& terms);

}  // namespace pex::events
