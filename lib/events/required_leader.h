#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "events/pmu.h"
#include "perf/counter_group.h"

namespace pex::events {

/// The kernel counts some events of a core PMU only after a certain other event of their group: the
/// shares of top-down analysis after `slots`, which must be the leader.
struct RequiredLeader {
  perf::CounterSpec counter;  ///< "cpu/slots/"
  int refusal = 0;            ///< the kernel's errno for an event without it
  bool shares_modes = false;  ///< the event is counted in the leader's modes, whatever its own are
};

/// The event that must precede `event`; nothing if it needs none, or if the PMU does not define
/// such a leader, as PMUs of other vendors use the same codes for other events.
std::optional<RequiredLeader> required_leader(const PmuCatalogue& pmus,
                                              const perf::EventAttributes& event);

/// Whether `event` is that leader, in any modes.
bool is_leader(const RequiredLeader& leader, const perf::EventAttributes& event);

/// Whether `event` is counted in its own modes (user, kernel, host, guest) behind `leader`. The
/// kernel accepts other ones, and counts in those of the leader.
bool is_in_its_modes(const RequiredLeader& needed, const perf::EventAttributes& leader,
                     const perf::EventAttributes& event);

/// An order in which the events of a group can be opened.
struct OpeningOrder {
  std::vector<std::size_t> order;  ///< indices into the events
  std::size_t together = 0;        ///< the number of leading ones that must not be separated
};

/// Leaders first, each followed by its dependents, then all others in order. Does not add missing
/// leaders.
OpeningOrder leaders_first(const PmuCatalogue& pmus, std::span<const perf::CounterSpec> events);

}  // namespace pex::events
