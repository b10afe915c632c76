#pragma once

#include <string>

#include "base/result.h"

namespace pex::plan {

/// One configured event, and whether this machine can count it.
struct EventAvailability {
  std::string event;  ///< canonical spelling; as it was written when the machine does not know it
  std::string group;
  bool cpu_scope = false;
  bool cgroup_scope = false;
  bool available = true;
  Error reason = {};  ///< when it is not; what was attempted is empty when it was to open the event
  bool tried_in_cgroup = false;  ///< false: not known whether it can be counted in cgroups

  bool operator==(const EventAvailability&) const = default;
};

}  // namespace pex::plan
