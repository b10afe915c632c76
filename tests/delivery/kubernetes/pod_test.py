#!/usr/bin/env python3
"""A pod of the DaemonSet's template, really started: with its user, capability, seccomp profile and mounts
it counts, per CPU and for the containers of pods.

    pod_test.py BINARY_DIRECTORY DAEMON WORKLOAD [TEST...]

There is no kubelet here: `podman play kube` starts the pod. What it cannot, and what this machine has
otherwise than a node, is changed in `as_podman_takes_it`, and nothing else. A runtime of Kubernetes gives
the capability in another way than podman: the test of the image tries that.
"""

import contextlib
import json
import os
import shutil
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [HERE, f"{HERE}/../image", f"{HERE}/../../kernel"]
import containers  # noqa: E402
import harness  # noqa: E402
import manifests  # noqa: E402
import rules  # noqa: E402
from manifests import of_kind, the  # noqa: E402

PERFMON = 1 << 38  # linux/capability.h
CONTAINER = "c0ffee" * 10 + "c0de"
POD = "8d1c5a52_0a6a_4b0e_9a3e_7f1f5a1c2b3d"
CGROUPS = ["kubepods.slice", "kubepods-burstable.slice", f"kubepods-burstable-pod{POD}.slice",
           f"cri-containerd-{CONTAINER}.scope"]  # each in the one before
SWITCHED = "perf_cgroup_context_switches_total"
SWITCHES = 10_000

binary_dir = None  # of CMake: the image is there, and what renders the manifests


def rendered():
    """Objects of the overlay that mounts all there is, with the seccomp profile that we ship."""
    try:
        work = f"{binary_dir}/tests/delivery/kubernetes"
        reader, kustomize = manifests.Reader(), manifests.Kustomize(work)
    except manifests.Missing as reason:
        raise unittest.SkipTest(str(reason)) from None
    return reader.objects(kustomize.render("overlays/pod-names", ["seccomp-localhost"]))


def as_podman_takes_it(objects, port, log_links):
    """Pod and ConfigMap: the template of the DaemonSet for podman 4.3 on this machine."""
    template = the(objects, "DaemonSet")["spec"]["template"]
    spec = template["spec"]
    container = spec["containers"][0]
    container.update(image=containers.IMAGE, imagePullPolicy="Never")
    # In the host's network, for want of another one: on a port that is free there.
    del container["ports"]
    container["args"].append(f"--web.listen-address=127.0.0.1:{port}")
    # Run by podman as commands in the container, which has none. They are asked from outside.
    for probe in rules.PROBES:
        del container[probe]
    volume = next(each for each in spec["volumes"] if each["name"] == "log-links")
    volume["hostPath"]["path"] = log_links
    # Knows profiles by an annotation only, as Kubernetes did, and without a directory.
    profile = os.path.basename(spec["securityContext"].pop("seccompProfile")["localhostProfile"])
    metadata = {**template["metadata"], "name": f"pex-test-{os.getpid()}", "annotations": {
        "seccomp.security.alpha.kubernetes.io/pod": f"localhost/{profile}"}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    return [*of_kind(objects, "ConfigMap"), pod], profile


class Pod(harness.Daemon):
    """The daemon in the pod in podman, from ready to gone."""

    def __init__(self, storage, objects, log_links):
        self.storage = storage
        self.tls, self.headers = None, {}
        port = harness.free_port()
        self.address = f"127.0.0.1:{port}"
        self.objects, profile = as_podman_takes_it(objects, port, log_links)
        self.name = self.objects[-1]["metadata"]["name"]
        self.container = f"{self.name}-perf-event-exporter"
        self.scratch = tempfile.mkdtemp(prefix="pex_test_")
        shutil.copy(containers.SECCOMP, f"{self.scratch}/{profile}")

    def __enter__(self):
        try:
            containers.write(f"{self.scratch}/pod.yaml",
                             "\n---\n".join(json.dumps(each) for each in self.objects))
            self.storage.podman("play", "kube", "--network=host",
                                f"--seccomp-profile-root={self.scratch}", f"{self.scratch}/pod.yaml")
            harness.until("readiness of the pod", self._is_ready)
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        return self

    def __exit__(self, failure, *_):
        if failure is not None:
            print("log of the pod:\n" + self.stderr(), file=sys.stderr)
        self.storage.podman("pod", "rm", "--force", "--time=0", self.name, check=False)
        shutil.rmtree(self.scratch)

    def stderr(self):
        return self.storage.podman("logs", self.container, check=False).stderr

    def _is_ready(self):
        if self._state()["Status"] == "exited":
            raise AssertionError("the container ended")
        with contextlib.suppress(OSError):
            return self.get("/-/ready")[0] == 200

    def _state(self):
        return self.storage.inspect("container", self.container)["State"]

    @property
    def pid(self):
        return self._state()["Pid"]


@contextlib.contextmanager
def directory_of_log_links():
    """As a kubelet keeps it, with a link to the log of CONTAINER."""
    with tempfile.TemporaryDirectory(prefix="pex_test_") as directory:
        os.chmod(directory, 0o755)
        os.symlink("/nowhere", f"{directory}/web-0_shop_app-{CONTAINER}.log")
        yield directory


class PodTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with contextlib.ExitStack() as stack:
            harness.require_events("task-clock", "context-switches")
            harness.require_perfmon_to_matter()
            storage = containers.storage_in(binary_dir)
            storage.require_image()
            containers.require_engine("catatonit")  # waits in the pod's own container
            objects = rendered()
            cls.tree = stack.enter_context(harness.CgroupTree("kubernetes"))
            for depth in range(1, len(CGROUPS) + 1):
                cls.cgroup = cls.tree.make("/".join(CGROUPS[:depth]))
            log_links = stack.enter_context(directory_of_log_links())
            stack.enter_context(storage)
            cls.pod = stack.enter_context(Pod(storage, objects, log_links))
            cls.addClassCleanup(stack.pop_all().close)

    def test_counts_on_every_cpu(self):
        scrape = self.pod.scrape_after_polls()

        for cpu in harness.online_cpus():
            self.assertGreater(scrape.value("perf_cpu_context_switches_total", cpu=str(cpu)), 0)

    def test_counts_what_a_container_of_another_pod_does_to_the_number(self):
        cpu = max(harness.online_cpus())
        series = {"cgroup": self.cgroup, "container_id": CONTAINER, "pod_uid": POD.replace("_", "-")}
        with harness.Workload(self.tree, self.cgroup, cpu, SWITCHES, 0, 0) as workload:
            before, used_before = self.pod.scrape_after_polls(), workload.usage()

            workload.run()

            after, used = self.pod.scrape_after_polls(), workload.usage()
        counted, charged = (after.value(SWITCHED, **series) - before.value(SWITCHED, **series),
                            used["context_switches"] - used_before["context_switches"])
        self.assertGreaterEqual(charged, SWITCHES)
        self.assertAlmostEqual(counted, charged, delta=1)

    def test_reports_the_name_of_the_pod(self):
        scrape = self.pod.scrape()

        names = [dict(labels) for name, labels in scrape.with_name("perf_cgroup_info")
                 if dict(labels).get("container_id") == CONTAINER]

        self.assertEqual(len(names), 1)
        self.assertEqual({key: names[0][key] for key in ("pod", "namespace", "container")},
                         {"pod": "web-0", "namespace": "shop", "container": "app"})

    def test_may_do_what_the_manifest_grants_and_no_more(self):
        status = containers.status_of(self.pod.pid)

        self.assertEqual(status["Uid"].split(), ["65534"] * 4)
        self.assertEqual(status["Gid"].split(), ["65534"] * 4)
        self.assertEqual(int(status["CapPrm"], 16), PERFMON)
        self.assertEqual(int(status["CapBnd"], 16), PERFMON)
        self.assertEqual(status["NoNewPrivs"], "1")
        self.assertEqual(status["Seccomp"], "2")  # a filter

    def test_has_nothing_mounted_that_it_could_write_to(self):
        mounts = {line.split()[4]: line.split()[5].split(",") for line in
                  harness.read_text(f"/proc/{self.pod.pid}/mountinfo").splitlines()}
        for path in ("/", "/etc/perf_event_exporter", "/host/sys", "/var/log/containers"):
            self.assertIn("ro", mounts[path], path)

        # What is mounted below a read-only mount is not made read-only by that, as /sys/fs/cgroup. Some
        # directories may not be entered, and some are gone meanwhile: that is no failure.
        found = self.pod.storage.podman(
            "exec", self.pod.container, "find", "/host", "(", "-path", "/host/sys", "-o", "-writable",
            "-not", "-type", "l", ")", "-print", check=False)

        self.assertEqual(found.stdout.split(), ["/host/sys"])


if __name__ == "__main__":
    binary_dir = os.path.abspath(sys.argv.pop(1))
    harness.main()
