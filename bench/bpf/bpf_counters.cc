#include "bench/bpf/bpf_counters.h"

#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <utility>

#include "base/text.h"
#include "bench/bpf/bpf_system_call.h"
#include "bench/bpf/kernel_types.h"
#include "bench/bpf/switch_program.h"
#include "host/topology.h"

namespace pex::bench {
namespace {

constexpr std::uint32_t kMaxCgroups = 16384;
constexpr std::uint64_t kCgroupSwitches = 11;  // PERF_COUNT_SW_CGROUP_SWITCHES, since Linux 5.13
constexpr std::uint64_t kNoCgroup = std::uint64_t{1} << 48;  // ids of cgroups are far below

/// Before Linux 5.11, maps and programs count as locked memory.
void allow_locked_memory() {
  const rlimit unlimited{RLIM_INFINITY, RLIM_INFINITY};
  ::setrlimit(RLIMIT_MEMLOCK, &unlimited);
}

/// The kernel counts switches after the tracepoint.
bool is_late(const perf::CounterSpec& event) {
  const perf::EventAttributes& attributes = event.attributes;
  return attributes.type == PERF_TYPE_SOFTWARE &&
         (attributes.config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
          attributes.config == kCgroupSwitches);
}

/// From "0-3" or "0".
std::size_t possible_cpus(const host::HostRoots& roots) {
  std::string text;
  std::getline(std::ifstream(roots.sysfs + "/devices/system/cpu/possible"), text);
  return std::strtoul(text.c_str() + text.find_last_of(",-") + 1, nullptr, 10) + 1;
}

}  // namespace

Result<BpfCounters> BpfCounters::open(const host::HostRoots& roots,
                                      std::span<const perf::CounterSpec> events,
                                      std::size_t known_cgroups) {
  if (events.size() > SwitchProgram::kMaxEvents) {
    return Error{0, "count by BPF", "count at most 32 events"};
  }
  const Result<std::vector<int>> cpus = host::online_cpus(roots);
  if (!cpus) return cpus.error();
  const Result<KernelTypes> types = KernelTypes::load(roots);
  if (!types) return types.error();
  const Result<std::uint32_t> tracepoint = types->id_of_typedef("btf_trace_sched_switch");
  if (!tracepoint) return tracepoint.error();
  const Result<CgroupOfTask> cgroup_of_task = CgroupOfTask::find(*types);
  if (!cgroup_of_task) return cgroup_of_task.error();

  allow_locked_memory();
  BpfCounters counters;
  counters.number_ = events.size();
  counters.cpus_ = possible_cpus(roots);
  counters.online_ = *cpus;
  if (const Result<> opened = counters.open_events(events, *cpus); !opened) return opened.error();
  if (const Result<> made = counters.make_maps(known_cgroups); !made) return made.error();

  SwitchProgram program{{},
                        static_cast<std::uint32_t>(counters.cpus_),
                        *cgroup_of_task,
                        counters.array_.get(),
                        counters.last_.get(),
                        counters.sums_.get()};
  for (const perf::CounterSpec& event : events) program.is_late.push_back(is_late(event));
  Result<UniqueFd> loaded = load_tracing_program(instructions_of(program), *tracepoint);
  if (!loaded) return loaded.error();
  counters.program_ = std::move(*loaded);
  if (const Result<> set = counters.set_last_values(); !set) return set.error();
  Result<UniqueFd> attached = attach(counters.program_.get());
  if (!attached) return attached.error();
  counters.attached_ = std::move(*attached);
  return counters;
}

Result<> BpfCounters::open_events(std::span<const perf::CounterSpec> events,
                                  const std::vector<int>& cpus) {
  for (const int cpu : cpus) {
    for (const perf::CounterSpec& event : events) {
      Result<perf::OpenCounter> opened =
          kernel_.open({.event = event.attributes, .cpu = cpu, .running = true});
      if (!opened) {
        return Error{opened.error().code, "open event '" + event.name + "' for BPF", {}};
      }
      events_.push_back({cpu, std::move(opened->fd)});
    }
  }
  return {};
}

Result<> BpfCounters::make_maps(std::size_t known_cgroups) {
  const auto value_bytes = static_cast<std::uint32_t>(number_ * sizeof(std::uint64_t));
  const struct {
    UniqueFd& map;
    BpfMapShape shape;
  } maps[] = {{array_,
               {BPF_MAP_TYPE_PERF_EVENT_ARRAY, sizeof(std::uint32_t), sizeof(std::uint32_t),
                static_cast<std::uint32_t>(number_ * cpus_)}},
              {last_, {BPF_MAP_TYPE_PERCPU_ARRAY, sizeof(std::uint32_t), value_bytes, 1}},
              {sums_, {BPF_MAP_TYPE_PERCPU_HASH, sizeof(std::uint64_t), value_bytes, kMaxCgroups}}};
  for (const auto& [map, shape] : maps) {
    Result<UniqueFd> made = create_map(shape);
    if (!made) return made.error();
    map = std::move(*made);
  }
  const Sums zeros(number_ * cpus_);
  for (std::uint64_t number = 0; number < known_cgroups; ++number) {
    const std::uint64_t id = kNoCgroup + number;
    const Result<> added = update_entry(sums_.get(), &id, zeros.data());
    if (!added) return added.error();
  }
  return publish_events();
}

Result<> BpfCounters::publish_events() {
  for (std::size_t number = 0; number < events_.size(); ++number) {
    const Event& event = events_[number];
    const auto key =
        static_cast<std::uint32_t>(number % number_ * cpus_ + static_cast<std::size_t>(event.cpu));
    const int fd = event.fd.get();
    const Result<> published = update_entry(array_.get(), &key, &fd);
    if (!published) return published.error();
  }
  return {};
}

Result<> BpfCounters::set_last_values() {
  Sums last(number_ * cpus_);
  for (const int cpu : online_) {
    const Result<Sums> now = counts(cpu);
    if (!now) return now.error();
    std::copy(now->begin(), now->end(),
              last.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(cpu) * number_));
  }
  const std::uint32_t key = 0;
  return update_entry(last_.get(), &key, last.data());
}

std::map<std::uint64_t, BpfCounters::Sums> BpfCounters::sums(int cpu) const {
  std::map<std::uint64_t, Sums> all;
  Sums values(number_ * cpus_);
  std::uint64_t id = 0;
  for (bool is_there = next_key(sums_.get(), nullptr, &id); is_there;
       is_there = next_key(sums_.get(), &id, &id)) {
    if (id >= kNoCgroup || !look_up_entry(sums_.get(), &id, values.data())) continue;
    const auto first =
        values.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(cpu) * number_);
    all.emplace(id, Sums(first, first + static_cast<std::ptrdiff_t>(number_)));
  }
  return all;
}

Result<BpfCounters::Sums> BpfCounters::counts(int cpu) {
  constexpr std::size_t kCount =
      3;  // after the number of events, and the times enabled and running
  Sums counts;
  for (const Event& event : events_) {
    if (event.cpu != cpu) continue;
    std::array<std::uint64_t, 8> words{};
    const Result<std::size_t> read = kernel_.read_group(event.fd.get(), words);
    if (!read) return read.error();
    counts.push_back(words[kCount]);
  }
  return counts;
}

}  // namespace pex::bench
