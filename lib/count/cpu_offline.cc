#include "count/cpu_offline.h"

#include <utility>

#include "events/event_table.h"

namespace pex::collect {
namespace {

using std::chrono::nanoseconds;

/// How far the clocks of perf events and of PerfKernel::now() may drift apart in `passed`: both use
/// the same hardware; an unstable one of the scheduler may lag by some ticks.
nanoseconds tolerance(nanoseconds passed) { return std::chrono::milliseconds{20} + passed / 1000; }

}  // namespace

CpuOfflineDetector::CpuOfflineDetector(perf::PerfKernel& kernel, int cpu)
    : kernel_(kernel), cpu_(cpu) {}

/// The time that passed is measured from the end of the last reading to the beginning of this one,
/// so that a thread that loses its CPU in between causes no false detection. A difference alone
/// proves nothing: on Linux 6.12 and 6.18 the time of a whole CPU stands still while the kernel
/// switches between cgroups that have events (ctx_sched_out, ctx_sched_in): 0.8 us for each switch
/// on 6.18, 15 % of the time at 180 000 switches a second. But the time of a dead event stands
/// still permanently, also from one reading to the next.
std::optional<nanoseconds> CpuOfflineDetector::detect() {
  const nanoseconds begun = kernel_.now();
  const bool was_read = event_ && event_->read(kernel_, reading_);
  if (!event_) {
    open();
    const std::optional<nanoseconds> offline_at = std::exchange(offline_at_, {});
    return offline_at ? std::optional(seen_ - *offline_at) : std::nullopt;
  }
  if (!was_read) return {};  // a dead event can be read: something else is wrong
  const nanoseconds passed = begun - seen_;
  const nanoseconds counted = reading_.time_enabled - enabled_;
  if (passed - counted > tolerance(passed) && !goes_on_from(reading_.time_enabled)) {
    open();
    return passed - counted;
  }
  if (counted.count() > 0) {
    enabled_ = reading_.time_enabled;
    seen_ = kernel_.now();
  }
  return {};
}

bool CpuOfflineDetector::goes_on_from(nanoseconds enabled) {
  return event_->read(kernel_, reading_) && reading_.time_enabled > enabled;
}

void CpuOfflineDetector::reset() {
  event_.reset();
  offline_at_ = kernel_.now();
}

void CpuOfflineDetector::open() {
  event_.reset();
  Result<perf::CounterGroup, perf::OpenFailure> opened =
      perf::CounterGroup::open_running(kernel_, events::generic_counter("dummy"), {cpu_, -1, {}});
  if (opened) event_ = std::move(*opened);
  enabled_ = {};
  reading_.time_enabled = {};
  seen_ = kernel_.now();
}

}  // namespace pex::collect
