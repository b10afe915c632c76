#pragma once

#include <cstddef>
#include <vector>

#include "plan/load_plan.h"
#include "targets/machine_cpus.h"

namespace pex::daemon {

/// What a configuration takes where cgroups are counted in one way. Memory is in bytes.
struct Size {
  const char* way;
  std::size_t counters = 0;
  std::size_t files = 0;
  std::size_t series = 0;         ///< at most
  std::size_t memory = 0;         ///< of this process, in addition to what it takes without cgroups
  std::size_t kernel_memory = 0;  ///< of the counters
  std::size_t buffers = 0;        ///< locked: rings of records and names
  double cpu_time = 0;            ///< seconds in each second

  /// What to request for this process (requests.memory of a pod): all that it is expected to use,
  /// in whole MiB. The kernel's memory is not its own.
  std::size_t mebibytes_to_request() const;

  /// The same of CPU time (requests.cpu), in tens of millicores.
  std::size_t millicores_to_request() const;
};

/// By each way of counting that the configuration allows, on `cpus` and with so many cgroups.
std::vector<Size> sizes_of(const plan::LoadedPlan& planned, const collect::MachineCpus& cpus,
                           std::size_t cgroups);

}  // namespace pex::daemon
