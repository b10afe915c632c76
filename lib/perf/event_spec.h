#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "perf/event_table.h"
#include "perf/perf_kernel.h"

namespace pex::perf {

/// One event that can be asked of the kernel, with the identity of its metric.
struct EventSpec {
  std::string name;  ///< canonical spelling: aliases resolved, modifiers in order, "cycles:u"
  EventAttributes attributes;
  std::string metric;  ///< lower case, without scope, unit and _total: "cycles_user"
  Unit unit = Unit::kEvents;
  std::string help;  ///< one sentence with its full stop
};

/// `text` in the spelling of `perf list`: a name of the tables, then perhaps ':u' (user mode only)
/// or ':k' (kernel only); ':uk' is both, without the hypervisor. Fails with code 0 and the nearest
/// known name as remedy, and on a modifier that would not do what it says (Filter).
Result<EventSpec> parse_event(std::string_view text);

/// Every name that parse_event knows, without aliases and modifiers, in the order of the tables.
std::vector<std::string> known_events();

}  // namespace pex::perf
