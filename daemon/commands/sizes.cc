#include "daemon/commands/sizes.h"

#include <chrono>
#include <cmath>

#include "base/duration.h"
#include "perf/mapping.h"
#include "records/switch_recording.h"
#include "targets/budget.h"

namespace pex::daemon {
namespace {

constexpr std::size_t kMebibyte = 1024 * 1024;

/// Memory of the process, measured (docs/cost.md): without cgroups; for each cgroup in addition to
/// its counters; and by records, where an event of a cgroup on a CPU is no counter, for each such
/// event. It is more in groups that share the PMU, as these are estimated.
constexpr std::size_t kBytesWithoutCgroups = 22 * kMebibyte;
constexpr std::size_t kBytesOfACgroup = 6 * 1024;
constexpr std::size_t kBytesOfARecordedEvent = 150;
constexpr std::size_t kBytesOfAnEstimatedEvent = 280;

/// Seconds of CPU time, measured (docs/cost.md): a poll of one CPU, each counter and each cgroup of
/// a CPU in it, and the records of a CPU that switches 20 000 times a second. With a smaller share
/// of a CPU that others want as well, records of such a CPU are lost.
constexpr double kPollOfACpu = 100e-6;
constexpr double kPollOfACounter = 0.5e-6;
constexpr double kPollOfACgroupByRecords = 0.2e-6;
constexpr double kRecordsOfACpu = 20'000 * 55e-9;

/// Of a cgroup on a CPU that is counted by records.
std::size_t bytes_of_totals(const collect::ScopePlan& plan) {
  std::size_t bytes = 0;
  for (const collect::GroupPlan& group : plan.groups) {
    bytes += group.events.size() *
             (group.shares_pmu ? kBytesOfAnEstimatedEvent : kBytesOfARecordedEvent);
  }
  return bytes;
}

Size size_of(const char* way, const plan::LoadedPlan& planned, const collect::MachineCpus& cpus,
             std::size_t cgroups, bool by_records) {
  const collect::CountingPlan& plan = planned.plan.counting;
  const collect::Need need =
      collect::need_of(plan, cpus, plan::counting_cost(planned, by_records)(plan, cpus));
  Size size{way};
  size.counters = need.counters.cpus + cgroups * need.counters.cgroup;
  const std::size_t used = size.counters + 2 * (need.counts_cgroups ? cgroups : 0);
  size.files = used + collect::reserved_files(used + used / 8);
  size.series = need.fixed_series + cgroups * need.cgroup_series;
  size.memory = cgroups * kBytesOfACgroup + size.counters * collect::kOwnBytesOfACounter;
  const auto cpu_count = static_cast<double>(cpus.online.size());
  double poll = cpu_count * kPollOfACpu + static_cast<double>(size.counters) * kPollOfACounter;
  if (by_records) {
    poll += cpu_count * static_cast<double>(cgroups) * kPollOfACgroupByRecords;
    size.cpu_time = cpu_count * kRecordsOfACpu;
    size.memory += cgroups * cpus.online.size() * bytes_of_totals(plan.cgroup);
    size.buffers = cpus.online.size() * (planned.config.cgroups.records_buffer +
                                         collect::kMinRecordsBuffer + 2 * perf::page_size());
  }
  size.cpu_time += poll / seconds_of(planned.config.collection.interval);
  size.kernel_memory = size.counters * collect::kKernelBytesOfACounter;
  return size;
}

}  // namespace

std::size_t Size::mebibytes_to_request() const {
  return (kBytesWithoutCgroups + memory + kMebibyte - 1) / kMebibyte;
}

std::size_t Size::millicores_to_request() const {
  return static_cast<std::size_t>(std::ceil(cpu_time * 100)) * 10;
}

std::vector<Size> sizes_of(const plan::LoadedPlan& planned, const collect::MachineCpus& cpus,
                           std::size_t cgroups) {
  std::vector<Size> sizes;
  if (planned.config.cgroups.source != config::CgroupSource::kRecords ||
      !may_use_records(planned)) {
    sizes.push_back(size_of("by descriptors", planned, cpus, cgroups, false));
  }
  if (may_use_records(planned)) {
    sizes.push_back(size_of("by records", planned, cpus, cgroups, true));
  }
  return sizes;
}

}  // namespace pex::daemon
