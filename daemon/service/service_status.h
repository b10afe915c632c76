#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "count/snapshot.h"
#include "daemon/service/service_manager.h"
#include "daemon/status/status.h"
#include "exposition/poll_metrics.h"

namespace pex::daemon {

/// "counting 6 events on each of 2 CPUs and 0 events in each of 0 cgroups".
std::string describe_counting(const collect::Snapshot& snapshot);

/// The status line that the service manager shows. Shows a change of the targets at once, and the
/// duration of polls once a minute.
class ServiceStatus {
 public:
  using Clock = std::chrono::steady_clock;

  /// All outlive it.
  ServiceStatus(ServiceManager& service_manager, const exposition::PollMetrics& polls,
                const ConfigurationLoad& load)
      : service_manager_(service_manager), polls_(polls), load_(load) {}

  /// A start or a reload has ended. After the first poll.
  void ready(Clock::time_point now);
  /// A poll has ended.
  void refresh(Clock::time_point now);

 private:
  void note(Clock::time_point now);
  std::string line() const;

  ServiceManager& service_manager_;
  const exposition::PollMetrics& polls_;
  const ConfigurationLoad& load_;
  std::string shown_;  ///< the part about the targets: only a change of it is sent at once
  Clock::time_point shown_at_;
};

}  // namespace pex::daemon
