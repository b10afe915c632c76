#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/unit.h"
#include "perf/perf_kernel.h"

namespace pex::events {

/// The identity of an event's metric.
struct EventIdentity {
  std::string name;    ///< canonical spelling: aliases resolved, modifiers in order, "cycles:u"
  std::string metric;  ///< [a-z0-9_]+, without scope, unit and _total: "cycles_user"
  Unit unit = Unit::kEvents;
  double scale = 1;  ///< one count is worth this many units: 1e-9 for a clock in nanoseconds
  std::string help;  ///< one sentence with its full stop
  std::string cpu_help = {};  ///< of scope cpu, if the event means something else there; else empty
  std::vector<std::pair<std::string, std::string>> labels;  ///< in addition to those of its place
  bool is_uncore = false;           ///< counted by a part of the package, and not by a CPU
  bool is_of_another_task = false;  ///< counted while the task that it belongs to is not current

  bool operator==(const EventIdentity&) const = default;
};

/// One counter, as requested from the kernel.
struct EventInstance {
  std::string pmu;  ///< only on the CPUs of this PMU (read_pmu_cpus); empty: on all
  perf::EventAttributes attributes;
};

/// One event that can be requested from the kernel. Several instances are several PMUs that share
/// the work of one kind, such as memory channels: the event's count is their sum.
struct EventSpec {
  EventIdentity identity;
  std::vector<EventInstance> instances;  ///< at least one
  bool is_without_guests = false;        ///< as EventResolver::counts_guests(), not by a modifier
};

}  // namespace pex::events
