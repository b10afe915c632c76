"""What its files, its parent and its terminal do to the daemon, and what it answers then."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import harness

CONFIG = harness.config_of(events=["context-switches"], scope="[cpu]")
IN_OWN_MOUNTS = ("unshare", "--mount", "--propagation=private")
IN_OWN_PIDS = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")


def children_of(pid):
    return [child for thread in os.listdir(f"/proc/{pid}/task")
            for child in harness.read_text(f"/proc/{pid}/task/{thread}/children").split()]


def has_ended(pid):
    try:
        return harness.read_text(f"/proc/{pid}/stat").rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


class StoppedFileSystemTest(unittest.TestCase):
    """Files of a FUSE file system that stands still, as a network file system without its server."""

    def setUp(self):
        harness.require_root()
        harness.require(shutil.which("bindfs"), "bindfs is not installed "
                        "(packaging/dependencies/clients.txt)")
        harness.require(os.path.exists("/dev/fuse"), "this kernel has no /dev/fuse")
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.mount = f"{self.folder}/mount"
        os.makedirs(f"{self.folder}/files")
        os.mkdir(self.mount)

    def mounted(self, **files):
        for name, text in files.items():
            with open(f"{self.folder}/files/{name}.yaml", "w", encoding="utf-8") as file:
                file.write(text)
        system = self.enterContext(harness.Process(
            ["bindfs", "-f", "-o", "attr_timeout=0,entry_timeout=0", f"{self.folder}/files",
             self.mount]))
        self.addCleanup(subprocess.run, ["umount", "--lazy", self.mount], check=False)
        self.addCleanup(lambda: os.kill(system.child.pid, signal.SIGCONT))
        harness.until("the mount", lambda: os.listdir(self.mount))
        return system

    def assert_serves_without(self, system, daemon):
        system.stop()
        try:
            self.assert_serves(daemon)
        finally:
            system.go_on()

    def assert_serves(self, daemon):
        polls = daemon.scrape().value("perf_event_exporter_polls_total")
        daemon.scrape_when("polls to go on", lambda scrape: scrape.value(
            "perf_event_exporter_polls_total") > polls + 10)
        self.assertEqual(daemon.get("/-/healthy")[0], 200)
        health = [harness.daemon_binary, "health", f"--web.listen-address={daemon.address}"]
        self.assertEqual(subprocess.run(health, check=False).returncode, 0)
        daemon.logged("level=warn", "has not answered for", self.mount)

    def test_a_web_configuration_delays_neither_requests_nor_polls(self):
        system = self.mounted(web="rate_limit: {}\n")
        daemon = self.enterContext(
            harness.Daemon(CONFIG, f"--web.config.file={self.mount}/web.yaml"))

        self.assert_serves_without(system, daemon)

        with open(f"{self.folder}/files/web.yaml", "w", encoding="utf-8") as file:
            file.write("rate_limit: {interval: 1h, burst: 0}\n")
        harness.until("the new file to be in force", lambda: daemon.get("/metrics")[0] == 429)

    def test_a_watched_configuration_delays_neither_requests_nor_polls(self):
        system = self.mounted(config=CONFIG)
        daemon = self.enterContext(harness.Daemon(
            CONFIG, "--config.watch", config_path=f"{self.mount}/config.yaml"))

        self.assert_serves_without(system, daemon)


class ReplacedFileTest(unittest.TestCase):
    def setUp(self):
        harness.require_mounts()

    def test_a_file_that_is_replaced_behind_its_mount_is_not_reloaded(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        for name in ("host", "mounted"):
            with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
                file.write(CONFIG)
        daemon = self.enterContext(harness.Daemon(
            CONFIG, config_path=f"{folder}/mounted", wrapper=(
                *IN_OWN_MOUNTS, "sh", "-c",
                f'mount --bind {folder}/host {folder}/mounted && exec "$@"', "sh")))

        os.replace(shutil.copy(f"{folder}/host", f"{folder}/new"), f"{folder}/host")
        daemon.send(signal.SIGHUP)

        daemon.logged("level=error", "replaced or deleted where it is mounted from")
        daemon.logged("level=error", "configuration not reloaded")


class ParentTest(unittest.TestCase):
    def first_of_namespace(self, *before):
        """The daemon in a namespace of processes, and the process 1 of it."""
        harness.require_root()
        daemon = self.enterContext(harness.Daemon(CONFIG, wrapper=(*IN_OWN_PIDS, *before)))
        return daemon, int(children_of(daemon.pid)[0])

    def run_within(self, first, *command):
        """Its exit status."""
        within = ["nsenter", f"--target={first}", "--pid", "--mount"]
        return subprocess.run([*within, *command], check=False).returncode

    def test_health_finds_it_below_an_init(self):
        daemon, init = self.first_of_namespace(
            "sh", "-c", '"$@" & trap "kill $!" TERM; wait; wait', "sh")

        self.assertEqual(self.run_within(init, harness.daemon_binary, "health"), 0)
        os.kill(init, signal.SIGTERM)
        daemon.wait()

    def test_as_process_1_it_leaves_no_zombies(self):
        daemon, first = self.first_of_namespace()
        self.run_within(first, "sh", "-c", "sleep 1000 &")  # an orphan once the shell has ended
        orphan = harness.until("the orphan", lambda: children_of(first))[0]

        os.kill(int(orphan), signal.SIGKILL)

        harness.until("no zombie", lambda: not os.path.exists(f"/proc/{orphan}"))
        os.kill(first, signal.SIGTERM)
        daemon.wait()

    def test_the_cpus_that_its_parent_gives_it_are_those_of_all_its_threads(self):
        harness.require_cpus(0, 1)
        daemon = self.enterContext(harness.Daemon(CONFIG, wrapper=("taskset", "--cpu-list", "0")))

        daemon.scrape_after_polls()

        for thread in os.listdir(f"/proc/{daemon.pid}/task"):
            with contextlib.suppress(OSError):  # it may have ended
                status = harness.read_text(f"/proc/{daemon.pid}/task/{thread}/status")
                self.assertIn("Cpus_allowed_list:\t0\n", status)
        self.assertEqual(daemon.scrape().value("perf_event_exporter_cpus", state="counted"),
                         len(harness.online_cpus()))

    def test_it_ends_with_its_terminal(self):
        spawn = "import pty, sys; pty.spawn(sys.argv[1:])"
        daemon = self.enterContext(harness.Daemon(CONFIG, wrapper=(sys.executable, "-c", spawn)))
        pid = children_of(daemon.pid)[0]

        self.addCleanup(lambda: has_ended(pid) or os.kill(int(pid), signal.SIGKILL))
        daemon.child.kill()  # with it the terminal closes

        harness.until("the end of the daemon", lambda: has_ended(pid))


if __name__ == "__main__":
    harness.main()
