#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/roots.h"

namespace pex::host {

/// The folder of tracefs, in which `events` is: roots.tracing(), else roots.tracing_of_old(), else
/// the first readable one of the mount table. Fails with ENOENT when it is not mounted, and with
/// EACCES when we may not read it: it belongs to root, in mode 0700, unless mounted otherwise.
Result<std::string> find_tracing(const HostRoots& roots);

/// The number of the tracepoint `system`:`name`, for perf_event_attr.config. ENOENT also means that
/// this kernel has no such tracepoint; the remedy then is the name that was most likely meant.
/// Numbers are given anew at each start of the kernel, and to a module whenever it is loaded.
Result<std::uint64_t> tracepoint_id(const HostRoots& roots, std::string_view system,
                                    std::string_view name);

/// All of them as "system:name", in rising order; those in folders that we may not read are left
/// out.
Result<std::vector<std::string>> list_tracepoints(const HostRoots& roots);

}  // namespace pex::host
