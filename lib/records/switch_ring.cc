#include "records/switch_ring.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string>

#include "abi/sampling.h"
#include "perf/open_remedy.h"

namespace pex::perf {
namespace {

SamplingRequest software_event(std::uint64_t config) {
  SamplingRequest request;
  request.event = {.type = PERF_TYPE_SOFTWARE, .config = config};
  request.sample_id_all = false;
  return request;
}

/// The owner of the ring. The kernel wakes up its reader when half of the ring is full, whatever
/// its size: no watermark is set.
SamplingRequest ring_owner(bool reports_cgroups) {
  SamplingRequest request = software_event(PERF_COUNT_SW_DUMMY);
  request.cgroup = reports_cgroups;
  request.disabled = false;
  return request;
}

constexpr std::uint64_t kValuesAndTimes =
    PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
constexpr std::uint64_t kWithIds = kValuesAndTimes | PERF_FORMAT_ID;

/// All events of a group that write records write the values of all of them.
SamplingRequest writer_of_group(const EventAttributes& event, bool has_ids) {
  SamplingRequest request;
  request.event = event;
  request.sample_id_all = false;
  request.period = 1;
  request.sample_type = PERF_SAMPLE_READ | PERF_SAMPLE_CGROUP;
  if (has_ids) request.sample_type |= PERF_SAMPLE_ADDR;
  request.read_format = has_ids ? kWithIds : kValuesAndTimes;
  return request;
}

SamplingRequest leader_of_group(const SwitchLeader& leader, bool has_ids) {
  return writer_of_group({.type = PERF_TYPE_SOFTWARE, .config = leader.config}, has_ids);
}

std::string on_cpu(int cpu) { return describe(Place{.cpu = cpu, .cgroup_path = {}}); }

Error with_attempt(Error error, std::string attempted) {
  error.attempted = std::move(attempted);
  return error;
}

Error with_cpu(const Error& error, int cpu) {
  return with_attempt(error, error.attempted + " " + on_cpu(cpu));
}

std::string opening_of_leader(const SwitchLeader& leader, int cpu) {
  return "open event '" + std::string(leader.name) + "', which leads the groups " + on_cpu(cpu);
}

EventTarget whole_cpu(int cpu, int leader_fd = -1) {
  return {.pid = -1, .cpu = cpu, .group_fd = leader_fd};
}

/// Of a group: with the leader, and the one that notes moves.
constexpr std::size_t kMaxValues = 2 + kMaxGroupMembers;

/// The first one that the kernel opens; it is closed again.
Result<SwitchLeader> find_leader(PerfKernel& kernel, int cpu) {
  Error refusal;
  for (const SwitchLeader& leader : {kCgroupSwitches, kContextSwitches}) {
    const auto event = open_sampling(kernel, leader_of_group(leader, false), whole_cpu(cpu));
    if (event) return leader;
    refusal = with_attempt(event.error(), opening_of_leader(leader, cpu));
    const bool is_unknown = refusal.code == ENOENT || refusal.code == EINVAL;
    if (!is_unknown) break;
  }
  return refusal;
}

CounterRequest member_of(int leader_fd, int cpu) {
  CounterRequest request;
  request.event.type = PERF_TYPE_SOFTWARE;
  request.cpu = cpu;
  request.leader_fd = leader_fd;
  return request;
}

OpenFailure standstill(int cpu) {
  return {
      0,
      {ENODATA, "count a group " + on_cpu(cpu), "end other programs that count cgroups on this CPU",
       "its time stands still, as the kernel's context of the CPU is not active"}};
}

OpenFailure too_many(int cpu) {
  return {
      kMaxGroupMembers,
      {E2BIG,
       "open a group of more than " + std::to_string(kMaxGroupMembers) + " events " + on_cpu(cpu),
       "count fewer events in this group"}};
}

Error broken_up(int cpu) {
  return {ENODEV, "read a group " + on_cpu(cpu), {}, "the CPU was offline since it was opened"};
}

/// What one event of a group says alone.
struct ReadAlone {
  std::chrono::nanoseconds enabled{};
  std::chrono::nanoseconds running{};
  std::uint64_t value = 0;
};

/// Nothing: it can only be read in its group, or it answers for its former leader
/// (CounterGroup::read_one_by_one()). `id`: of the event, where the layout has ids.
Result<std::optional<ReadAlone>> read_alone(PerfKernel& kernel, const ReadLayout& layout,
                                            const UniqueFd& event,
                                            std::optional<std::uint64_t> id) {
  std::array<std::uint64_t, words_in_reading(kMaxValues)> words;
  const Result<std::size_t> filled = kernel.read_group(event.get(), words);
  if (!filled) return filled.error();
  const auto values = decode_values(layout, std::as_bytes(std::span(words).first(*filled)));
  if (!values || values->counters.size() != 1) return std::optional<ReadAlone>{};
  if (id && values->counters[0].id != id) return std::optional<ReadAlone>{};
  return std::optional<ReadAlone>{
      {*values->time_enabled, *values->time_running, values->counters[0].value}};
}

}  // namespace

Result<SwitchRing> SwitchRing::open(PerfKernel& kernel, int cpu, RingSize size,
                                    bool reports_cgroups) {
  Result<OpenCounter> owner = open_sampling(kernel, ring_owner(reports_cgroups), whole_cpu(cpu));
  if (!owner) return with_attempt(owner.error(), "open the event of a ring " + on_cpu(cpu));
  const Result<SwitchLeader> leader = find_leader(kernel, cpu);
  if (!leader) return leader.error();
  const Result<SampleLayout> layout = SampleLayout::of(leader_of_group(*leader, false));
  if (!layout) return layout.error();
  const Result<ReadLayout> layout_with_ids = ReadLayout::of(kWithIds);
  if (!layout_with_ids) return layout_with_ids.error();
  Result<RingBuffer> ring = RingBuffer::open(kernel, owner->fd.get(), size);
  if (!ring) return with_cpu(ring.error(), cpu);
  return SwitchRing{cpu, *leader, *layout, *layout_with_ids, *std::move(owner), *std::move(ring)};
}

Result<std::size_t, OpenFailure> SwitchRing::add_group(PerfKernel& kernel,
                                                       std::span<const CounterSpec> events,
                                                       const EventAttributes* moves) {
  if (events.size() > kMaxGroupMembers) return too_many(cpu_);
  Result<Group, OpenFailure> group = open_group(kernel, events, moves);
  if (group && stands_still(kernel, *group)) {
    retire(*std::move(group));
    activate_contexts(kernel, events, cpu_);
    group = open_group(kernel, events, moves);
    if (group && stands_still(kernel, *group)) {
      retire(*std::move(group));
      return standstill(cpu_);
    }
  }
  if (!group) return std::move(group.error());
  return keep(*std::move(group));
}

Result<SwitchRing::Group, OpenFailure> SwitchRing::open_group(PerfKernel& kernel,
                                                              std::span<const CounterSpec> events,
                                                              const EventAttributes* moves) const {
  const std::size_t writers = moves == nullptr ? 1 : 2;
  Result<Group, OpenFailure> group = open_leader(kernel, writers + events.size());
  if (!group) return group;
  if (moves != nullptr) {
    if (const Result<> noted = open_moves(kernel, *moves, *group); !noted) {
      return OpenFailure{0, noted.error()};
    }
  }
  const int leader_fd = group->events.front().get();
  CounterRequest request = member_of(leader_fd, cpu_);
  for (std::size_t event = 0; event < events.size(); ++event) {
    request.event = events[event].attributes;
    Result<OpenCounter> counter = kernel.open(request);
    if (!counter) {
      const std::string attempted = "open event '" + events[event].name + "' " + on_cpu(cpu_);
      return OpenFailure{event, open_error(counter.error().code, attempted, request)};
    }
    group->events.push_back(std::move(counter->fd));
    group->member_ids.push_back(counter->id);
  }
  const Result<> enabled = kernel.control(leader_fd, EventControl::kEnable, PERF_IOC_FLAG_GROUP);
  if (enabled) return group;
  return OpenFailure{0,
                     open_error(enabled.error().code, "enable a group " + on_cpu(cpu_), request)};
}

/// Disabled, and writing to the ring.
Result<SwitchRing::Group, OpenFailure> SwitchRing::open_leader(PerfKernel& kernel,
                                                               std::size_t values) const {
  const Mark number_alone{.values = values};
  const bool has_ids = group_of(number_alone) != kNoGroup || is_retired(number_alone);
  Result<OpenCounter> leader =
      open_sampling(kernel, leader_of_group(leader_, has_ids), whole_cpu(cpu_));
  const std::string attempted = opening_of_leader(leader_, cpu_);
  if (!leader) return OpenFailure{0, with_attempt(leader.error(), attempted)};
  const Result<> attached = ring_.attach(kernel, leader->fd.get());
  if (!attached) return OpenFailure{0, with_cpu(attached.error(), cpu_)};
  Group group;
  group.mark = has_ids ? Mark{values, leader->id} : number_alone;
  group.events.push_back(std::move(leader->fd));
  return group;
}

/// It runs once the leader does.
Result<> SwitchRing::open_moves(PerfKernel& kernel, const EventAttributes& tracepoint,
                                Group& group) const {
  SamplingRequest request = writer_of_group(tracepoint, group.mark.has_ids());
  request.disabled = false;
  Result<OpenCounter> member =
      open_sampling(kernel, request, whole_cpu(cpu_, group.events.front().get()));
  if (!member) {
    return with_attempt(member.error(),
                        "open the tracepoint of moves between cgroups " + on_cpu(cpu_));
  }
  const Result<> attached = ring_.attach(kernel, member->fd.get());
  if (!attached) return with_cpu(attached.error(), cpu_);
  group.notes_moves = true;
  group.events.push_back(std::move(member->fd));
  group.member_ids.push_back(member->id);
  return {};
}

std::size_t SwitchRing::keep(Group group) {
  std::size_t number = 0;
  while (number < groups_.size() && !groups_[number].events.empty()) ++number;
  if (number == groups_.size()) groups_.emplace_back();
  groups_[number] = std::move(group);
  return number;
}

/// Closes the leader first: from then on it writes nothing.
void SwitchRing::retire(Group group) {
  retired_.push_back(group.mark);
  for (UniqueFd& event : group.events) event.reset();
}

void SwitchRing::remove_group(std::size_t group) { retire(std::exchange(groups_[group], Group{})); }

Result<> SwitchRing::disable(PerfKernel& kernel, std::size_t group) const {
  return kernel.disable_group(groups_[group].events.front().get());
}

Result<> SwitchRing::enable(PerfKernel& kernel, std::size_t group) const {
  return kernel.enable_group(groups_[group].events.front().get());
}

bool SwitchRing::is_retired(const Mark& mark) const {
  return std::find(retired_.begin(), retired_.end(), mark) != retired_.end();
}

bool SwitchRing::stands_still(PerfKernel& kernel, const Group& group) const {
  GroupReading reading;
  SwitchCounts happened;
  return read_values(kernel, group, reading, happened) && reading.time_enabled.count() == 0;
}

Result<> SwitchRing::read(PerfKernel& kernel, std::size_t group, GroupReading& reading,
                          SwitchCounts& happened) const {
  return read_values(kernel, groups_[group], reading, happened);
}

/// Of the CPU that went offline, the kernel has made each event a group of its own.
Result<> SwitchRing::read_values(PerfKernel& kernel, const Group& group, GroupReading& reading,
                                 SwitchCounts& happened) const {
  std::array<std::uint64_t, words_in_reading(kMaxValues)> words;
  const Result<std::size_t> filled = kernel.read_group(group.events.front().get(), words);
  if (!filled) return filled.error();
  const auto values =
      decode_values(layout_of(group), std::as_bytes(std::span(words).first(*filled)));
  if (!values || values->counters.size() != group.events.size()) return broken_up(cpu_);
  const std::size_t first = group.first_count();
  happened.switches = values->counters[0].value;
  if (group.notes_moves) happened.moves = values->counters[1].value;
  reading.state = GroupReading::State::kCounting;
  reading.time_enabled = *values->time_enabled;
  reading.time_running = *values->time_running;
  reading.counts.resize(group.events.size() - first);
  for (std::size_t event = 0; event < reading.counts.size(); ++event) {
    reading.counts[event] = values->counters[first + event].value;
  }
  reading.unreadable.reset();
  return {};
}

Result<> SwitchRing::read_last(PerfKernel& kernel, std::size_t group, GroupReading& reading,
                               SwitchCounts& happened) const {
  const Group& of = groups_[group];
  const auto leader = read_alone(kernel, layout_of(of), of.events.front(), {});
  if (!leader) return leader.error();
  if (!*leader) return broken_up(cpu_);
  GroupReading last;
  last.time_enabled = (*leader)->enabled;
  last.time_running = (*leader)->running;
  for (std::size_t event = of.first_count(); event < of.events.size(); ++event) {
    const auto member =
        read_alone(kernel, layout_with_ids_, of.events[event], of.member_ids[event - 1]);
    const bool is_readable = member && *member;
    if (!is_readable) last.unreadable.set(event - of.first_count());
    last.counts.push_back(is_readable ? (*member)->value : 0);
  }
  happened.switches = (*leader)->value;
  reading = std::move(last);
  return {};
}

}  // namespace pex::perf
