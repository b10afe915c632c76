#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "cgroup/cgroup.h"
#include "perf/perf_kernel.h"
#include "records/switch_ring.h"

namespace pex::collect {

/// The names of cgroups that are made on a CPU, while any CPU counts by records: such a cgroup may
/// run there, and be gone before it is looked for. A ring without groups, next to that of the
/// records: a client that makes many cgroups fills this one, and their names are then found in the
/// tree. Where it is refused, these cgroups may be without a name, which is reported; it is tried
/// again a minute later. Not thread-safe.
class NamesRing {
 public:
  static constexpr std::chrono::nanoseconds kTriesAgain = std::chrono::minutes{1};
  /// Between two polls; further ones are found in the tree. Long paths are fewer, as all of them
  /// take time from the reader of the records.
  static constexpr std::size_t kMaxNames = 4096;
  static constexpr std::size_t kMaxBytes = 512UL * 1024;

  /// `kernel` outlives it.
  NamesRing(perf::PerfKernel& kernel, int cpu) : kernel_(&kernel), cpu_(cpu) {}

  /// Called at each poll: opens it, reads it, or closes it after it was read.
  void follow(bool is_needed);
  void drain();
  void close() { follow(false); }

  /// Reported since the last call.
  std::vector<cgroup::NamedCgroup> take() {
    bytes_ = 0;
    return std::exchange(named_, {});
  }

  int descriptor() const { return ring_ ? ring_->fd() : -1; }
  std::size_t events() const { return ring_ ? perf::SwitchRing::own_events() : 0; }

 private:
  perf::PerfKernel* kernel_;
  int cpu_;
  std::optional<perf::SwitchRing> ring_;
  std::optional<std::chrono::nanoseconds> refused_at_;
  std::vector<cgroup::NamedCgroup> named_;
  std::size_t bytes_ = 0;  ///< of their paths
};

}  // namespace pex::collect
