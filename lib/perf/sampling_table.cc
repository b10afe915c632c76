#include "perf/sampling_table.h"

#include <algorithm>
#include <cstring>

#include "base/lookup.h"

namespace pex::perf {
namespace {

constexpr std::string_view kInSampling = "perf/sampling.h";
constexpr std::string_view kInPerfKernel = "perf/perf_kernel.h";
constexpr std::string_view kInEventAttr = "perf/event_attr.h";

constexpr AttrFlagEntry kAttrFlags[] = {
    {{"disabled", "2.6.31", "the event does not count until it is enabled", kInSampling,
      "SamplingRealTest.CountsOnlyOnceItIsEnabled"},
     AttrFlag::kDisabled,
     &SamplingRequest::disabled},
    {{"inherit", "2.6.31", "tasks that are created later are counted as well", kInSampling,
      "SamplingRealTest.CountsChildrenThatInherit"},
     AttrFlag::kInherit,
     &SamplingRequest::inherit},
    {{"pinned", "2.6.31", "the group is always on the PMU, or in error", kInSampling,
      "SamplingTest.SetsTheFlagsThatAreAskedFor"},
     AttrFlag::kPinned,
     &SamplingRequest::pinned},
    {{"exclusive", "2.6.31", "the group is alone on the PMU", kInSampling,
      "SamplingTest.SetsTheFlagsThatAreAskedFor"},
     AttrFlag::kExclusive,
     &SamplingRequest::exclusive},
    {{"exclude_user", "2.6.31", "not in user mode", kInSampling,
      "LinuxPerfKernelTest.CountsInTheModeThatWasAskedFor"},
     AttrFlag::kExcludeUser,
     nullptr,
     &EventAttributes::exclude_user},
    {{"exclude_kernel", "2.6.31", "not in kernel mode", kInSampling,
      "LinuxPerfKernelTest.CountsInTheModeThatWasAskedFor"},
     AttrFlag::kExcludeKernel,
     nullptr,
     &EventAttributes::exclude_kernel},
    {{"exclude_hv", "2.6.31", "not in the hypervisor", kInSampling,
      "LinuxPerfKernelTest.CountsInTheModeThatWasAskedFor"},
     AttrFlag::kExcludeHv,
     nullptr,
     &EventAttributes::exclude_hypervisor},
    {{"exclude_idle", "2.6.31", "not in the idle task", kInSampling,
      "SamplingTest.SetsTheFlagsThatAreAskedFor"},
     AttrFlag::kExcludeIdle,
     nullptr,
     &EventAttributes::exclude_idle},
    {{"mmap", "2.6.31", "PERF_RECORD_MMAP of executable mappings", kInSampling,
      "SideBandTest.ReportsMappings"},
     AttrFlag::kMmap,
     &SamplingRequest::mmap},
    {{"comm", "2.6.31", "PERF_RECORD_COMM", kInSampling, "SideBandTest.ReportsAnExec"},
     AttrFlag::kComm,
     &SamplingRequest::comm},
    {{"freq", "2.6.31", "sample_freq is meant, and not sample_period", kInSampling,
      "SamplingTest.SamplesByFrequency"},
     AttrFlag::kFreq},
    {{"inherit_stat", "2.6.31", "counts stay with their task when two tasks swap their contexts",
      kInSampling, "SamplingTest.SetsTheFlagsThatAreAskedFor"},
     AttrFlag::kInheritStat,
     &SamplingRequest::inherit_stat},
    {{"enable_on_exec", "2.6.31", "the event starts with the next execve(2)", kInSampling,
      "SideBandTest.ReportsAnExec"},
     AttrFlag::kEnableOnExec,
     &SamplingRequest::enable_on_exec},
    {{"task", "2.6.31", "PERF_RECORD_FORK and PERF_RECORD_EXIT", kInSampling,
      "SideBandTest.ReportsForksAndExits"},
     AttrFlag::kTask,
     &SamplingRequest::task},
    {{"watermark", "2.6.32", "wakeup_watermark is meant, and not wakeup_events", kInSampling,
      "SamplingTest.WakesUpByBytes"},
     AttrFlag::kWatermark},
    {{"mmap_data", "2.6.36", "PERF_RECORD_MMAP of other mappings", kInSampling,
      "SideBandTest.ReportsMappings"},
     AttrFlag::kMmapData,
     &SamplingRequest::mmap_data},
    {{"sample_id_all", "2.6.38", "other records than samples have ids and times as well",
      kInSampling, "SideBandTest.ReportsForksAndExits"},
     AttrFlag::kSampleIdAll,
     &SamplingRequest::sample_id_all},
    {{"exclude_host", "3.2", "not outside of guests", kInSampling,
      "SamplingTest.SetsTheFlagsThatAreAskedFor"},
     AttrFlag::kExcludeHost,
     nullptr,
     &EventAttributes::exclude_host},
    {{"exclude_guest", "3.2", "not in guests", kInSampling,
      "SamplingTest.SetsTheFlagsThatAreAskedFor"},
     AttrFlag::kExcludeGuest,
     nullptr,
     &EventAttributes::exclude_guest},
    {{"exclude_callchain_kernel", "3.7", "no kernel frames in call chains", kInSampling,
      "SamplingRealTest.LeavesOutTheFramesOfTheKernel"},
     AttrFlag::kExcludeCallchainKernel,
     &SamplingRequest::exclude_callchain_kernel},
    {{"exclude_callchain_user", "3.7", "no user frames in call chains", kInSampling,
      "SamplingRealTest.LeavesOutTheFramesOfTheKernel"},
     AttrFlag::kExcludeCallchainUser,
     &SamplingRequest::exclude_callchain_user},
    {{"mmap2", "3.16", "PERF_RECORD_MMAP2 in place of PERF_RECORD_MMAP", kInSampling,
      "SideBandTest.ReportsMappings"},
     AttrFlag::kMmap2,
     &SamplingRequest::mmap2},
    {{"comm_exec", "3.16", "PERF_RECORD_COMM has PERF_RECORD_MISC_COMM_EXEC after an execve(2)",
      kInSampling, "SideBandTest.ReportsAnExec"},
     AttrFlag::kCommExec,
     &SamplingRequest::comm_exec},
    {{"use_clockid", "4.1", "times are of the clock in clockid", kInSampling,
      "SamplingRealTest.HasTheTimesOfTheClockThatWasAskedFor"},
     AttrFlag::kUseClockid},
    {{"context_switch", "4.3", "PERF_RECORD_SWITCH, or PERF_RECORD_SWITCH_CPU_WIDE", kInSampling,
      "SideBandTest.ReportsContextSwitches"},
     AttrFlag::kContextSwitch,
     &SamplingRequest::context_switch},
    {{"write_backward", "4.7", "records are written from the end of the ring to its beginning",
      kInSampling, "RingBufferRealTest.ReadsTheNewestRecordsOfAnOverwrittenRing"},
     AttrFlag::kWriteBackward,
     &SamplingRequest::write_backward},
    {{"namespaces", "4.12", "PERF_RECORD_NAMESPACES", kInSampling,
      "SideBandTest.ReportsANewNamespace"},
     AttrFlag::kNamespaces,
     &SamplingRequest::namespaces},
    {{"ksymbol", "5.1", "PERF_RECORD_KSYMBOL", kInSampling, "SideBandTest.ReportsABpfProgram"},
     AttrFlag::kKsymbol,
     &SamplingRequest::ksymbol},
    {{"bpf_event", "5.1", "PERF_RECORD_BPF_EVENT", kInSampling, "SideBandTest.ReportsABpfProgram"},
     AttrFlag::kBpfEvent,
     &SamplingRequest::bpf_event},
    {{"aux_output", "5.4", "the data of the event go to the AUX area of its leader", kInSampling,
      "SamplingTest.SetsTheFlagsThatAreAskedFor"},
     AttrFlag::kAuxOutput,
     &SamplingRequest::aux_output},
    {{"cgroup", "5.7", "PERF_RECORD_CGROUP", kInSampling, "SideBandTest.ReportsANewCgroup"},
     AttrFlag::kCgroup,
     &SamplingRequest::cgroup},
    {{"text_poke", "5.9", "PERF_RECORD_TEXT_POKE", kInSampling,
      "SideBandTest.ReportsChangesOfTheKernelsCode"},
     AttrFlag::kTextPoke,
     &SamplingRequest::text_poke},
    {{"build_id", "5.12", "PERF_RECORD_MMAP2 has the build id in place of device and inode",
      kInSampling, "SideBandTest.ReportsMappings"},
     AttrFlag::kBuildId,
     &SamplingRequest::build_id},
    {{"inherit_thread", "5.13", "only threads of the same process inherit the event", kInSampling,
      "SamplingRealTest.CountsThreadsThatInherit"},
     AttrFlag::kInheritThread,
     &SamplingRequest::inherit_thread},
    {{"remove_on_exec", "5.13", "the event is removed from its task by execve(2)", kInSampling,
      "SamplingRealTest.SendsASignalForEachOverflow"},
     AttrFlag::kRemoveOnExec,
     &SamplingRequest::remove_on_exec},
    {{"sigtrap", "5.13", "SIGTRAP of overflows, before the thread is in user mode again",
      kInSampling, "SamplingRealTest.SendsASignalForEachOverflow"},
     AttrFlag::kSigtrap,
     &SamplingRequest::sigtrap},
    {{"defer_callchain", "6.19", "user frames of call chains are read on the way back to user mode",
      kInSampling, "SamplingTest.SetsTheFlagsThatAreAskedFor"},
     AttrFlag::kDeferCallchain,
     &SamplingRequest::defer_callchain},
    {{"defer_output", "6.19", "PERF_RECORD_CALLCHAIN_DEFERRED", kInSampling,
      "SamplingTest.SetsTheFlagsThatAreAskedFor"},
     AttrFlag::kDeferOutput,
     &SamplingRequest::defer_output},
};

constexpr AbiEntry kPreciseIp = {"precise_ip", "2.6.35",
                                 "how exact the instruction pointer of a sample is", kInSampling,
                                 "SamplingTest.AsksForAnExactInstructionPointer"};

constexpr AuxActionEntry kAuxActions[] = {
    {{"aux_start_paused", "6.13", "the AUX area is not written until it is resumed", kInSampling,
      "SamplingTest.PausesAndResumesAnAuxArea"},
     AuxAction::kStartPaused,
     &SamplingRequest::aux_start_paused},
    {{"aux_pause", "6.13", "an overflow pauses the AUX area of the leader", kInSampling,
      "SamplingTest.PausesAndResumesAnAuxArea"},
     AuxAction::kPause,
     &SamplingRequest::aux_pause},
    {{"aux_resume", "6.13", "an overflow resumes the AUX area of the leader", kInSampling,
      "SamplingTest.PausesAndResumesAnAuxArea"},
     AuxAction::kResume,
     &SamplingRequest::aux_resume},
};

#define PEX_FIELD(member) offsetof(EventAttr, member), sizeof(EventAttr::member)
constexpr AttrFieldEntry kAttrNumbers[] = {
    {{"type", "2.6.31", "the PMU", kInPerfKernel,
      "LinuxPerfKernelTest.CountsAGroupOfSoftwareEventsOnThisCpu"},
     PEX_FIELD(type)},
    {{"size", "2.6.31",
      "bytes of perf_event_attr that are sent; the kernel answers E2BIG with its own", kInEventAttr,
      "SamplingTest.NamesTheFieldsThatTheKernelIsTooOldFor"},
     PEX_FIELD(size)},
    {{"config", "2.6.31", "which event of the PMU", kInPerfKernel,
      "LinuxPerfKernelTest.CountsAGroupOfSoftwareEventsOnThisCpu"},
     PEX_FIELD(config)},
    {{"sample_period", "2.6.31", "a sample after each so many events", kInSampling,
      "SamplingTest.SamplesByPeriod"},
     PEX_FIELD(sample_period)},
    {{"sample_freq", "2.6.31", "so many samples a second", kInSampling,
      "SamplingTest.SamplesByFrequency"},
     PEX_FIELD(sample_period)},
    {{"sample_type", "2.6.31", "the fields of a sample", kInSampling,
      "SamplingTest.RefusesSampleFieldsThatItCannotDecode"},
     PEX_FIELD(sample_type)},
    {{"read_format", "2.6.31", "the words of a reading", kInSampling,
      "SamplingTest.RefusesSampleFieldsThatItCannotDecode"},
     PEX_FIELD(read_format)},
    {{"wakeup_events", "2.6.31", "samples until a poll(2) ends", kInSampling,
      "RingBufferRealTest.IsReadableAfterSoManySamples"},
     PEX_FIELD(wakeup_events)},
    {{"wakeup_watermark", "2.6.32", "bytes until a poll(2) ends", kInSampling,
      "SamplingTest.WakesUpByBytes"},
     PEX_FIELD(wakeup_events)},
    {{"bp_type", "2.6.33", "the accesses that a breakpoint counts", kInPerfKernel,
      "CounterControlTest.MovesABreakpoint"},
     PEX_FIELD(bp_type)},
    {{"bp_addr", "2.6.33", "the address of a breakpoint", kInPerfKernel,
      "CounterControlTest.MovesABreakpoint"},
     PEX_FIELD(config1)},
    {{"kprobe_func", "4.17", "the name of a function of the kernel", kInPerfKernel,
      "SamplingTest.HasThePathOfAProbe"},
     PEX_FIELD(config1)},
    {{"uprobe_path", "4.17", "the path of a program", kInPerfKernel,
      "SamplingTest.HasThePathOfAProbe"},
     PEX_FIELD(config1)},
    {{"config1", "2.6.39", "more of config", kInPerfKernel, "SamplingTest.HasTheEvent"},
     PEX_FIELD(config1)},
    {{"bp_len", "2.6.33", "the bytes from bp_addr on", kInPerfKernel,
      "CounterControlTest.MovesABreakpoint"},
     PEX_FIELD(config2)},
    {{"kprobe_addr", "4.17", "an address in the kernel, in place of a name", kInPerfKernel, "",
      "events name functions, as addresses change with each start of the kernel"},
     PEX_FIELD(config2)},
    {{"probe_offset", "4.17", "the offset of a probe from kprobe_func, or in uprobe_path",
      kInPerfKernel, "SamplingTest.HasThePathOfAProbe"},
     PEX_FIELD(config2)},
    {{"config2", "2.6.39", "more of config1", kInPerfKernel, "SamplingTest.HasTheEvent"},
     PEX_FIELD(config2)},
    {{"branch_sample_type", "3.4", "the branches of a branch stack", kInSampling,
      "SamplingTest.HasTheNumbersThatAreAskedFor"},
     PEX_FIELD(branch_sample_type)},
    {{"sample_regs_user", "3.7", "the registers of PERF_SAMPLE_REGS_USER", kInSampling,
      "SamplingRealTest.HasTheRegistersOfUserMode"},
     PEX_FIELD(sample_regs_user)},
    {{"sample_stack_user", "3.7", "bytes of PERF_SAMPLE_STACK_USER", kInSampling,
      "SamplingRealTest.HasTheRegistersOfUserMode"},
     PEX_FIELD(sample_stack_user)},
    {{"clockid", "4.1", "the clock of all times", kInSampling,
      "SamplingRealTest.HasTheTimesOfTheClockThatWasAskedFor"},
     PEX_FIELD(clockid)},
    {{"sample_regs_intr", "3.19", "the registers of PERF_SAMPLE_REGS_INTR", kInSampling,
      "SamplingRealTest.HasTheRegistersOfUserMode"},
     PEX_FIELD(sample_regs_intr)},
    {{"aux_watermark", "4.1", "bytes of the AUX area until a PERF_RECORD_AUX", kInSampling,
      "SamplingTest.HasTheNumbersThatAreAskedFor"},
     PEX_FIELD(aux_watermark)},
    {{"sample_max_stack", "4.8", "the most frames of a call chain", kInSampling,
      "SamplingRealTest.LimitsTheDepthOfCallChains"},
     PEX_FIELD(sample_max_stack)},
    {{"aux_sample_size", "5.5", "bytes of PERF_SAMPLE_AUX", kInSampling,
      "SamplingTest.HasTheNumbersThatAreAskedFor"},
     PEX_FIELD(aux_sample_size)},
    {{"aux_action", "6.13", "the actions aux_start_paused, aux_pause and aux_resume", kInSampling,
      "SamplingTest.PausesAndResumesAnAuxArea"},
     PEX_FIELD(aux_action)},
    {{"sig_data", "5.13", "si_perf_data of the signal of sigtrap", kInSampling,
      "SamplingRealTest.SendsASignalForEachOverflow"},
     PEX_FIELD(sig_data)},
    {{"config3", "6.3", "more of config2", kInPerfKernel, "SamplingTest.HasTheEvent"},
     PEX_FIELD(config3)},
    {{"config4", "6.19", "more of config3", kInEventAttr, "",
      "only the tracing PMU of arm64 (SPE) has terms in it, and its data are not decoded"},
     PEX_FIELD(config4)},
};
#undef PEX_FIELD

constexpr AttrSizeEntry kAttrSizes[] = {
    {{"PERF_ATTR_SIZE_VER0", "2.6.31", "up to config1", kInEventAttr,
      "SamplingTest.SendsNoMoreThanIsUsed"},
     64},
    {{"PERF_ATTR_SIZE_VER1", "2.6.33", "adds config2", kInEventAttr,
      "SamplingTest.SendsNoMoreThanIsUsed"},
     72},
    {{"PERF_ATTR_SIZE_VER2", "3.4", "adds branch_sample_type", kInEventAttr,
      "SamplingTest.SendsNoMoreThanIsUsed"},
     80},
    {{"PERF_ATTR_SIZE_VER3", "3.7", "adds sample_regs_user and sample_stack_user", kInEventAttr,
      "SamplingTest.SendsNoMoreThanIsUsed"},
     96},
    {{"PERF_ATTR_SIZE_VER4", "3.19", "adds sample_regs_intr", kInEventAttr,
      "SamplingTest.SendsNoMoreThanIsUsed"},
     104},
    {{"PERF_ATTR_SIZE_VER5", "4.1", "adds aux_watermark", kInEventAttr,
      "SamplingTest.SendsNoMoreThanIsUsed"},
     112},
    {{"PERF_ATTR_SIZE_VER6", "5.5", "adds aux_sample_size", kInEventAttr,
      "SamplingTest.SendsNoMoreThanIsUsed"},
     120},
    {{"PERF_ATTR_SIZE_VER7", "5.13", "adds sig_data", kInEventAttr,
      "SamplingTest.SendsNoMoreThanIsUsed"},
     128},
    {{"PERF_ATTR_SIZE_VER8", "6.3", "adds config3", kInEventAttr,
      "SamplingTest.SendsNoMoreThanIsUsed"},
     136},
    {{"PERF_ATTR_SIZE_VER9", "6.19", "adds config4", kInEventAttr,
      "SamplingTest.SendsNoMoreThanIsUsed"},
     144},
};

bool is_number_set(const EventAttr& attr, const AttrFieldEntry& field) {
  std::byte bytes[sizeof(EventAttr)];
  std::memcpy(bytes, &attr, sizeof attr);
  const std::span<const std::byte> value{bytes + field.offset, field.bytes};
  return std::any_of(value.begin(), value.end(),
                     [](std::byte byte) { return byte != std::byte{}; });
}

}  // namespace

std::span<const AttrFlagEntry> attr_flags() { return kAttrFlags; }
std::span<const AuxActionEntry> aux_actions() { return kAuxActions; }
std::span<const AttrFieldEntry> attr_numbers() { return kAttrNumbers; }
std::span<const AttrSizeEntry> attr_sizes() { return kAttrSizes; }

std::vector<const AttrFieldEntry*> numbers_set(const EventAttr& attr) {
  std::vector<const AttrFieldEntry*> set;
  for (const AttrFieldEntry& field : attr_numbers()) {
    const bool is_first = set.empty() || set.back()->offset != field.offset;
    if (is_first && is_number_set(attr, field)) set.push_back(&field);
  }
  return set;
}

const AttrSizeEntry& size_needed(const EventAttr& attr) {
  const std::vector<const AttrFieldEntry*> set = numbers_set(attr);
  const std::size_t used = set.empty() ? 0 : set.back()->end();
  const auto is_enough = [&](const AttrSizeEntry& entry) { return entry.bytes >= used; };
  return *lookup(attr_sizes(), is_enough, true);  // the last one is that of EventAttr
}

std::vector<AbiEntry> attr_fields() {
  std::vector<AbiEntry> fields;
  const auto add_numbers = [&](std::size_t first, std::size_t last) {
    for (const AttrFieldEntry& number : kAttrNumbers) {
      if (number.offset >= first && number.offset < last) fields.push_back(number.abi);
    }
  };
  add_numbers(0, offsetof(EventAttr, flags));
  for (const AttrFlagEntry& entry : kAttrFlags) {
    if (entry.flag == AttrFlag::kMmapData) fields.push_back(kPreciseIp);
    fields.push_back(entry.abi);
  }
  add_numbers(offsetof(EventAttr, flags), offsetof(EventAttr, aux_action));
  for (const AuxActionEntry& action : kAuxActions) fields.push_back(action.abi);
  add_numbers(offsetof(EventAttr, sig_data), sizeof(EventAttr));
  return fields;
}

}  // namespace pex::perf
