#include "abi/sampling.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <iterator>
#include <string_view>

#include "abi/record/sample_layout.h"
#include "abi/sampling_table.h"
#include "base/lookup.h"

namespace pex::perf {
namespace {

constexpr const char* kOpenSampling = "open an event that writes records";
constexpr std::uint64_t kMaxPeriod = (std::uint64_t{1} << 63) - 1;
constexpr std::uint32_t kMaxStackBytes = 0xffff;  // a record has at most that many
constexpr std::uint64_t kPrivileges =
    PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV;
constexpr std::uint64_t kStackBytesUnit = sizeof(std::uint64_t);

bool has_sample_field(const SamplingRequest& request, std::uint64_t field) {
  return (request.sample_type & field) != 0;
}

/// A number that the kernel reads only for a field of samples: one without the other is an error.
template <std::uint64_t kField, auto kMember>
bool is_unpaired(const SamplingRequest& request) {
  return has_sample_field(request, kField) != (request.*kMember != 0);
}

bool is_known_clock(std::int32_t clock) {
  constexpr std::int32_t kClocks[] = {CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME,
                                      CLOCK_BOOTTIME, CLOCK_TAI};
  return std::find(std::begin(kClocks), std::end(kClocks), clock) != std::end(kClocks);
}

/// What no kernel accepts, or what it accepts and ignores.
struct SamplingRule {
  bool (*is_broken)(const SamplingRequest& request);
  std::string_view cause;
  std::string_view remedy;
};

/// Sources: perf_copy_attr, perf_event_alloc, perf_event_mmap and perf_event_open in
/// kernel/events/core.c.
constexpr SamplingRule kSamplingRules[] = {
    {[](const SamplingRequest& r) { return r.period != 0 && r.frequency != 0; },
     "it has a period and a frequency", "set one of them"},
    {[](const SamplingRequest& r) { return r.period > kMaxPeriod; },
     "the period is longer than 2^63 - 1 events", "set a shorter one"},
    {[](const SamplingRequest& r) { return r.wakeup_events != 0 && r.wakeup_watermark != 0; },
     "it has wakeup_events and wakeup_watermark", "set one of them"},
    {[](const SamplingRequest& r) { return r.precise_ip > Skid::kZero; }, "precise_ip has two bits",
     "set one of the values of Skid"},
    {[](const SamplingRequest& r) { return r.clockid && !is_known_clock(*r.clockid); },
     "records cannot have the times of this clock",
     "set CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME, CLOCK_BOOTTIME or CLOCK_TAI"},
    {[](const SamplingRequest& r) {
       return has_sample_field(r, PERF_SAMPLE_BRANCH_STACK) !=
              ((r.branch_sample_type & ~kPrivileges) != 0);
     },
     "PERF_SAMPLE_BRANCH_STACK and a kind of branch in branch_sample_type need each other",
     "set both or none: PERF_SAMPLE_BRANCH_ANY are all branches"},
    {is_unpaired<PERF_SAMPLE_REGS_USER, &SamplingRequest::sample_regs_user>,
     "PERF_SAMPLE_REGS_USER and sample_regs_user need each other", "set both or none"},
    {is_unpaired<PERF_SAMPLE_REGS_INTR, &SamplingRequest::sample_regs_intr>,
     "PERF_SAMPLE_REGS_INTR and sample_regs_intr need each other", "set both or none"},
    {is_unpaired<PERF_SAMPLE_STACK_USER, &SamplingRequest::sample_stack_user>,
     "PERF_SAMPLE_STACK_USER and sample_stack_user need each other", "set both or none"},
    {is_unpaired<PERF_SAMPLE_AUX, &SamplingRequest::aux_sample_size>,
     "PERF_SAMPLE_AUX and aux_sample_size need each other", "set both or none"},
    {[](const SamplingRequest& r) {
       return r.sample_stack_user >= kMaxStackBytes || r.sample_stack_user % kStackBytesUnit != 0;
     },
     "sample_stack_user is no multiple of 8 bytes below 64 KiB", "set such a size"},
    {[](const SamplingRequest& r) {
       return r.sample_max_stack != 0 && !has_sample_field(r, PERF_SAMPLE_CALLCHAIN);
     },
     "sample_max_stack is for PERF_SAMPLE_CALLCHAIN", "set both or none"},
    {[](const SamplingRequest& r) {
       return has_sample_field(r, PERF_SAMPLE_READ) && r.inherit &&
              !has_sample_field(r, PERF_SAMPLE_TID);
     },
     "the values of an inherited event are those of a thread, which the sample does not name",
     "add PERF_SAMPLE_TID, or do not inherit"},
    {[](const SamplingRequest& r) { return r.inherit_thread && !r.inherit; },
     "inherit_thread is for events that are inherited", "set inherit as well"},
    {[](const SamplingRequest& r) { return r.inherit_stat && !r.inherit; },
     "inherit_stat is for events that are inherited", "set inherit as well"},
    {[](const SamplingRequest& r) { return r.remove_on_exec && r.enable_on_exec; },
     "execve(2) cannot both remove and enable it", "set one of remove_on_exec and enable_on_exec"},
    {[](const SamplingRequest& r) { return r.sigtrap && !r.remove_on_exec; },
     "a new program has no handler for the signals of sigtrap", "set remove_on_exec as well"},
    {[](const SamplingRequest& r) { return r.sig_data != 0 && !r.sigtrap; },
     "sig_data is for the signals of sigtrap", "set sigtrap as well"},
    {[](const SamplingRequest& r) { return r.mmap2 && !r.mmap && !r.mmap_data; },
     "with mmap2 alone, mappings are recorded only while another event has mmap or mmap_data",
     "set mmap or mmap_data as well"},
    {[](const SamplingRequest& r) { return r.build_id && !r.mmap2; },
     "only PERF_RECORD_MMAP2 has a build id", "set mmap2 as well"},
    {[](const SamplingRequest& r) { return r.comm_exec && !r.comm; },
     "comm_exec is a flag of PERF_RECORD_COMM", "set comm as well"},
    {[](const SamplingRequest& r) { return r.aux_pause && r.aux_resume; },
     "an overflow cannot both pause and resume the AUX area",
     "set one of aux_pause and aux_resume"},
};

Error refusal_by(const SamplingRule& rule) {
  return {EINVAL, kOpenSampling, rule.remedy, std::string(rule.cause)};
}

/// is_sb_event() of the kernel looks at these, and neither at cgroup nor at namespaces.
bool has_other_side_band(const SamplingRequest& request) {
  return request.mmap || request.mmap_data || request.mmap2 || request.comm || request.comm_exec ||
         request.task || request.context_switch || request.ksymbol || request.bpf_event ||
         request.text_poke;
}

std::uint64_t sampling_flags(const SamplingRequest& request) {
  std::uint64_t flags = precise_ip(static_cast<std::uint64_t>(request.precise_ip));
  const auto set = [&](AttrFlag flag, bool is_set) { flags |= is_set ? attr_flag(flag) : 0; };
  for (const AttrFlagEntry& entry : attr_flags()) {
    set(entry.flag, entry.member != nullptr && request.*entry.member);
  }
  set(AttrFlag::kFreq, request.frequency != 0);
  set(AttrFlag::kWatermark, request.wakeup_watermark != 0);
  set(AttrFlag::kUseClockid, request.clockid.has_value());
  const bool is_alone = (request.cgroup || request.namespaces) && !has_other_side_band(request);
  set(AttrFlag::kCommExec, request.comm_exec || is_alone);
  return flags;
}

void set_numbers(const SamplingRequest& request, EventAttr& attr) {
  attr.sample_period = request.frequency != 0 ? request.frequency : request.period;
  attr.sample_type = request.sample_type;
  attr.read_format = request.read_format;
  attr.wakeup_events =
      request.wakeup_watermark != 0 ? request.wakeup_watermark : request.wakeup_events;
  attr.branch_sample_type = request.branch_sample_type;
  attr.sample_regs_user = request.sample_regs_user;
  attr.sample_stack_user = request.sample_stack_user;
  attr.clockid = request.clockid.value_or(0);
  attr.sample_regs_intr = request.sample_regs_intr;
  attr.aux_watermark = request.aux_watermark;
  attr.sample_max_stack = request.sample_max_stack;
  attr.aux_sample_size = request.aux_sample_size;
  attr.sig_data = request.sig_data;
}

}  // namespace

Result<EventAttr> to_attr(const SamplingRequest& request) {
  if (const auto layout = SampleLayout::of(request); !layout) return layout.error();
  const auto is_broken = [&](const SamplingRule& rule) { return rule.is_broken(request); };
  if (const SamplingRule* rule = lookup(kSamplingRules, is_broken, true)) return refusal_by(*rule);

  EventAttr attr = attr_of(request.event);
  set_numbers(request, attr);
  attr.flags |= sampling_flags(request);
  for (const AuxActionEntry& entry : aux_actions()) {
    attr.aux_action |= request.*entry.member ? aux_action(entry.action) : 0;
  }
  attr.size = size_needed(attr);
  return attr;
}

}  // namespace pex::perf
