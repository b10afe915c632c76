#include "perf/counter_group.h"

#include <array>

#include "perf/open_remedy.h"

namespace pex::perf {

std::string describe(const Place& place) {
  const std::string cgroup = place.cgroup_fd < 0 ? "" : "for cgroup '" + place.cgroup_path + "' ";
  return cgroup + "on CPU " + std::to_string(place.cpu);
}

Result<CounterGroup, OpenFailure> CounterGroup::open(PerfKernel& kernel,
                                                     std::span<const CounterSpec> events,
                                                     const Place& place, GroupMode mode) {
  CounterGroup group;  // owns what is open so far: an early return closes it
  group.counters_.reserve(events.size());
  group.ids_.reserve(events.size());

  CounterRequest request;
  request.cpu = place.cpu;
  request.cgroup_fd = place.cgroup_fd;
  request.pinned = mode.pinned;
  request.exclusive = mode.exclusive;
  const auto refused = [&](std::size_t event, const char* verb, int code) {
    return OpenFailure{
        event,
        Error{code, std::string(verb) + " event '" + events[event].name + "' " + describe(place),
              std::string(open_remedy(code, request))}};
  };

  for (std::size_t event = 0; event < events.size(); ++event) {
    request.event = events[event].attributes;
    Result<OpenCounter> counter = kernel.open(request);
    if (!counter) return refused(event, "open", counter.error().code);
    group.counters_.push_back(std::move(counter->fd));
    group.ids_.push_back(counter->id);
    request.leader_fd = group.counters_.front().get();
    request.pinned = request.exclusive = false;  // only leaders may be; their group follows them
  }
  if (const Result<> enabled = group.enable(kernel); !enabled) {
    return refused(0, "enable", enabled.error().code);
  }
  return group;
}

Result<> CounterGroup::read(PerfKernel& kernel, GroupReading& reading) const {
  std::array<std::uint64_t, words_in_reading(kMaxGroupMembers)> buffer;
  const Result<std::size_t> filled = kernel.read_group(counters_.front().get(), buffer);
  if (!filled) return filled.error();
  if (*filled == 0) {
    reading.state = GroupReading::State::kOffPmu;
    return {};
  }
  if (*filled < words_in_reading(size())) return read_one_by_one(kernel, reading);
  return decode_group(std::span(buffer).first(*filled), ids_, reading);
}

Result<> CounterGroup::read_one_by_one(PerfKernel& kernel, GroupReading& reading) const {
  std::array<std::uint64_t, words_in_reading(1)> buffer;
  GroupReading own;
  std::vector<std::uint64_t> counts;
  for (std::size_t event = size(); event-- > 0;) {  // the leader last: its times are the group's
    const Result<std::size_t> filled = kernel.read_group(counters_[event].get(), buffer);
    if (!filled) return filled.error();
    const Result<> decoded =
        decode_group(std::span(buffer).first(*filled), std::span(ids_).subspan(event, 1), own);
    if (!decoded) return decoded.error();
    counts.insert(counts.begin(), own.counts.front());
  }
  own.counts = std::move(counts);
  reading = std::move(own);
  return {};
}

Result<> CounterGroup::enable(PerfKernel& kernel) const {
  return kernel.enable_group(counters_.front().get());
}

Result<> CounterGroup::disable(PerfKernel& kernel) const {
  return kernel.disable_group(counters_.front().get());
}

}  // namespace pex::perf
