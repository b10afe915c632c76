#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "abi/record/abi_entry.h"
#include "abi/record/sample_format.h"
#include "base/result.h"
#include "host/kernel_version.h"
#include "perf/perf_kernel.h"

namespace pex::perf {

/// How far the instruction pointer of a sample may be from the instruction that overflowed the
/// counter (precise_ip).
enum class Skid : std::uint8_t { kArbitrary, kConstant, kZeroRequested, kZero };

/// What an event writes into its ring, and the format of it: the fields of perf_event_attr
/// (perf_event_open(2)), by their names there. Neither `period` nor `frequency`: no samples,
/// side-band records only, or a counter.
///
/// Fails, before the kernel is asked, for what this library cannot decode and for what every kernel
/// refuses or ignores; the rules are in sampling.cc.
///
/// Example:
///   SamplingRequest request;
///   request.event = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CONTEXT_SWITCHES};
///   request.period = 1;
///   request.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
///   request.comm = true;
///   request.wakeup_watermark = 4096;
///   const Result<OpenCounter> event = open_sampling(kernel, request, {.pid = 0});
struct SamplingRequest : SampleFormat {
  SamplingRequest() { sample_id_all = true; }

  EventAttributes event;  ///< what overflows

  std::uint64_t period = 0;     ///< a sample after each so many events; less than 2^63
  std::uint64_t frequency = 0;  ///< or so many samples a second: the kernel adapts the period
  std::uint32_t sample_stack_user = 0;  ///< bytes, a multiple of 8, with PERF_SAMPLE_STACK_USER
  std::uint16_t sample_max_stack = 0;   ///< frames, with PERF_SAMPLE_CALLCHAIN; 0: the sysctl's
  bool exclude_callchain_kernel = false;
  bool exclude_callchain_user = false;
  bool defer_callchain = false;  ///< user stacks as PERF_RECORD_CALLCHAIN_DEFERRED
  Skid precise_ip = Skid::kArbitrary;

  /// Of all times in records. CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME, CLOCK_BOOTTIME
  /// or CLOCK_TAI; the last three not with a PMU whose interrupts cannot be masked. None: the
  /// kernel's sched_clock, which control_page.h converts.
  std::optional<std::int32_t> clockid = {};

  /// The descriptor becomes readable after so many samples (other records do not count), or after
  /// more than so many bytes of any records; without a watermark, after more than half of the ring.
  std::uint32_t wakeup_events = 0;
  std::uint32_t wakeup_watermark = 0;

  bool disabled = true;
  bool inherit = false;         ///< tasks that are created from now on as well
  bool inherit_thread = false;  ///< of those only threads of the same process
  bool inherit_stat = false;    ///< counts stay with their task when two tasks swap their contexts
  bool pinned = false;
  bool exclusive = false;
  bool enable_on_exec = false;  ///< starts with the next execve(2)
  bool remove_on_exec = false;  ///< is removed from the task with the next execve(2)
  bool sigtrap = false;         ///< SIGTRAP of overflows (OverflowTrap); with remove_on_exec
  std::uint64_t sig_data = 0;   ///< si_perf_data of that signal

  bool mmap = false;            ///< PERF_RECORD_MMAP of executable mappings
  bool mmap2 = false;           ///< PERF_RECORD_MMAP2 in place of all PERF_RECORD_MMAP, and of
                                ///< executable mappings in any case; with mmap or mmap_data
  bool mmap_data = false;       ///< PERF_RECORD_MMAP of other mappings
  bool build_id = false;        ///< in PERF_RECORD_MMAP2, in place of device and inode
  bool comm = false;            ///< PERF_RECORD_COMM
  bool comm_exec = false;       ///< PERF_RECORD_COMM says whether an execve(2) was the reason
  bool task = false;            ///< PERF_RECORD_FORK and PERF_RECORD_EXIT
  bool context_switch = false;  ///< PERF_RECORD_SWITCH or PERF_RECORD_SWITCH_CPU_WIDE
  bool namespaces = false;      ///< PERF_RECORD_NAMESPACES; see to_attr
  bool ksymbol = false;         ///< PERF_RECORD_KSYMBOL
  bool bpf_event = false;       ///< PERF_RECORD_BPF_EVENT
  bool cgroup = false;          ///< PERF_RECORD_CGROUP; see to_attr
  bool text_poke = false;       ///< PERF_RECORD_TEXT_POKE
  bool defer_output = false;    ///< PERF_RECORD_CALLCHAIN_DEFERRED of all events of the ring

  std::uint32_t aux_watermark = 0;    ///< bytes of the AUX area until a PERF_RECORD_AUX
  std::uint32_t aux_sample_size = 0;  ///< bytes, with PERF_SAMPLE_AUX
  bool aux_output = false;            ///< the leader's AUX area receives this event's data
  bool aux_start_paused = false;
  bool aux_pause = false;   ///< an overflow pauses the leader's AUX area
  bool aux_resume = false;  ///< or resumes it

  bool write_backward = false;  ///< for a ring that is opened with RingMode::kOverwrite
};

/// The attributes, with the smallest size that has them all; or why they cannot be. Borrows the
/// text of a probe from `request`.
///
/// On a whole CPU the kernel never writes PERF_RECORD_CGROUP or PERF_RECORD_NAMESPACES for an event
/// that has no other side-band flag (is_sb_event, kernel/events/core.c): comm_exec is set then,
/// which without comm makes no records of its own.
Result<EventAttr> to_attr(const SamplingRequest& request);

/// Opens the event. An error says what the kernel refused, as far as it can be known: which fields
/// are beyond the perf_event_attr of the kernel (E2BIG), and which need a later kernel than
/// `running` (EINVAL). `event.filter` is set as well.
Result<OpenCounter> open_sampling(PerfKernel& kernel, const SamplingRequest& request,
                                  const EventTarget& target,
                                  const host::KernelVersion& running = host::running_kernel());

/// What `attr` asks for and `kernel` does not have, by its version: the latest last.
std::vector<AbiEntry> later_than(const host::KernelVersion& kernel, const EventAttr& attr);

}  // namespace pex::perf
