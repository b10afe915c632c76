#include "collect/target_group.h"

#include <algorithm>
#include <cerrno>

namespace pex::collect {
namespace {

constexpr unsigned kLongestWait = 16;  // polls

perf::Place place_on(int cpu, const cgroup::Cgroup* cgroup) {
  if (cgroup == nullptr) return {cpu, -1, {}};
  return {cpu, cgroup->directory.get(), cgroup->path};
}

}  // namespace

void TargetGroup::open(perf::PerfKernel& kernel, int cpu,
                       std::shared_ptr<const cgroup::Cgroup> cgroup, PollReport& report) {
  if (polls_to_wait_ > 0) {
    --polls_to_wait_;
    return;
  }
  const perf::Place place = place_on(cpu, cgroup.get());
  Result<perf::CounterGroup, perf::OpenFailure> opened =
      perf::CounterGroup::open(kernel, plan_->events, place, plan_->mode);
  if (!opened) {
    const perf::OpenFailure& failure = opened.error();
    if (failure.error.code == ENODEV) return;  // offline since the list of CPUs was read
    if (cgroup && !cgroup::still_exists(*cgroup)) return;
    const std::string& event = plan_->events[failure.event].name;
    ++report.refusals[{event, failure.error.code}];
    report.add_failure(event, failure.error);
    polls_to_wait_ = std::min(1U << std::min(failures_, 31U), kLongestWait);
    ++failures_;
    return;
  }
  counters_ = std::move(*opened);
  estimator_.emplace(plan_->events.size());
  cgroup_ = std::move(cgroup);
  enabled_ = running_ = {};
  failures_ = 0;
  ++report.groups_opened;
}

void TargetGroup::close(PollReport& report) {
  counters_.reset();
  estimator_.reset();
  cgroup_.reset();
  ++report.groups_closed;
}

Result<> TargetGroup::read(perf::PerfKernel& kernel, int cpu, perf::GroupReading& reading) const {
  Result<> done = counters_->read(kernel, reading);
  if (!done) {
    done.error().attempted =
        "read group '" + plan_->name + "' " + perf::describe(place_on(cpu, cgroup_.get()));
  }
  return done;
}

Increment TargetGroup::advance_to(const perf::GroupReading& reading, Buffer& buffer) {
  const std::span<std::uint64_t> events = std::span(buffer).first(plan_->events.size());
  Increment increment;
  increment.coverage =
      estimator_->advance(reading.time_enabled, reading.time_running, reading.counts, events);
  increment.events = events;
  increment.enabled = std::max(reading.time_enabled - enabled_, std::chrono::nanoseconds{0});
  increment.running = std::max(reading.time_running - running_, std::chrono::nanoseconds{0});
  enabled_ = reading.time_enabled;
  running_ = reading.time_running;
  return increment;
}

}  // namespace pex::collect
