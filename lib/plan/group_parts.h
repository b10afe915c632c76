#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "events/event_spec.h"

namespace pex::plan {

/// The events of a configured group that one kernel group can contain: the kernel accepts hardware
/// events of one PMU only.
struct GroupPart {
  struct Member {
    std::size_t event = 0;     ///< index into the events of the group
    std::size_t instance = 0;  ///< index into the instances of that event
  };
  std::string pmu;  ///< that all members are bound to; empty: on all CPUs
  std::vector<Member> members;
};

/// One part for each PMU. Events that are counted on all CPUs (software, tracepoints, ...) join the
/// core PMUs of a hybrid machine, if those are all present and so cover every CPU: then they are
/// scheduled with the hardware events. Otherwise they form a separate part.
std::vector<GroupPart> parts_by_pmu(std::span<const events::EventSpec> events,
                                    std::span<const std::string> core_pmus);

}  // namespace pex::plan
