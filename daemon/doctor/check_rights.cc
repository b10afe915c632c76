#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "daemon/cli/words.h"
#include "daemon/doctor/checks.h"
#include "host/cpu_list.h"
#include "host/kernel_version.h"
#include "host/permissions.h"

// The rights of this process, and what the kernel allows it.

namespace pex::daemon {
namespace {

using host::Capability;
using State = Finding::State;

/// What decides whether the kernel allows this process to count.
struct Rights {
  bool perfmon = false;
  bool admin = false;
  bool filtered = false;        ///< by a seccomp filter
  bool above_upstream = false;  ///< kernel.perf_event_paranoid has a level that upstream does not
                                ///< have
};

/// From this level on, counting whole CPUs requires a capability.
constexpr std::int64_t kLowestClosedLevel = 1;

Rights rights(const CheckInputs& here) {
  const host::Permissions& own = here.self.permissions;
  return {own.may(Capability::kPerfmon), own.may(Capability::kSysAdmin),
          own.seccomp == host::Seccomp::kFilter, here.paranoid > host::kHighestUpstreamParanoid};
}

/// Why perf_event_open was refused, as far as it can be determined: the first entry that applies.
struct RefusalEntry {
  int code;
  bool (*applies)(const Rights&);
  const char* remedy;
};
constexpr RefusalEntry kRefusals[] = {
    {EACCES, [](const Rights& own) { return own.above_upstream && own.perfmon && !own.admin; },
     "set sysctl kernel.perf_event_paranoid=2: at a higher level, this kernel requires "
     "CAP_SYS_ADMIN, and CAP_PERFMON is not enough"},
    {EACCES, [](const Rights& own) { return own.above_upstream && !own.admin; },
     "set sysctl kernel.perf_event_paranoid=2, because some kernels require CAP_SYS_ADMIN "
     "at a higher level; and grant CAP_PERFMON, see 'capabilities'"},
    {EACCES, [](const Rights& own) { return !own.perfmon && !own.admin; },
     "grant CAP_PERFMON, see 'capabilities'"},
    {EACCES, [](const Rights& own) { return own.above_upstream; },
     "set sysctl kernel.perf_event_paranoid=2, and grant CAP_PERFMON in the initial user "
     "namespace: in others (rootless container, PrivateUsers=), capabilities have no effect"},
    {EACCES, [](const Rights&) { return true; },
     "run it in the initial user namespace: in others (rootless container, "
     "PrivateUsers=), capabilities have no effect; if it is there already, look for "
     "perf_event in the log of SELinux"},
    {EINVAL, [](const Rights&) { return true; },
     "this kernel has no such CPU: set --path.sysfs to the sysfs of this machine"},
    {EPERM, [](const Rights& own) { return own.filtered && !own.perfmon && !own.admin; },
     "grant CAP_PERFMON, see 'capabilities': filters of container engines allow the call with it"},
    {EPERM, [](const Rights& own) { return own.filtered; },
     "allow perf_event_open in the seccomp filter, see 'seccomp'"},
    {ENOSYS, [](const Rights& own) { return own.filtered; },
     "allow perf_event_open in the seccomp filter, see 'seccomp'"},
};

std::string remedy_for(const Error& refusal, const Rights& own) {
  for (const RefusalEntry& row : kRefusals) {
    if (row.code == refusal.code && row.applies(own)) return row.remedy;
  }
  return worded(refusal.remedy);
}

/// How this process can get CAP_PERFMON. What was permitted has been made effective at start, where
/// that is allowed (capabilities.h). Under no_new_privs a file capability is still effective for
/// what was permitted before exec: container engines permit capabilities to every user, and only
/// root keeps them without a file capability.
std::string how_to_grant(const host::Permissions& own) {
  const auto has = [](const std::optional<host::CapabilitySet>& set, Capability capability) {
    return set && set->has(capability);
  };
  if (has(own.permitted, Capability::kPerfmon)) {
    return "it is permitted, but cannot be made effective: look for the denial in the log of "
           "SELinux or AppArmor";
  }
  if (!has(own.bounding, Capability::kPerfmon) && !has(own.bounding, Capability::kSysAdmin)) {
    return "AmbientCapabilities=CAP_PERFMON and CapabilityBoundingSet=CAP_PERFMON in the unit; "
           "--cap-add=PERFMON for a container, capabilities: {add: [PERFMON]} in Kubernetes";
  }
  const std::string as_root = "--user=0 for a container, runAsUser: 0 in Kubernetes; ";
  if (!has(own.bounding, Capability::kPerfmon)) {
    return as_root + "AmbientCapabilities=CAP_SYS_ADMIN in the unit";
  }
  return as_root + "AmbientCapabilities=CAP_PERFMON in the unit; setcap cap_perfmon=p PROGRAM" +
         (own.no_new_privileges == true ? " in the image" : "");
}

}  // namespace

Findings check_kernel(const CheckInputs& here) {
  const std::string& release = here.self.kernel_release;
  const std::optional<host::KernelVersion> version = host::parse_kernel_version(release);
  if (!version) return {unknown("kernel", "release '" + release + "' has no version to compare")};
  if (*version < host::kPerfmonSince) {
    return {{State::kNote, "kernel", release,
             "it has no CAP_PERFMON: counting requires CAP_SYS_ADMIN", "Linux 5.8 or newer"}};
  }
  return {good("kernel", release)};
}

Findings check_perf_event_open(const CheckInputs& here) {
  if (!here.online) return {};
  if (here.refused.empty()) {
    const bool are_all = here.cpus.size() == here.online->size();
    return {good("perf_event_open",
                 are_all ? "allowed on every CPU" : "allowed on every CPU that is not excluded")};
  }
  std::map<int, std::vector<int>> cpus_by_code;
  for (const auto& [cpu, error] : here.refused) cpus_by_code[error.code].push_back(cpu);

  Findings findings;
  for (const auto& [code, cpus] : cpus_by_code) {
    const Error what{code, "refused on " + host::name_cpus(cpus), {}};
    const bool everywhere = cpus.size() == here.cpus.size();
    findings.push_back({State::kBad, "perf_event_open", describe(what),
                        everywhere ? "nothing can be counted" : "nothing is counted there",
                        remedy_for(here.refused.at(cpus.front()), rights(here))});
  }
  return findings;
}

/// kernel.perf_event_paranoid, Documentation/admin-guide/sysctl/kernel.rst.
Findings check_paranoid(const CheckInputs& here) {
  constexpr const char* kSubject = "perf_event_paranoid";
  if (!here.paranoid) {
    return {{State::kUnknown, kSubject, "not known: the setting cannot be read",
             "if counting is refused, the cause cannot be determined",
             "set --path.procfs to where the host's proc is mounted"}};
  }
  const std::string level = std::to_string(*here.paranoid) + ": ";
  const Rights own = rights(here);
  if (*here.paranoid < kLowestClosedLevel) return {good(kSubject, level + "every user may count")};
  if (!own.above_upstream) return {good(kSubject, level + "counting requires CAP_PERFMON")};
  if (here.may_open() && own.perfmon && !own.admin) {
    return {good(
        kSubject,
        level +
            "CAP_PERFMON is enough on this kernel; on kernels of Debian and Ubuntu it would not "
            "be")};
  }
  return {{State::kNote, kSubject, level + "a level of Debian's and Ubuntu's kernels",
           "counting requires CAP_SYS_ADMIN there: a service with only CAP_PERFMON is refused",
           "sysctl kernel.perf_event_paranoid=2, and a file in sysctl.d to keep it"}};
}

Findings check_capabilities(const CheckInputs& here) {
  const host::Permissions& own = here.self.permissions;
  if (!own.effective) {
    return {unknown("capabilities", "not known: no proc file system is mounted")};
  }
  std::vector<std::string> held;
  for (const Capability capability : host::kCapabilities) {
    if (own.may(capability)) held.emplace_back(host::name_of(capability));
  }
  std::string what = held.empty() ? "none that is used for counting" : join(held);
  if (own.user) what += " (user " + number(*own.user) + ")";
  const bool enough = own.may(Capability::kPerfmon) || own.may(Capability::kSysAdmin) ||
                      (here.paranoid && *here.paranoid < kLowestClosedLevel);
  if (enough) return {good("capabilities", what)};
  return {{State::kNote, "capabilities", what,
           "CAP_PERFMON is missing, which counting requires from level 1 of perf_event_paranoid on",
           how_to_grant(own)}};
}

Findings check_seccomp(const CheckInputs& here) {
  const std::optional<host::Seccomp> mode = here.self.permissions.seccomp;
  if (!mode) return {unknown("seccomp", "not known: the status of this process does not show it")};
  if (*mode != host::Seccomp::kFilter) return {good("seccomp", "no filter")};
  if (!here.online) {
    return {
        unknown("seccomp",
                "a filter is in force; whether it allows perf_event_open is not known, because no "
                "CPU could be tried")};
  }
  const bool blames_filter =
      std::any_of(here.refused.begin(), here.refused.end(), [](const auto& refusal) {
        return refusal.second.code == EPERM || refusal.second.code == ENOSYS;
      });
  if (!blames_filter) return {good("seccomp", "a filter, which allows perf_event_open")};
  return {{State::kNote, "seccomp", "a filter is in force",
           "most likely it refuses perf_event_open",
           "SystemCallFilter=perf_event_open in the unit; a profile that allows it for a container "
           "(--security-opt seccomp=FILE)"}};
}

}  // namespace pex::daemon
