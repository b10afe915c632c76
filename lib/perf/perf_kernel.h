#pragma once

#include <linux/perf_event.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "perf/event_attr.h"
#include "perf/event_control.h"
#include "perf/known_work.h"
#include "perf/mapping.h"

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
  std::shared_ptr<const UniqueFd> file = {};  ///< that `probe` names, held open

  bool operator==(const EventAttributes&) const = default;
};

/// Borrows the text of its probe.
inline EventAttr attr_of(const EventAttributes& event) {
  EventAttr attr;
  attr.type = event.type;
  attr.config = event.config;
  attr.bp_type = event.breakpoint;
  attr.config1 =
      event.probe.empty() ? event.config1 : reinterpret_cast<std::uintptr_t>(event.probe.c_str());
  attr.config2 = event.config2;
  attr.config3 = event.config3;
  const auto exclude = [&attr](AttrFlag mode, bool is_excluded) {
    if (is_excluded) attr.flags |= attr_flag(mode);
  };
  exclude(AttrFlag::kExcludeUser, event.exclude_user);
  exclude(AttrFlag::kExcludeKernel, event.exclude_kernel);
  exclude(AttrFlag::kExcludeHv, event.exclude_hypervisor);
  exclude(AttrFlag::kExcludeIdle, event.exclude_idle);
  exclude(AttrFlag::kExcludeHost, event.exclude_host);
  exclude(AttrFlag::kExcludeGuest, event.exclude_guest);
  return attr;
}

/// Where one group is counted.
struct Place {
  int cpu = 0;                  ///< -1: wherever the thread `pid` runs
  int cgroup_fd = -1;           ///< directory of the cgroup, or -1 for everything on the CPU
  std::string cgroup_path;      ///< for messages; empty for everything on the CPU
  int pid = -1;                 ///< one thread, 0: the calling one; -1: all. Not with `cgroup_fd`
  bool inherit = false;         ///< of a thread: also the threads and processes that it creates
  bool enable_on_exec = false;  ///< of a thread: counting begins with its next execve(2)
};

/// How the events of a group share the PMU with others (perf_event_open(2)).
struct GroupMode {
  bool pinned = false;     ///< always on the PMU, or in error
  bool exclusive = false;  ///< alone on the PMU while it counts

  bool operator==(const GroupMode&) const = default;
};

/// One counter to open. `leader_fd` is -1 for the first of a group, which is opened disabled: a
/// member that joins a running leader of another software PMU is never scheduled on Linux 6.12 and
/// 6.18, without any error. `running` and the mode are for leaders only.
struct CounterRequest : Place, GroupMode {
  EventAttributes event = {};
  int leader_fd = -1;
  bool running = false;  ///< enabled at its opening; only for a group without members
};

/// The remaining arguments of perf_event_open(2).
struct EventTarget {
  int pid = -1;  ///< a thread, 0: the calling one, -1: all; a cgroup's directory with PID_CGROUP
  int cpu = -1;  ///< -1: any, if there is a pid
  int group_fd = -1;        ///< the leader, -1: this event leads
  unsigned long flags = 0;  ///< PERF_FLAG_*; FD_CLOEXEC is always added
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
  virtual Result<> enable_group(int leader_fd) {
    return control(leader_fd, EventControl::kEnable, PERF_IOC_FLAG_GROUP);
  }

  /// Stops a group, counts and times, until it is started again.
  virtual Result<> disable_group(int leader_fd) {
    return control(leader_fd, EventControl::kDisable, PERF_IOC_FLAG_GROUP);
  }

  /// Returns the number of words read. Zero means that a pinned group lost its place on the PMU: a
  /// state, not a failure. A member's descriptor reads the whole group as well, even in that state.
  virtual Result<std::size_t> read_group(int leader_fd, std::span<std::uint64_t> words) = 0;

  /// Opens an event with all attributes as they are, close-on-exec. `attr.size` is the size to
  /// send; with E2BIG the kernel stores the size that it supports.
  virtual Result<OpenCounter> open_event(EventAttr& attr, const EventTarget& target) = 0;

  /// One ioctl(2) on an open event; event_control.h has the meaning of `argument`.
  virtual Result<> control(int fd, EventControl operation, std::uint64_t argument) = 0;

  /// Maps `bytes` of the event's ring, or of its AUX area, from `offset` on: multiples of the page
  /// size. If not `writable`, the kernel overwrites unread records.
  virtual Result<Mapping> map(int fd, std::size_t bytes, std::size_t offset, bool writable) = 0;

  /// The clock that the times of whole-CPU groups follow: it stands still during a suspend, and is
  /// never adjusted.
  virtual std::chrono::nanoseconds now() = 0;

  /// Does work in the calling thread that events can be checked by. Nothing if it cannot, as the
  /// kernels of most tests.
  virtual std::optional<WorkDone> work(const KnownWork&) { return {}; }
};

}  // namespace pex::perf
