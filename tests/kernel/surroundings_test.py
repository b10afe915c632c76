"""What its files, its parent and its terminal do to the daemon, and what it answers then."""

import contextlib
import datetime
import email.utils
import json
import mmap
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import events_test
import harness
import web

CONFIG = harness.config_of(events=["context-switches"], scope="[cpu]")
IN_OWN_MOUNTS = ("unshare", "--mount", "--propagation=private")
IN_A_TERMINAL = """
import os, pty, signal, sys
log = os.dup(2)
if pty.fork()[0] == 0:
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.execvp(sys.argv[1], sys.argv[1:])
signal.pause()
"""
SETS_TIMER_SLACK = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(29, 7_000_000)  # PR_SET_TIMERSLACK
os.execvp(sys.argv[1], sys.argv[1:])
"""
BLOCKS_SIGNALS = """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
os.execvp(sys.argv[1], sys.argv[1:])
"""
IN_OWN_PIDS = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")


def children_of(pid):
    return [child for thread in os.listdir(f"/proc/{pid}/task")
            for child in harness.read_text(f"/proc/{pid}/task/{thread}/children").split()]


def has_ended(pid):
    try:
        return harness.read_text(f"/proc/{pid}/stat").rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def pid_of(daemon):
    """Of its own process, behind wrappers."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            program = os.readlink(f"/proc/{pid}/exe")
            words = harness.read_text(f"/proc/{pid}/cmdline").split("\0")
            if program == os.path.realpath(harness.daemon_binary) and words[1:2] == daemon.command[
                    daemon.command.index(harness.daemon_binary) + 1:][:1]:
                return int(pid)
    raise AssertionError("no process of the daemon")


def copy_readable(file, copy):
    with contextlib.suppress(OSError):
        shutil.copyfile(file, copy)


class StoppedFileSystemTest(unittest.TestCase):
    """Files of a FUSE file system that stands still, as a network file system without its server."""

    WATCHDOG = 8  # seconds
    CGROUPS = harness.config_of(events=["context-switches"], include=["/*"])

    def setUp(self):
        harness.require_root()
        harness.require(shutil.which("bindfs"), "bindfs is not installed "
                        "(packaging/dependencies/clients.txt)")
        harness.require(os.path.exists("/dev/fuse"), "this kernel has no /dev/fuse")
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.files, self.mount = f"{self.folder}/files", f"{self.folder}/mount"
        os.makedirs(f"{self.files}/links")
        os.mkdir(self.mount)

    def write(self, name, text):
        harness.write_text(f"{self.files}/{name}", text)

    def mounted(self):
        system = self.enterContext(harness.Process(
            ["bindfs", "-f", "-o", "attr_timeout=0,entry_timeout=0", self.files, self.mount]))
        self.addCleanup(subprocess.run, ["umount", "--lazy", self.mount], check=False)
        self.addCleanup(system.go_on)
        harness.until("the mount", lambda: os.listdir(self.mount))
        self.control = f"{self.folder}/control"
        os.mkdir(self.control)
        subprocess.run(["mount", "-t", "fusectl", "fusectl", self.control], check=True)
        self.addCleanup(subprocess.run, ["umount", self.control], check=True)
        self.waiting = f"{self.control}/{os.minor(os.stat(self.mount).st_dev)}/waiting"
        return system

    def stop(self, system):
        """With no request in its hands: the kernel lets no process end that waits for one which the
        file system has read (fs/fuse/dev.c, request_wait_answer())."""
        def stopped():
            system.stop()
            is_idle = int(harness.read_text(self.waiting)) == 0
            if not is_idle:
                system.go_on()
            return is_idle

        harness.until("a moment without requests", stopped)
        self.addCleanup(system.go_on)  # before the daemons end: whatever failed, they can

    def daemon(self, config, *args, **options):
        """With the socket at which it notifies a service manager."""
        manager = self.enterContext(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        manager.settimeout(self.WATCHDOG)
        address = f"{self.folder}/{manager.fileno()}"
        manager.bind(address)
        environment = {**os.environ, "NOTIFY_SOCKET": address,
                       "WATCHDOG_USEC": f"{self.WATCHDOG}000000", **options.pop("env", {})}
        environment.pop("WATCHDOG_PID", None)
        config = harness.with_cgroup_source(config)
        return self.enterContext(harness.Daemon(config, *args, env=environment, **options)), manager

    def assert_serves(self, daemon, manager):
        polls = daemon.scrape().value("perf_event_exporter_polls_total")
        daemon.scrape_when("polls to go on", lambda scrape: scrape.value(
            "perf_event_exporter_polls_total") > polls + 10)
        self.assertEqual(daemon.get("/-/healthy")[0], 200)
        health = [harness.daemon_binary, "health", *daemon.command[1:]]
        self.assertEqual(subprocess.run(health, stdout=subprocess.DEVNULL, check=False).returncode, 0)
        while b"WATCHDOG=1" not in manager.recv(4096):
            pass

    def test_a_path_on_it_delays_neither_requests_nor_polls_nor_the_end(self):
        authority = web.Authority(self.folder)
        server = authority.issue("localhost")
        for file in (server.certificate, server.key, authority.certificate):
            shutil.copy(file, self.files)
        tls = {"cert_file": server.certificate, "key_file": server.key}
        mounted_tls = {key: f"{self.mount}/{os.path.basename(file)}" for key, file in tls.items()}
        verifying = {"client_ca_file": f"{self.mount}/authority.pem",
                     "client_auth_type": "VerifyClientCertIfGiven"}
        self.write("config.yaml", CONFIG)
        self.write("web.yaml", "rate_limit: {}\n")
        self.write("names.yaml", "{}\n")
        events_test.require_pmu("uprobe")
        shutil.copy(events_test.probed_binary(), f"{self.files}/program")
        pmus = "bus/event_source/devices"
        for tree in ("devices/system/cpu", *(f"{pmus}/{name}" for name in os.listdir(f"/sys/{pmus}"))):
            shutil.copytree(os.path.realpath(f"/sys/{tree}"), f"{self.files}/sys/{tree}",
                            symlinks=True, copy_function=copy_readable)
        system = self.mounted()

        def web_config(name, **keys):
            with open(f"{self.folder}/{name}", "w", encoding="utf-8") as file:
                json.dump({"tls_server_config": {**tls, **keys}}, file)
            return {"args": [f"--web.config.file={self.folder}/{name}"],
                    "tls": authority.context()}

        names = f"{self.mount}/names.yaml"
        rows = {
            "configuration": {"args": ["--config.watch"],
                              "config_path": f"{self.mount}/config.yaml"},
            "web configuration": {"args": [f"--web.config.file={self.mount}/web.yaml"]},
            "certificate": web_config("certificate", cert_file=mounted_tls["cert_file"]),
            "key": web_config("key", key_file=mounted_tls["key_file"]),
            "authority": web_config("authority", **verifying),
            "names of containers": {"config": self.CGROUPS.replace(
                "include:", f"container_names: ['{names}'], include:")},
            "names of pods": {"config": self.CGROUPS + (
                f"kubernetes: {{metadata: log_links, log_links: {self.mount}/links}}\n")},
            "program of a uprobe": {"config": harness.config_of(
                events=["context-switches", f"'uprobe:{self.mount}/program:pex_probed_call'"],
                include=["/*"])},
            "state directory": {"env": {"STATE_DIRECTORY": f"{self.mount}/links"}},
            "directory of a socket": {"args": [f"--web.listen-address=unix:{self.mount}/links/socket"]},
            "sysfs": {"args": [f"--path.sysfs={self.mount}/sys"]},
        }
        running = {path: self.daemon(row.pop("config", CONFIG), *row.pop("args", ()), **row)
                   for path, row in rows.items()}
        self.stop(system)
        for again in (False, True):
            for path, (daemon, manager) in running.items():
                with self.subTest(path=path, reloaded=again):
                    self.assert_serves(daemon, manager)
            for daemon, _ in running.values():
                daemon.send(signal.SIGHUP)
        for path, (daemon, _) in running.items():
            with self.subTest(path=path):
                if path in ("program of a uprobe", "sysfs"):
                    daemon.logged("level=warn", "wait for the end of a reload")
                elif path != "directory of a socket":
                    daemon.logged("level=warn", "has not answered for", self.folder)
                if path == "sysfs":
                    daemon.logged("level=warn", "does not answer", f"{self.mount}/sys")
                daemon.terminate()

    def test_a_web_configuration_is_in_force_once_it_answers_again(self):
        self.write("web.yaml", "rate_limit: {}\n")
        system = self.mounted()
        daemon, manager = self.daemon(CONFIG, f"--web.config.file={self.mount}/web.yaml")
        self.stop(system)
        self.assert_serves(daemon, manager)
        system.go_on()

        self.write("web.yaml", "rate_limit: {interval: 1h, burst: 0}\n")

        harness.until("the new file to be in force", lambda: daemon.get("/metrics")[0] == 429)


class ShiftedClockTest(unittest.TestCase):
    """The date is set to others, again and again, while the clock since boot goes on."""

    SEED = int(os.environ.get("PEX_SEED", "20260915"))
    SHIFTS = 24
    SPANS = [2, 3600, 86400, 365 * 86400, 25 * 365 * 86400]  # seconds, forth and back
    DATES = re.compile(r"timestamp_seconds|start_time_seconds|_created")
    OF_NOW = re.compile(r"\.timestamp_seconds|last_poll_timestamp|Date")  # with each answer, or poll
    OF_RELOAD = re.compile(r"reload_success_timestamp|configuration\.")

    def setUp(self):
        harness.require_root()
        library = f"{os.path.dirname(harness.workload_binary)}/libshifted_clock.so"
        self.tree = self.enterContext(harness.CgroupTree("clock"))
        file = self.enterContext(tempfile.NamedTemporaryFile())
        file.truncate(8)
        self.shift = self.enterContext(mmap.mmap(file.fileno(), 8))
        self.shifted_by = 0  # seconds
        self.known = {}  # name of a date -> seconds since boot
        self.looked = self.since_boot()
        config = "openmetrics: {created: true}\n" + harness.config_of(
            events=["context-switches"], include=[self.tree.pattern])
        self.daemon = self.enterContext(harness.Daemon(config, env={
            **os.environ, "LD_PRELOAD": library, "PEX_TEST_CLOCK_SHIFT": file.name}))

    @staticmethod
    def since_boot():
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def set_date(self, shifted_by):
        self.shifted_by = shifted_by
        self.shift[:] = (shifted_by * 10**9).to_bytes(8, sys.byteorder, signed=True)

    def dates(self):
        """Name -> seconds since boot, of all that it serves."""
        answer = web.ask_once(self.daemon.address, headers={"Accept": web.OPENMETRICS})
        served = {str(series): value for series, value in harness.Scrape(answer.text).items()}
        served["Date"] = email.utils.parsedate_to_datetime(answer.headers["Date"]).timestamp()
        add_numbers("", self.daemon.status(), served)
        boot = time.time() + self.shifted_by - self.since_boot()
        return {name: date - boot for name, date in served.items()
                if self.DATES.search(name) or name == "Date"}

    def look(self):
        """What was known is as it was; what is new is of after the last look."""
        before = self.since_boot()
        self.daemon.scrape_after_polls()
        dates = self.dates()
        for name, date in dates.items():
            with self.subTest(name=name, shifted_by=self.shifted_by):
                if name in self.known:
                    self.assertAlmostEqual(date, self.known[name], delta=1)
                else:
                    earliest = before if self.OF_NOW.search(name) else self.looked
                    self.assertGreater(date, earliest - 1)
                    self.assertLess(date, self.since_boot() + 1)
        self.known = {name: date for name, date in dates.items() if not self.OF_NOW.search(name)}
        self.looked = before

    def reload(self):
        reloads = len(self.daemon.lines("info"))
        before = self.since_boot()
        self.daemon.send(signal.SIGHUP)
        line = harness.until("the reload", lambda: self.daemon.lines("info")[reloads:])[0]
        logged = datetime.datetime.fromisoformat(re.search(r"ts=(\S+)Z", line)[1] + "+00:00")
        boot = time.time() + self.shifted_by - self.since_boot()
        self.assertGreater(logged.timestamp() - boot, before - 1)
        self.assertLess(logged.timestamp() - boot, self.since_boot() + 1)
        self.known = {name: date for name, date in self.known.items()
                      if not self.OF_RELOAD.search(name)}

    def test_each_date_that_it_serves_is_now_less_an_age_whatever_the_date_is_set_to(self):
        print(f"\nPEX_SEED={self.SEED}")
        chance = random.Random(self.SEED)
        self.look()
        self.assertGreater(len(self.known), 10)
        for number in range(self.SHIFTS):
            span = chance.choice(self.SPANS)
            self.set_date(chance.randint(-span, span))
            if number % 3 == 0:
                self.tree.make(f"{number}")
            if number % 4 == 0:
                self.reload()
            self.look()


def add_numbers(path, value, numbers):
    """Path -> number, of all in a JSON value."""
    children = (value.items() if isinstance(value, dict) else
                enumerate(value) if isinstance(value, list) else ())
    for key, child in children:
        add_numbers(f"{path}.{key}", child, numbers)
    if isinstance(value, float):
        numbers[path] = value


class ReplacedFileTest(unittest.TestCase):
    """After "configuration reloaded", what is in force is what a new open of the path on the host
    gives."""

    def setUp(self):
        harness.require_root()
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.path = f"{self.folder}/config.yaml"
        self.number = 0

    def text(self):
        """Another configuration each time."""
        self.number += 1
        return CONFIG.replace("name: software", f"name: number-{self.number}")

    def rename(self, text):
        os.replace(harness.write_text(f"{self.folder}/new", text), self.path)

    def write_in_place(self, text):
        harness.write_text(self.path, text)

    def swap_link(self, text):
        """As Kubernetes updates a ConfigMap: config.yaml -> ..data/config.yaml, ..data -> a directory."""
        directory = f"{self.folder}/..{self.number}"
        os.mkdir(directory)
        harness.write_text(f"{directory}/config.yaml", text)
        os.symlink(directory, f"{self.folder}/..new")
        os.replace(f"{self.folder}/..new", f"{self.folder}/..data")
        if not os.path.islink(self.path):
            os.symlink("..data/config.yaml", f"{self.folder}/link")
            os.replace(f"{self.folder}/link", self.path)

    def delete_and_write(self, text):
        os.unlink(self.path)
        harness.write_text(self.path, text)

    WAYS = (rename, write_in_place, swap_link, delete_and_write)

    def assert_in_force(self, daemon):
        daemon.scrape_after_polls()  # the status is that of the last poll
        (group,) = daemon.status()["groups"]
        self.assertIn(f"name: {group['group']},", harness.read_text(self.path))

    def test_whichever_way_it_is_replaced(self):
        for way in self.WAYS:
            harness.write_text(self.path, self.text())
            with self.subTest(way=way.__name__), harness.Daemon(
                    CONFIG, config_path=self.path) as daemon:
                for reloads in range(3):
                    way(self, self.text())
                    daemon.send(signal.SIGHUP)
                    harness.until("the reload", lambda reloads=reloads: len(
                        daemon.logged("configuration reloaded")) > reloads)
                    self.assert_in_force(daemon)

    def test_while_another_program_replaces_it_without_a_pause(self):
        for way in self.WAYS:
            harness.write_text(self.path, self.text())
            with self.subTest(way=way.__name__), harness.Daemon(
                    CONFIG, config_path=self.path) as daemon:
                end = time.monotonic() + 2
                while time.monotonic() < end:
                    for _ in range(50):
                        way(self, self.text())
                    daemon.send(signal.SIGHUP)
                rests = f"number-{self.number}"
                daemon.send(signal.SIGHUP)
                harness.until("the last one", lambda rests=rests, daemon=daemon: rests in daemon.get(
                    "/api/v1/status")[1])
                self.assert_in_force(daemon)

    def test_a_file_that_is_deleted_is_not_reloaded(self):
        harness.write_text(self.path, self.text())
        daemon = self.enterContext(harness.Daemon(CONFIG, config_path=self.path))
        os.unlink(self.path)
        daemon.send(signal.SIGHUP)
        daemon.logged("level=error", "ENOENT")
        daemon.logged("level=error", "configuration not reloaded")

    # What is done on the host -> what is logged.
    BEHIND_A_MOUNT = {
        "mv new host": "",
        "rm host": "",
        "mv host host~ && mv new host": "/host~' there",  # as editors do
        "ln host kept && mv new host": "",
    }

    def test_a_file_that_is_replaced_behind_its_mount_is_not_reloaded(self):
        harness.require_mounts()
        for done, logged in self.BEHIND_A_MOUNT.items():
            for name in ("new", "host", "mounted"):
                harness.write_text(f"{self.folder}/{name}", CONFIG)
            bind = f'mount --bind {self.folder}/host {self.folder}/mounted && exec "$@"'
            with self.subTest(done=done), harness.Daemon(
                    CONFIG, config_path=f"{self.folder}/mounted",
                    wrapper=(*IN_OWN_MOUNTS, "sh", "-c", bind, "sh")) as daemon:
                harness.write_text(f"{self.folder}/host", CONFIG)
                daemon.send(signal.SIGHUP)
                daemon.logged("configuration reloaded")
                subprocess.run(done, shell=True, cwd=self.folder, check=True)
                daemon.send(signal.SIGHUP)
                daemon.logged("level=error", "deleted where it is mounted from", logged)
                daemon.logged("level=error", "configuration not reloaded")

    OF_DIRECTORIES = {
        "mv host old && mkdir host": "/old' there",
        "mv above old && mkdir -p above/host": "/old/host' there",
    }

    def test_a_file_of_which_the_directory_is_replaced_behind_its_mount_is_not_reloaded(self):
        harness.require_mounts()
        for done, logged in self.OF_DIRECTORIES.items():
            folder = self.enterContext(tempfile.TemporaryDirectory(dir=self.folder))
            host = f"{folder}/above/host" if "above" in done else f"{folder}/host"
            for directory in (host, f"{folder}/mounted"):
                os.makedirs(directory)
            harness.write_text(f"{host}/config.yaml", CONFIG)
            bind = f'mount --bind {host} {folder}/mounted && exec "$@"'
            with self.subTest(done=done), harness.Daemon(
                    CONFIG, config_path=f"{folder}/mounted/config.yaml",
                    wrapper=(*IN_OWN_MOUNTS, "sh", "-c", bind, "sh")) as daemon:
                harness.write_text(f"{host}/new", CONFIG)
                os.replace(f"{host}/new", f"{host}/config.yaml")
                daemon.send(signal.SIGHUP)
                daemon.logged("configuration reloaded")
                subprocess.run(done, shell=True, cwd=folder, check=True)
                harness.write_text(f"{host}/config.yaml", CONFIG)
                daemon.send(signal.SIGHUP)
                daemon.logged("level=error", "its directory was replaced", logged)
                daemon.logged("level=error", "configuration not reloaded")

    def test_a_web_configuration_that_is_replaced_behind_its_mount_is_not_reloaded(self):
        harness.require_mounts()
        for name in ("host", "mounted"):
            harness.write_text(f"{self.folder}/{name}", "{}\n")
        bind = f'mount --bind {self.folder}/host {self.folder}/mounted && exec "$@"'
        daemon = self.enterContext(harness.Daemon(
            CONFIG, f"--web.config.file={self.folder}/mounted",
            wrapper=(*IN_OWN_MOUNTS, "sh", "-c", bind, "sh")))
        subprocess.run("mv host host~ && touch host", shell=True, cwd=self.folder, check=True)
        daemon.logged("level=error", "deleted where it is mounted from", "/host~' there")
        daemon.logged("level=error", "web configuration not reloaded")


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

    # The command before its own -> whether it is process 1 itself.
    FIRST = {
        "process 1": ((), True),
        "an entry script that it replaces": (("sh", "-c", 'exec "$@"', "sh"), True),
        "an entry script": (("bash", "-c", 'trap : TERM; "$@" & trap "kill $!" TERM; wait; wait',
                             "bash"), False),
        "an init": (("catatonit", "--"), False),
    }

    def test_health_reload_and_end_are_the_same_whatever_process_1_is(self):
        for name, (before, _) in self.FIRST.items():
            if before and not shutil.which(before[0]):
                continue
            with self.subTest(first=name):
                daemon, first = self.first_of_namespace(*before)
                self.assertEqual(self.run_within(first, harness.daemon_binary, "health"), 0)
                os.kill(pid_of(daemon), signal.SIGHUP)
                daemon.logged("configuration reloaded")
                os.kill(first, signal.SIGTERM)
                self.assertEqual(daemon.wait(), 0)

    def test_it_ends_and_reloads_below_a_parent_that_blocks_all_signals(self):
        daemon = self.enterContext(harness.Daemon(CONFIG, wrapper=(sys.executable, "-c", BLOCKS_SIGNALS)))
        daemon.scrape_after_polls()

        os.kill(daemon.pid, signal.SIGHUP)
        daemon.logged("configuration reloaded")
        os.kill(daemon.pid, signal.SIGTERM)

        self.assertEqual(daemon.wait(), 0)

    def test_as_process_1_it_leaves_no_zombies(self):
        for name, (before, is_first) in self.FIRST.items():
            if not is_first:
                continue
            with self.subTest(first=name):
                daemon, first = self.first_of_namespace(*before)
                self.run_within(first, "sh", "-c", "sleep 1000 &")  # an orphan once the shell ended
                orphan = harness.until("the orphan", lambda: children_of(first))[0]

                os.kill(int(orphan), signal.SIGKILL)

                harness.until("no zombie", lambda: not os.path.exists(f"/proc/{orphan}"))
                os.kill(first, signal.SIGTERM)
                self.assertEqual(daemon.wait(), 0)

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

    # systemd.exec(5) -> command that sets it for what it runs, and what shows it for a thread.
    LIMITS = {
        "CPUAffinity=": (("taskset", "--cpu-list", "0"), ("taskset", "--cpu-list", "--pid")),
        "Nice=": (("nice", "-n", "5"), "nice"),
        "CPUSchedulingPolicy=": (("chrt", "--batch", "0"), ("chrt", "--pid")),
        "IOSchedulingClass=": (("ionice", "--class", "3"), ("ionice", "--pid")),
        "NoNewPrivileges=": (("setpriv", "--no-new-privs"), "NoNewPrivs"),
        "UMask=": (("sh", "-c", 'umask 0027 && exec "$@"', "sh"), "Umask"),
        "LimitNOFILE=": (("prlimit", "--nofile=600:600"), "limits"),
        "TimerSlackNSec=": ((sys.executable, "-c", SETS_TIMER_SLACK), "timerslack_ns"),
    }

    def shown(self, thread, by):
        if isinstance(by, tuple):
            answer = subprocess.run([*by, thread], capture_output=True, text=True, check=True).stdout
            return answer.replace(thread, "")
        if by == "nice":
            return os.getpriority(os.PRIO_PROCESS, int(thread))
        if by.islower():
            return harness.read_text(f"/proc/{thread}/{by}")
        return re.search(rf"^{by}:.*", harness.read_text(f"/proc/{thread}/status"), re.M)[0]

    def test_each_limit_that_its_parent_sets_is_that_of_all_its_threads(self):
        harness.require_root()
        for limit, (before, by) in self.LIMITS.items():
            with self.subTest(limit=limit), harness.Daemon(CONFIG, wrapper=before) as daemon, \
                    subprocess.Popen([*before, "sleep", "1000"]) as other:
                try:
                    daemon.scrape_after_polls()
                    harness.until("sleep", lambda other=other: harness.read_text(
                        f"/proc/{other.pid}/comm") == "sleep\n")
                    expected = self.shown(str(other.pid), by)
                    for thread in os.listdir(f"/proc/{daemon.pid}/task"):
                        with contextlib.suppress(OSError, subprocess.CalledProcessError):
                            self.assertEqual(self.shown(thread, by), expected)
                finally:
                    other.kill()

    # The command before its own in a terminal -> whether it ends when that closes.
    IN_TERMINAL = {
        "in the foreground": ((), True),
        "of a shell": (("sh", "-c", '"$@"; :', "sh"), True),
        "in the background of a shell": (("bash", "-ic", '"$@" & wait', "bash"), True),
        "with nohup": (("nohup",), False),
        "in a session of its own": (("sh", "-c", 'setsid "$@" & wait', "sh"), False),
    }

    def test_it_ends_with_its_terminal_unless_it_is_told_not_to(self):
        for name, (before, ends) in self.IN_TERMINAL.items():
            with self.subTest(started=name), harness.Daemon(
                    CONFIG, wrapper=(sys.executable, "-c", IN_A_TERMINAL, *before)) as daemon:
                pid = pid_of(daemon)
                daemon.child.kill()  # with it the terminal closes
                daemon.child.wait()
                if ends:
                    harness.until("the end of the daemon", lambda: has_ended(pid))
                    continue
                self.addCleanup(lambda: has_ended(pid) or os.kill(pid, signal.SIGKILL))
                daemon.scrape_after_polls()
                os.kill(pid, signal.SIGHUP)
                daemon.logged("configuration reloaded")
                os.kill(pid, signal.SIGTERM)
                harness.until("the end of the daemon", lambda: has_ended(pid))


if __name__ == "__main__":
    harness.main()
