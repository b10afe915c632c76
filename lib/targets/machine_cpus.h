#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/cpu_place.h"
#include "host/roots.h"
#include "host/side_thread.h"
#include "host/topology.h"

namespace pex::collect {

/// The CPUs of the machine at the time of one poll. Immutable.
struct MachineCpus {
  std::vector<int> online;  ///< without those that are left out; rising
  /// Of each requested PMU the CPUs on which it is counted (events::readers_of()), rising.
  std::map<std::string, std::vector<int>> pmus;
  std::map<int, host::CpuPlace> places;  ///< of every CPU that was ever online
  std::vector<int> left_out = {};        ///< online, but not counted; rising
  std::set<std::string> uncore = {};  ///< PMUs of which a CPU reads a part (events::is_uncore());
                                      ///< none while all CPUs are left out

  bool is_online(int cpu) const;
  /// Whether a requested PMU has no CPU that is online, so that its events wait for one.
  bool is_waiting(const std::string& pmu) const;
  /// Whether groups that are bound to `pmu` are counted on `cpu` while that is online. Without a
  /// PMU: yes; on one of `left_out_too`: no.
  bool counts_on(const std::string& pmu, int cpu, const std::vector<int>& left_out_too = {}) const;
  /// The CPUs on which an uncore PMU would be read, but is not: what they read is in no row.
  std::vector<int> unread_on(const std::string& pmu, const std::vector<int>& left_out_too) const;
  /// The number of those CPUs that are online.
  std::size_t count_of(const std::string& pmu, const std::vector<int>& left_out_too = {}) const;
};

/// Of the events of `pmu`, as a warning.
Error waiting_for_a_cpu(const std::string& pmu);

/// A machine like `cpus` with another number of CPUs, to compute what it would take. A kind of
/// cores has its share of them, and each PMU of `uncore` as many as here: one in each package.
/// `left_out` are left out there as well.
MachineCpus resized(const MachineCpus& cpus, std::size_t count, const std::vector<int>& left_out,
                    const std::set<std::string>& uncore);

/// Follows the CPUs of the machine. Not thread-safe. Where the list of CPUs is not in the kernel's
/// sysfs, as in a container with lxcfs, it is read on another thread: that file system may hang.
class CpuTracker {
 public:
  /// `left_out` are rising, and counted nowhere.
  CpuTracker(const host::HostRoots& roots, std::vector<std::string> pmus,
             std::vector<int> left_out = {});

  /// From the next update() on, the CPUs of these PMUs.
  void follow(std::vector<std::string> pmus);
  /// From the next update() on, all CPUs are left out, or no more than those of the configuration.
  void leave_out_all(bool all);

  /// The current CPUs: the same object as before if nothing changed. What cannot be read stays
  /// unchanged, and its error is added to `failures`.
  std::shared_ptr<const MachineCpus> update(std::vector<Error>& failures);

 private:
  struct Wanted {
    std::vector<std::string> pmus;
    bool no_cpus = false;  ///< all are left out
  };
  struct Files;

  Wanted wanted_;
  std::shared_ptr<Files> files_;              ///< also of the thread
  std::unique_ptr<host::SideThread> thread_;  ///< null: they always answer
  std::shared_ptr<const MachineCpus> current_;
};

}  // namespace pex::collect
