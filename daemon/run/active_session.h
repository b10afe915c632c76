#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "daemon/cli/options.h"
#include "daemon/log/logging.h"
#include "daemon/run/counting_session.h"
#include "daemon/run/crash_guard.h"
#include "daemon/status/status.h"
#include "exposition/collected_family.h"
#include "host/mounts.h"
#include "perf/perf_kernel.h"
#include "plan/machine/free_counters.h"
#include "plan/machine/machine_description.h"

namespace pex::daemon {

/// The configuration in force with everything it counts, and the result of the last load. On the
/// loop's thread, except plan().
class ActiveSession final : public prometheus::Collectable {
 public:
  /// All outlive it.
  ActiveSession(const Options& options, perf::PerfKernel& kernel, Log& log,
                CrashGuard* guard = nullptr);

  /// Loads the configuration and plans what it counts. Runs on any thread while the loop keeps
  /// serving, as the session in force does not change until a reload ends. Fails with all errors
  /// found.
  Result<CountingSession, std::vector<Error>> plan() const;
  /// The same with the configuration in force, for a machine that has changed.
  Result<CountingSession, std::vector<Error>> plan_again() const;

  /// Questions for any thread, which may wait for a file system. True if the plan in force should
  /// be made again: an event of it lies, or ceases to; KVM begins, or ceases, to give virtual
  /// machines the PMU; there is a hierarchy in which cgroups can be counted.
  std::function<bool()> truth_check() const;
  std::function<bool()> check_of_guests() const;
  std::function<bool()> check_of_hierarchy() const;

  /// The collector that must end before `next` counts; null if `next` takes it over.
  std::unique_ptr<collect::Collector> release(CountingSession& next);

  /// `next` is in force from now on.
  void adopt(CountingSession next);

  /// No cgroup is counted, for want of a hierarchy.
  bool lacks_hierarchy() const;

  /// A configuration with errors changes nothing.
  void reject(const std::vector<Error>& errors);

  /// Without a collector while a reload closes the old counters.
  const CountingSession& current() const { return current_; }
  collect::Collector* collector() const { return current_.collector.get(); }
  const ConfigurationLoad& load() const { return load_; }
  /// What an operator should know about the PMUs as they were at the start; one line each.
  std::vector<std::string> pmu_warnings() const;

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  using Planned = Result<plan::LoadedPlan, std::vector<yaml::Diagnostic>>;

  const CountingSession* in_force() const { return current_.collector ? &current_ : nullptr; }
  const plan::Plan* plan_in_force() const;
  Result<CountingSession, std::vector<Error>> start(Planned planned) const;

  const Options& options_;
  perf::PerfKernel& kernel_;
  Log& log_;
  CrashGuard* const guard_;                   ///< null: everything may be counted
  const std::optional<host::Mount> mounted_;  ///< of the file, as of the start
  ConfigurationLoad load_;
  CountingSession current_;
  std::optional<plan::MachineDescription> machine_;          ///< as of the start
  std::map<std::string, plan::FreeCounters> free_counters_;  ///< by PMU; before any was in use
};

}  // namespace pex::daemon
