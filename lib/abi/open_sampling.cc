#include <linux/perf_event.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <span>
#include <string_view>

#include "abi/record/abi_entry.h"
#include "abi/record/branch_stack.h"
#include "abi/record/read_format.h"
#include "abi/record/sample_layout.h"
#include "abi/sampling.h"
#include "abi/sampling_table.h"
#include "base/lookup.h"
#include "perf/open_remedy.h"

namespace pex::perf {
namespace {

constexpr const char* kOpenEvent = "open an event that writes records";

/// Refused before; since then PERF_SAMPLE_TID says of which thread the values are.
constexpr AbiEntry kReadOfInherited = {"PERF_SAMPLE_READ with inherit", "6.12"};

bool is_read_of_inherited(const EventAttr& attr) {
  return (attr.sample_type & PERF_SAMPLE_READ) != 0 &&
         (attr.flags & attr_flag(AttrFlag::kInherit)) != 0;
}

/// The entries of all tables that `attr` uses.
std::vector<AbiEntry> asked_for(const EventAttr& attr) {
  std::vector<AbiEntry> asked;
  const auto ask_bits = [&](std::uint64_t word, const auto& table) {
    for (const auto& entry : table) {
      if ((word & entry.bit) != 0) asked.push_back(entry.abi);
    }
  };
  for (const AttrFlagEntry& entry : attr_flags()) {
    if ((attr.flags & attr_flag(entry.flag)) != 0) asked.push_back(entry.abi);
  }
  for (const AuxActionEntry& entry : aux_actions()) {
    if ((attr.aux_action & aux_action(entry.action)) != 0) asked.push_back(entry.abi);
  }
  for (const AttrFieldEntry* field : numbers_set(attr)) {
    const bool has_actions = field->offset == offsetof(EventAttr, aux_action);
    if (!has_actions) asked.push_back(field->abi);
  }
  if (is_read_of_inherited(attr)) asked.push_back(kReadOfInherited);
  ask_bits(attr.sample_type, sample_fields());
  ask_bits(attr.read_format, read_formats());
  ask_bits(attr.branch_sample_type, branch_options());
  return asked;
}

/// An empty one is earlier than all.
bool is_later(std::string_view release, std::string_view other) {
  const host::KernelVersion none;
  return host::parse_kernel_version(release).value_or(none) >
         host::parse_kernel_version(other).value_or(none);
}

/// ", " between the names, and " and " before the last.
std::string enumerate(std::span<const std::string> names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  return text;
}

/// E2BIG: the kernel's perf_event_attr has `known` bytes. A field can be younger than the size that
/// has room for it, as aux_action is.
Error too_big(const EventAttr& attr, std::uint32_t known) {
  std::vector<std::string> beyond;
  std::string_view release;
  for (const AttrFieldEntry* field : numbers_set(attr)) {
    if (field->end() <= known) continue;
    beyond.emplace_back(field->abi.name);
    if (is_later(field->abi.since, release)) release = field->abi.since;
  }
  const std::string names = enumerate(beyond);
  const std::string linux_release = "Linux " + std::string(release);
  return {E2BIG, kOpenEvent, "leave out " + names + ", or use " + linux_release,
          "the perf_event_attr of this kernel has " + std::to_string(known) + " bytes, and " +
              names + (beyond.size() == 1 ? " needs " : " need ") + linux_release};
}

/// EINVAL, and the kernel is older than what was asked for.
Error too_old(const std::vector<AbiEntry>& needs) {
  std::vector<std::string> names;
  names.reserve(needs.size());
  for (const AbiEntry& need : needs) {
    names.push_back(std::string(need.name) + " (" + std::string(need.since) + ")");
  }
  return {EINVAL, kOpenEvent, "leave that out, or use Linux " + std::string(needs.back().since),
          "this kernel is older than " + enumerate(names)};
}

/// What an error of an event that samples means, where it is not what it means for counters.
struct SamplingRemedy {
  int code;
  bool (*applies)(const SamplingRequest& request, const EventTarget& target);
  std::string_view cause;
  std::string_view remedy;
};

bool is_sampling(const SamplingRequest& request) {
  return request.period != 0 || request.frequency != 0;
}

/// Special entries precede general ones. Sources: perf_event_open(2) "ERRORS";
/// kernel/events/core.c.
constexpr SamplingRemedy kSamplingRemedies[] = {
    {EINVAL, [](const SamplingRequest& r, const EventTarget& t) { return r.sigtrap && t.pid < 0; },
     "sigtrap needs a thread that gets the signal", "set a pid"},
    {EINVAL, [](const SamplingRequest&, const EventTarget& t) { return t.pid < 0 && t.cpu < 0; },
     "it is for all threads on any CPU", "set a pid or a CPU"},
    {EINVAL, [](const SamplingRequest& r, const EventTarget&) { return r.frequency != 0; },
     "the frequency is more than kernel.perf_event_max_sample_rate, or the PMU refuses the event",
     "set a lower frequency: the kernel lowers its limit by itself if interrupts take long"},
    {EINVAL, [](const SamplingRequest& r, const EventTarget&) { return r.clockid.has_value(); },
     "the clock cannot be read in interrupts that cannot be masked, or the PMU refuses the event",
     "set CLOCK_MONOTONIC or CLOCK_MONOTONIC_RAW"},
    {EOVERFLOW, [](const SamplingRequest&, const EventTarget&) { return true; },
     "sample_max_stack is more than kernel.perf_event_max_stack", "set less, or raise that"},
    {EACCES, [](const SamplingRequest& r, const EventTarget&) { return r.namespaces; },
     "PERF_RECORD_NAMESPACES needs CAP_PERFMON, whatever kernel.perf_event_paranoid is",
     "grant CAP_PERFMON, or do not set namespaces"},
    {ENOSYS,
     [](const SamplingRequest& r, const EventTarget&) {
       return (r.sample_type & PERF_SAMPLE_STACK_USER) != 0;
     },
     "the kernel cannot copy user stacks on this architecture, or perf_event_open is hidden",
     "do not set PERF_SAMPLE_STACK_USER"},
    {EOPNOTSUPP, [](const SamplingRequest& r, const EventTarget&) { return is_sampling(r); },
     "this PMU cannot interrupt, so that it counts events and does not sample them, or it does "
     "not have what is to be sampled",
     "sample a software event such as cpu-clock"},
};

/// What an error means for counters and for events that sample.
Error event_error(int code, const SamplingRequest& request, const EventTarget& target) {
  CounterRequest as_counter;
  as_counter.event = request.event;
  const bool in_cgroup = (target.flags & PERF_FLAG_PID_CGROUP) != 0;
  as_counter.cgroup_fd = in_cgroup ? target.pid : -1;
  as_counter.pid = in_cgroup ? -1 : target.pid;
  return open_error(code, kOpenEvent, as_counter);
}

Error sampling_error(int code, const SamplingRequest& request, const EventTarget& target) {
  const auto applies = [&](const SamplingRemedy& entry) {
    return entry.code == code && entry.applies(request, target);
  };
  if (const SamplingRemedy* entry = lookup(kSamplingRemedies, applies, true)) {
    return {code, kOpenEvent, entry->remedy, std::string(entry->cause)};
  }
  return event_error(code, request, target);
}

}  // namespace

std::vector<AbiEntry> later_than(const host::KernelVersion& kernel, const EventAttr& attr) {
  const auto release = [&](const AbiEntry& entry) {
    return host::parse_kernel_version(entry.since).value_or(kernel);
  };
  std::vector<AbiEntry> needs = asked_for(attr);
  std::erase_if(needs, [&](const AbiEntry& entry) { return release(entry) <= kernel; });
  std::ranges::stable_sort(needs, {}, release);
  return needs;
}

Result<OpenCounter> open_sampling(PerfKernel& kernel, const SamplingRequest& request,
                                  const EventTarget& target, const host::KernelVersion& running) {
  const Result<EventAttr> wanted = to_attr(request);
  if (!wanted) return wanted.error();
  EventAttr sent = *wanted;
  Result<OpenCounter> event = kernel.open_event(sent, target);
  if (!event) {
    const int code = event.error().code;
    if (code == E2BIG && sent.size < wanted->size) return too_big(*wanted, sent.size);
    const std::vector<AbiEntry> later = later_than(running, *wanted);
    if (code == EINVAL && !later.empty()) return too_old(later);
    return sampling_error(code, request, target);
  }
  if (request.event.filter.empty()) return event;
  const auto filter = reinterpret_cast<std::uintptr_t>(request.event.filter.c_str());
  const Result<> filtered = kernel.control(event->fd.get(), EventControl::kSetFilter, filter);
  if (!filtered) return event_error(filtered.error().code, request, target);
  return event;
}

}  // namespace pex::perf
