#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "host/roots.h"

namespace pex::host {

/// Copies of the small files that decide what can be counted on a machine: their content by their
/// path below the roots, as "sys/devices/system/cpu/online" and "proc/meminfo". A directory ends
/// with '/' and is empty. Of the files with a part for each CPU, only the first part.
using MachineFiles = std::map<std::string, std::string>;

/// What cannot be read is left out.
MachineFiles read_machine_files(const HostRoots& roots);

/// Writes them below `directory`, where they are the machine of these roots. Fails for a path that
/// is not below "sys/", "proc/" or "cgroup/".
Result<HostRoots> write_machine_files(const MachineFiles& files, const std::string& directory);

}  // namespace pex::host
