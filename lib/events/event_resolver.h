#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "events/event_spec.h"
#include "events/event_syntax.h"
#include "events/pmu.h"
#include "host/roots.h"
#include "perf/counter_group.h"

namespace pex::events {

/// Why a spelled event cannot be requested from the kernel.
struct Unresolved {
  bool on_every_machine = false;  ///< an error of the spelling; else this machine lacks something
  TextOffset at;                  ///< position in the text
  Error error;
};

/// Whether every machine resolves it, as it is in the tables of names or has a number. Of any other
/// event the machine decides what it is, so that nothing about it is an error of the spelling.
bool is_on_every_machine(const EventKind& event);

/// Resolves spellings to attributes of one machine's kernel. Reads its sysfs and tracefs, and never
/// calls the kernel: a resolved event may still fail to open.
class EventResolver {
 public:
  /// Fails if the PMUs of the machine cannot be read. `counts_guests`: whether events of core PMUs
  /// count virtual machines, where no modifier says it; without a value, they do unless KVM gives
  /// virtual machines the PMU, or that is unknown.
  static Result<EventResolver> create(const host::HostRoots& roots,
                                      std::optional<bool> counts_guests = {});

  const PmuCatalogue& pmus() const { return pmus_; }
  const host::HostRoots& roots() const { return roots_; }
  bool counts_guests() const { return counts_guests_; }

  /// One event; on a hybrid machine one for each core PMU that has it, with the label `pmu`; for a
  /// pattern over PMUs of several kinds one for each kind. All have at least one instance.
  Result<std::vector<EventSpec>, Unresolved> resolve(const ParsedEvent& event) const;

 private:
  EventResolver(host::HostRoots roots, PmuCatalogue pmus, bool counts_guests)
      : roots_(std::move(roots)), pmus_(std::move(pmus)), counts_guests_(counts_guests) {}

  host::HostRoots roots_;
  PmuCatalogue pmus_;
  bool counts_guests_;
};

/// The attributes of `event`, for example "cycles" or "msr/aperf/", on the CPUs of `pmu`. Nothing
/// if the machine does not have it there.
std::optional<perf::CounterSpec> counter_on(const EventResolver& resolver, std::string_view event,
                                            std::string_view pmu);

/// The attributes of the tracepoint `system`:`name`; fails as host::tracepoint_id() does.
Result<perf::EventAttributes> tracepoint_on(const host::HostRoots& roots, std::string_view system,
                                            std::string_view name);

bool is_tracepoint(const perf::EventAttributes& event);

/// Converts any text to a part of a metric's name by the documented rule: lower case; other
/// characters than a-z and 0-9 become '_'; repeated '_' are merged, and removed at both ends.
std::string metric_word(std::string_view text);

/// One event that can be counted here by name, for `list`.
struct ListedEvent {
  std::string_view kind;  ///< "hardware", "software", "cache", "pmu", "tracepoint", "vendor"
  std::string name;       ///< for use in a configuration
  std::string pmu;        ///< that has it; empty for the generic tables
  std::string help;
  bool is_one_of_thousands = false;  ///< too many to try each
};

/// Every event that has a name on this machine: of the tables, of the PMUs, of tracefs if it can be
/// read, and of libpfm4 for this CPU. By kind, then in the order of their source. PMUs that share
/// the work of one kind are named together if all of them have the event.
std::vector<ListedEvent> list_events(const EventResolver& resolver);

}  // namespace pex::events
