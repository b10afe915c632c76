#include "perf/open_remedy.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>
#include <vector>

#include "base/lookup.h"
#include "host/process.h"

namespace pex::perf {
namespace {

/// PMUs other than those built into the kernel.
bool counts_with_hardware(const EventAttributes& event) {
  static constexpr std::uint32_t kOfTheKernel[] = {PERF_TYPE_SOFTWARE, PERF_TYPE_TRACEPOINT,
                                                   PERF_TYPE_BREAKPOINT};
  return event.probe.empty() && std::find(std::begin(kOfTheKernel), std::end(kOfTheKernel),
                                          event.type) == std::end(kOfTheKernel);
}

bool is_in_kernel(const EventAttributes& breakpoint) { return (breakpoint.config1 >> 63) != 0; }

using Request = CounterRequest;

struct SubjectEntry {
  RemedySubject subject;
  std::string_view name;
  bool (*fits)(const Request& request);
};
constexpr SubjectEntry kSubjects[] = {
    {RemedySubject::kAny, "", [](const Request&) { return true; }},
    {RemedySubject::kUprobe, "uprobes",
     [](const Request& of) { return of.event.probe.starts_with('/'); }},
    {RemedySubject::kProbe, "probes", [](const Request& of) { return !of.event.probe.empty(); }},
    {RemedySubject::kBreakpoint, "breakpoints",
     [](const Request& of) { return of.event.type == PERF_TYPE_BREAKPOINT; }},
    {RemedySubject::kKernelBreakpoint, "breakpoints at addresses of the kernel",
     [](const Request& of) {
       return of.event.type == PERF_TYPE_BREAKPOINT && is_in_kernel(of.event);
     }},
    {RemedySubject::kKernelBreakpointOfUser, "breakpoints at addresses of the kernel, in user mode",
     [](const Request& of) {
       return of.event.type == PERF_TYPE_BREAKPOINT && is_in_kernel(of.event) &&
              of.event.exclude_kernel;
     }},
    {RemedySubject::kTracepoint, "tracepoints",
     [](const Request& of) { return of.event.type == PERF_TYPE_TRACEPOINT; }},
    {RemedySubject::kPmuEvent, "events of hardware",
     [](const Request& of) { return counts_with_hardware(of.event); }},
    {RemedySubject::kGuestEvent, "events of hardware, inside of virtual machines too",
     [](const Request& of) { return counts_with_hardware(of.event) && !of.event.exclude_guest; }},
    {RemedySubject::kCgroupEvent, "scope `cgroup`",
     [](const Request& of) { return of.cgroup_fd >= 0; }},
    {RemedySubject::kOthersTask, "a process of another user",
     [](const Request& of) { return of.pid > 0 && !host::is_of_this_user(of.pid); }},
    {RemedySubject::kTaskEvent, "a process", [](const Request& of) { return of.pid >= 0; }},
    {RemedySubject::kTaskPmuEvent, "events of hardware, of a process",
     [](const Request& of) { return of.pid >= 0 && counts_with_hardware(of.event); }},
    {RemedySubject::kFiltered, "an event with `filter`",
     [](const Request& of) { return !of.event.filter.empty(); }},
    {RemedySubject::kConfig3, "an event with a term in `config3`",
     [](const Request& of) { return of.event.config3 != 0; }},
};

/// Each has one.
const SubjectEntry& entry_of(RemedySubject subject) {
  return *lookup(kSubjects, &SubjectEntry::subject, subject);
}

/// EILSEQ: a kprobe in the middle of an instruction; ENOEXEC, ENOTSUPP: a uprobe at bytes that are
/// none, or one that cannot run at another address.
constexpr std::string_view kNoInstruction =
    "there is no instruction that can be probed at this place";
constexpr const char* kUseInstruction = "use the offset of an instruction, or of another one";

/// Special entries precede general ones.
/// Sources: perf_event_open(2) "ERRORS"; kernel/events/core.c; measured on Linux 6.1, 6.12, 6.18.
std::vector<OpenRemedy> make_remedies() {
  using enum RemedySubject;
  const Remedy admin =
      "grant CAP_SYS_ADMIN to " + ProgramTerm::kService + ProgramTerm::kAdminRegained;
  return {
      {EACCES, kUprobe, "CAP_PERFMON is not enough for uprobes", admin},
      {EACCES, kOthersTask, "the process belongs to another user, or has rights of its file",
       "run it as root, or as the user of the process"},
      {EACCES, kTaskEvent, "kernel.perf_event_paranoid is too high for your own process",
       "run it as root, set kernel.perf_event_paranoid to 1, or at 2 count in user mode only "
       "(page-faults:u)"},
      {EACCES, kAny, "CAP_PERFMON is missing, or kernel.perf_event_paranoid is too high",
       "grant CAP_PERFMON to " + ProgramTerm::kService +
           ", with --user=0 in a container that has it; where kernel.perf_event_paranoid is 3 or "
           "more (Debian's default) also set it to 2"},
      {EPERM, kKernelBreakpoint, "CAP_PERFMON is not enough for addresses of the kernel", admin},
      {EPERM, kProbe, "a seccomp filter, kernel lockdown or a security module forbids probes",
       "grant CAP_PERFMON to " + ProgramTerm::kService +
           " (--cap-add=PERFMON), with which filters of container engines allow the call; or see "
           "the file lockdown of securityfs"},
      {EPERM, kAny, "a seccomp filter most likely blocks perf_event_open",
       "grant CAP_PERFMON to " + ProgramTerm::kService +
           " (--cap-add=PERFMON), with which filters of container engines allow the call; or allow "
           "perf_event_open in the filter of the container or the unit"},
      {ENOSYS, kAny,
       "a seccomp filter hides perf_event_open, or the kernel has no CONFIG_PERF_EVENTS",
       "allow perf_event_open in the filter, or use a kernel with CONFIG_PERF_EVENTS"},
      {ENOENT, kUprobe, "there is no such file",
       "write its path as " + ProgramTerm::kProgram +
           " sees it: a container has only what is mounted there"},
      {ENOENT, kProbe, "the kernel has no such function; its module may not be loaded",
       "see the file kallsyms of procfs, or load the module and reload the configuration"},
      {ENOENT, kCgroupEvent, "the perf_event controller is not attached to this cgroup",
       "write any controller to the root's cgroup.subtree_control, as systemd does"},
      {ENOENT, kPmuEvent, "this machine has no such hardware counter",
       "remove the event, or enable a virtual PMU if this is a virtual machine"},
      {ENOENT, kAny, "this kernel has no such event", "remove it"},
      {EOPNOTSUPP, kGuestEvent,
       "this PMU cannot count the event in this way, or it is given to virtual machines while they "
       "run (Linux 7.0)",
       "count it with the modifier H (exclude_guest) or without modifiers"},
      {EOPNOTSUPP, kAny, "this PMU cannot count the event in this way",
       "remove its modifiers, or the event"},
      {EINVAL, kFiltered, "the kernel cannot parse the filter",
       "use fields that the tracepoint's file 'format' in tracefs lists, and compare them by ==, "
       "!=, <, >, & or ~"},
      {EINVAL, kKernelBreakpointOfUser,
       "the kernel has no breakpoints of its own in user mode only",
       "remove the modifier u (exclude_kernel)"},
      {EINVAL, kBreakpoint, "the CPU has no such breakpoint",
       "use an address that is a multiple of the length, for x no length, and on x86 rw in place "
       "of r"},
      {EINVAL, kProbe, "no probe can be set there",
       "use a function that may be traced, or the offset of an instruction in the file"},
      {EINVAL, kTracepoint, "the tracepoint was removed, with its module",
       "remove it, or reload the configuration when the module is loaded again"},
      {EINVAL, kTaskPmuEvent,
       "the PMU counts whole CPUs only, or refuses the event, one of its modifiers, or its place "
       "in a group that is too large",
       "see " + ProgramTerm::kEventList + " and the CPU's manual"},
      {EINVAL, kPmuEvent,
       "the PMU refuses the event, one of its modifiers, or its place in a group that is too large",
       "see " + ProgramTerm::kEventList + " and the CPU's manual"},
      {EINVAL, kAny, "the kernel refuses this combination of event and modifiers",
       "remove the modifiers, or the event"},
      {E2BIG, kConfig3,
       "this kernel has no config3 in perf_event_attr, which Linux 6.3 and later have",
       "remove the term"},
      {E2BIG, kProbe, "the name of the function, or of the file, is too long for the kernel",
       "count another function"},
      {E2BIG, kAny, "the kernel cannot read so many events at once",
       "put fewer events in one group"},
      {EADDRNOTAVAIL, kProbe, "the kernel has several functions of this name",
       "count a function with a name of its own"},
      {EILSEQ, kProbe, kNoInstruction, kUseInstruction},
      {ENOEXEC, kProbe, kNoInstruction, kUseInstruction},
      {kErrnoNotSupported, kProbe, kNoInstruction, kUseInstruction},
      {ENODATA, kPmuEvent,
       "the CPU counts loads by latency only together with their auxiliary event",
       "add mem-loads-aux of the same PMU to the group"},
      {EINTR, kTracepoint, "ftrace has enabled this uprobe, and the kernel does not allow both",
       "write 0 to its file 'enable' in events/uprobes of tracefs"},
      {EINTR, kAny, "a signal interrupted the call", "none is needed: the call is repeated"},
      {EMFILE, kAny, "the process has no free descriptor: one is needed per cgroup, CPU and event",
       "raise " + ProgramTerm::kOpenFileLimit + ", or ulimit -n"},
      {ENFILE, kAny, "the whole system is out of file descriptors", "raise fs.file-max"},
      {ENODEV, kAny, "the CPU is offline",
       "none is needed: the CPU is counted again when it is online"},
      {ESRCH, kTaskEvent, "there is no such process, or it has ended",
       "see ps -e for those that there are"},
      {EBUSY, kAny, "another tool holds the PMU exclusively", "stop that tool"},
      {ENOSPC, kAny, "all hardware slots of this kind are in use", "count fewer of them"},
      {EBADF, kCgroupEvent,
       "this directory is not a cgroup of the hierarchy with the perf_event controller",
       "see " + ProgramTerm::kCgroupfs},
      {ENOMEM, kAny, "the kernel is out of memory for events", "count fewer cgroups"},
  };
}

/// What the hardware or the kernel lacks. An errno that is not here is about rights, limits or
/// other programs, or is not expected: it is worth a look.
constexpr int kLacking[] = {ENOENT, EOPNOTSUPP, ENODEV, ENXIO, EINVAL, E2BIG};

}  // namespace

Error open_error(int code, std::string attempted, const CounterRequest& request) {
  const auto is_about_it = [&](const OpenRemedy& entry) {
    return entry.code == code && entry_of(entry.subject).fits(request);
  };
  Error error{code, std::move(attempted), {}};
  if (const OpenRemedy* entry = lookup(open_remedies(), is_about_it, true)) {
    error.remedy = entry->remedy;
    error.cause = entry->cause;
  }
  return error;
}

bool can_be_remedied(int code) {
  return std::find(std::begin(kLacking), std::end(kLacking), code) == std::end(kLacking);
}

std::string_view name_of(RemedySubject subject) { return entry_of(subject).name; }

std::span<const OpenRemedy> open_remedies() {
  static const std::vector<OpenRemedy> kRemedies = make_remedies();
  return kRemedies;
}

}  // namespace pex::perf
