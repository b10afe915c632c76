#include "collect/descriptor_source.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

namespace pex::collect {
namespace {

std::size_t events_of(const ScopePlan& scope, const MachineCpus& cpus) {
  std::size_t events = 0;
  for (const GroupPlan& group : scope.groups) {
    events += group.events.size() * cpus.count_of(group.pmu, group.left_out_cpus);
  }
  return events;
}

/// The number on the CPU that has most of them: if PMUs divide the CPUs among them, none has all.
std::size_t most_events_on_a_cpu(const ScopePlan& scope, const MachineCpus& cpus) {
  std::size_t most = 0;
  for (const int cpu : cpus.online) {
    std::size_t events = 0;
    for (const GroupPlan& group : scope.groups) {
      if (cpus.counts_on(group.pmu, cpu)) events += group.events.size();
    }
    most = std::max(most, events);
  }
  return most;
}

CounterSource::State state_of(const perf::GroupReading& reading) {
  return reading.state == perf::GroupReading::State::kOffPmu ? CounterSource::State::kOffPmu
                                                             : CounterSource::State::kCounting;
}

}  // namespace

DescriptorSource::DescriptorSource(perf::PerfKernel& kernel, int cpu)
    : kernel_(kernel), cpu_(cpu), offline_(kernel_, cpu) {}

Result<CounterSource::Handle, perf::OpenFailure> DescriptorSource::open(
    const GroupPlan& group, std::span<const perf::CounterSpec> events,
    const std::shared_ptr<const cgroup::Cgroup>& cgroup) {
  // One that was gone before it was found has no directory: the kernel would take that for the
  // whole CPU.
  if (cgroup && !cgroup->directory) {
    return perf::OpenFailure{0, Error{ENOENT, "open the directory of '" + cgroup->path + "'", {}}};
  }
  const perf::Place place =
      cgroup ? perf::Place{cpu_, cgroup->directory.get(), cgroup->path} : perf::Place{cpu_, -1, {}};
  Result<perf::CounterGroup, perf::OpenFailure> opened =
      perf::CounterGroup::open(kernel_, events, place, group.mode);
  if (!opened) return std::move(opened.error());
  if (free_.empty()) {
    free_.push_back(static_cast<Handle>(groups_.size()));
    groups_.emplace_back();
    always_count_.emplace_back();
  }
  const Handle handle = free_.back();
  free_.pop_back();
  groups_[handle] = std::move(*opened);
  always_count_[handle] = cgroup && !group.shares_pmu;
  return handle;
}

void DescriptorSource::close(Handle group) {
  groups_[group].reset();
  free_.push_back(group);
}

/// Groups are read in about the order in which they were opened. While the kernel answers for one,
/// the memory of the next ones is loaded: between two polls all of it has left the caches.
void DescriptorSource::prefetch_after(Handle group) const {
  constexpr std::size_t kNext = 1;
  constexpr std::size_t kAhead = 3;
  if (group + kAhead >= groups_.size()) return;
  __builtin_prefetch(&groups_[group + kAhead]);
  if (const auto& next = groups_[group + kNext]) next->prefetch();
}

Result<CounterSource::State> DescriptorSource::read(Handle group, perf::GroupReading& reading) {
  prefetch_after(group);
  const Result<> done = groups_[group]->read(kernel_, reading);
  if (!done) return done.error();
  // Software events always count. But if a cgroup has hardware groups as well, Linux 6.1 accounts
  // some microseconds of each wake-up as enabled and not running to those that are switched first.
  // One that has never run is different: it was never started, and there is no value.
  const bool has_run = reading.time_running.count() > 0;
  if (has_run && always_count_[group]) reading.time_running = reading.time_enabled;
  return state_of(reading);
}

Result<CounterSource::State> DescriptorSource::read_off_pmu(Handle group,
                                                            perf::GroupReading& reading) {
  const Result<> done = groups_[group]->read_off_pmu(kernel_, reading);
  if (!done) return done.error();
  return state_of(reading);
}

CounterCost descriptor_cost(const CountingPlan& plan, const MachineCpus& cpus) {
  CounterCost cost;
  cost.cpus = kOfflineEvents * cpus.online.size() + events_of(plan.cpu, cpus);
  if (plan.cgroup.empty()) return cost;
  cost.cgroup = events_of(plan.cgroup, cpus);
  cost.cgroup_on_a_cpu = most_events_on_a_cpu(plan.cgroup, cpus);
  return cost;
}

CounterSources descriptor_sources(perf::PerfKernel& kernel) {
  return {[&kernel](int cpu) { return std::make_unique<DescriptorSource>(kernel, cpu); },
          descriptor_cost};
}

}  // namespace pex::collect
