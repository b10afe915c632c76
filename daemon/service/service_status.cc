#include "daemon/service/service_status.h"

#include "base/text.h"
#include "daemon/service/human_format.h"

namespace pex::daemon {
namespace {

/// A line that differs only in the duration of the last poll is sent after this delay.
constexpr std::chrono::minutes kRefreshAfter{1};

}  // namespace

std::string describe_counting(const collect::Snapshot& snapshot) {
  if (snapshot.targets->cpus->online.empty()) return "counting nothing now";
  return "counting " + number_of(snapshot.plan->cpu.columns.size(), "event") + " on each of " +
         number_of(snapshot.targets->cpus->online.size(), "CPU") + " and " +
         number_of(snapshot.plan->cgroup.columns.size(), "event") + " in each of " +
         number_of(snapshot.targets->present, "cgroup");
}

void ServiceStatus::ready(Clock::time_point now) {
  note(now);
  service_manager_.ready(line());
}

void ServiceStatus::refresh(Clock::time_point now) {
  if (describe_counting(*polls_.snapshot()) == shown_ && now - shown_at_ < kRefreshAfter) return;
  note(now);
  service_manager_.status(line());
}

void ServiceStatus::note(Clock::time_point now) {
  shown_ = describe_counting(*polls_.snapshot());
  shown_at_ = now;
}

std::string ServiceStatus::line() const {
  const std::string refused =
      load_.errors.empty() ? "" : "configuration not reloaded: see the log; ";
  return refused + describe_counting(*polls_.snapshot()) + "; " +
         std::to_string(polls_.last().open_events) + " counters, last poll " +
         duration_text(polls_.last().duration);
}

}  // namespace pex::daemon
