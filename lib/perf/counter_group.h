#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "perf/group_reading.h"
#include "perf/perf_kernel.h"

namespace pex::perf {

/// Where one group is counted.
struct Place {
  int cpu = 0;
  int cgroup_fd = -1;       ///< directory of the cgroup, or -1 for everything on the CPU
  std::string cgroup_path;  ///< for messages; empty for everything on the CPU
};

/// "on CPU 3", "for cgroup '/system.slice/web.service' on CPU 3".
std::string describe(const Place& place);

/// One event of a group: what is asked for, and its name for messages.
struct CounterSpec {
  std::string name;
  EventAttributes attributes;

  bool operator==(const CounterSpec&) const = default;
};

/// How the events of a group share the PMU with others (perf_event_open(2)).
struct GroupMode {
  bool pinned = false;     ///< always on the PMU, or in error
  bool exclusive = false;  ///< alone on the PMU while it counts

  bool operator==(const GroupMode&) const = default;
};

/// Why a group could not be opened, and which of its events the kernel refused.
struct OpenFailure {
  std::size_t event = 0;  ///< index into the events of the group
  Error error;
};

/// Events that the kernel schedules as a unit on one CPU, for one target. Owns their descriptors;
/// all are closed when it goes, because members left without a leader would go on occupying
/// counters. Open, read and close it on the CPU it counts: from elsewhere each costs an
/// inter-processor interrupt.
class CounterGroup {
 public:
  /// All or nothing. Leader disabled, then the members, then one enable: the only order that works
  /// on every kernel. `events`: 1 to kMaxGroupMembers.
  ///
  /// A group of a whole CPU is read once to see that its time runs. It does not where the first
  /// event on that CPU was another program's, of a cgroup that was not running: the kernel's
  /// context of the CPU is then inactive, and enabling a group does not activate it. An event that
  /// is enabled at its opening does, so that is done, and the group opened again.
  static Result<CounterGroup, OpenFailure> open(PerfKernel& kernel,
                                                std::span<const CounterSpec> events,
                                                const Place& place, GroupMode mode);

  /// A group of one event that is enabled at its opening, and so counts in any case.
  static Result<CounterGroup, OpenFailure> open_running(PerfKernel& kernel,
                                                        const CounterSpec& event,
                                                        const Place& place);

  /// One read(2). When the CPU went offline, the kernel has broken the group up and no count moves
  /// any more; each event is then read on its own, once, so that the last counts are not lost.
  Result<> read(PerfKernel& kernel, GroupReading& reading) const;

  /// After State::kOffPmu, before the group is closed. It still has its counts, which the
  /// descriptors of its members tell. A group of one tells them once it has been enabled, unless it
  /// is refused its place again at once: only then the state is kOffPmu again.
  Result<> read_off_pmu(PerfKernel& kernel, GroupReading& reading) const;

  /// Starts a pinned group anew after State::kOffPmu, and any group after disable().
  Result<> enable(PerfKernel& kernel) const;

  /// Leaves the PMU to others until enabled again; its times stand still meanwhile.
  Result<> disable(PerfKernel& kernel) const;

  std::size_t size() const { return counters_.size(); }

 private:
  CounterGroup() = default;
  static Result<CounterGroup, OpenFailure> open_all(PerfKernel& kernel,
                                                    std::span<const CounterSpec> events,
                                                    const Place& place, CounterRequest request);
  bool stands_still(PerfKernel& kernel) const;
  Result<> read_by(std::size_t member, PerfKernel& kernel, GroupReading& reading) const;
  Result<> read_one_by_one(PerfKernel& kernel, GroupReading& reading) const;

  std::vector<UniqueFd> counters_;  ///< the leader first
  std::vector<std::uint64_t> ids_;  ///< of the counters, in their order
};

}  // namespace pex::perf
