"""The image, run by podman as docs/containers.md says: without root, without a file that it could
write, with CAP_PERFMON alone or not even that.

    run_test.py BINARY_DIR DAEMON WORKLOAD
"""

import json
import sys
import tempfile
import time
import unittest

import containers  # also finds the harness
import harness

EVENTS = ["task-clock", "context-switches", "minor-faults"]
PROGRAM = "/usr/bin/perf_event_exporter"
HOST_SYSFS = "--path.sysfs=/host/sys"  # in which the cgroups of the host are found by themselves
PERFMON = 1 << 38  # capability.h
WITHOUT_PERFMON = [option for option in containers.STRICT if option != "--cap-add=PERFMON"]
WITH_ENGINES_SECCOMP = [option for option in containers.STRICT if "seccomp=" not in option]

storage = None


def host_mounts():
    """Where a container sees the machine, and the program's configuration is."""
    folder = tempfile.gettempdir()
    return ["--volume=/sys:/host/sys:ro", f"--volume={folder}:{folder}:ro"]


class Container(harness.Daemon):
    """The image's program, as `podman run` with `options` has it run; its pid is podman's."""

    def __init__(self, config, *args, options=containers.STRICT):
        self.name = f"pex_test_{time.monotonic_ns()}"
        super().__init__(config, HOST_SYSFS, *args, command=containers.IMAGE,
                         wrapper=["podman", "run", "--rm", f"--name={self.name}", *host_mounts(),
                                  *options], env=storage.environment)

    def status_of_program(self):
        return containers.status_of(storage.inspect("container", self.name)["State"]["Pid"])

    def execute(self, *command):
        return storage.podman("exec", self.name, *command, check=False)


def setUpModule():
    storage.require_image()
    harness.require_events(*EVENTS)
    harness.require_perfmon_to_matter()
    unittest.enterModuleContext(storage)


def run(*args, options=containers.STRICT):
    """Output of the image's program with `args`."""
    ended = storage.podman("run", "--rm", *host_mounts(), *options, containers.IMAGE, *args,
                           HOST_SYSFS, check=False)
    return ended.stdout + ended.stderr


class WithPerfmonTest(unittest.TestCase):
    def test_it_counts_every_cpu_and_the_cgroups_of_the_host(self):
        with harness.CgroupTree("image") as tree:
            busy = tree.make("busy")
            config = harness.config_of(events=EVENTS, include=[tree.pattern])
            with Container(config) as container, harness.busy_loop(tree, busy, min(harness.online_cpus())):
                before = container.scrape_after_polls()
                after = container.scrape_when(
                    "half a second of CPU time in the cgroup",
                    lambda scrape: scrape.value("perf_cgroup_task_clock_seconds_total", cgroup=busy)
                    > before.value("perf_cgroup_task_clock_seconds_total", cgroup=busy) + 0.5)
                for cpu in harness.online_cpus():
                    switches = [scrape.value("perf_cpu_context_switches_total", cpu=str(cpu))
                                for scrape in (before, after)]
                    self.assertLess(*switches)

    def test_the_program_holds_that_capability_and_can_write_nothing(self):
        with Container(harness.config_of(events=EVENTS, scope="cpu")) as container:
            status = container.status_of_program()
            self.assertEqual(status["Uid"].split(), ["65534"] * 4)
            self.assertEqual(status["Gid"].split(), ["65534"] * 4)
            for which in ("CapEff", "CapPrm", "CapBnd"):
                self.assertEqual(int(status[which], 16), PERFMON, which)
            self.assertEqual(status["NoNewPrivs"], "1")
            self.assertEqual(status["Seccomp"], "2")
            root = container.execute("cat", "/proc/self/mountinfo").stdout.splitlines()[0].split()
            self.assertEqual((root[4], root[5].split(",")[0]), ("/", "ro"))
            self.assertEqual(container.lines("warn"), [])

    def test_the_image_can_report_its_health(self):
        with Container(harness.config_of(events=EVENTS, scope="cpu")) as container:
            storage.podman("healthcheck", "run", container.name)  # fails unless it is well
            ready = container.execute(PROGRAM, "health", "--ready")
            self.assertEqual((ready.returncode, ready.stdout), (0, "ready\n"))
            other = container.execute(PROGRAM, "health",
                                      f"--web.listen-address=127.0.0.1:{harness.free_port()}")
            self.assertEqual(other.returncode, 1)

    def test_stopped_it_ends_cleanly(self):
        with Container(harness.config_of(events=EVENTS, scope="cpu")) as container:
            storage.podman("stop", "--time=10", container.name)
            self.assertEqual(container.child.wait(timeout=harness.PATIENCE), 0)
            self.assertIn("SIGTERM", container.lines("info")[-1])


class WithheldTest(unittest.TestCase):
    """Something is missing: it serves what it can, and says what and why."""

    def assert_serves_and_says(self, options, *fragments):
        with Container(harness.config_of(events=EVENTS, scope="cpu"), options=options) as container:
            scrape = container.scrape_after_polls()
            self.assertEqual([scrape.is_refused(event) for event in EVENTS], [True, True, True])
            self.assertTrue(scrape.with_name("perf_event_exporter_build_info"))
            self.assertEqual(scrape.with_name("perf_cpu_"), {})
            warnings = harness.until("a warning", lambda: container.lines("warn"))
            self.assertEqual(len(warnings), 1, warnings)
            status = json.dumps(container.status(), ensure_ascii=False)
            for fragment in fragments:
                self.assertIn(fragment, warnings[0])
                self.assertIn(fragment, status)
            storage.podman("healthcheck", "run", container.name)

    def test_without_the_capability(self):
        self.assert_serves_and_says(WITHOUT_PERFMON, "CAP_PERFMON")
        said = run("doctor", options=WITHOUT_PERFMON)
        self.assertRegex(said, r"bad +perf_event_open +refused on .*\(EACCES\)")
        self.assertIn("--cap-add=PERFMON", said)

    def test_with_a_seccomp_profile_that_forbids_counting(self):
        said = run("doctor", options=WITH_ENGINES_SECCOMP)
        harness.require("perf_event_open      allowed" not in said,
                        "this podman's own profile lets perf_event_open through with CAP_PERFMON")
        self.assertRegex(said, r"bad +perf_event_open +refused on .*\((EPERM|ENOSYS)\)")
        self.assertIn("--security-opt seccomp=FILE", said)
        self.assert_serves_and_says(WITH_ENGINES_SECCOMP, "seccomp")


if __name__ == "__main__":
    storage = containers.storage_in(sys.argv.pop(1))
    harness.main()
