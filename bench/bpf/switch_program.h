#pragma once

#include <linux/bpf.h>

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "bench/bpf/kernel_types.h"

namespace pex::bench {

/// Where the kernel has the cgroup of a task: task->css_set->cgroup.
struct CgroupOfTask {
  std::int16_t css_set = 0;  ///< offset of the pointer in task_struct
  std::int16_t cgroup = 0;   ///< in css_set, that of the cgroup in the unified hierarchy

  static Result<CgroupOfTask> find(const KernelTypes& types);
};

/// What the program counts, and where to. Maps are descriptors.
struct SwitchProgram {
  /// Each is true if the event happens after the tracepoint of the switch, and belongs to the one
  /// that leaves.
  std::vector<bool> is_late;
  std::uint32_t cpus = 0;  ///< the event `e` of a CPU is number e * cpus + CPU in `events`
  CgroupOfTask cgroup_of_task;
  int events = -1;  ///< array of events
  int last = -1;    ///< for each CPU, one entry: the values at the last switch, 8 bytes each
  int sums = -1;    ///< hash for each CPU, by the id of a cgroup: sums of each event

  static constexpr std::size_t kMaxEvents = 32;  ///< so that they fit on the stack of a program
};

/// For the tracepoint sched_switch. Does what tools do that count cgroups by BPF: if another cgroup
/// gets the CPU, it reads all events of the CPU, and adds what they have counted since the last
/// time to the sums of the cgroup that leaves. In C:
///
///   if (prev->cgroups->dfl_cgrp == next->cgroups->dfl_cgrp) return 0;
///   u64* last = lookup(&last_values, 0);
///   u64* sums = lookup_or_insert(&sums_of, bpf_get_current_cgroup_id());
///   u32 cpu = bpf_get_smp_processor_id();
///   for each event e:                                     // unrolled
///     if (bpf_perf_event_read_value(&events, e * cpus + cpu, &value, sizeof value)) continue;
///     sums[e] += value.counter + is_late[e] - last[e];
///     last[e] = value.counter + is_late[e];
///   return 0;
std::vector<bpf_insn> instructions_of(const SwitchProgram& program);

}  // namespace pex::bench
