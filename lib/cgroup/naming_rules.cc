#include "cgroup/naming_rules.h"

#include <algorithm>
#include <cstddef>

#include "base/text.h"
#include "cgroup/systemd_escape.h"

namespace pex::cgroup {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

bool is_hex(std::string_view text, std::size_t digits) {
  return text.size() == digits && std::all_of(text.begin(), text.end(), is_lower_hex_digit);
}

/// The kubelet replaces dashes by underscores in slices, where a dash means nesting.
bool is_uuid(std::string_view text) {
  constexpr std::size_t kLength = 36;
  if (text.size() != kLength) return false;
  for (std::size_t i = 0; i < kLength; ++i) {
    const bool separates = i == 8 || i == 13 || i == 18 || i == 23;
    if (separates ? text[i] != '-' && text[i] != '_' : !is_lower_hex_digit(text[i])) return false;
  }
  return true;
}

// Forms of names, for the column `name`. Each gets the text between prefix and suffix.
using Name = std::optional<ParsedName>;

Name unchanged_if(bool fits, std::string_view text) {
  return fits ? Name(ParsedName{std::string(text)}) : std::nullopt;
}

Name nothing(std::string_view text) { return unchanged_if(text.empty(), text); }

Name any_name(std::string_view text) {
  return text.empty() ? Name() : Name(ParsedName{systemd_unescape(text)});
}

Name digits(std::string_view text) { return unchanged_if(is_number(text), text); }

Name hex64(std::string_view text) { return unchanged_if(is_hex(text, 64), text); }

/// A UUID, or 32 hex digits.
Name uid(std::string_view text) {
  if (!is_hex(text, 32) && !is_uuid(text)) return {};
  std::string dashed(text);
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  return ParsedName{std::move(dashed)};
}

/// "web" of "1-web".
Name counted_name(std::string_view text) {
  const std::string plain = systemd_unescape(text);
  const std::size_t dash = plain.find('-');
  if (dash == std::string::npos || dash + 1 == plain.size()) return {};
  if (!is_number(std::string_view(plain).substr(0, dash))) return {};
  return ParsedName{plain.substr(dash + 1)};
}

/// A number, after a 'c' when logind counted the session itself.
Name session(std::string_view text) {
  return unchanged_if(is_number(text.substr(text.starts_with('c') ? 1 : 0)), text);
}

/// A task and the number of a container in it.
Name task_number(std::string_view text) {
  constexpr std::size_t kTaskLength = 32;
  if (text.size() <= kTaskLength || text[kTaskLength] != '-') return {};
  const std::string_view task = text.substr(0, kTaskLength);
  if (!is_hex(task, kTaskLength) || !is_number(text.substr(kTaskLength + 1))) return {};
  return ParsedName{std::string(text), std::string(task)};
}

/// Of a build by BuildKit: 25 digits and lowercase letters.
Name build(std::string_view text) {
  const auto fits = [](char c) { return is_digit(c) || ('a' <= c && c <= 'z'); };
  return unchanged_if(text.size() == 25 && std::all_of(text.begin(), text.end(), fits), text);
}

/// Of a job of Slurm 26.05 and later: an s, and 13 digits and capital letters.
Name slurm_id(std::string_view text) {
  const auto fits = [](char c) { return is_digit(c) || ('A' <= c && c <= 'Z'); };
  const bool is_id = text.size() == 14 && text[0] == 's';
  return unchanged_if(is_id && std::all_of(text.begin() + 1, text.end(), fits), text);
}

/// Lowercase letters and dashes.
Name word(std::string_view text) {
  const auto fits = [](char c) { return c == '-' || ('a' <= c && c <= 'z'); };
  return unchanged_if(!text.empty() && std::all_of(text.begin(), text.end(), fits), text);
}

/// "1.10.1-x86_64", or with a 'v' before it.
Name release(std::string_view text) {
  const std::string_view number = text.substr(text.starts_with('v') ? 1 : 0);
  return unchanged_if(!number.empty() && is_digit(number[0]), text);
}

/// "42" of "42.1234.1796000000": what follows are a process and a time.
Name to_dot(std::string_view text) { return any_name(text.substr(0, text.find('.'))); }

/// A UUID, a dot and the name of a task.
Name allocation(std::string_view text) {
  constexpr std::size_t kDot = 36;
  if (text.size() <= kDot + 1 || text[kDot] != '.') return {};
  return unchanged_if(is_uuid(text.substr(0, kDot)), text);
}

// Columns of the table; short, so that a row is a line. NOLINTBEGIN(readability-identifier-naming)
using P = Place;
constexpr std::string PathInfo::*NO = nullptr;
constexpr auto ID = &PathInfo::container_id;
constexpr auto POD = &PathInfo::pod_uid;
constexpr auto MACHINE = &PathInfo::machine;
constexpr auto UID = &PathInfo::uid;
constexpr auto SESSION = &PathInfo::session;
constexpr auto JOB = &PathInfo::slurm_job;
constexpr auto STEP = &PathInfo::slurm_step;
constexpr auto BATCH = &PathInfo::batch_job;
constexpr auto UNIT = &PathInfo::unit;
constexpr auto TASK = &PathInfo::ecs_task;
constexpr FixedField NONE;
constexpr FixedField QOS_G{&PathInfo::qos_class, "guaranteed"};
constexpr FixedField QOS_B{&PathInfo::qos_class, "burstable"};
constexpr FixedField QOS_BE{&PathInfo::qos_class, "besteffort"};
constexpr FixedField CONTAINERD{&PathInfo::runtime, "containerd"};
constexpr FixedField CRIO{&PathInfo::runtime, "cri-o"};
constexpr FixedField DOCKER{&PathInfo::runtime, "docker"};
constexpr FixedField BUILDKIT{&PathInfo::runtime, "buildkit"};
constexpr FixedField PODMAN{&PathInfo::runtime, "podman"};
constexpr FixedField KATA{&PathInfo::runtime, "kata"};
constexpr FixedField NOMAD{&PathInfo::runtime, "nomad"};
constexpr FixedField LIBVIRT{&PathInfo::runtime, "libvirt"};
constexpr FixedField QEMU{&PathInfo::runtime, "qemu"};
constexpr FixedField MACHINED{&PathInfo::runtime, "systemd-machined"};
constexpr FixedField NSPAWN{&PathInfo::runtime, "systemd-nspawn"};
constexpr FixedField VMSPAWN{&PathInfo::runtime, "systemd-vmspawn"};
constexpr FixedField LXC{&PathInfo::runtime, "lxc"};
constexpr FixedField FIRE{&PathInfo::runtime, "firecracker"};
constexpr FixedField SLURM{&PathInfo::runtime, "slurm"};
constexpr FixedField CONDOR{&PathInfo::runtime, "htcondor"};
constexpr FixedField PBS{&PathInfo::runtime, "pbs"};
constexpr FixedField LSF{&PathInfo::runtime, "lsf"};
constexpr auto NOTHING = Begins::kNothing;
constexpr auto GROUP = Begins::kGroup;
constexpr auto BEGINS = Begins::kContainer;
constexpr bool HELPER = true;
// NOLINTEND(readability-identifier-naming)

/// Rules for a certain place precede those for any place; otherwise the first that applies decides.
/// Where any name could occur, only all 64 hex digits identify a container.
// clang-format off
constexpr NamingRule kRules[] = {
    //  above        prefix                     name          suffix               field    fixed       begins   place
    // systemd-logind. Units in general are not in this table: see PathParser::set_unit.
    {P::kAny,        "user.slice",              nothing,      "",                  NO,      NONE,       NOTHING, P::kUsers},
    {P::kUsers,      "user-",                   digits,       ".slice",            UID,     NONE,       NOTHING, P::kUser},
    {P::kUser,       "session-",                session,      ".scope",            SESSION, NONE,       NOTHING, P::kAny},

    // kubelet: pods as slices (systemd driver), as directories (cgroupfs driver).
    {P::kAny,        "kubepods-pod",            uid,          ".slice",            POD,     QOS_G,      GROUP,   P::kAny},
    {P::kAny,        "kubepods-burstable-pod",  uid,          ".slice",            POD,     QOS_B,      GROUP,   P::kAny},
    {P::kAny,        "kubepods-besteffort-pod", uid,          ".slice",            POD,     QOS_BE,     GROUP,   P::kAny},
    {P::kAny,        "kubepods",                nothing,      "",                  NO,      NONE,       NOTHING, P::kGuaranteed},
    {P::kGuaranteed, "burstable",               nothing,      "",                  NO,      NONE,       NOTHING, P::kBurstable},
    {P::kGuaranteed, "besteffort",              nothing,      "",                  NO,      NONE,       NOTHING, P::kBestEffort},
    {P::kGuaranteed, "pod",                     uid,          "",                  POD,     QOS_G,      GROUP,   P::kAny},
    {P::kBurstable,  "pod",                     uid,          "",                  POD,     QOS_B,      GROUP,   P::kAny},
    {P::kBestEffort, "pod",                     uid,          "",                  POD,     QOS_BE,     GROUP,   P::kAny},

    // Runtimes: "-" in a scope, or in a separate directory; ":" where systemd was meant to make
    // the scope, but the runtime made a directory of what it would have asked for.
    {P::kAny,        "cri-containerd-",         hex64,        ".scope",            ID,      CONTAINERD, BEGINS,  P::kContainer},
    {P::kAny,        "cri-containerd:",         hex64,        "",                  ID,      CONTAINERD, BEGINS,  P::kContainer},
    {P::kAny,        "nerdctl-",                hex64,        ".scope",            ID,      CONTAINERD, BEGINS,  P::kContainer},
    {P::kAny,        "nerdctl:",                hex64,        "",                  ID,      CONTAINERD, BEGINS,  P::kContainer},
    {P::kAny,        "k8s.io",                  nothing,      "",                  NO,      NONE,       NOTHING, P::kContainerd},
    {P::kAny,        "default",                 nothing,      "",                  NO,      NONE,       NOTHING, P::kContainerd},
    {P::kContainerd, "",                        hex64,        "",                  ID,      CONTAINERD, BEGINS,  P::kContainer},
    {P::kAny,        "crio-",                   hex64,        ".scope",            ID,      CRIO,       BEGINS,  P::kContainer},
    {P::kAny,        "crio-",                   hex64,        "",                  ID,      CRIO,       BEGINS,  P::kContainer},
    {P::kAny,        "crio:",                   hex64,        "",                  ID,      CRIO,       BEGINS,  P::kContainer},
    {P::kAny,        "crio-conmon-",            hex64,        ".scope",            ID,      CRIO,       BEGINS,  P::kAny, HELPER},
    {P::kAny,        "crio-conmon-",            hex64,        "",                  ID,      CRIO,       BEGINS,  P::kAny, HELPER},
    {P::kAny,        "docker-",                 hex64,        ".scope",            ID,      DOCKER,     BEGINS,  P::kContainer},
    {P::kAny,        "docker:",                 hex64,        "",                  ID,      DOCKER,     BEGINS,  P::kContainer},
    {P::kAny,        "docker",                  nothing,      "",                  NO,      NONE,       NOTHING, P::kDocker},
    {P::kDocker,     "",                        hex64,        "",                  ID,      DOCKER,     BEGINS,  P::kContainer},
    {P::kDocker,     "buildkit",                nothing,      "",                  NO,      NONE,       NOTHING, P::kBuilds},
    {P::kBuilds,     "",                        build,        "",                  NO,      DOCKER,     BEGINS,  P::kContainer},
    {P::kAny,        "docker:",                 build,        "",                  NO,      DOCKER,     BEGINS,  P::kContainer},
    {P::kAny,        "buildkit",                nothing,      "",                  NO,      NONE,       NOTHING, P::kBuildkit},
    {P::kBuildkit,   "",                        build,        "",                  NO,      BUILDKIT,   BEGINS,  P::kContainer},
    {P::kAny,        "buildkit:",               build,        "",                  NO,      BUILDKIT,   BEGINS,  P::kContainer},
    {P::kAny,        "libpod-",                 hex64,        ".scope",            ID,      PODMAN,     BEGINS,  P::kContainer},
    {P::kAny,        "libpod-",                 hex64,        "",                  ID,      PODMAN,     BEGINS,  P::kContainer},
    {P::kAny,        "libpod:",                 hex64,        "",                  ID,      PODMAN,     BEGINS,  P::kContainer},
    {P::kAny,        "libpod-payload-",         hex64,        "",                  ID,      PODMAN,     BEGINS,  P::kContainer},
    {P::kAny,        "libpod-conmon-",          hex64,        ".scope",            ID,      PODMAN,     BEGINS,  P::kAny, HELPER},
    {P::kAny,        "libpod_pod_",             hex64,        ".slice",            NO,      PODMAN,     GROUP,   P::kAny},
    {P::kAny,        "libpod_parent",           nothing,      "",                  NO,      NONE,       NOTHING, P::kPodman},
    {P::kPodman,     "",                        hex64,        "",                  NO,      PODMAN,     GROUP,   P::kPodman},
    {P::kPodman,     "conmon",                  nothing,      "",                  NO,      PODMAN,     GROUP,   P::kAny, HELPER},
    {P::kAny,        "kata_",                   hex64,        "",                  ID,      KATA,       BEGINS,  P::kContainer},
    {P::kAny,        "kata_overhead",           nothing,      "",                  NO,      NONE,       NOTHING, P::kKata},
    {P::kKata,       "",                        hex64,        "",                  ID,      KATA,       BEGINS,  P::kAny},
    {P::kAny,        "kata-overhead",           nothing,      ".slice",            NO,      NONE,       NOTHING, P::kKata},
    {P::kKata,       "runtime-rs-",             hex64,        ".scope",            ID,      KATA,       BEGINS,  P::kAny},
    {P::kKata,       "runtime-rs:",             hex64,        "",                  ID,      KATA,       BEGINS,  P::kAny},
    {P::kAny,        "",                        hex64,        "",                  ID,      NONE,       BEGINS,  P::kContainer},
    {P::kContainer,  "container",               nothing,      "",                  NO,      NONE,       NOTHING, P::kContainer},
    {P::kContainer,  "init",                    nothing,      "",                  NO,      NONE,       NOTHING, P::kAny, HELPER},

    // AWS ECS: tasks of docker containers, with or without the cluster's name; Fargate uses containerd.
    {P::kAny,        "ecstasks-",               uid,          ".slice",            TASK,    NONE,       GROUP,   P::kEcsTask},
    {P::kAny,        "ecs",                     nothing,      "",                  NO,      NONE,       NOTHING, P::kEcs},
    {P::kEcs,        "",                        uid,          "",                  TASK,    NONE,       GROUP,   P::kEcsTask},
    {P::kEcs,        "",                        task_number,  "",                  ID,      CONTAINERD, BEGINS,  P::kContainer},
    {P::kEcs,        "",                        any_name,     "",                  NO,      NONE,       NOTHING, P::kEcsCluster},
    {P::kEcsCluster, "",                        uid,          "",                  TASK,    NONE,       GROUP,   P::kEcsTask},
    {P::kEcsTask,    "",                        hex64,        "",                  ID,      DOCKER,     BEGINS,  P::kContainer},
    {P::kEcsTask,    "",                        task_number,  "",                  ID,      CONTAINERD, BEGINS,  P::kContainer},

    // Nomad: tasks without a container runtime.
    {P::kAny,        "nomad.slice",             nothing,      "",                  NO,      NONE,       NOTHING, P::kNomad},
    {P::kNomad,      "share.slice",             nothing,      "",                  NO,      NONE,       NOTHING, P::kNomad},
    {P::kNomad,      "reserve.slice",           nothing,      "",                  NO,      NONE,       NOTHING, P::kNomad},
    {P::kNomad,      "",                        allocation,   ".scope",            NO,      NOMAD,      BEGINS,  P::kAny},

    // libvirt: registered with systemd-machined, before 1.3 without a number; or by itself.
    {P::kAny,        "machine-qemu\\x2d",       counted_name, ".scope",            MACHINE, LIBVIRT,    BEGINS,  P::kAny},
    {P::kAny,        "machine-qemu\\x2d",       any_name,     ".scope",            MACHINE, LIBVIRT,    BEGINS,  P::kAny},
    {P::kAny,        "machine-lxc\\x2d",        counted_name, ".scope",            MACHINE, LIBVIRT,    BEGINS,  P::kAny},
    {P::kAny,        "machine-xen\\x2d",        counted_name, ".scope",            MACHINE, LIBVIRT,    BEGINS,  P::kAny},
    {P::kAny,        "machine-ch\\x2d",         counted_name, ".scope",            MACHINE, LIBVIRT,    BEGINS,  P::kAny},
    {P::kAny,        "qemu-",                   counted_name, ".libvirt-qemu",     MACHINE, LIBVIRT,    BEGINS,  P::kAny},
    {P::kAny,        "ch-",                     counted_name, ".libvirt-ch",       MACHINE, LIBVIRT,    BEGINS,  P::kAny},
    {P::kAny,        "",                        any_name,     ".libvirt-qemu",     MACHINE, LIBVIRT,    BEGINS,  P::kAny},
    {P::kAny,        "lxc-",                    counted_name, ".libvirt-lxc",      MACHINE, LIBVIRT,    BEGINS,  P::kAny},
    {P::kAny,        "",                        any_name,     ".libvirt-lxc",      MACHINE, LIBVIRT,    BEGINS,  P::kAny},
    // Others that register with systemd-machined, mostly systemd-nspawn; then systemd's own services.
    {P::kAny,        "machine-",                any_name,     ".scope",            MACHINE, MACHINED,   BEGINS,  P::kNspawn},
    {P::kAny,        "systemd-nspawn@",         any_name,     ".service",          MACHINE, NSPAWN,     BEGINS,  P::kNspawn},
    {P::kNspawn,     "supervisor",              nothing,      "",                  NO,      NONE,       NOTHING, P::kAny, HELPER},
    {P::kAny,        "systemd-vmspawn@",        any_name,     ".service",          MACHINE, VMSPAWN,    BEGINS,  P::kAny},
    // Proxmox.
    {P::kAny,        "qemu.slice",              nothing,      "",                  NO,      NONE,       NOTHING, P::kProxmox},
    {P::kProxmox,    "",                        digits,       ".scope",            MACHINE, QEMU,       BEGINS,  P::kAny},
    // Firecracker's jailer, below the name of the program's file: firecracker-v1.10.1-x86_64.
    {P::kAny,        "firecracker",             nothing,      "",                  NO,      NONE,       NOTHING, P::kFirecracker},
    {P::kAny,        "firecracker-",            release,      "",                  NO,      NONE,       NOTHING, P::kFirecracker},
    {P::kFirecracker,"",                        any_name,     "",                  MACHINE, FIRE,       BEGINS,  P::kAny},
    // LXC, LXD, Incus; with a slash Proxmox and versions before 4.
    {P::kAny,        "lxc.payload.",            any_name,     "",                  MACHINE, LXC,        BEGINS,  P::kAny},
    {P::kAny,        "lxc.monitor.",            any_name,     "",                  MACHINE, LXC,        BEGINS,  P::kAny, HELPER},
    {P::kAny,        "lxc",                     nothing,      "",                  NO,      NONE,       NOTHING, P::kLxc},
    {P::kAny,        "lxc.payload",             nothing,      "",                  NO,      NONE,       NOTHING, P::kLxc},
    {P::kAny,        "lxc.monitor",             nothing,      "",                  NO,      NONE,       NOTHING, P::kLxcMonitor},
    {P::kLxc,        "",                        any_name,     "",                  MACHINE, LXC,        BEGINS,  P::kAny},
    {P::kLxcMonitor, "",                        any_name,     "",                  MACHINE, LXC,        BEGINS,  P::kAny, HELPER},

    // Slurm: version 2 below slurmstepd.scope, version 1 below slurm; either may have the node's name.
    {P::kAny,        "slurmstepd.scope",        nothing,      "",                  NO,      NONE,       NOTHING, P::kSlurm},
    {P::kAny,        "",                        any_name,     "_slurmstepd.scope", NO,      NONE,       NOTHING, P::kSlurm},
    {P::kAny,        "slurm",                   nothing,      "",                  NO,      NONE,       NOTHING, P::kSlurm},
    {P::kAny,        "slurm_",                  any_name,     "",                  NO,      NONE,       NOTHING, P::kSlurm},
    {P::kSlurm,      "system",                  nothing,      "",                  NO,      SLURM,      GROUP,   P::kAny, HELPER},
    {P::kSlurm,      "uid_",                    digits,       "",                  UID,     NONE,       GROUP,   P::kSlurm},
    {P::kSlurm,      "job_",                    digits,       "",                  JOB,     SLURM,      GROUP,   P::kSlurmJob},
    {P::kSlurm,      "",                        slurm_id,     "",                  JOB,     SLURM,      GROUP,   P::kSlurmJob},
    {P::kSlurmJob,   "step_",                   any_name,     "",                  STEP,    NONE,       NOTHING, P::kSlurmStep},
    {P::kSlurmStep,  "slurm",                   nothing,      "",                  NO,      NONE,       NOTHING, P::kAny, HELPER},

    // Other batch systems: HTCondor below its service or a cgroup of its own; OpenPBS; LSF.
    {P::kAny,        "condor.service",          nothing,      "",                  NO,      NONE,       NOTHING, P::kCondor},
    {P::kAny,        "htcondor",                nothing,      "",                  NO,      NONE,       NOTHING, P::kCondor},
    {P::kCondor,     "condor_",                 any_name,     "",                  NO,      CONDOR,     GROUP,   P::kAny},
    {P::kAny,        "pbs_jobs.service",        nothing,      "",                  NO,      NONE,       NOTHING, P::kPbs},
    {P::kPbs,        "jobid",                   nothing,      "",                  NO,      NONE,       NOTHING, P::kPbsJobs},
    {P::kPbsJobs,    "",                        any_name,     "",                  BATCH,   PBS,        GROUP,   P::kAny},
    {P::kAny,        "lsf",                     nothing,      "",                  NO,      NONE,       NOTHING, P::kLsf},
    {P::kLsf,        "",                        any_name,     "",                  NO,      NONE,       NOTHING, P::kLsfCluster},
    {P::kLsfCluster, "job.",                    to_dot,       "",                  BATCH,   LSF,        GROUP,   P::kAny},

    // Services of OpenRC and of Talos Linux.
    {P::kAny,        "openrc.",                 any_name,     "",                  UNIT,    NONE,       NOTHING, P::kAny},
    {P::kAny,        "podruntime",              nothing,      "",                  NO,      NONE,       NOTHING, P::kTalos},
    {P::kAny,        "system",                  nothing,      "",                  NO,      NONE,       NOTHING, P::kTalos},
    {P::kTalos,      "",                        word,         "",                  UNIT,    NONE,       NOTHING, P::kAny},
};
// clang-format on

}  // namespace

std::span<const NamingRule> naming_rules() { return kRules; }

}  // namespace pex::cgroup
