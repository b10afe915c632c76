#include "daemon/doctor/rotation_trial.h"

#include <algorithm>
#include <cstddef>

#include "events/event_table.h"

namespace pex::daemon {
namespace {

using std::chrono::nanoseconds;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kGroups = 3;
constexpr std::size_t kClock = 1;  ///< its index in a group: a hardware event comes first, so that
                                   ///< the group belongs to the PMU

bool is_mistimed(const RotationTimes& group, nanoseconds mux_interval) {
  const nanoseconds difference = std::chrono::abs(group.running - group.clock);
  return difference > std::max(group.enabled / 50, 2 * mux_interval);
}

/// Uses the clocks of the groups, as the kernel's times are under test.
bool were_multiplexed(std::span<const RotationTimes> groups) {
  const auto had_the_pmu = [](const RotationTimes& group) { return group.clock.count() > 0; };
  const auto waited = [](const RotationTimes& group) {
    return group.clock < group.enabled / 10 * 9;
  };
  return std::any_of(groups.begin(), groups.end(), had_the_pmu) &&
         std::any_of(groups.begin(), groups.end(), waited);
}

/// Uses more than half of the counters.
std::vector<perf::CounterSpec> events_of_group(const plan::FreeCounters& free) {
  std::vector<perf::CounterSpec> events(free.general / 2 + 1, free.general_event);
  events.insert(events.begin() + kClock, events::generic_counter("cpu-clock"));
  return events;
}

void work_for(nanoseconds length) {
  const Clock::time_point end = Clock::now() + length;
  while (Clock::now() < end) {
  }
}

Result<RotationTimes> times_of(const perf::CounterGroup& group, perf::PerfKernel& kernel,
                               const perf::Place& place) {
  perf::GroupReading reading;
  if (const Result<> read = group.read(kernel, reading); !read) {
    return Error{read.error().code, "read a group " + describe(place), {}};
  }
  if (reading.state != perf::GroupReading::State::kCounting) return RotationTimes{};
  const auto clock = static_cast<nanoseconds::rep>(reading.counts[kClock]);
  return RotationTimes{reading.time_enabled, reading.time_running, nanoseconds{clock}};
}

}  // namespace

RunningTimes judge(std::span<const RotationTimes> groups, nanoseconds mux_interval,
                   nanoseconds length) {
  const auto any = [&](auto is_so) { return std::any_of(groups.begin(), groups.end(), is_so); };
  const auto was_enabled_below = [](nanoseconds least) {
    return [least](const RotationTimes& group) { return group.enabled < least; };
  };
  if (any(was_enabled_below(nanoseconds{1}))) return RunningTimes::kCpuShared;
  if (length < 10 * mux_interval || !were_multiplexed(groups)) return RunningTimes::kFewRotations;
  if (any([mux_interval](const RotationTimes& group) {
        return is_mistimed(group, mux_interval);
      })) {
    return RunningTimes::kWrong;
  }
  return any(was_enabled_below(length / 4 * 3)) ? RunningTimes::kCpuShared : RunningTimes::kRight;
}

Result<std::vector<RotationTimes>> try_rotation(perf::PerfKernel& kernel,
                                                const plan::FreeCounters& free,
                                                const perf::Place& place, nanoseconds length) {
  const std::vector<perf::CounterSpec> events = events_of_group(free);
  std::vector<perf::CounterGroup> groups;
  while (groups.size() < kGroups) {
    Result<perf::CounterGroup, perf::OpenFailure> group =
        perf::CounterGroup::open(kernel, events, place, {});
    if (!group) return group.error().error;
    groups.push_back(std::move(*group));
  }
  work_for(length);
  std::vector<RotationTimes> times;
  for (const perf::CounterGroup& group : groups) {
    const Result<RotationTimes> group_times = times_of(group, kernel, place);
    if (!group_times) return group_times.error();
    times.push_back(*group_times);
  }
  return times;
}

}  // namespace pex::daemon
