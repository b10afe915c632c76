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

/// Why an event as it was spelled cannot be asked of the kernel.
struct Unresolved {
  bool on_every_machine = false;  ///< a mistake of who wrote it; else this machine lacks something
  TextOffset at;                  ///< where in the text
  Error error;
};

/// Turns spellings into what the kernel of one machine understands. Asks its sysfs and tracefs, and
/// never the kernel itself: that an event resolves does not mean that it can be opened.
class EventResolver {
 public:
  /// Fails when the machine cannot tell its PMUs.
  static Result<EventResolver> create(const host::HostRoots& roots);

  const PmuCatalogue& pmus() const { return pmus_; }
  const host::HostRoots& roots() const { return roots_; }

  /// One event; on a hybrid machine one for each core PMU that has it, with the label `pmu`; of a
  /// pattern over PMUs of several kinds one for each kind. All have at least one instance.
  Result<std::vector<EventSpec>, Unresolved> resolve(const ParsedEvent& event) const;

 private:
  EventResolver(host::HostRoots roots, PmuCatalogue pmus)
      : roots_(std::move(roots)), pmus_(std::move(pmus)) {}

  host::HostRoots roots_;
  PmuCatalogue pmus_;
};

/// What is asked of the kernel to count `event`, for example "cycles" or "msr/aperf/", on the CPUs
/// of `pmu`. Nothing when the machine does not know it there.
std::optional<perf::CounterSpec> counter_on(const EventResolver& resolver, std::string_view event,
                                            std::string_view pmu);

/// Any text as a part of a metric's name, the documented rule: lower case; what is not a-z or 0-9
/// becomes '_'; of several '_' one is left, and none at either end.
std::string metric_word(std::string_view text);

/// One thing that can be counted here by name, for `list`.
struct ListedEvent {
  std::string_view kind;  ///< "hardware", "software", "cache", "pmu", "tracepoint", "vendor"
  std::string name;       ///< as it can be pasted into a configuration
  std::string pmu;        ///< which knows it; empty for those of the generic tables
  std::string help;
  bool is_one_of_thousands = false;  ///< too many to try each
};

/// Every event that has a name on this machine: those of the tables, of the PMUs, of tracefs as far
/// as it can be read, and of libpfm4 for this CPU. By kind, then in the order of their source. PMUs
/// that share the work of one kind are named together when all of them have the event.
std::vector<ListedEvent> list_events(const EventResolver& resolver);

}  // namespace pex::events
