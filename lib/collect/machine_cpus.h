#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/cpu_place.h"
#include "host/roots.h"
#include "host/topology.h"

namespace pex::collect {

/// The CPUs of the machine as of one poll. Immutable.
struct MachineCpus {
  std::vector<int> online;  ///< and not left out; rising
  std::map<std::string, std::vector<int>>
      pmus;                              ///< the CPUs of each PMU that was asked for, rising
  std::map<int, host::CpuPlace> places;  ///< of every CPU that was ever online
  std::vector<int> left_out = {};        ///< online, and left out by the configuration; rising

  bool is_online(int cpu) const;
  /// Whether what is bound to `pmu` is counted on `cpu` when that is online. Without a PMU: yes; on
  /// one of `left_out_too`: no.
  bool counts_on(const std::string& pmu, int cpu, const std::vector<int>& left_out_too = {}) const;
  /// On how many of the CPUs that are online.
  std::size_t count_of(const std::string& pmu, const std::vector<int>& left_out_too = {}) const;
};

/// Follows the CPUs of the machine. Not thread-safe.
class CpuTracker {
 public:
  /// `left_out` are rising, and counted nowhere.
  CpuTracker(const host::HostRoots& roots, std::vector<std::string> pmus,
             std::vector<int> left_out = {});

  /// Those of now: the same object as before when nothing changed. What the machine cannot tell is
  /// as it was, and goes into `failures`.
  std::shared_ptr<const MachineCpus> update(std::vector<Error>& failures);

 private:
  host::HostRoots roots_;
  host::OnlineCpus online_;
  std::vector<std::string> pmus_;
  std::vector<int> left_out_;
  std::shared_ptr<const MachineCpus> current_;
};

}  // namespace pex::collect
