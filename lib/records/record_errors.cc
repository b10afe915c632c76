#include "records/record_errors.h"

#include <string>

#include "base/duration.h"
#include "base/text.h"
#include "records/cgroup_sums.h"

namespace pex::collect {
namespace {

std::string unknown(const SwitchAttribution::Statistics& poll) {
  return "nothing is known of " + format_part(poll.lost_time, poll.time) + " of " +
         format_part(poll.time, poll.time);
}

std::string on_cpu(int cpu) { return " on CPU " + std::to_string(cpu); }

}  // namespace

Error records_refused(const Error& error, int cpu) {
  return Error{error.code,
               error.attempted + " for records of switches between cgroups" + on_cpu(cpu),
               error.remedy};
}

Error records_incomplete(const SwitchAttribution::Statistics& poll, int cpu) {
  return Error{0,
               "the kernel wrote no record of " + std::to_string(poll.skipped) + " of " +
                   std::to_string(poll.records + poll.skipped) + " switches between cgroups" +
                   on_cpu(cpu) + ": " + unknown(poll),
               "set 'cgroups: {source: descriptors}': this kernel, or the hypervisor, does not "
               "report all switches"};
}

Error records_lost(std::uint64_t lost, int cpu) {
  return Error{0,
               std::to_string(lost) + " records of switches between cgroups were lost" +
                   on_cpu(cpu) +
                   ", because the buffer was full: counts since the record before are estimated, "
                   "or their time is unmeasured",
               "raise cgroups.records_buffer"};
}

Error records_lost_often(const SwitchAttribution::Statistics& poll, int cpu) {
  return Error{0,
               "records of switches between cgroups were lost" + on_cpu(cpu) + ": " +
                   unknown(poll) +
                   "; the exporter was kept off the CPU, or the buffer is too small",
               "raise cgroups.records_buffer, or give the exporter more CPU time (CPUWeight= of "
               "the unit)"};
}

Error tasks_move_often(const SwitchAttribution::Statistics& poll, int cpu) {
  return Error{
      0, "running tasks move to other cgroups again and again" + on_cpu(cpu) + ": " + unknown(poll),
      "find out which program writes to cgroup.procs all the time; descriptors, which follow now, "
      "count such tasks rightly"};
}

Error cgroups_never_named(std::uint64_t cgroups, std::chrono::nanoseconds time, int cpu) {
  return Error{0,
               "the names of " + number_of(cgroups, "cgroup") + on_cpu(cpu) +
                   " were not found within a minute: " + format_part(time, time) +
                   " of CPU time is counted for no cgroup",
               "mount the tree from its root, or raise limits.max_cgroup_directories"};
}

}  // namespace pex::collect
