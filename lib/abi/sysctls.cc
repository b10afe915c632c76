#include "abi/sysctls.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <string>

#include "base/lookup.h"
#include "host/permissions.h"

namespace pex::perf {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

constexpr SysctlRange kParanoidLevels[] = {
    {-1, -1, "every user may open every event, and lock memory for rings"},
    {0, 0, "every user may count and sample whole CPUs"},
    {1, 1, "users without CAP_PERFMON: their own processes"},
    {2, 2, "users without CAP_PERFMON: their own processes, in user mode only"},
    {3, kNoLimit, "on kernels of Debian, Ubuntu and Android: nothing without CAP_SYS_ADMIN",
     "a program with only CAP_PERFMON opens no event there", "sysctl kernel.perf_event_paranoid=2"},
};

/// perf record asks for 4000 samples a second by default.
constexpr SysctlRange kSampleRates[] = {
    {0, 3999, "profilers ask for more",
     "an event with a higher frequency is refused with EINVAL, and of hardware events more samples "
     "are dropped (throttled)",
     "sysctl kernel.perf_event_max_sample_rate=100000; if the kernel has lowered it ('interrupt "
     "took too long' in its log), sample less, or allow more perf_cpu_time_max_percent"},
};

constexpr std::string_view kUnlimitedTime =
    "samples that take long can make the machine hang, and the kernel refuses changes of "
    "perf_event_max_sample_rate";
constexpr std::string_view kLimitTime = "sysctl kernel.perf_cpu_time_max_percent=25";
constexpr SysctlRange kTimeLimits[] = {
    {0, 0, "the time of sampling is not limited", kUnlimitedTime, kLimitTime, true},
    {100, 100, "the time of sampling is not limited", kUnlimitedTime, kLimitTime, true},
};

/// A ring of 256 KiB and its control page, on each CPU.
constexpr SysctlRange kRingMemory[] = {
    {0, 259, "too little for a ring of 256 KiB on each CPU",
     "without CAP_IPC_LOCK, larger rings count against RLIMIT_MEMLOCK, and beyond that mmap fails "
     "with EPERM",
     "sysctl kernel.perf_event_mlock_kb=516, or for one service LimitMEMLOCK="},
};

constexpr SysctlRange kStackDepths[] = {
    {0, 126, "call chains are cut at that depth", "the outermost callers are missing in profiles",
     "sysctl kernel.perf_event_max_stack=127, while no event has call chains (EBUSY)"},
};

constexpr SysctlRange kStackContexts[] = {
    {0, 1, "call chains end where the mode changes",
     "samples taken in the kernel have no callers in user mode",
     "sysctl kernel.perf_event_max_contexts_per_stack=8, while no event has call chains (EBUSY)"},
};

constexpr SysctlRange kUserAccess[] = {
    {0, 0, "programs read counters by system call"},
    {1, 1, "programs that ask for it read counters of their own events by register"},
};

constexpr SysctlRange kRdpmc[] = {
    {0, 0, "programs read counters by system call"},
    {1, 1, "programs with a mapped event read counters by rdpmc"},
    {2, 2, "every program reads all counters by rdpmc",
     "programs can watch the work of others on the same CPU", "write 1 into that file"},
};

constexpr SysctlEntry kSysctls[] = {
    {kParanoidSetting, 2, "", kParanoidLevels},
    {"kernel.perf_event_max_sample_rate", 100'000, "samples/s", kSampleRates},
    {"kernel.perf_cpu_time_max_percent", 25, "% of CPU time", kTimeLimits},
    {"kernel.perf_event_mlock_kb", 516, "KiB of rings per CPU", kRingMemory},
    {"kernel.perf_event_max_stack", 127, "frames", kStackDepths},
    {"kernel.perf_event_max_contexts_per_stack", 8, "contexts", kStackContexts},
    {"kernel.perf_user_access", 0, "", kUserAccess},
    {"cpu/rdpmc", 1, "", kRdpmc},
};

constexpr std::string_view kOfSysctl = "kernel.";
/// The core PMU; where there are several kinds of cores, each has the setting, with one value.
constexpr const char* kCorePmus[] = {"cpu", "cpu_core"};

Result<std::int64_t> read_rdpmc(const host::HostRoots& roots) {
  Result<std::int64_t> value = Error{ENOENT, {}, {}};
  for (const char* pmu : kCorePmus) {
    value = host::read_number_file(roots.event_sources() + "/" + pmu + "/rdpmc");
    if (value || value.error().code != ENOENT) break;
  }
  return value;
}

}  // namespace

const SysctlRange* SysctlEntry::range_of(std::int64_t value) const {
  return lookup(
      ranges, [&](const SysctlRange& range) { return range.has(value); }, true);
}

std::span<const SysctlEntry> sysctls() { return kSysctls; }

Result<std::int64_t> read_sysctl(const SysctlEntry& entry, const host::HostRoots& roots) {
  std::string name{entry.name};
  if (!name.starts_with(kOfSysctl)) return read_rdpmc(roots);
  std::replace(name.begin(), name.end(), '.', '/');
  return host::read_sysctl(roots, name);
}

}  // namespace pex::perf
