#include "bench/ring/switch_records.h"

#include <linux/perf_event.h>

#include <cstdint>
#include <utility>

#include "perf/sampling.h"

namespace pex::bench {
namespace {

constexpr std::uint64_t kCgroupSwitches = 11;  // PERF_COUNT_SW_CGROUP_SWITCHES, since Linux 5.13
constexpr std::uint64_t kMembers[] = {PERF_COUNT_SW_TASK_CLOCK,  PERF_COUNT_SW_CONTEXT_SWITCHES,
                                      PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_CPU_MIGRATIONS,
                                      kCgroupSwitches,           PERF_COUNT_SW_CPU_CLOCK};

perf::SamplingRequest software(std::uint64_t config) {
  perf::SamplingRequest request;
  request.event = {.type = PERF_TYPE_SOFTWARE, .config = config};
  request.read_format =
      PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  request.disabled = false;
  return request;
}

perf::SamplingRequest leader(std::size_t watermark) {
  perf::SamplingRequest request = software(kCgroupSwitches);
  request.period = 1;
  request.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_READ | PERF_SAMPLE_CGROUP;
  request.wakeup_watermark = static_cast<std::uint32_t>(watermark);
  request.disabled = true;
  return request;
}

}  // namespace

Result<SwitchRecords> SwitchRecords::open(int cpu, std::size_t ring_bytes, std::size_t watermark) {
  perf::LinuxPerfKernel kernel;
  const perf::SamplingRequest led = leader(watermark);
  const auto layout = perf::SampleLayout::of(led.format());
  if (!layout) return layout.error();

  std::vector<perf::OpenCounter> events;
  perf::EventTarget target{.pid = -1, .cpu = cpu};
  const auto add = [&](const perf::SamplingRequest& request) -> Result<> {
    auto event = perf::open_sampling(kernel, request, target);
    if (!event) return event.error();
    events.push_back(*std::move(event));
    target.group_fd = events.front().fd.get();
    return {};
  };
  if (const Result<> added = add(led); !added) return added.error();
  for (const std::uint64_t config : kMembers) {
    if (const Result<> added = add(software(config)); !added) return added.error();
  }
  const int fd = events.front().fd.get();
  auto ring = perf::RingBuffer::open(kernel, fd, {ring_bytes, ring_bytes});
  if (!ring) return ring.error();
  if (const Result<> enabled = kernel.enable_group(fd); !enabled) return enabled.error();
  return SwitchRecords{std::move(events), *std::move(ring), *layout};
}

}  // namespace pex::bench
