#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "host/roots.h"

namespace pex::host {

/// A program that has perf events open.
struct PerfUser {
  int pid = 0;
  std::string name;        ///< /proc/PID/comm; any bytes but a line break
  std::size_t events = 0;  ///< descriptors of events

  bool operator==(const PerfUser&) const = default;
};

/// Who else may hold counters. Events that the kernel or a BPF program holds have no descriptor,
/// and are not seen.
struct PerfUsers {
  std::vector<PerfUser> users;  ///< but this process; those with most events first
  std::size_t unreadable = 0;   ///< processes whose descriptors may not be listed, or looked at
};

/// By the links in /proc/PID/fd, which the kernel shows to those who may trace the process
/// (CAP_SYS_PTRACE): takes some milliseconds for each thousand descriptors of the
/// machine.
PerfUsers find_perf_users(const HostRoots& roots);

}  // namespace pex::host
