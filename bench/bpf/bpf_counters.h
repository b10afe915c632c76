#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "host/roots.h"
#include "perf/counter_group.h"
#include "perf/linux_perf_kernel.h"

namespace pex::bench {

/// Counts all cgroups by a BPF program (SwitchProgram), on all CPUs, for as long as this is kept:
/// what tools with BPF do, as the yardstick of our own. Needs root and a kernel with BTF (5.11).
class BpfCounters {
 public:
  using Sums = std::vector<std::uint64_t>;  ///< by event

  /// `known_cgroups`: entries of that many other cgroups, which do not run, are in the table from
  /// the start.
  static Result<BpfCounters> open(const host::HostRoots& roots,
                                  std::span<const perf::CounterSpec> events,
                                  std::size_t known_cgroups);

  /// What each cgroup did on one CPU up to its last switch there, by the id of the cgroup.
  std::map<std::uint64_t, Sums> sums(int cpu) const;
  /// What the events of the CPU have counted, by one read(2) each.
  Result<Sums> counts(int cpu);

  /// Open ones: of the events, the maps, the program and where it is attached.
  std::size_t descriptors() const { return events_.size() + 5; }

 private:
  struct Event {
    int cpu = 0;
    UniqueFd fd;
  };
  BpfCounters() = default;
  Result<> open_events(std::span<const perf::CounterSpec> events, const std::vector<int>& cpus);
  Result<> make_maps(std::size_t known_cgroups);
  Result<> publish_events();
  Result<> set_last_values();

  perf::LinuxPerfKernel kernel_;
  std::size_t number_ = 0;  ///< of events on each CPU
  std::size_t cpus_ = 0;    ///< possible ones: those of a value in a map for each CPU
  std::vector<int> online_;
  std::vector<Event> events_;  ///< those of the first CPU, in their order, then those of the next
  UniqueFd array_;             ///< maps: of SwitchProgram
  UniqueFd last_;
  UniqueFd sums_;
  UniqueFd program_;
  UniqueFd attached_;  ///< closed first
};

}  // namespace pex::bench
