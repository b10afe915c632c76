#pragma once

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "kernel/watched.h"

// perf_event_open(2) by hand: what the exporter says is held against numbers that went through
// nothing of ours.

namespace pex::test {

/// Event numbers of the emulated PMU (Arm Architecture Reference Manual, "PMU events"). It knows no
/// other that counts; the stalls are there and stay 0.
enum PmuEvent : std::uint64_t {
  kSoftwareIncrement = 0x00,
  kInstructionsRetired = 0x08,
  kStallFrontend = 0x23,
  kStallBackend = 0x24,
};

/// The number differs by kernel.
inline std::uint32_t pmu_type() {
  std::uint32_t type = 0;
  std::ifstream("/sys/bus/event_source/devices/armv8_pmuv3/type") >> type;
  if (type == 0) die("type of armv8_pmuv3");
  return type;
}

inline perf_event_attr attributes(std::uint32_t type, std::uint64_t config) {
  perf_event_attr attr;
  std::memset(&attr, 0, sizeof attr);
  attr.size = sizeof attr;
  attr.type = type;
  attr.config = config;
  return attr;
}

/// Of a process (`pid`), or of all of them on `cpu` (pid -1), or, with PERF_FLAG_PID_CGROUP, of the
/// cgroup whose directory is open as `pid`. -1 with errno when refused.
inline int try_open_counter(perf_event_attr attr, int pid, int cpu, int leader = -1,
                            unsigned long flags = 0) {
  return static_cast<int>(
      ::syscall(SYS_perf_event_open, &attr, pid, cpu, leader, flags | PERF_FLAG_FD_CLOEXEC));
}

inline int open_counter(const perf_event_attr& attr, int pid, int cpu, int leader = -1,
                        unsigned long flags = 0) {
  const int fd = try_open_counter(attr, pid, cpu, leader, flags);
  if (fd < 0) die("perf_event_open");
  return fd;
}

}  // namespace pex::test
