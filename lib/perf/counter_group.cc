#include "perf/counter_group.h"

#include <array>
#include <cstdint>
#include <set>

#include "perf/open_remedy.h"

namespace pex::perf {

std::string describe(const Place& place) {
  std::string cpu = "on CPU " + std::to_string(place.cpu);
  if (place.cgroup_fd >= 0) return "for cgroup '" + place.cgroup_path + "' " + cpu;
  if (place.pid < 0) return cpu;
  const std::string thread =
      place.pid == 0 ? "in the calling thread" : "in thread " + std::to_string(place.pid);
  return thread + (place.cpu < 0 ? "" : " " + cpu);
}

/// Before Linux 6.2 a CPU has a context for each kind of PMU, so an event of each is opened. An
/// active context stays active while it contains any event, such as the one of the other program,
/// so these are closed at once.
void activate_contexts(PerfKernel& kernel, std::span<const CounterSpec> events, int cpu) {
  std::set<std::uint32_t> types;
  for (const CounterSpec& event : events) {
    if (!types.insert(event.attributes.type).second) continue;
    CounterRequest request;
    request.event = event.attributes;
    request.cpu = cpu;
    request.running = true;
    (void)kernel.open(request);  // refused: the standstill is detected later
  }
}

Result<CounterGroup, OpenFailure> CounterGroup::open(PerfKernel& kernel,
                                                     std::span<const CounterSpec> events,
                                                     const Place& place, GroupMode mode) {
  const CounterRequest request{place, mode};
  Result<CounterGroup, OpenFailure> group = open_enabled(kernel, events, request);
  // Of cgroups and threads it also does while they are not running.
  const bool is_whole_cpu = place.cgroup_fd < 0 && place.pid < 0;
  if (!group || !is_whole_cpu || !group->stands_still(kernel)) return group;
  group->counters_.clear();
  activate_contexts(kernel, events, place.cpu);
  return open_enabled(kernel, events, request);
}

Result<CounterGroup, OpenFailure> CounterGroup::open_disabled(PerfKernel& kernel,
                                                              std::span<const CounterSpec> events,
                                                              const Place& place, GroupMode mode) {
  return open_all(kernel, events, {place, mode});
}

Result<CounterGroup, OpenFailure> CounterGroup::open_running(PerfKernel& kernel,
                                                             const CounterSpec& event,
                                                             const Place& place) {
  CounterRequest request{place, {}};
  request.running = true;
  return open_all(kernel, {&event, 1}, request);
}

Result<CounterGroup, OpenFailure> CounterGroup::open_all(PerfKernel& kernel,
                                                         std::span<const CounterSpec> events,
                                                         CounterRequest request) {
  CounterGroup group;  // owns what is open so far: an early return closes it
  group.counters_.reserve(events.size());
  group.ids_.reserve(events.size());
  const auto refused = [&](std::size_t event, int code) {
    const std::string attempted = "open event '" + events[event].name + "' " + describe(request);
    return OpenFailure{event, open_error(code, attempted, request)};
  };

  for (std::size_t event = 0; event < events.size(); ++event) {
    request.event = events[event].attributes;
    Result<OpenCounter> counter = kernel.open(request);
    if (!counter) return refused(event, counter.error().code);
    group.counters_.push_back(std::move(counter->fd));
    group.ids_.push_back(counter->id);
    request.leader_fd = group.counters_.front().get();
    // Only leaders may be or have these; their group follows them.
    request.pinned = request.exclusive = request.enable_on_exec = false;
  }
  return group;
}

Result<CounterGroup, OpenFailure> CounterGroup::open_enabled(PerfKernel& kernel,
                                                             std::span<const CounterSpec> events,
                                                             const CounterRequest& request) {
  Result<CounterGroup, OpenFailure> group = open_all(kernel, events, request);
  if (!group) return group;
  if (const Result<> enabled = group->enable(kernel); !enabled) {
    const std::string attempted = "enable event '" + events.front().name + "' " + describe(request);
    return OpenFailure{0, open_error(enabled.error().code, attempted, request)};
  }
  return group;
}

bool CounterGroup::stands_still(PerfKernel& kernel) const {
  GroupReading reading;
  return read(kernel, reading) && reading.state == GroupReading::State::kCounting &&
         reading.time_enabled.count() == 0;
}

Result<> CounterGroup::read(PerfKernel& kernel, GroupReading& reading) const {
  return read_by(0, kernel, reading);
}

/// The kernel returns the same group for every member, but refuses to read the leader alone while
/// it is in error.
Result<> CounterGroup::read_by(std::size_t member, PerfKernel& kernel,
                               GroupReading& reading) const {
  std::array<std::uint64_t, words_in_reading(kMaxGroupMembers)> buffer;
  const Result<std::size_t> filled = kernel.read_group(counters_[member].get(), buffer);
  if (!filled) return filled.error();
  if (*filled == 0) {
    reading.state = GroupReading::State::kOffPmu;
    return {};
  }
  if (*filled < words_in_reading(size())) return read_one_by_one(kernel, reading);
  return decode_group(std::span(buffer).first(*filled), ids_, reading);
}

/// A pinned leader without its place cannot be read, nor can events that can only be counted in a
/// group. Before its last fix, perf_group_detach() (kernel/events/core.c) left a former member with
/// its old leader and its old size of a reading: it returns the count and the id of the leader,
/// into room for the whole group only.
Result<> CounterGroup::read_one_by_one(PerfKernel& kernel, GroupReading& reading) const {
  std::array<std::uint64_t, words_in_reading(kMaxGroupMembers)> buffer;
  GroupReading own;
  reading = {.state = GroupReading::State::kOffPmu, .counts = {}, .unreadable = {}};
  reading.counts.resize(size());
  for (std::size_t event = size(); event-- > 0;) {  // the leader last: its times are the group's
    const Result<std::size_t> filled = kernel.read_group(counters_[event].get(), buffer);
    const std::span<const std::uint64_t> id = std::span(ids_).subspan(event, 1);
    const Result<> decoded =
        filled ? decode_group(std::span(buffer).first(*filled), id, own) : filled.error();
    const bool is_off_pmu = filled && *filled == 0;
    if (event == 0 && !decoded && !is_off_pmu) return decoded.error();
    if (!decoded) {
      reading.unreadable.set(event);
      continue;
    }
    reading.state = GroupReading::State::kCounting;
    reading.time_enabled = own.time_enabled;
    reading.time_running = own.time_running;
    reading.counts[event] = own.counts.front();
  }
  return {};
}

Result<> CounterGroup::read_off_pmu(PerfKernel& kernel, GroupReading& reading) const {
  if (size() == 1) {
    (void)enable(kernel);
    return read(kernel, reading);
  }
  const Result<> done = read_by(1, kernel, reading);
  const bool is_counting = reading.state == GroupReading::State::kCounting;
  return !done || is_counting ? done : read_one_by_one(kernel, reading);
}

Result<> CounterGroup::enable(PerfKernel& kernel) const {
  return kernel.enable_group(counters_.front().get());
}

Result<> CounterGroup::disable(PerfKernel& kernel) const {
  return kernel.disable_group(counters_.front().get());
}

}  // namespace pex::perf
