#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pex::host {

/// CPU numbers in the kernel's list format, "0-3,8" (Documentation/admin-guide/cputopology.rst), in
/// rising order without repeats. An empty list is valid. Fails with EINVAL on anything else and on
/// numbers above 65535.
Result<std::vector<int>> parse_cpu_list(std::string_view text);

/// The shortest list of rising CPU numbers: {0,1,2,8} becomes "0-2,8".
std::string format_cpu_list(const std::vector<int>& cpus);

/// The same with its noun: "CPU 3", "CPUs 0-1,8".
std::string name_cpus(const std::vector<int>& cpus);

}  // namespace pex::host
