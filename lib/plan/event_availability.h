#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "events/event_spec.h"
#include "perf/open_remedy.h"
#include "perf/truth_verdict.h"

namespace pex::plan {

/// One configured event, and whether this machine can count it.
struct EventAvailability {
  std::string event;  ///< canonical spelling; the original one if the machine does not know it
  std::string group;
  bool cpu_scope = false;
  bool cgroup_scope = false;
  bool available = true;
  Error reason = {};             ///< if it is not; `attempted` is empty if opening the event failed
  bool optional = false;         ///< its group is
  bool is_unknown_here = false;  ///< it may be right on another machine, or is misspelled
  bool is_without_guests = false;  ///< the machine counts it with exclude_guest only
  bool tried_in_cgroup = false;    ///< false: unknown whether it can be counted in cgroups
  std::optional<events::EventIdentity> identity = {};  ///< none: the machine does not know it
  perf::Truth truth = perf::Truth::kUnknown;           ///< a lie: it is left out for that

  /// This machine lacks it, as the configuration expects of some machines: no reason to warn.
  bool is_expected_lack() const {
    return optional && !available && !perf::can_be_remedied(reason.code);
  }

  bool operator==(const EventAvailability&) const = default;
};

}  // namespace pex::plan
