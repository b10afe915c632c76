#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "perf/group_reading.h"
#include "perf/perf_kernel.h"

namespace pex::perf {

/// "on CPU 3", "for cgroup '/system.slice/web.service' on CPU 3", "in thread 123".
std::string describe(const Place& place);

/// One event of a group: its attributes, and its name for messages.
struct CounterSpec {
  std::string name;
  EventAttributes attributes;

  bool operator==(const CounterSpec&) const = default;
};

/// Why a group could not be opened, and the event that the kernel refused.
struct OpenFailure {
  std::size_t event = 0;  ///< index into the events of the group
  Error error;
};

/// Activates the kernel's contexts of a CPU that count `events`, for groups that are opened next;
/// see CounterGroup::open. Refusals are ignored: the time of those groups does not advance then.
void activate_contexts(PerfKernel& kernel, std::span<const CounterSpec> events, int cpu);

/// Events that the kernel schedules as a unit on one CPU, for one target. Owns their descriptors;
/// the destructor closes them all, because members without a leader would keep counters occupied.
/// Open, read and close it on the CPU it counts: from elsewhere each costs an inter-processor
/// interrupt.
class CounterGroup {
 public:
  /// All or nothing. Leader disabled, then the members, then one enable: the only order that works
  /// on every kernel. `events`: 1 to kMaxGroupMembers.
  ///
  /// A group of a whole CPU is read once to check that its time advances. It does not if the first
  /// event on that CPU was another program's, of a cgroup that was not running: the kernel's
  /// context of the CPU is then inactive, and enabling a group does not activate it. Opening an
  /// event that is enabled at once does, so that is done, and the group opened again.
  static Result<CounterGroup, OpenFailure> open(PerfKernel& kernel,
                                                std::span<const CounterSpec> events,
                                                const Place& place, GroupMode mode);

  /// A group of one event that is enabled at its opening, and so always counts.
  static Result<CounterGroup, OpenFailure> open_running(PerfKernel& kernel,
                                                        const CounterSpec& event,
                                                        const Place& place);

  /// The same as open(), but it counts nothing before enable(), or before the thread executes a
  /// program (Place::enable_on_exec).
  static Result<CounterGroup, OpenFailure> open_disabled(PerfKernel& kernel,
                                                         std::span<const CounterSpec> events,
                                                         const Place& place, GroupMode mode);

  /// One read(2). After the CPU went offline, the kernel has broken the group up and its counts no
  /// longer advance; each event is then read separately, once, so that the last counts are not
  /// lost.
  Result<> read(PerfKernel& kernel, GroupReading& reading) const;

  /// After State::kOffPmu, before the group is closed. The group still has its counts, which can be
  /// read from its members. A group of one event returns them once it has been enabled, unless it
  /// is refused its place again at once: only then the state is kOffPmu again.
  Result<> read_off_pmu(PerfKernel& kernel, GroupReading& reading) const;

  /// Restarts a pinned group after State::kOffPmu, and any group after disable().
  Result<> enable(PerfKernel& kernel) const;

  /// Leaves the PMU to others until enabled again; its times stand still meanwhile.
  Result<> disable(PerfKernel& kernel) const;

  std::size_t size() const { return counters_.size(); }

  /// It is to be read soon: what that needs of it is loaded meanwhile.
  void prefetch() const {
    __builtin_prefetch(counters_.data());
    __builtin_prefetch(ids_.data());
  }

 private:
  CounterGroup() = default;
  static Result<CounterGroup, OpenFailure> open_all(PerfKernel& kernel,
                                                    std::span<const CounterSpec> events,
                                                    CounterRequest request);
  static Result<CounterGroup, OpenFailure> open_enabled(PerfKernel& kernel,
                                                        std::span<const CounterSpec> events,
                                                        const CounterRequest& request);
  bool stands_still(PerfKernel& kernel) const;
  Result<> read_by(std::size_t member, PerfKernel& kernel, GroupReading& reading) const;
  Result<> read_one_by_one(PerfKernel& kernel, GroupReading& reading) const;

  std::vector<UniqueFd> counters_;  ///< the leader first
  std::vector<std::uint64_t> ids_;  ///< of the counters, in their order
};

}  // namespace pex::perf
