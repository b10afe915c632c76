#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace pex::perf {

/// What one counter counts: the fields of perf_event_attr (perf_event_open(2)) that we set.
struct EventAttributes {
  std::uint32_t type = 0;     ///< PERF_TYPE_*, or the number of a dynamic PMU
  std::uint64_t config = 0;   ///< which event of that PMU
  std::uint64_t config1 = 0;  ///< a breakpoint's address (bp_addr)
  std::uint64_t config2 = 0;  ///< a breakpoint's length (bp_len), a probe's offset (probe_offset)
  std::uint64_t config3 = 0;  ///< since Linux 6.3; not sent when 0, as older kernels refuse it
  std::uint32_t breakpoint = 0;  ///< HW_BREAKPOINT_R, _W, _X (linux/hw_breakpoint.h)
  bool exclude_user = false;
  bool exclude_kernel = false;
  bool exclude_hypervisor = false;
  bool exclude_idle = false;
  bool exclude_host = false;
  bool exclude_guest = false;
  std::string probe = {};   ///< kprobe_func or uprobe_path: replaces config1
  std::string filter = {};  ///< of a tracepoint, in the kernel's filter syntax; empty for none

  bool operator==(const EventAttributes&) const = default;
};

/// One counter to open. `leader_fd` is -1 for the first of a group, which is opened disabled: a
/// member that joins a running leader of another software PMU is never scheduled on Linux 6.12 and
/// 6.18, without any error. `running`, `pinned` and `exclusive` are for leaders only.
struct CounterRequest {
  EventAttributes event;
  int cpu = 0;
  int cgroup_fd = -1;  ///< directory of the cgroup, or -1: everything on that CPU
  int leader_fd = -1;
  bool pinned = false;     ///< always on the PMU, or in error
  bool exclusive = false;  ///< alone on the PMU while it counts
  bool running = false;    ///< enabled at its opening; only for a group without members
};

/// A counter of the kernel, and the id of its value in a group read.
struct OpenCounter {
  UniqueFd fd;
  std::uint64_t id = 0;
};

/// Everything we ask of perf_event_open(2), and nothing more. Errors contain only the errno: the
/// caller adds the subject, open_remedy.h the remedy. Used by several threads at once.
class PerfKernel {
 public:
  virtual ~PerfKernel() = default;

  /// Opens one counter, close-on-exec, with the read format of group_reading.h.
  virtual Result<OpenCounter> open(const CounterRequest& request) = 0;

  /// Starts a group that was opened disabled; restarts a pinned group that lost its place.
  virtual Result<> enable_group(int leader_fd) = 0;

  /// Stops a group, counts and times, until it is started again.
  virtual Result<> disable_group(int leader_fd) = 0;

  /// Returns the number of words read. Zero means that a pinned group lost its place on the PMU: a
  /// state, not a failure. A member's descriptor reads the whole group as well, even in that state.
  virtual Result<std::size_t> read_group(int leader_fd, std::span<std::uint64_t> words) = 0;

  /// The clock that the times of whole-CPU groups follow: it stands still during a suspend, and is
  /// never adjusted.
  virtual std::chrono::nanoseconds now() = 0;
};

}  // namespace pex::perf
