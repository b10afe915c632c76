#include "perf/open_flags.h"

#include <linux/perf_event.h>

namespace pex::perf {
namespace {

static_assert(kOpenFdNoGroup == PERF_FLAG_FD_NO_GROUP);
static_assert(kOpenFdOutput == PERF_FLAG_FD_OUTPUT);
static_assert(kOpenPidCgroup == PERF_FLAG_PID_CGROUP);
static_assert(kOpenFdCloexec == PERF_FLAG_FD_CLOEXEC);

constexpr AbiEntry kOpenFlags[] = {
    {"PERF_FLAG_FD_NO_GROUP", "2.6.32",
     "group_fd names the ring of PERF_FLAG_FD_OUTPUT, and no group is joined", "perf/open_flags.h",
     "OpenFlagsTest.FdNoGroupOpensAnEventThatIsNoMember"},
    {"PERF_FLAG_FD_OUTPUT", "2.6.32", "records go to the ring of group_fd", "perf/open_flags.h",
     "OpenFlagsTest.FdOutputWritesIntoTheRingOfAnother"},
    {"PERF_FLAG_PID_CGROUP", "2.6.39", "pid is the descriptor of a cgroup's directory",
     "perf/perf_kernel.h", "LinuxPerfKernelTest.CountsACgroupOfTheHierarchyThatIsFound"},
    {"PERF_FLAG_FD_CLOEXEC", "3.14", "the descriptor is closed by execve(2)", "perf/perf_kernel.h",
     "OpenFlagsTest.EveryEventIsClosedByExec"},
};

}  // namespace

std::span<const AbiEntry> open_flags() { return kOpenFlags; }

}  // namespace pex::perf
