#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cgroup/cgroup.h"

namespace pex::cgroup {

/// What the path of a cgroup reveals about its workload. A field that the path does not name is
/// empty. The innermost container or machine decides: nothing about an outer one is kept, neither
/// its pod nor its units. Fields are bytes of the path, so they need not be UTF-8 and may contain
/// control characters.
struct PathInfo {
  std::string container_id;  ///< as its runtime names it: 64 hex digits; AWS Fargate: task-number
  std::string pod_uid;       ///< with dashes; of a static pod 32 hex digits, a hash of its manifest
  std::string qos_class;     ///< of a pod: guaranteed, burstable, besteffort
  std::string runtime;     ///< what created the cgroup: containerd, cri-o, docker, podman, libvirt,
                           ///< slurm
  std::string unit;        ///< innermost systemd unit that is not a slice, decoded: web@1.service;
                           ///< of OpenRC and Talos Linux the name of the service
  std::string slice;       ///< innermost systemd slice, decoded: system.slice
  std::string machine;     ///< virtual machine or system container, decoded; Proxmox: its number
  std::string uid;         ///< of the user, from user-1000.slice or Slurm's uid_1000
  std::string session;     ///< of a login, as logind numbers them: 3, c1
  std::string slurm_job;   ///< digits, from Slurm 26.05 on such as s5K1KKYAYG5D00
  std::string slurm_step;  ///< digits, batch, extern, interactive
  std::string batch_job;   ///< of OpenPBS 42.server, of LSF digits
  std::string ecs_task;    ///< 32 hex digits; in legacy clusters a UUID
  /// Contains no workload, but the monitor of one: conmon of a container, the monitor of LXC, the
  /// supervisor of systemd-nspawn, slurmstepd; or is the "init" child that a container creates for
  /// its first processes. The other fields name its owner.
  bool is_helper = false;
  /// Of a container below the service manager of a user, in a directory of another user, or in
  /// another container: who runs there has made the directory, and may name it like one of others.
  /// Of a user, nothing is called a pod, job or login.
  bool is_delegated = false;

  bool operator==(const PathInfo&) const = default;
};

/// Parses a path below the mount of the hierarchy: "/system.slice/cron.service". Accepts any bytes,
/// in time linear in their number. The known layouts are the table in naming_rules.cc. Names beyond
/// `of_root` (names_of_root()) are those of a user.
PathInfo parse_path(std::string_view path, std::size_t of_root = kAllNames);

/// The label for each field. Identity labels are on every series of the cgroup, the others only on
/// perf_cgroup_info.
struct PathLabel {
  std::string_view label;
  std::string PathInfo::*field;
  bool is_identity = false;
  bool is_of_unit = false;  ///< decided by the nearest service manager: the host's, a user's, a
                            ///< container's; else it is of a workload
  bool is_of_root = false;  ///< only managers of root give it
};

inline constexpr PathLabel kPathLabels[] = {
    {.label = "container_id", .field = &PathInfo::container_id, .is_identity = true},
    {.label = "pod_uid", .field = &PathInfo::pod_uid, .is_identity = true, .is_of_root = true},
    {.label = "qos_class", .field = &PathInfo::qos_class},
    {.label = "runtime", .field = &PathInfo::runtime},
    {.label = "unit", .field = &PathInfo::unit, .is_of_unit = true},
    {.label = "slice", .field = &PathInfo::slice, .is_of_unit = true},
    {.label = "machine", .field = &PathInfo::machine},
    {.label = "uid", .field = &PathInfo::uid, .is_of_unit = true, .is_of_root = true},
    {.label = "session", .field = &PathInfo::session, .is_of_unit = true, .is_of_root = true},
    {.label = "slurm_job", .field = &PathInfo::slurm_job, .is_of_root = true},
    {.label = "slurm_step", .field = &PathInfo::slurm_step, .is_of_root = true},
    {.label = "batch_job", .field = &PathInfo::batch_job, .is_of_root = true},
    {.label = "ecs_task", .field = &PathInfo::ecs_task, .is_of_root = true},
};

}  // namespace pex::cgroup
