#include "perf/open_remedy.h"

#include <linux/perf_event.h>

#include <cerrno>

namespace pex::perf {
namespace {

/// Which requests a row is about.
enum class About { kAny, kPmuEvent, kCgroupEvent };

struct Row {
  int code;
  About about;
  std::string_view remedy;
};

/// The first row that fits is the answer, so what is special stands before what is general.
/// Sources: perf_event_open(2) "ERRORS"; kernel/events/core.c; measured on Linux 6.1, 6.12, 6.18.
constexpr Row kRows[] = {
    {EACCES, About::kAny,
     "grant CAP_PERFMON to the service, or set kernel.perf_event_paranoid to 0 or lower; where it "
     "is 3 or more (Debian's default) set it to 2, as CAP_PERFMON alone is not enough there"},
    {EPERM, About::kAny,
     "a seccomp filter most likely forbids perf_event_open: allow it in the container's or the "
     "unit's filter"},
    {ENOSYS, About::kAny,
     "a seccomp filter or a kernel without CONFIG_PERF_EVENTS hides perf_event_open: allow it"},
    {ENOENT, About::kPmuEvent,
     "none on this machine, which has no such hardware counter; if it is a virtual one, it can be "
     "given a virtual PMU"},
    {ENOENT, About::kCgroupEvent,
     "the perf_event controller is not attached to this cgroup: write any controller to the root's "
     "cgroup.subtree_control, as systemd does"},
    {ENOENT, About::kAny, "this kernel has no such event: remove it"},
    {EOPNOTSUPP, About::kAny, "this PMU cannot count the event in this way: remove its modifiers"},
    {EINVAL, About::kPmuEvent,
     "the group does not fit on the PMU, or the PMU refuses a modifier: put fewer events in one "
     "group"},
    {EINVAL, About::kAny, "the kernel refuses this combination of event and modifiers"},
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

bool fits(About about, const CounterRequest& request) {
  switch (about) {
    case About::kAny:
      return true;
    case About::kPmuEvent:
      return request.event.type != PERF_TYPE_SOFTWARE;
    case About::kCgroupEvent:
      return request.cgroup_fd >= 0;
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

}  // namespace pex::perf
