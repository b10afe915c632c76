#include "plan/clock_trial.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <thread>

#include "events/event_table.h"
#include "perf/counter_group.h"
#include "perf/known_work.h"

namespace pex::plan {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds kWork = std::chrono::milliseconds{1};

}  // namespace

bool counts_cpu_clock(perf::PerfKernel& kernel) {
  const std::array clocks = {events::generic_counter("cpu-clock"),
                             events::generic_counter("task-clock")};
  const perf::Place own_thread{.cpu = -1, .cgroup_path = {}, .pid = 0};
  const auto group = perf::CounterGroup::open(kernel, clocks, own_thread, {});
  if (!group) return true;
  const nanoseconds begin = perf::thread_time();
  while (perf::thread_time() - begin < kWork) {
  }
  std::this_thread::sleep_for(kWork);
  perf::GroupReading reading;
  if (!group->read(kernel, reading) || reading.counts.size() != clocks.size()) return true;
  const std::uint64_t by_task_clock = reading.counts[1];
  return reading.counts[0] >= by_task_clock / 2;
}

}  // namespace pex::plan
