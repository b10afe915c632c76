#pragma once

#include <string>
#include <string_view>

namespace pex::cgroup {

/// What the path of a cgroup tells of what runs in it. What it does not tell is empty. The
/// innermost container or machine decides: nothing of an outer one is told with it, neither its pod
/// nor its units. Parts are bytes of the path, so they need not be UTF-8 and may hold control
/// characters.
struct Naming {
  std::string container_id;  ///< as its runtime names it: 64 hex digits; AWS Fargate: task-number
  std::string pod_uid;       ///< with dashes; of a static pod 32 hex digits, a hash of its manifest
  std::string qos_class;     ///< of a pod: guaranteed, burstable, besteffort
  std::string runtime;  ///< what made the cgroup: containerd, cri-o, docker, podman, libvirt, slurm
  std::string unit;     ///< innermost systemd unit that is not a slice, decoded: web@1.service
  std::string slice;    ///< innermost systemd slice, decoded: system.slice
  std::string machine;  ///< virtual machine or system container, decoded; Proxmox: its number
  std::string uid;      ///< the user's, of user-1000.slice or Slurm's uid_1000
  std::string session;  ///< of a login, as logind counts them: 3, c1
  std::string slurm_job;   ///< digits
  std::string slurm_step;  ///< digits, batch, extern, interactive
  std::string ecs_task;    ///< 32 hex digits; in old clusters a UUID
  /// Holds no workload, but what watches over one: conmon of a container, the monitor of LXC, the
  /// supervisor of systemd-nspawn, slurmstepd; or is the "init" child that a container puts its
  /// first processes into. The other parts tell whose.
  bool is_helper = false;

  bool operator==(const Naming&) const = default;
};

/// Reads a path below the mount of the hierarchy: "/system.slice/cron.service". Takes any bytes, in
/// time linear in their number. The layouts it knows are one table, in naming.cc.
Naming naming_of(std::string_view path);

/// Which label a part is published as. Parts of the identity go on every series of the cgroup, the
/// others only on perf_cgroup_info.
struct NameLabel {
  std::string_view label;
  std::string Naming::*part;
  bool is_identity;
};

inline constexpr NameLabel kNameLabels[] = {
    {"container_id", &Naming::container_id, true},
    {"pod_uid", &Naming::pod_uid, true},
    {"qos_class", &Naming::qos_class, false},
    {"runtime", &Naming::runtime, false},
    {"unit", &Naming::unit, false},
    {"slice", &Naming::slice, false},
    {"machine", &Naming::machine, false},
    {"uid", &Naming::uid, false},
    {"session", &Naming::session, false},
    {"slurm_job", &Naming::slurm_job, false},
    {"slurm_step", &Naming::slurm_step, false},
    {"ecs_task", &Naming::ecs_task, false},
};

}  // namespace pex::cgroup
