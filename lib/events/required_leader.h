#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "events/pmu.h"
#include "perf/counter_group.h"

namespace pex::events {

/// The kernel counts some events of a core PMU only behind a certain other one of their group: the
/// shares of top-down analysis behind `slots`, which must be the leader.
struct RequiredLeader {
  perf::CounterSpec counter;  ///< "cpu/slots/"
  int refusal = 0;            ///< errno with which the kernel refuses an event that lacks it
};

/// What `event` needs in front of it; nothing when it needs nothing, or when the PMU does not name
/// such a leader, as PMUs of other vendors use the same codes for other events.
std::optional<RequiredLeader> required_leader(const PmuCatalogue& pmus,
                                              const perf::EventAttributes& event);

/// Whether `event` is that leader, whatever modes it counts in.
bool is_leader(const RequiredLeader& leader, const perf::EventAttributes& event);

/// The order in which the events of a group can be opened.
struct LedOrder {
  std::vector<std::size_t> order;  ///< indices into the events
  std::size_t together = 0;        ///< the first of them, none of which can be opened apart
};

/// Leaders first, each with what needs it, then all others in their order. A leader that is not
/// among the events is not asked for.
LedOrder leaders_first(const PmuCatalogue& pmus, std::span<const perf::CounterSpec> events);

}  // namespace pex::events
