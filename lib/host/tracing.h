#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/roots.h"

namespace pex::host {

/// The mount of tracefs, which contains `events`: roots.tracing(), else roots.legacy_tracing(),
/// else the first readable one of the mount table. Fails with ENOENT if it is not mounted, and with
/// EACCES if we may not read it: it belongs to root, in mode 0700, unless mounted otherwise.
Result<std::string> find_tracing(const HostRoots& roots);

/// The number of the tracepoint `system`:`name`, for perf_event_attr.config. ENOENT also means that
/// this kernel has no such tracepoint; the remedy is then the most similar name. Numbers change
/// with each boot, and for a module whenever it is loaded.
Result<std::uint64_t> tracepoint_id(const HostRoots& roots, std::string_view system,
                                    std::string_view name);

/// All tracepoints as "system:name", in rising order; those in folders that we may not read are
/// left out.
Result<std::vector<std::string>> list_tracepoints(const HostRoots& roots);

}  // namespace pex::host
