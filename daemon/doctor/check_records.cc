#include <string>

#include "daemon/cli/words.h"
#include "daemon/doctor/checks.h"
#include "host/cpu_list.h"

// How cgroups are counted: by records of the switches between them, or by descriptors.

namespace pex::daemon {
namespace {

using State = Finding::State;

constexpr const char* kSwitchRecords = "switch records";

constexpr const char* kByDescriptors =
    "cgroups are counted by descriptors there, one for each event, cgroup and CPU, which cost more "
    "at each switch between cgroups";

std::string in_kib(std::size_t bytes) { return number(bytes / 1024) + " KiB"; }

}  // namespace

Findings check_switch_records(const CheckInputs& here) {
  if (!here.records) return {};
  const RecordsTrial& trial = *here.records;
  if (trial.refused) {
    return {{State::kNote, kSwitchRecords, without_remedy(*trial.refused), kByDescriptors,
             worded(trial.refused->remedy)}};
  }
  if (!trial.incomplete.empty()) {
    return {{State::kNote, kSwitchRecords,
             "the kernel does not write all of them on " + host::name_cpus(trial.incomplete),
             kByDescriptors,
             "none: this kernel, or the hypervisor, does not report all switches between cgroups"}};
  }
  const std::string what =
      trial.records == 0 ? "possible; there was no switch between cgroups to see them complete"
                         : number_of(trial.records, "record") + " written, none missing";
  Findings findings;
  if (trial.no_moves) {
    findings.push_back(
        {State::kNote, kSwitchRecords,
         "moves of running tasks to other cgroups are not noted: " + could_not(*trial.no_moves),
         "what a CPU did before a task on it moved itself is counted for the cgroup "
         "that it moved to",
         worded(trial.no_moves->remedy)});
  }
  const std::size_t asked = here.planned->config.cgroups.records_buffer;
  if (trial.buffer_bytes < asked) {
    findings.push_back({State::kNote, kSwitchRecords,
                        what + "; the buffer of a CPU is " + in_kib(trial.buffer_bytes) +
                            " instead of " + in_kib(asked),
                        "more records are lost while the exporter is kept off a CPU",
                        "LimitMEMLOCK=infinity in the unit, or CAP_IPC_LOCK, or a larger "
                        "kernel.perf_event_mlock_kb"});
  }
  if (findings.empty()) findings.push_back(good(kSwitchRecords, what));
  return findings;
}

}  // namespace pex::daemon
