#pragma once

#include <linux/capability.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "host/kernel_version.h"
#include "host/roots.h"

namespace pex::host {

/// The capabilities (capabilities(7)) that decide what can be counted, by their bits in a set of
/// them (linux/capability.h).
enum class Capability : unsigned {
  kPerfmon = CAP_PERFMON,                ///< since Linux 5.8: whole CPUs and cgroups
  kSysAdmin = CAP_SYS_ADMIN,             ///< the same on every kernel, and probes in programs
  kDacReadSearch = CAP_DAC_READ_SEARCH,  ///< a tracefs that only root may read
};

inline constexpr Capability kCapabilities[] = {Capability::kPerfmon, Capability::kSysAdmin,
                                               Capability::kDacReadSearch};

/// The first that has CAP_PERFMON.
inline constexpr KernelVersion kPerfmonSince{5, 8, 0};

/// "CAP_PERFMON"
std::string_view name_of(Capability capability);

struct CapabilitySet {
  std::uint64_t bits = 0;  ///< of every capability that the kernel knows
  bool has(Capability capability) const {
    return (bits >> static_cast<unsigned>(capability) & 1) != 0;
  }
};

enum class Seccomp { kOff, kStrict, kFilter };

/// The rights of a process, as in proc_pid_status(5). A field is empty if the kernel does not show
/// it: an old one, or one built without it.
struct Permissions {
  std::optional<std::uint64_t> user;       ///< the effective one
  std::optional<CapabilitySet> effective;  ///< what it may do now
  std::optional<CapabilitySet> permitted;  ///< what it may make effective
  std::optional<CapabilitySet> bounding;   ///< what it could ever get
  std::optional<Seccomp> seccomp;          ///< whether system calls are filtered
  std::optional<bool> no_new_privileges;   ///< file capabilities of programs are ignored

  bool may(Capability capability) const { return effective && effective->has(capability); }
};

/// The highest level of the sysctl kernel.perf_event_paranoid that upstream kernels know. Above it,
/// kernels of Debian, Ubuntu and Android require CAP_SYS_ADMIN to open any event.
inline constexpr std::int64_t kHighestUpstreamParanoid = 2;

/// Missing or malformed lines leave their fields empty.
Permissions parse_permissions(std::string_view status);

/// The rights of this process, independent of the host's /proc; all empty if no /proc is mounted.
Permissions own_permissions();

/// RLIMIT_NOFILE; the maximum value means no limit.
struct FileLimit {
  std::uint64_t soft = 0;  ///< the limit in force
  std::uint64_t hard = 0;  ///< the limit up to which any process may raise it
};
FileLimit own_file_limit();

/// A file of procfs or sysfs that is one number. Fails with EINVAL if it is something else.
Result<std::int64_t> read_number_file(const std::string& file);

/// A setting of the kernel that is one number, such as "kernel/perf_event_paranoid". Fails with
/// ENOENT if the kernel does not have it.
Result<std::int64_t> read_sysctl(const HostRoots& roots, const std::string& name);

}  // namespace pex::host
