#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "events/event_spec.h"

namespace pex::plan {

/// Those events of a configured group that one kernel group can hold: the kernel takes hardware
/// events of one PMU only.
struct GroupPart {
  struct Member {
    std::size_t event = 0;     ///< index into the events of the group
    std::size_t instance = 0;  ///< index into the instances of that event
  };
  std::string pmu;  ///< that all members are bound to; empty: on all CPUs
  std::vector<Member> members;
};

/// One part for each PMU. Events that are counted on all CPUs (software, tracepoints, ...) go along
/// with the core PMUs of a hybrid machine, when those are all there and so cover every CPU: then
/// they are scheduled with the hardware events. Else they are a part of their own.
std::vector<GroupPart> parts_by_pmu(std::span<const events::EventSpec> events,
                                    std::span<const std::string> core_pmus);

}  // namespace pex::plan
