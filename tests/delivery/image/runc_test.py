"""The image under plain runc, with the OCI configuration that containerd writes for a container of
Kubernetes: added capabilities are permitted, effective and bounding, and neither inheritable nor
ambient, whoever the user is.

    runc_test.py BINARY_DIR DAEMON WORKLOAD
"""

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import containers  # also finds the harness
import harness
import start_steps

EVENTS = ["task-clock", "context-switches"]
ROOT, NOBODY = 0, 65534
PROGRAM = "/usr/bin/perf_event_exporter"
STATE = "/var/lib/perf_event_exporter"  # as the image says

storage = None


def configuration(args, root, *, user=NOBODY, no_new_privileges=True, perfmon=True, mounts=()):
    """The OCI runtime configuration (config.md of its specification)."""
    added = ["CAP_PERFMON"] if perfmon else []
    return {
        "ociVersion": "1.0.2",
        "process": {
            "user": {"uid": user, "gid": user},
            "args": [PROGRAM, *args],
            "env": ["PATH=/usr/bin:/bin", f"STATE_DIRECTORY={STATE}"],
            "cwd": "/",
            "capabilities": {"bounding": added, "effective": added, "permitted": added},
            "noNewPrivileges": no_new_privileges,
        },
        "root": {"path": root, "readonly": True},
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs",
             "options": ["nosuid", "strictatime", "mode=755", "size=65536k"]},
            {"destination": "/host/sys", "type": "none", "source": "/sys", "options": ["rbind", "ro"]},
            *mounts,
        ],
        "linux": {
            "namespaces": [{"type": kind} for kind in ("pid", "ipc", "uts", "mount", "cgroup")],
            "cgroupsPath": f"/{harness.name_of_trees(os.getpid())}runc",
            "seccomp": json.loads(harness.read_text(containers.SECCOMP)),
        },
    }


def bind(path, destination, access="ro"):
    return {"destination": destination, "type": "none", "source": path, "options": ["bind", access]}


class RuncTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        storage.require_image()
        harness.require_events(*EVENTS)
        harness.require_perfmon_to_matter()
        cls.enterClassContext(storage)
        # With a layer of its own for what is mounted in it, as containerd makes one.
        container = storage.buildah("from", "--pull-never", containers.IMAGE).stdout.strip()
        cls.addClassCleanup(storage.buildah, "rm", container)
        cls.root = storage.buildah("mount", container).stdout.strip()

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="pex_test_")
        self.addCleanup(shutil.rmtree, self.folder)
        os.chmod(self.folder, 0o755)
        self.addCleanup(self.remove_cgroups)

    def remove_cgroups(self):
        for point, kind, _ in harness.mounts():
            if kind in ("cgroup", "cgroup2"):
                harness.remove_tree(f"{point}/{harness.name_of_trees(os.getpid())}runc")

    def bundle(self, *args, **options):
        """runc's command for the image's program with `args`."""
        containers.write(f"{self.folder}/config.json",
                         json.dumps(configuration(args, self.root, **options)))
        return ["runc", "--root", f"{self.folder}/state", "run", "--bundle", self.folder,
                f"pex_test_{os.getpid()}"]

    def doctor(self, **options):
        ended = subprocess.run(self.bundle("doctor", "--path.sysfs=/host/sys", **options),
                               capture_output=True, text=True, stdin=subprocess.DEVNULL,
                               timeout=harness.PATIENCE, check=False)
        return ended.stdout + ended.stderr

    def may_count(self, **options):
        said = self.doctor(**options)
        self.assertRegex(said, r"(?m)^(ok|bad) +perf_event_open +(allowed|refused)")
        return bool(re.search(r"(?m)^ok +perf_event_open", said))

    def without_file_capability(self):
        """Puts the same program over the image's, without what its file may."""
        copy = shutil.copyfile(f"{self.root}{PROGRAM}", f"{self.folder}/program")
        os.chmod(copy, 0o755)
        return [bind(copy, PROGRAM)]

    def test_a_user_that_is_not_root_counts_by_the_file_capability(self):
        for user, by_file, no_new_privileges in itertools.product((ROOT, NOBODY), (True, False),
                                                                  (True, False)):
            with self.subTest(user=user, by_file=by_file, no_new_privileges=no_new_privileges):
                mounts = [] if by_file else self.without_file_capability()
                self.assertEqual(self.may_count(user=user, mounts=mounts,
                                                no_new_privileges=no_new_privileges),
                                 user == ROOT or by_file)

    def test_withheld_it_starts_and_reports_it(self):
        for user in (ROOT, NOBODY):
            with self.subTest(user=user):
                said = self.doctor(user=user, perfmon=False)
                self.assertRegex(said, r"bad +perf_event_open +refused on .*\(EACCES\)")
                self.assertIn("capabilities: {add: [PERFMON]} in Kubernetes",
                              " ".join(said.split()))

    def test_it_serves_as_in_a_pod(self):
        with harness.CgroupTree("runc_counted") as tree:
            busy = tree.make("busy")
            config = harness.config_of(events=EVENTS, include=[tree.pattern])
            daemon = harness.Daemon(config)
            containers.write(f"{self.folder}/config.yaml", config)
            daemon.command = self.bundle(
                "--config.file=/config.yaml", f"--web.listen-address={daemon.address}",
                "--path.sysfs=/host/sys",
                mounts=[bind(f"{self.folder}/config.yaml", "/config.yaml")])
            with daemon, harness.busy_loop(tree, busy, min(harness.online_cpus())):
                scrape = daemon.scrape_when(
                    "a tenth of a second of CPU time in the cgroup",
                    lambda scrape: scrape.has("perf_cgroup_task_clock_seconds_total", cgroup=busy)
                    and scrape.value("perf_cgroup_task_clock_seconds_total", cgroup=busy) > 0.1)
                for cpu in harness.online_cpus():
                    self.assertTrue(scrape.has("perf_cpu_context_switches_total", cpu=str(cpu)))
                self.assertEqual(daemon.lines("warn"), [])

    def test_after_three_kills_in_any_step_of_the_start_it_counts_less_until_a_reset(self):
        state = f"{self.folder}/steps"
        os.mkdir(state)
        os.chown(state, NOBODY, NOBODY)
        containers.write(f"{self.folder}/config.yaml", start_steps.CONFIG)
        mounts = [bind(f"{self.folder}/config.yaml", "/config.yaml"), bind(state, STATE, "rw")]
        serving = ["--config.file=/config.yaml", "--path.sysfs=/host/sys"]

        def run(*args):
            return subprocess.run(self.bundle(*args, mounts=mounts), capture_output=True, text=True,
                                  stdin=subprocess.DEVNULL, timeout=harness.PATIENCE, check=False)

        def serve(is_reduced):
            daemon = harness.Daemon(start_steps.CONFIG)
            daemon.command = self.bundle(*serving, f"--web.listen-address={daemon.address}", mounts=mounts)
            daemon.ready, daemon.is_plain = "/-/healthy", False
            with daemon:
                scrape = daemon.scrape_when("a poll", lambda scrape: scrape.value(
                    "perf_event_exporter_polls_total") >= 1)
                start_steps.check(self, scrape, is_reduced)
                self.assertEqual(daemon.get("/-/ready")[0], 503 if is_reduced else 200)

        killer = self.enterContext(start_steps.StepKiller(state))
        for number, step in enumerate(start_steps.STEPS, 1):
            with self.subTest(number=number, step=step):
                killer.kill_in(number)
                for _ in range(start_steps.KILLS):
                    run(*serving, f"--web.listen-address=127.0.0.1:{harness.free_port()}")
                self.assertEqual(killer.await_kills(), [step] * start_steps.KILLS)
                serve(is_reduced=True)
                self.assertEqual(run("reset").returncode, 0)
                serve(is_reduced=False)


if __name__ == "__main__":
    storage = containers.storage_in(sys.argv.pop(1))
    harness.main()
