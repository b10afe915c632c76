#include "perf/open_remedy.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

namespace pex::perf {
namespace {

/// Which requests a row is about.
enum class About {
  kAny,
  kUprobe,
  kBreakpoint,
  kTracepoint,
  kPmuEvent,
  kCgroupEvent,
  kFiltered,
  kConfig3
};

struct AboutEntry {
  About about;
  std::string_view told;  ///< for the documents; empty: all others
};
constexpr AboutEntry kAbouts[] = {
    {About::kAny, ""},
    {About::kUprobe, "uprobes"},
    {About::kBreakpoint, "breakpoints"},
    {About::kTracepoint, "tracepoints"},
    {About::kPmuEvent, "events of hardware"},
    {About::kCgroupEvent, "scope `cgroup`"},
    {About::kFiltered, "an event with `filter`"},
    {About::kConfig3, "an event with a term in `config3`"},
};

struct Row {
  int code;
  About about;
  std::string_view remedy;
};

/// The first row that fits is the answer, so what is special stands before what is general.
/// Sources: perf_event_open(2) "ERRORS"; kernel/events/core.c; measured on Linux 6.1, 6.12, 6.18.
constexpr Row kRows[] = {
    {EACCES, About::kUprobe,
     "grant CAP_SYS_ADMIN to the service, as CAP_PERFMON is not enough for uprobes; as root, "
     "restart "
     "the exporter: it keeps CAP_SYS_ADMIN only if its configuration needs it at the start"},
    {EACCES, About::kAny,
     "grant CAP_PERFMON to the service, or set kernel.perf_event_paranoid to 0 or lower; where it "
     "is 3 or more (Debian's default) set it to 2, as CAP_PERFMON alone is not enough there"},
    {EPERM, About::kBreakpoint,
     "grant CAP_SYS_ADMIN to the service, as CAP_PERFMON is not enough for addresses of the "
     "kernel; "
     "as root, restart the exporter: it keeps CAP_SYS_ADMIN only if its configuration needs it at "
     "the start"},
    {EPERM, About::kAny,
     "a seccomp filter most likely forbids perf_event_open: allow it in the container's or the "
     "unit's filter"},
    {ENOSYS, About::kAny,
     "a seccomp filter or a kernel without CONFIG_PERF_EVENTS hides perf_event_open: allow it"},
    {ENOENT, About::kCgroupEvent,
     "the perf_event controller is not attached to this cgroup: write any controller to the root's "
     "cgroup.subtree_control, as systemd does"},
    {ENOENT, About::kPmuEvent,
     "none on this machine, which has no such hardware counter; if it is a virtual one, it can be "
     "given a virtual PMU"},
    {ENOENT, About::kAny, "this kernel has no such event: remove it"},
    {EOPNOTSUPP, About::kAny, "this PMU cannot count the event in this way: remove its modifiers"},
    {EINVAL, About::kFiltered,
     "the kernel does not understand the filter: its fields are those of the tracepoint's file "
     "'format' in tracefs"},
    {EINVAL, About::kPmuEvent,
     "the PMU refuses the event, one of its modifiers, or its place in a group that is too large: "
     "see 'perf_event_exporter list' and the CPU's manual"},
    {EINVAL, About::kAny, "the kernel refuses this combination of event and modifiers"},
    {E2BIG, About::kConfig3,
     "this kernel has no config3 in perf_event_attr, which Linux 6.3 and later have: remove the "
     "term"},
    {E2BIG, About::kAny,
     "the kernel cannot read so many events at once: put fewer events in one group"},
    {ENODATA, About::kPmuEvent,
     "the CPU counts loads by latency only together with their auxiliary event: add mem-loads-aux "
     "of the "
     "same PMU to the group"},
    {EINTR, About::kTracepoint,
     "ftrace has enabled this uprobe, and the kernel does not let both use it: write 0 into its "
     "file 'enable' in events/uprobes of tracefs"},
    {EINTR, About::kAny, "none: a signal came in between, and it is tried again"},
    {EMFILE, About::kAny,
     "raise LimitNOFILE= in the unit, or ulimit -n: one descriptor is needed per cgroup, CPU and "
     "event"},
    {ENFILE, About::kAny, "raise fs.file-max: the whole system is out of file descriptors"},
    {ENODEV, About::kAny, "the CPU is offline; it is counted again when it is back"},
    {EBUSY, About::kAny, "another tool holds the PMU exclusively: stop it"},
    {ENOSPC, About::kAny, "all hardware slots of this kind are taken: count fewer of them"},
    {EBADF, About::kCgroupEvent,
     "this directory is not a cgroup of the hierarchy that carries perf_event: see "
     "--path.cgroupfs"},
    {ENOMEM, About::kAny, "the kernel is out of memory for events: count fewer cgroups"},
};

/// All that is not one of the PMUs the kernel is made of.
bool counts_with_hardware(const EventAttributes& event) {
  static constexpr std::uint32_t kOfTheKernel[] = {PERF_TYPE_SOFTWARE, PERF_TYPE_TRACEPOINT,
                                                   PERF_TYPE_BREAKPOINT};
  return event.probe.empty() && std::find(std::begin(kOfTheKernel), std::end(kOfTheKernel),
                                          event.type) == std::end(kOfTheKernel);
}

bool fits(About about, const CounterRequest& request) {
  switch (about) {
    case About::kAny:
      return true;
    case About::kUprobe:
      return request.event.probe.starts_with('/');
    case About::kBreakpoint:
      return request.event.type == PERF_TYPE_BREAKPOINT;
    case About::kTracepoint:
      return request.event.type == PERF_TYPE_TRACEPOINT;
    case About::kPmuEvent:
      return counts_with_hardware(request.event);
    case About::kCgroupEvent:
      return request.cgroup_fd >= 0;
    case About::kFiltered:
      return !request.event.filter.empty();
    case About::kConfig3:
      return request.event.config3 != 0;
  }
  return false;
}

}  // namespace

std::string_view open_remedy(int code, const CounterRequest& request) {
  for (const Row& row : kRows) {
    if (row.code == code && fits(row.about, request)) return row.remedy;
  }
  return {};
}

std::vector<OpenRemedy> open_remedies() {
  std::vector<OpenRemedy> rows;
  for (const Row& row : kRows) {
    const AboutEntry* about =
        std::find_if(std::begin(kAbouts), std::end(kAbouts),
                     [&](const AboutEntry& a) { return a.about == row.about; });
    rows.push_back({row.code, about->told, row.remedy});
  }
  return rows;
}

}  // namespace pex::perf
