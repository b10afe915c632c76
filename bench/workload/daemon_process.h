#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/result.h"
#include "bench/support/stop_signals.h"
#include "bench/workload/child_process.h"

namespace pex::bench {

/// The daemon, as it is started in production, with its polls once a second. It serves on a socket
/// in `directory`, which also has its configuration and its log.
class DaemonProcess {
 public:
  static Result<DaemonProcess> start(const std::string& program, const std::string& configuration,
                                     const std::string& directory);

  /// Until so many cgroups are counted; fails if that takes long. EINTR: a stop signal.
  Result<> wait_for_cgroups(std::size_t cgroups, const StopSignals& stop) const;

  std::chrono::nanoseconds cpu_time() const { return process_.cpu_time(); }
  /// The value of a sample, as it is written in a scrape; nothing if there is none.
  std::optional<double> sample(const std::string& name) const;

 private:
  DaemonProcess(ChildProcess process, std::string directory)
      : process_(std::move(process)), directory_(std::move(directory)) {}

  ChildProcess process_;
  std::string directory_;
};

}  // namespace pex::bench
