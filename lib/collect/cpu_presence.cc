#include "collect/cpu_presence.h"

#include <array>

#include "perf/event_table.h"

namespace pex::collect {

CpuPresence::CpuPresence(perf::PerfKernel& kernel, int cpu) : kernel_(kernel), cpu_(cpu) {}

bool CpuPresence::was_away() {
  perf::GroupReading reading;
  const bool clock_runs =
      event_ && event_->read(kernel_, reading) && reading.time_enabled > enabled_;
  if (clock_runs) {
    enabled_ = reading.time_enabled;
    return false;
  }
  const bool was_open = event_.has_value();
  static const std::array dummy = {perf::generic_counter("dummy")};
  Result<perf::CounterGroup, perf::OpenFailure> opened =
      perf::CounterGroup::open(kernel_, dummy, {cpu_, -1, {}}, {});
  event_.reset();
  if (opened) event_ = std::move(*opened);
  enabled_ = {};
  return was_open;
}

}  // namespace pex::collect
