#include "abi/sampling_table.h"

#include <algorithm>
#include <cstring>

namespace pex::perf {
namespace {

constexpr AttrFlagEntry kAttrFlags[] = {
    {{"disabled", "2.6.31"}, AttrFlag::kDisabled, &SamplingRequest::disabled},
    {{"inherit", "2.6.31"}, AttrFlag::kInherit, &SamplingRequest::inherit},
    {{"pinned", "2.6.31"}, AttrFlag::kPinned, &SamplingRequest::pinned},
    {{"exclusive", "2.6.31"}, AttrFlag::kExclusive, &SamplingRequest::exclusive},
    {{"exclude_user", "2.6.31"}, AttrFlag::kExcludeUser},
    {{"exclude_kernel", "2.6.31"}, AttrFlag::kExcludeKernel},
    {{"exclude_hv", "2.6.31"}, AttrFlag::kExcludeHv},
    {{"exclude_idle", "2.6.31"}, AttrFlag::kExcludeIdle},
    {{"mmap", "2.6.31"}, AttrFlag::kMmap, &SamplingRequest::mmap},
    {{"comm", "2.6.31"}, AttrFlag::kComm, &SamplingRequest::comm},
    {{"freq", "2.6.31"}, AttrFlag::kFreq},
    {{"inherit_stat", "2.6.31"}, AttrFlag::kInheritStat, &SamplingRequest::inherit_stat},
    {{"enable_on_exec", "2.6.31"}, AttrFlag::kEnableOnExec, &SamplingRequest::enable_on_exec},
    {{"task", "2.6.31"}, AttrFlag::kTask, &SamplingRequest::task},
    {{"watermark", "2.6.32"}, AttrFlag::kWatermark},
    {{"mmap_data", "2.6.36"}, AttrFlag::kMmapData, &SamplingRequest::mmap_data},
    {{"sample_id_all", "2.6.38"}, AttrFlag::kSampleIdAll, &SamplingRequest::sample_id_all},
    {{"exclude_host", "3.2"}, AttrFlag::kExcludeHost},
    {{"exclude_guest", "3.2"}, AttrFlag::kExcludeGuest},
    {{"exclude_callchain_kernel", "3.7"},
     AttrFlag::kExcludeCallchainKernel,
     &SamplingRequest::exclude_callchain_kernel},
    {{"exclude_callchain_user", "3.7"},
     AttrFlag::kExcludeCallchainUser,
     &SamplingRequest::exclude_callchain_user},
    {{"mmap2", "3.16"}, AttrFlag::kMmap2, &SamplingRequest::mmap2},
    {{"comm_exec", "3.16"}, AttrFlag::kCommExec, &SamplingRequest::comm_exec},
    {{"use_clockid", "4.1"}, AttrFlag::kUseClockid},
    {{"context_switch", "4.3"}, AttrFlag::kContextSwitch, &SamplingRequest::context_switch},
    {{"write_backward", "4.7"}, AttrFlag::kWriteBackward, &SamplingRequest::write_backward},
    {{"namespaces", "4.12"}, AttrFlag::kNamespaces, &SamplingRequest::namespaces},
    {{"ksymbol", "5.1"}, AttrFlag::kKsymbol, &SamplingRequest::ksymbol},
    {{"bpf_event", "5.1"}, AttrFlag::kBpfEvent, &SamplingRequest::bpf_event},
    {{"aux_output", "5.4"}, AttrFlag::kAuxOutput, &SamplingRequest::aux_output},
    {{"cgroup", "5.7"}, AttrFlag::kCgroup, &SamplingRequest::cgroup},
    {{"text_poke", "5.9"}, AttrFlag::kTextPoke, &SamplingRequest::text_poke},
    {{"build_id", "5.12"}, AttrFlag::kBuildId, &SamplingRequest::build_id},
    {{"inherit_thread", "5.13"}, AttrFlag::kInheritThread, &SamplingRequest::inherit_thread},
    {{"remove_on_exec", "5.13"}, AttrFlag::kRemoveOnExec, &SamplingRequest::remove_on_exec},
    {{"sigtrap", "5.13"}, AttrFlag::kSigtrap, &SamplingRequest::sigtrap},
    {{"defer_callchain", "6.19"}, AttrFlag::kDeferCallchain, &SamplingRequest::defer_callchain},
    {{"defer_output", "6.19"}, AttrFlag::kDeferOutput, &SamplingRequest::defer_output},
};

constexpr AuxActionEntry kAuxActions[] = {
    {{"aux_start_paused", "6.13"}, AuxAction::kStartPaused, &SamplingRequest::aux_start_paused},
    {{"aux_pause", "6.13"}, AuxAction::kPause, &SamplingRequest::aux_pause},
    {{"aux_resume", "6.13"}, AuxAction::kResume, &SamplingRequest::aux_resume},
};

#define PEX_FIELD(member) offsetof(EventAttr, member), sizeof(EventAttr::member)
constexpr AttrFieldEntry kAttrNumbers[] = {
    {{"type", "2.6.31"}, PEX_FIELD(type)},
    {{"size", "2.6.31"}, PEX_FIELD(size)},
    {{"config", "2.6.31"}, PEX_FIELD(config)},
    {{"sample_period", "2.6.31"}, PEX_FIELD(sample_period)},
    {{"sample_type", "2.6.31"}, PEX_FIELD(sample_type)},
    {{"read_format", "2.6.31"}, PEX_FIELD(read_format)},
    {{"wakeup_events", "2.6.31"}, PEX_FIELD(wakeup_events)},
    {{"bp_type", "2.6.33"}, PEX_FIELD(bp_type)},
    {{"bp_addr", "2.6.33"}, PEX_FIELD(config1)},
    {{"bp_len", "2.6.33"}, PEX_FIELD(config2)},
    {{"branch_sample_type", "3.4"}, PEX_FIELD(branch_sample_type)},
    {{"sample_regs_user", "3.7"}, PEX_FIELD(sample_regs_user)},
    {{"sample_stack_user", "3.7"}, PEX_FIELD(sample_stack_user)},
    {{"clockid", "4.1"}, PEX_FIELD(clockid)},
    {{"sample_regs_intr", "3.19"}, PEX_FIELD(sample_regs_intr)},
    {{"aux_watermark", "4.1"}, PEX_FIELD(aux_watermark)},
    {{"sample_max_stack", "4.8"}, PEX_FIELD(sample_max_stack)},
    {{"aux_sample_size", "5.5"}, PEX_FIELD(aux_sample_size)},
    {{"aux_action", "6.13"}, PEX_FIELD(aux_action)},
    {{"sig_data", "5.13"}, PEX_FIELD(sig_data)},
    {{"config3", "6.3"}, PEX_FIELD(config3)},
    {{"config4", "6.19"}, PEX_FIELD(config4)},
};
#undef PEX_FIELD

/// PERF_ATTR_SIZE_VER0 to PERF_ATTR_SIZE_VER9, which is that of EventAttr.
constexpr std::uint32_t kAttrSizes[] = {64, 72, 80, 96, 104, 112, 120, 128, 136, 144};

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

std::vector<const AttrFieldEntry*> numbers_set(const EventAttr& attr) {
  std::vector<const AttrFieldEntry*> set;
  for (const AttrFieldEntry& field : attr_numbers()) {
    if (is_number_set(attr, field)) set.push_back(&field);
  }
  return set;
}

std::uint32_t size_needed(const EventAttr& attr) {
  const std::vector<const AttrFieldEntry*> set = numbers_set(attr);
  const std::size_t used = set.empty() ? 0 : set.back()->end();
  return *std::ranges::lower_bound(kAttrSizes, used);
}

}  // namespace pex::perf
