#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "bench/ring/crowded_kernel.h"
#include "bench/switch/switch_cgroups.h"
#include "cgroup/cgroup.h"
#include "cgroup/cgroup_names.h"
#include "collect/counting_plan.h"
#include "collect/records/switch_recording.h"

namespace pex::bench {

/// A thread that does with the records of switches what the worker of a CPU does: bound to it, it
/// opens a collect::SwitchRecording of 6 software events, for two cgroups, or also the three above
/// them; drains the ring when half of it is full; polls once a second, and reads all cgroups that
/// ran. It may have two more groups, of which one counts at a time.
class RecordingReader {
 public:
  struct Options {
    bool with_ancestors = false;
    bool in_turns = false;  ///< two more groups
  };
  /// What it did, and what that took.
  struct Outcome {
    collect::SwitchAttribution::Statistics records;
    std::uint64_t unreadable = 0;
    std::uint64_t drains = 0;    ///< for which the ring has woken it up
    std::uint64_t turns = 0;     ///< of groups
    std::uint64_t switches = 0;  ///< context switches of the two cgroups, as they were read
    double cpu_ns = 0;
    double seconds = 0;
  };

  RecordingReader(int cpu, std::size_t ring_bytes, const SwitchCgroups& cgroups,
                  const Options& options);
  ~RecordingReader();
  RecordingReader(const RecordingReader&) = delete;
  RecordingReader& operator=(const RecordingReader&) = delete;

  /// Ends the thread. Fails if it could not be bound, or the recording not be opened.
  Result<Outcome> stop();

 private:
  using Target = collect::SwitchRecording::Target;

  void run(int cpu);
  Result<> open(int cpu);
  void serve();
  void poll();

  std::size_t ring_bytes_;
  CrowdedKernel kernel_;
  collect::CountingPlan plan_;
  std::vector<std::shared_ptr<const cgroup::Cgroup>> cgroups_;  ///< the two come first
  std::shared_ptr<const cgroup::CgroupNames> names_;
  std::unique_ptr<collect::SwitchRecording> recording_;
  std::size_t group_ = 0;  ///< of the recording
  std::vector<Target> changed_;
  perf::GroupReading reading_;
  std::vector<std::uint64_t> switches_;  ///< by target
  std::vector<Target> the_two_;
  std::optional<Error> error_;
  Outcome outcome_;
  UniqueFd stop_;  ///< an eventfd
  std::thread thread_;
};

}  // namespace pex::bench
