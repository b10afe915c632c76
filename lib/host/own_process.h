#pragma once

#include <cstdint>

#include "base/result.h"

namespace pex::host {

/// What the kernel says about this very process. Always from /proc, whatever HostRoots say: it is
/// ourselves, not the host, that is looked at.
struct OwnProcess {
  double cpu_seconds = 0;         ///< user and system time of all threads
  double start_time_seconds = 0;  ///< since the epoch
  std::uint64_t open_fds = 0;
  std::uint64_t max_fds = 0;  ///< soft limit
  std::uint64_t virtual_bytes = 0;
  std::uint64_t resident_bytes = 0;
};

Result<OwnProcess> read_own_process();

/// Raises the soft limit of open files to the hard one, which anyone may; returns the limit in
/// force afterwards.
std::uint64_t raise_open_file_limit();

}  // namespace pex::host
