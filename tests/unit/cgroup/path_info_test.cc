#include "cgroup/path_info.h"

#include <ostream>
#include <string_view>

#include "support/test_headers.h"

namespace pex::cgroup {
namespace {

/// Ids are long, so the tables below have signs for them.
constexpr std::pair<std::string_view, std::string_view> kIds[] = {
    {"<A>", "4f1e5b0a9c7d3e28b6a1f04d9e8c7b6a5d4c3b2a19080f7e6d5c4b3a29181706"},
    {"<B>", "c0ffee00112233445566778899aabbccddeeff00112233445566778899aabbcc"},
    {"<63>", "f1e5b0a9c7d3e28b6a1f04d9e8c7b6a5d4c3b2a19080f7e6d5c4b3a29181706"},
    {"<65>", "14f1e5b0a9c7d3e28b6a1f04d9e8c7b6a5d4c3b2a19080f7e6d5c4b3a29181706"},
    {"<UPPER>", "4F1E5B0A9C7D3E28B6A1F04D9E8C7B6A5D4C3B2A19080F7E6D5C4B3A29181706"},
    {"<uid>", "2c48913c-b29f-11e7-9350-020968147796"},
    {"<u_i_d>", "2c48913c_b29f_11e7_9350_020968147796"},
    {"<uid2>", "b8bffafc-562c-4c01-976f-d1eccfd17ec7"},
    {"<u_i_d2>", "b8bffafc_562c_4c01_976f_d1eccfd17ec7"},
    {"<hash>", "3d6beaa3004913efb68ce073d73494b0"},
    {"<task>", "e95a40efbde84cbc8600660a109ec194"},
};

std::string expand(std::string text) {
  for (const auto& [sign, id] : kIds) {
    for (std::size_t at = 0; (at = text.find(sign, at)) != std::string::npos;) {
      text.replace(at, sign.size(), id);
    }
  }
  return text;
}

/// `container_id=... runtime=... helper`: what is not empty, in the order of kPathLabels.
std::string text_of(const PathInfo& info) {
  std::string text;
  const auto append = [&text](std::string_view word) {
    if (!text.empty()) text += ' ';
    text += word;
  };
  for (const PathLabel& each : kPathLabels) {
    const std::string& value = info.*each.field;
    if (!value.empty()) append(std::string(each.label) + '=' + value);
  }
  if (info.is_helper) append("helper");
  if (info.is_delegated) append("delegated");
  return text;
}

std::string parsed(std::string_view path) { return text_of(parse_path(path)); }

struct Layout {
  const char* name;
  const char* path;
  const char* info;
};

std::ostream& operator<<(std::ostream& out, const Layout& layout) { return out << layout.path; }

// clang-format off
const std::vector<Layout> kLayouts = {
    // Nothing to tell.
    {"Root", "/", ""},
    {"EmptyPath", "", ""},
    {"PlainDirectory", "/batch/night", ""},

    // systemd.
    {"Slice", "/system.slice", "slice=system.slice"},
    {"Service", "/system.slice/cron.service", "unit=cron.service slice=system.slice"},
    {"TemplateInstance", "/system.slice/system-getty.slice/getty@tty1.service",
     "unit=getty@tty1.service slice=system-getty.slice"},
    {"EscapedInstance", "/system.slice/system-systemd\\x2dfsck.slice/systemd-fsck@dev-disk-by\\x2duuid-12\\x2d34.service",
     "unit=systemd-fsck@dev-disk-by-uuid-12-34.service slice=system-systemd-fsck.slice"},
    {"InstanceWithUtf8", "/system.slice/system-backup.slice/backup@caf\\xc3\\xa9.service",
     "unit=backup@caf\xC3\xA9.service slice=system-backup.slice"},
    {"NestedSlices", "/workload.slice/workload-web.slice/workload-web-blue.slice/web.service",
     "unit=web.service slice=workload-web-blue.slice"},
    {"SubgroupOfService", "/system.slice/systemd-udevd.service/udev", "unit=systemd-udevd.service slice=system.slice"},
    {"ColonInUnit", "/system.slice/zfs-share@tank:home.service", "unit=zfs-share@tank:home.service slice=system.slice"},
    {"Init", "/init.scope", "unit=init.scope"},
    {"Mount", "/system.slice/boot-efi.mount", "unit=boot-efi.mount slice=system.slice"},
    {"Socket", "/system.slice/docker.socket", "unit=docker.socket slice=system.slice"},
    {"TransientService", "/system.slice/run-r6f3a8b0c5d1e4f72.service", "unit=run-r6f3a8b0c5d1e4f72.service slice=system.slice"},
    {"TransientScope", "/system.slice/run-u812.scope", "unit=run-u812.scope slice=system.slice"},
    {"UserSlice", "/user.slice/user-1000.slice", "slice=user-1000.slice uid=1000"},
    {"Session", "/user.slice/user-1000.slice/session-3.scope",
     "unit=session-3.scope slice=user-1000.slice uid=1000 session=3"},
    {"SessionWithoutAudit", "/user.slice/user-113.slice/session-c1.scope",
     "unit=session-c1.scope slice=user-113.slice uid=113 session=c1"},
    {"UserManager", "/user.slice/user-1000.slice/user@1000.service/init.scope",
     "unit=init.scope slice=user-1000.slice uid=1000"},
    {"UserService", "/user.slice/user-1000.slice/user@1000.service/app.slice/syncthing.service",
     "unit=syncthing.service slice=app.slice uid=1000"},
    {"DesktopApplication", "/user.slice/user-1000.slice/user@1000.service/app.slice/app-gnome-firefox-1234.scope",
     "unit=app-gnome-firefox-1234.scope slice=app.slice uid=1000"},
    {"UserSliceInUserManager", "/user.slice/user-1000.slice/user@1000.service/session.slice",
     "unit=user@1000.service slice=session.slice uid=1000"},

    // Kubernetes, systemd driver.
    {"PodSlicesOfAClass", "/kubepods.slice/kubepods-besteffort.slice", "slice=kubepods-besteffort.slice"},
    {"BurstablePod", "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<u_i_d>.slice",
     "pod_uid=<uid> qos_class=burstable slice=kubepods-burstable-pod<u_i_d>.slice"},
    {"GuaranteedPod", "/kubepods.slice/kubepods-pod<u_i_d>.slice",
     "pod_uid=<uid> qos_class=guaranteed slice=kubepods-pod<u_i_d>.slice"},
    {"Containerd", "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<u_i_d>.slice/cri-containerd-<A>.scope",
     "container_id=<A> pod_uid=<uid> qos_class=burstable runtime=containerd unit=cri-containerd-<A>.scope slice=kubepods-burstable-pod<u_i_d>.slice"},
    {"ContainerdBestEffort", "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod<u_i_d>.slice/cri-containerd-<A>.scope",
     "container_id=<A> pod_uid=<uid> qos_class=besteffort runtime=containerd unit=cri-containerd-<A>.scope slice=kubepods-besteffort-pod<u_i_d>.slice"},
    {"ContainerdGuaranteed", "/kubepods.slice/kubepods-pod<u_i_d>.slice/cri-containerd-<A>.scope",
     "container_id=<A> pod_uid=<uid> qos_class=guaranteed runtime=containerd unit=cri-containerd-<A>.scope slice=kubepods-pod<u_i_d>.slice"},
    {"StaticPod", "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<hash>.slice/cri-containerd-<A>.scope",
     "container_id=<A> pod_uid=<hash> qos_class=burstable runtime=containerd unit=cri-containerd-<A>.scope slice=kubepods-burstable-pod<hash>.slice"},
    {"Crio", "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<u_i_d>.slice/crio-<A>.scope",
     "container_id=<A> pod_uid=<uid> qos_class=burstable runtime=cri-o unit=crio-<A>.scope slice=kubepods-burstable-pod<u_i_d>.slice"},
    {"CrioWithCrun", "/kubepods.slice/kubepods-pod<u_i_d>.slice/crio-<A>.scope/container",
     "container_id=<A> pod_uid=<uid> qos_class=guaranteed runtime=cri-o unit=crio-<A>.scope slice=kubepods-pod<u_i_d>.slice"},
    {"CrioMonitor", "/kubepods.slice/kubepods-pod<u_i_d>.slice/crio-conmon-<A>.scope",
     "container_id=<A> pod_uid=<uid> qos_class=guaranteed runtime=cri-o unit=crio-conmon-<A>.scope slice=kubepods-pod<u_i_d>.slice helper"},
    {"CrioMonitorInSystemSlice", "/system.slice/crio-conmon-<A>.scope",
     "container_id=<A> runtime=cri-o unit=crio-conmon-<A>.scope slice=system.slice helper"},
    {"DockerOfPod", "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod<u_i_d>.slice/docker-<A>.scope",
     "container_id=<A> pod_uid=<uid> qos_class=besteffort runtime=docker unit=docker-<A>.scope slice=kubepods-besteffort-pod<u_i_d>.slice"},
    {"Kata", "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<u_i_d>.slice/kata_<A>",
     "container_id=<A> pod_uid=<uid> qos_class=burstable runtime=kata slice=kubepods-burstable-pod<u_i_d>.slice"},
    {"CgroupRootOfKubelet", "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod<u_i_d>.slice/cri-containerd-<A>.scope",
     "container_id=<A> pod_uid=<uid> qos_class=burstable runtime=containerd unit=cri-containerd-<A>.scope slice=kubelet-kubepods-burstable-pod<u_i_d>.slice"},
    {"DeepCgroupRootOfKubelet", "/k8s.slice/k8s-prod.slice/k8s-prod-kubepods.slice/k8s-prod-kubepods-pod<u_i_d>.slice",
     "pod_uid=<uid> qos_class=guaranteed slice=k8s-prod-kubepods-pod<u_i_d>.slice"},

    // Kubernetes, cgroupfs driver.
    {"PodDirectory", "/kubepods/burstable/pod<uid>", "pod_uid=<uid> qos_class=burstable"},
    {"ContainerDirectory", "/kubepods/burstable/pod<uid>/<A>", "container_id=<A> pod_uid=<uid> qos_class=burstable"},
    {"ContainerDirectoryBestEffort", "/kubepods/besteffort/pod<uid>/<A>", "container_id=<A> pod_uid=<uid> qos_class=besteffort"},
    {"ContainerDirectoryGuaranteed", "/kubepods/pod<uid>/<A>", "container_id=<A> pod_uid=<uid> qos_class=guaranteed"},
    {"ContainerDirectoryOfStaticPod", "/kubepods/besteffort/pod<hash>/<A>", "container_id=<A> pod_uid=<hash> qos_class=besteffort"},
    {"CrioDirectory", "/kubepods/burstable/pod<uid>/crio-<A>", "container_id=<A> pod_uid=<uid> qos_class=burstable runtime=cri-o"},
    {"CrioMonitorDirectory", "/kubepods/burstable/pod<uid>/crio-conmon-<A>",
     "container_id=<A> pod_uid=<uid> qos_class=burstable runtime=cri-o helper"},
    {"PodDirectoryBelowCgroupRoot", "/kubelet/kubepods/pod<uid>/<A>", "container_id=<A> pod_uid=<uid> qos_class=guaranteed"},

    // systemd was meant to make the scope, and did not.
    {"RequestOfContainerd", "/kubepods-burstable-pod<u_i_d>.slice:cri-containerd:<A>",
     "container_id=<A> pod_uid=<uid> qos_class=burstable runtime=containerd slice=kubepods-burstable-pod<u_i_d>.slice"},
    {"RequestInService", "/system.slice/containerd.service/kubepods-besteffort-pod<u_i_d>.slice:cri-containerd:<A>",
     "container_id=<A> pod_uid=<uid> qos_class=besteffort runtime=containerd unit=containerd.service slice=kubepods-besteffort-pod<u_i_d>.slice"},
    {"RequestBelowCgroupRoot", "/kubelet-kubepods-pod<u_i_d>.slice:cri-containerd:<A>",
     "container_id=<A> pod_uid=<uid> qos_class=guaranteed runtime=containerd slice=kubelet-kubepods-pod<u_i_d>.slice"},
    {"RequestOfCrio", "/kubepods-pod<u_i_d>.slice:crio:<A>",
     "container_id=<A> pod_uid=<uid> qos_class=guaranteed runtime=cri-o slice=kubepods-pod<u_i_d>.slice"},
    {"RequestOfDocker", "/system.slice:docker:<A>", "container_id=<A> runtime=docker slice=system.slice"},
    {"RequestOfPodman", "/machine.slice:libpod:<A>", "container_id=<A> runtime=podman slice=machine.slice"},
    {"RequestOfNerdctl", "/system.slice:nerdctl:<A>", "container_id=<A> runtime=containerd slice=system.slice"},
    {"RequestWithoutSlice", "/user.slice/user-1000.slice/user@1000.service/:nerdctl:<A>",
     "container_id=<A> runtime=containerd unit=user@1000.service slice=user-1000.slice uid=1000 delegated"},

    // Docker, containerd.
    {"Docker", "/system.slice/docker-<A>.scope", "container_id=<A> runtime=docker unit=docker-<A>.scope slice=system.slice"},
    {"DockerDirectory", "/docker/<A>", "container_id=<A> runtime=docker"},
    {"DockerParentOfItsOwn", "/ci.slice/docker-<A>.scope", "container_id=<A> runtime=docker unit=docker-<A>.scope slice=ci.slice"},
    {"DockerRootless", "/user.slice/user-1000.slice/user@1000.service/user.slice/docker-<A>.scope",
     "container_id=<A> runtime=docker unit=docker-<A>.scope slice=user.slice uid=1000 delegated"},
    {"DirectoryOfAContainer", "/actions_job/<A>", "container_id=<A>"},
    {"SubgroupOfContainer", "/docker/<A>/workers/1", "container_id=<A> runtime=docker"},
    {"InitOfContainer", "/docker/<A>/init", "container_id=<A> runtime=docker helper"},
    {"InitOfContainerInScope", "/system.slice/docker-<A>.scope/init",
     "container_id=<A> runtime=docker unit=docker-<A>.scope slice=system.slice helper"},
    {"InitOfContainerWithCrun", "/machine.slice/libpod-<A>.scope/container/init",
     "container_id=<A> runtime=podman unit=libpod-<A>.scope slice=machine.slice helper"},
    {"Nerdctl", "/system.slice/nerdctl-<A>.scope", "container_id=<A> runtime=containerd unit=nerdctl-<A>.scope slice=system.slice"},
    {"NerdctlDirectory", "/default/<A>", "container_id=<A> runtime=containerd"},
    {"ContainerdNamespace", "/k8s.io/<A>", "container_id=<A> runtime=containerd"},

    // Podman.
    {"Podman", "/machine.slice/libpod-<A>.scope", "container_id=<A> runtime=podman unit=libpod-<A>.scope slice=machine.slice"},
    {"PodmanWithCrun", "/machine.slice/libpod-<A>.scope/container",
     "container_id=<A> runtime=podman unit=libpod-<A>.scope slice=machine.slice"},
    {"PodmanMonitor", "/machine.slice/libpod-conmon-<A>.scope",
     "container_id=<A> runtime=podman unit=libpod-conmon-<A>.scope slice=machine.slice helper"},
    {"PodmanRootless", "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-<A>.scope/container",
     "container_id=<A> runtime=podman unit=libpod-<A>.scope slice=user.slice uid=1000 delegated"},
    {"PodmanPod", "/machine.slice/machine-libpod_pod_<B>.slice", "runtime=podman slice=machine-libpod_pod_<B>.slice"},
    {"PodmanInPod", "/machine.slice/machine-libpod_pod_<B>.slice/libpod-<A>.scope",
     "container_id=<A> runtime=podman unit=libpod-<A>.scope slice=machine-libpod_pod_<B>.slice"},
    {"PodmanInPodRootless", "/user.slice/user-1000.slice/user@1000.service/user.slice/user-libpod_pod_<B>.slice/libpod-<A>.scope",
     "container_id=<A> runtime=podman unit=libpod-<A>.scope slice=user-libpod_pod_<B>.slice uid=1000 delegated"},
    {"PodmanDirectory", "/libpod_parent/libpod-<A>", "container_id=<A> runtime=podman"},
    {"PodmanPodDirectory", "/libpod_parent/<B>", "runtime=podman"},
    {"PodmanInPodDirectory", "/libpod_parent/<B>/libpod-<A>", "container_id=<A> runtime=podman"},
    {"PodmanMonitorDirectory", "/libpod_parent/conmon", "runtime=podman helper"},
    {"PodmanInService", "/system.slice/web.service/libpod-payload-<A>",
     "container_id=<A> runtime=podman unit=web.service slice=system.slice"},
    {"PodmanInUserService", "/user.slice/user-1000.slice/user@1000.service/app.slice/redis.service/libpod-payload-<A>",
     "container_id=<A> runtime=podman unit=redis.service slice=app.slice uid=1000 delegated"},

    {"PodNamedByAUser", "/user.slice/user-1000.slice/user@1000.service/kubepods.slice/kubepods-pod<u_i_d>.slice/cri-containerd-<A>.scope",
     "container_id=<A> runtime=containerd unit=cri-containerd-<A>.scope slice=kubepods-pod<u_i_d>.slice uid=1000 delegated"},
    {"PodDirectoryNamedByAUser", "/user.slice/user-1000.slice/user@1000.service/kubepods/burstable/pod<uid>/<A>",
     "container_id=<A> unit=user@1000.service slice=user-1000.slice uid=1000 delegated"},
    {"UserInPod", "/kubepods/burstable/pod<uid>/<A>/user.slice/user-1000.slice/user@1000.service",
     "container_id=<A> pod_uid=<uid> qos_class=burstable unit=user@1000.service slice=user-1000.slice uid=1000"},

    // Nested: the inner one is told, and nothing of the outer one.
    {"SystemdInDocker", "/docker/<A>/system.slice/containerd.service",
     "container_id=<A> runtime=docker unit=containerd.service slice=system.slice"},
    {"SystemdInDockerScope", "/system.slice/docker-<A>.scope/init.scope", "container_id=<A> runtime=docker unit=init.scope"},
    {"SystemdInRootlessPodman", "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-<A>.scope/container/system.slice/nginx.service",
     "container_id=<A> runtime=podman unit=nginx.service slice=system.slice delegated"},
    {"DockerInDocker", "/docker/<B>/docker/<A>", "container_id=<A> runtime=docker delegated"},
    {"DockerInDockerScope", "/system.slice/docker-<B>.scope/docker/<A>", "container_id=<A> runtime=docker delegated"},
    {"DockerInInitOfDocker", "/docker/<B>/init/docker/<A>", "container_id=<A> runtime=docker delegated"},
    {"DockerInPod", "/kubepods.slice/kubepods-pod<u_i_d>.slice/cri-containerd-<B>.scope/docker/<A>", "container_id=<A> runtime=docker delegated"},
    {"Kind", "/docker/<B>/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/kubelet-kubepods-besteffort-pod<u_i_d>.slice/cri-containerd-<A>.scope",
     "container_id=<A> pod_uid=<uid> qos_class=besteffort runtime=containerd unit=cri-containerd-<A>.scope slice=kubelet-kubepods-besteffort-pod<u_i_d>.slice delegated"},
    {"KindPod", "/system.slice/docker-<B>.scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod<u_i_d>.slice",
     "pod_uid=<uid> qos_class=guaranteed slice=kubelet-kubepods-pod<u_i_d>.slice delegated"},
    {"K3sInDocker", "/docker/<B>/kubepods/burstable/pod<uid>/<A>", "container_id=<A> pod_uid=<uid> qos_class=burstable delegated"},
    {"K3sInDockerScope", "/system.slice/docker-<B>.scope/kubepods/besteffort/pod<uid>", "pod_uid=<uid> qos_class=besteffort delegated"},
    {"KubernetesInPod", "/kubepods/burstable/pod<uid2>/<B>/kubepods/besteffort/pod<uid>/<A>",
     "container_id=<A> pod_uid=<uid> qos_class=besteffort delegated"},
    {"PodmanOfUserInDocker", "/docker/<B>/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-<A>.scope",
     "container_id=<A> runtime=podman unit=libpod-<A>.scope slice=user.slice uid=1000 delegated"},
    {"DockerInLxc", "/lxc.payload.build/system.slice/docker-<A>.scope",
     "container_id=<A> runtime=docker unit=docker-<A>.scope slice=system.slice delegated"},

    // Machines.
    {"Libvirt", "/machine.slice/machine-qemu\\x2d1\\x2dweb\\x2d01.scope",
     "runtime=libvirt unit=machine-qemu-1-web-01.scope slice=machine.slice machine=web-01"},
    {"LibvirtEmulator", "/machine.slice/machine-qemu\\x2d32\\x2dinstance\\x2d00000003.scope/libvirt/emulator",
     "runtime=libvirt unit=machine-qemu-32-instance-00000003.scope slice=machine.slice machine=instance-00000003"},
    {"LibvirtVcpu", "/machine.slice/machine-qemu\\x2d1\\x2ddb.scope/libvirt/vcpu0",
     "runtime=libvirt unit=machine-qemu-1-db.scope slice=machine.slice machine=db"},
    {"LibvirtWithoutNumber", "/machine.slice/machine-qemu\\x2dlegacy.scope",
     "runtime=libvirt unit=machine-qemu-legacy.scope slice=machine.slice machine=legacy"},
    {"LibvirtLxc", "/machine.slice/machine-lxc\\x2d771\\x2dshell.scope",
     "runtime=libvirt unit=machine-lxc-771-shell.scope slice=machine.slice machine=shell"},
    {"LibvirtXen", "/machine.slice/machine-xen\\x2d2\\x2dstore.scope",
     "runtime=libvirt unit=machine-xen-2-store.scope slice=machine.slice machine=store"},
    {"LibvirtDirectory", "/machine/qemu-2-old_guest.libvirt-qemu/emulator", "runtime=libvirt machine=old_guest"},
    {"LibvirtDirectoryWithoutNumber", "/machine/prod.partition/guest7.libvirt-qemu/vcpu1", "runtime=libvirt machine=guest7"},
    {"LibvirtLxcDirectory", "/machine/lxc-12-shell.libvirt-lxc", "runtime=libvirt machine=shell"},
    {"LibvirtLxcDirectoryWithoutNumber", "/machine/shell.libvirt-lxc/devel", "runtime=libvirt machine=shell"},
    {"Proxmox", "/qemu.slice/101.scope", "runtime=qemu unit=101.scope slice=qemu.slice machine=101"},
    {"ProxmoxLxc", "/lxc/102/ns/system.slice/postfix.service",
     "runtime=lxc unit=postfix.service slice=system.slice machine=102"},
    {"ProxmoxLxcMonitor", "/lxc.monitor/102", "runtime=lxc machine=102 helper"},
    {"Nspawn", "/machine.slice/systemd-nspawn@build.service/payload",
     "runtime=systemd-nspawn unit=systemd-nspawn@build.service slice=machine.slice machine=build"},
    {"NspawnEscaped", "/machine.slice/systemd-nspawn@debian\\x2dsid.service",
     "runtime=systemd-nspawn unit=systemd-nspawn@debian-sid.service slice=machine.slice machine=debian-sid"},
    {"NspawnSupervisor", "/machine.slice/systemd-nspawn@build.service/supervisor",
     "runtime=systemd-nspawn unit=systemd-nspawn@build.service slice=machine.slice machine=build helper"},
    {"ServiceInNspawn", "/machine.slice/systemd-nspawn@build.service/payload/system.slice/nginx.service",
     "runtime=systemd-nspawn unit=nginx.service slice=system.slice machine=build"},
    {"Machined", "/machine.slice/machine-fedora\\x2d44.scope/payload",
     "runtime=systemd-machined unit=machine-fedora-44.scope slice=machine.slice machine=fedora-44"},
    {"Vmspawn", "/machine.slice/systemd-vmspawn@guest.service",
     "runtime=systemd-vmspawn unit=systemd-vmspawn@guest.service slice=machine.slice machine=guest"},
    {"Lxc", "/lxc.payload.mail/system.slice/postfix.service",
     "runtime=lxc unit=postfix.service slice=system.slice machine=mail"},
    {"LxcMonitor", "/lxc.monitor.mail", "runtime=lxc machine=mail helper"},
    {"LxcDirectory", "/lxc/mail", "runtime=lxc machine=mail"},
    {"LxcPayloadDirectory", "/lxc.payload/mail", "runtime=lxc machine=mail"},
    {"LxcOfUser", "/user.slice/user-1000.slice/session-1.scope/lxc/play",
     "runtime=lxc unit=session-1.scope slice=user-1000.slice machine=play uid=1000 session=1"},
    {"LxcNamedLikeAnother", "/lxc/docker", "runtime=lxc machine=docker"},
    {"LxdProject", "/lxc.payload.staging_web01/init.scope", "runtime=lxc unit=init.scope machine=staging_web01"},
    {"LxcInLxc", "/lxc.payload.outer/lxc.payload.inner", "runtime=lxc machine=inner delegated"},

    // Batch.
    {"SlurmJob", "/system.slice/slurmstepd.scope/job_3385",
     "runtime=slurm unit=slurmstepd.scope slice=system.slice slurm_job=3385"},
    {"SlurmTask", "/system.slice/slurmstepd.scope/job_3385/step_0/user/task_0",
     "runtime=slurm unit=slurmstepd.scope slice=system.slice slurm_job=3385 slurm_step=0"},
    {"SlurmOfNode", "/system.slice/node7_slurmstepd.scope/job_12/step_batch/user/task_0",
     "runtime=slurm unit=node7_slurmstepd.scope slice=system.slice slurm_job=12 slurm_step=batch"},
    {"SlurmStepDaemon", "/system.slice/slurmstepd.scope/job_3385/step_extern/slurm",
     "runtime=slurm unit=slurmstepd.scope slice=system.slice slurm_job=3385 slurm_step=extern helper"},
    {"SlurmSystem", "/system.slice/slurmstepd.scope/system", "runtime=slurm unit=slurmstepd.scope slice=system.slice helper"},
    {"SlurmOfVersion1", "/slurm/uid_1000/job_123/step_batch/task_0", "runtime=slurm uid=1000 slurm_job=123 slurm_step=batch"},
    {"SlurmOfVersion1AndNode", "/slurm_node7/uid_20145/job_9/step_interactive", "runtime=slurm uid=20145 slurm_job=9 slurm_step=interactive"},
    {"SlurmJobById", "/system.slice/slurmstepd.scope/s5K1KKYAYG5D00/step_0/user/task_0",
     "runtime=slurm unit=slurmstepd.scope slice=system.slice slurm_job=s5K1KKYAYG5D00 slurm_step=0"},
    {"Condor", "/system.slice/condor.service/condor_var_lib_condor_execute_slot1_1@n1",
     "runtime=htcondor unit=condor.service slice=system.slice"},
    {"CondorWithoutService", "/htcondor/condor_var_lib_condor_execute_slot1_2@n1", "runtime=htcondor"},
    {"CondorOfAnotherName", "/htcondor/condor_execute_gpu7@n1", "runtime=htcondor"},
    {"Pbs", "/pbs_jobs.service/jobid/42.server", "runtime=pbs unit=pbs_jobs.service batch_job=42.server"},
    {"Lsf", "/lsf/main/job.42.1234.1796000000", "runtime=lsf batch_job=42"},
    {"LsfArray", "/lsf/main/job.42[7].1234.1796000000", "runtime=lsf batch_job=42[7]"},
    {"DockerInSlurmJob", "/system.slice/slurmstepd.scope/job_981/docker/<A>",
     "container_id=<A> runtime=docker unit=slurmstepd.scope slice=system.slice slurm_job=981"},
    {"DirectoryOfAContainerInSlurmJob", "/slurm/uid_1000/job_7/step_0/task_0/<A>",
     "container_id=<A> uid=1000 slurm_job=7 slurm_step=0"},
    {"SlurmInDocker", "/docker/<B>/slurm/uid_1000/job_123", "runtime=slurm uid=1000 slurm_job=123 delegated"},
    {"EcsTask", "/ecs/<task>", "ecs_task=<task>"},
    {"Ecs", "/ecs/<task>/<A>", "container_id=<A> runtime=docker ecs_task=<task>"},
    {"EcsWithCluster", "/ecs/prod-web/<task>/<A>", "container_id=<A> runtime=docker ecs_task=<task>"},
    {"EcsOldTask", "/ecs/<uid>/<A>", "container_id=<A> runtime=docker ecs_task=<uid>"},
    {"EcsSlice", "/ecstasks.slice/ecstasks-<task>.slice/docker-<A>.scope",
     "container_id=<A> runtime=docker unit=docker-<A>.scope slice=ecstasks-<task>.slice ecs_task=<task>"},
    {"Fargate", "/ecs/<task>/<task>-1234567890",
     "container_id=<task>-1234567890 runtime=containerd ecs_task=<task>"},
    {"FargateWithoutTaskDirectory", "/ecs/<task>-265927825",
     "container_id=<task>-265927825 runtime=containerd ecs_task=<task>"},
    {"Nomad", "/nomad.slice/share.slice/<uid>.web.scope", "runtime=nomad unit=<uid>.web.scope slice=share.slice"},
    {"NomadWithCores", "/nomad.slice/reserve.slice/<uid>.web.scope", "runtime=nomad unit=<uid>.web.scope slice=reserve.slice"},
    {"NomadBefore17", "/nomad.slice/<uid>.web.scope", "runtime=nomad unit=<uid>.web.scope slice=nomad.slice"},
    {"DockerOfNomad", "/nomad.slice/docker-<A>.scope", "container_id=<A> runtime=docker unit=docker-<A>.scope slice=nomad.slice"},

    {"Build", "/docker/buildkit/ypnhhssjq3ga0nwqllrmkp7mo", "runtime=docker"},
    {"BuildWithSlice", "/system.slice:docker:q1w2e3r4t5y6u7i8o9p0a1s2d", "runtime=docker slice=system.slice"},
    {"OverheadOfKata", "/kata_overhead/<A>", "container_id=<A> runtime=kata"},
    {"Firecracker", "/firecracker/web-1", "runtime=firecracker machine=web-1"},
    {"FirecrackerOfARelease", "/firecracker-v1.10.1-x86_64/web-1", "runtime=firecracker machine=web-1"},
    {"BuildWithoutDocker", "/buildkit/ypnhhssjq3ga0nwqllrmkp7mo", "runtime=buildkit"},
    {"BuildWithoutDockerWithSlice", "/ci.slice:buildkit:ypnhhssjq3ga0nwqllrmkp7mo", "runtime=buildkit slice=ci.slice"},
    {"OverheadOfKataInRust", "/kata.slice/kata-overhead.slice/runtime-rs-<A>.scope",
     "container_id=<A> runtime=kata unit=runtime-rs-<A>.scope slice=kata-overhead.slice"},
    {"OverheadOfKataInRustWithoutScope", "/kata-overhead.slice:runtime-rs:<A>",
     "container_id=<A> runtime=kata slice=kata-overhead.slice"},
    {"SlurmWithoutSlice", "/slurmstepd.scope/job_3385/step_0/user/task_0",
     "runtime=slurm unit=slurmstepd.scope slurm_job=3385 slurm_step=0"},
    {"OpenRc", "/openrc.sshd", "unit=sshd"},
    {"TalosRuntime", "/podruntime/kubelet", "unit=kubelet"},
    {"TalosSystem", "/system/apid", "unit=apid"},
    {"LibvirtCloudHypervisor", "/machine.slice/machine-ch\\x2d1\\x2dweb.scope",
     "runtime=libvirt unit=machine-ch-1-web.scope slice=machine.slice machine=web"},
    {"LibvirtCloudHypervisorDirectory", "/machine/ch-1-web.libvirt-ch/emulator", "runtime=libvirt machine=web"},

    // Near misses.
    {"ContainerInADirectoryOfTalos", "/system/<A>", "container_id=<A>"},
    {"ServiceOfFirecracker", "/firecracker-web.service/vm", "unit=firecracker-web.service"},
    {"BuildWithAShortId", "/docker/buildkit/ypnhhssjq3ga0nwqllrmkp7m", ""},
    {"SlurmIdWithLowercaseLetters", "/slurm/s5K1KKYAYG5d00", ""},
    {"SlotOfNoCondor", "/system.slice/web.service/condor_slot1", "unit=web.service slice=system.slice"},
    {"ServiceOfDocker", "/system.slice/docker.service", "unit=docker.service slice=system.slice"},
    {"ServiceOfCompose", "/system.slice/docker-compose.service", "unit=docker-compose.service slice=system.slice"},
    {"ServiceOfCrio", "/system.slice/crio.service", "unit=crio.service slice=system.slice"},
    {"ServiceOfContainerd", "/system.slice/containerd.service", "unit=containerd.service slice=system.slice"},
    {"ServiceOfLxc", "/system.slice/lxc.service", "unit=lxc.service slice=system.slice"},
    {"ServiceOfMachined", "/system.slice/systemd-machined.service", "unit=systemd-machined.service slice=system.slice"},
    {"ServiceOfSlurm", "/system.slice/slurmd.service", "unit=slurmd.service slice=system.slice"},
    {"AllPods", "/kubepods.slice", "slice=kubepods.slice"},
    {"AllPodDirectories", "/kubepods/burstable", ""},
    {"PodWithShortUid", "/kubepods/burstable/pod2c48913c", ""},
    {"PodsOfAnotherName", "/notkubepods-pod<u_i_d>.slice", "slice=notkubepods-pod<u_i_d>.slice"},
    {"PodDirectoryElsewhere", "/games/pod<uid>", ""},
    {"BuilderOfDocker", "/docker/buildx", ""},
    {"TooShortId", "/docker/<63>", ""},
    {"TooLongId", "/docker/<65>", ""},
    {"UppercaseId", "/docker/<UPPER>", ""},
    {"TooShortIdInScope", "/system.slice/docker-<63>.scope", "unit=docker-<63>.scope slice=system.slice"},
    {"UppercaseIdInScope", "/system.slice/cri-containerd-<UPPER>.scope", "unit=cri-containerd-<UPPER>.scope slice=system.slice"},
    {"ServiceNamedById", "/system.slice/docker-<A>.service", "unit=docker-<A>.service slice=system.slice"},
    {"InitOfNoContainer", "/system.slice/web.service/init", "unit=web.service slice=system.slice"},
    {"SupervisorOfNoMachine", "/system.slice/web.service/supervisor", "unit=web.service slice=system.slice"},
    {"JobOfNoBatchSystem", "/system.slice/ci.service/job_12/step_3", "unit=ci.service slice=system.slice"},
    {"ScopeLikeAVirtualMachine", "/system.slice/101.scope", "unit=101.scope slice=system.slice"},
    {"NumberWithoutName", "/machine/qemu-1-.libvirt-qemu", "runtime=libvirt machine=qemu-1-"},
    {"ScopeLikeAnAllocation", "/nomad.slice/<uid>-web.scope", "unit=<uid>-web.scope slice=nomad.slice"},
    {"ScopeOfNoAllocation", "/nomad.slice/nomad-client-of-the-second-data-cent.web.scope",
     "unit=nomad-client-of-the-second-data-cent.web.scope slice=nomad.slice"},
    {"TaskWithoutNumber", "/ecs/<task>-blue", ""},
    {"UserSliceElsewhere", "/tenants.slice/tenants-user-1000.slice", "slice=tenants-user-1000.slice"},
    {"NamelessSlice", "/.slice", ""},
};
// clang-format on

class PathLayout : public testing::TestWithParam<Layout> {};

TEST_P(PathLayout, IsRead) { EXPECT_EQ(parsed(expand(GetParam().path)), expand(GetParam().info)); }

INSTANTIATE_TEST_SUITE_P(, PathLayout, testing::ValuesIn(kLayouts),
                         [](const auto& layout) { return layout.param.name; });

TEST(PathInfoTest, DecodesEscapesOfUnits) {
  EXPECT_EQ(parse_path("/a\\x2db\\x2D.service").unit, "a-b-.service");
  EXPECT_EQ(parse_path("/a\\x5cx2d.service").unit, "a\\x2d.service") << "once, not twice";
  EXPECT_EQ(parse_path("/\\x0a\\xff.scope").unit, "\n\xFF.scope");
}

TEST(PathInfoTest, LeavesWhatIsNoEscapeAsItIs) {
  for (const char* unit : {"a\\.service", "a\\x2.service", "a\\xzz.service", "a\\n.service"}) {
    EXPECT_EQ(parse_path(unit).unit, unit);
  }
  EXPECT_EQ(parse_path("a\\x00.service").unit, "a\\x00.service") << "no name holds a byte 0";
}

TEST(PathInfoTest, TakesNamesThatAreNotText) {
  const std::string name("a\xFF\xC3\0\x01\x7F\n\"b", 9);

  EXPECT_EQ(parse_path("/system.slice/" + name + ".service").unit, name + ".service");
  EXPECT_EQ(parse_path("/lxc.payload." + name).machine, name);
  EXPECT_EQ(parsed("/" + name), "");
}

TEST(PathInfoTest, IgnoresEmptyComponentsAndDoesNotNeedASlashAtTheStart) {
  const PathInfo expected = parse_path(expand("/kubepods/burstable/pod<uid>/<A>"));

  EXPECT_EQ(parse_path(expand("//kubepods///burstable//pod<uid>//<A>//")), expected);
  EXPECT_EQ(parse_path(expand("kubepods/burstable/pod<uid>/<A>")), expected);
}

/// Names that a user has given are no pods, jobs or logins; a container is one that may imitate
/// another.
TEST(PathInfoTest, OfNamesThatAUserHasGivenNothingIsWhatOnlyRootMakes) {
  struct Row {
    const char* path;
    std::size_t of_root;
    const char* info;
  };
  const Row rows[] = {
      {"/system.slice/ci.service/kubepods/burstable/pod<uid>/<A>", 2,
       "container_id=<A> unit=ci.service slice=system.slice delegated"},
      {"/system.slice/ci.service/kubepods/burstable/pod<uid>/<A>", kAllNames,
       "container_id=<A> pod_uid=<uid> qos_class=burstable unit=ci.service slice=system.slice"},
      {"/system.slice/ci.service/a/kubepods/burstable/pod<uid>", 3,
       "unit=ci.service slice=system.slice"},
      {"/system.slice/ci.service/docker/<B>/kubepods/burstable/pod<uid>/<A>", 2,
       "container_id=<A> delegated"},
      {"/system.slice/ci.service/slurm/uid_1000/job_123", 2, "unit=ci.service slice=system.slice"},
      {"/system.slice/ci.service/user.slice/user-7.slice/session-3.scope", 2,
       "unit=session-3.scope slice=user-7.slice"},
      // A container with users of its own: who runs in it has not named it.
      {"/kubepods/burstable/pod<uid>/<A>/inner", 4,
       "container_id=<A> pod_uid=<uid> qos_class=burstable"},
  };
  for (const Row& row : rows) {
    const std::string path = expand(row.path);
    EXPECT_EQ(text_of(parse_path(path, row.of_root)), expand(row.info)) << path;
  }
}

std::string repeated(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(PathInfoTest, UnderstandsPathsOfAnyLength) {
  constexpr int kTimes = 10'000;

  EXPECT_EQ(parsed(repeated("/", kTimes)), "");
  EXPECT_EQ(parsed(repeated("/a", kTimes)), "");
  EXPECT_EQ(parsed(repeated("lxc/", kTimes)), "runtime=lxc machine=lxc delegated");
  EXPECT_EQ(parse_path(repeated("\\x2d", kTimes) + ".slice").slice.size(), kTimes + 6U);
  EXPECT_EQ(parse_path(repeated("kubepods-pod", kTimes) + ".slice").pod_uid, "");
  EXPECT_EQ(parse_path(repeated("a.slice:", kTimes)).slice, "a.slice");
  EXPECT_EQ(parse_path(repeated(expand("/docker/<A>"), kTimes / 10)).runtime, "docker");
}

bool has_workload(const PathInfo& info) {
  PathInfo units;
  units.unit = info.unit;
  units.slice = info.slice;
  units.uid = info.uid;
  units.session = info.session;
  return info != units;
}

TEST(PathInfoTest, IsTheSameBelowAnyDirectory) {
  for (const Layout& layout : kLayouts) {
    const std::string path = expand(layout.path);
    EXPECT_EQ(parsed("/some/where" + path), parsed(path)) << path;
  }
}

TEST(PathInfoTest, IsTheSameInsideOfAContainer) {
  const std::string outer = expand("/system.slice/docker-<B>.scope");
  for (const Layout& layout : kLayouts) {
    const std::string path = expand(layout.path);
    PathInfo alone = parse_path(path);
    if (!has_workload(alone)) continue;
    alone.is_delegated = true;
    EXPECT_EQ(parsed(outer + path), text_of(alone)) << path;
  }
}

TEST(PathInfoTest, KeepsTheOuterContainerForUnitsInsideOfIt) {
  const std::string outer = expand("/user.slice/user-7.slice/session-1.scope/docker/<B>");
  for (const Layout& layout : kLayouts) {
    PathInfo expected = parse_path(expand(layout.path));
    if (has_workload(expected) || (expected.unit + expected.slice).empty()) continue;
    expected.container_id = expand("<B>");
    expected.runtime = "docker";
    EXPECT_EQ(parsed(outer + expand(layout.path)), text_of(expected)) << layout.path;
  }
}

}  // namespace
}  // namespace pex::cgroup
