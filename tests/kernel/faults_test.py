"""What happens to the daemon from outside while it counts: it is killed, it is stopped for a while, its
cgroup runs out of memory, its log has no room or no reader, its clients leave.
docs/development/faults.md has all faults.
"""

import contextlib
import ctypes
import os
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
import unittest

import harness

EVENTS = ["context-switches", "minor-faults"]
METRICS = ["perf_cgroup_context_switches_total", "perf_cgroup_minor_faults_total"]
CGROUPS = 1000


def config_of_many(tree, most):
    return (f"groups: [{{name: software, events: [{', '.join(EVENTS)}], scope: cgroup}}]\n"
            f"cgroups: {{include: ['{tree.pattern}'], max: {most}}}\n"
            "limits: {max_open_events: 1000000, opens_per_second: 1000000}\n")


class KilledTest(unittest.TestCase):
    def test_it_serves_and_counts_all_again_after_a_restart(self):
        harness.require_root()
        harness.require_events(*EVENTS)
        tree = self.enterContext(harness.CgroupTree("killed"))
        for number in range(CGROUPS):
            tree.make(f"{number:04}")
        config = config_of_many(tree, CGROUPS)

        def counts_all(scrape):
            return scrape.value("perf_event_exporter_cgroups", state="counted") == CGROUPS

        port = harness.free_port()
        first = self.enterContext(harness.Daemon(config, port=port))
        first.scrape_when("all cgroups", counts_all)
        os.kill(first.pid, signal.SIGKILL)
        begin = time.monotonic()
        first.child.wait()
        again = self.enterContext(harness.Daemon(config, port=port))
        served = time.monotonic() - begin
        again.scrape_when("all cgroups", counts_all)
        print(f"\nready after {served:.2f} s, {CGROUPS} cgroups counted after "
              f"{time.monotonic() - begin:.2f} s")


class CrashTest(unittest.TestCase):
    def test_a_thread_that_crashes_says_which_one_it_was_and_the_process_ends_by_the_signal(self):
        harness.require_root()
        harness.require(not harness.is_instrumented(), "a daemon without a sanitizer, which has a word of its own")
        config = f"groups: [{{name: software, events: [{', '.join(EVENTS)}], scope: cpu}}]\n"
        for thread, number in (("cpu0", signal.SIGSEGV), ("polls", signal.SIGBUS)):
            with self.subTest(thread=thread), harness.Daemon(config) as daemon:
                self.assertEqual(self.crash(daemon, thread, number), -number)
                (line,) = daemon.logged(" level=error ", "ends because of a signal")
                self.assertIn(f"{number.name} in thread '{thread}' sent by process {os.getpid()} ", line)

    @staticmethod
    def crash(daemon, thread, number):
        """As if that thread had made the fault. Returns how the process ended."""
        (tid,) = [int(task) for task in os.listdir(f"/proc/{daemon.pid}/task")
                  if harness.read_text(f"/proc/{daemon.pid}/task/{task}/comm").strip() == thread]
        if ctypes.CDLL(None, use_errno=True).tgkill(daemon.pid, tid, number) != 0:
            raise OSError(ctypes.get_errno(), "tgkill")
        return daemon.child.wait(harness.PATIENCE)


class StoppedTest(unittest.TestCase):
    """As when the machine is suspended, or a debugger holds it."""

    def test_counters_go_on_with_all_that_was_counted_meanwhile(self):
        harness.require_events(*EVENTS)
        tree = self.enterContext(harness.CgroupTree("stopped"))
        cgroup = tree.make("work")
        work = self.enterContext(harness.touches_pages(tree, cgroup))
        work.stop()
        config = harness.config_of(events=EVENTS, include=[tree.pattern])
        daemons = [self.enterContext(harness.Daemon(config)) for _ in range(2)]
        before = [daemon.scrape_after_polls() for daemon in daemons]
        overruns = "perf_event_exporter_poll_overruns_total"

        work.go_on()
        daemons[0].send(signal.SIGSTOP)
        daemons[1].scrape_after_polls(10)
        daemons[1].scrape_when("work", lambda scrape: all(
            scrape.since(before[1], metric, cgroup=cgroup) > 100 for metric in METRICS))
        daemons[0].send(signal.SIGCONT)
        work.stop()
        after = [daemon.scrape_after_polls() for daemon in daemons]

        for metric in METRICS:
            grown = [end.since(start, metric, cgroup=cgroup) for start, end in zip(before, after)]
            self.assertEqual(grown[0], grown[1], metric)
        self.assertGreater(after[0].value(overruns), before[0].value(overruns))


class MemoryCgroup:
    """A cgroup of the memory controller, of version 1 or 2. All in it is killed at the end."""

    def __init__(self, subject):
        v1 = harness.v1_mount("memory")
        self.is_v2 = v1 is None
        mount = v1 or self._v2_mount()
        self.directory = f"{mount}/{harness.name_of_trees(os.getpid())}{subject}"

    @staticmethod
    def _v2_mount():
        mount = next((point for point, kind, _ in harness.mounts() if kind == "cgroup2"), None)
        harness.require(mount, "no cgroups are mounted")
        with contextlib.suppress(OSError):
            harness.write_text(f"{mount}/cgroup.subtree_control", "+memory")
        enabled = harness.read_text(f"{mount}/cgroup.subtree_control").split()
        harness.require("memory" in enabled, "the cgroups have no memory controller")
        return mount

    def __enter__(self):
        try:
            os.mkdir(self.directory)
        except OSError as error:
            raise unittest.SkipTest(f"cannot make cgroups: {error}") from error
        return self

    def __exit__(self, *_):
        harness.remove_tree(self.directory)

    def join(self):
        """Moves the calling process."""
        with open(f"{self.directory}/cgroup.procs", "wb", buffering=0) as procs:
            procs.write(b"0")

    def limit_to(self, size):
        name = "memory.max" if self.is_v2 else "memory.limit_in_bytes"
        harness.write_text(f"{self.directory}/{name}", str(size))

    def usage(self):
        name = "memory.current" if self.is_v2 else "memory.usage_in_bytes"
        return int(harness.read_text(f"{self.directory}/{name}"))

    def times_at_the_limit(self):
        if self.is_v2:
            return harness.number_in(f"{self.directory}/memory.events", "max")
        return int(harness.read_text(f"{self.directory}/memory.failcnt"))

    def kills(self):
        name = "memory.events" if self.is_v2 else "memory.oom_control"
        return harness.number_in(f"{self.directory}/{name}", "oom_kill")


class MemoryLimitTest(unittest.TestCase):
    """As MemoryMax= of the service: of the exporter's own cgroup."""

    MIB = 2**20

    def setUp(self):
        harness.require_root()
        harness.require_events(*EVENTS)
        harness.require(not harness.is_instrumented(), "sanitizers take memory of their own")
        self.tree = self.enterContext(harness.CgroupTree("memory"))
        self.own = self.enterContext(MemoryCgroup("own"))

    def start(self, config, **options):
        return self.enterContext(harness.Daemon(config, preexec_fn=self.own.join, **options))

    def fill_the_page_cache(self, size):
        """In the cgroup of the daemon, with a file that is written and removed."""
        folder = self.enterContext(tempfile.TemporaryDirectory(
            prefix="pex_test_", dir=os.path.dirname(harness.workload_binary)))
        subprocess.run(["dd", "if=/dev/zero", f"of={folder}/file", f"bs={self.MIB}",
                        f"count={size // self.MIB}", "status=none"],
                       preexec_fn=self.own.join, check=True)

    def test_it_goes_on_while_the_kernel_takes_back_the_page_cache(self):
        cgroup = self.tree.make("work")
        daemon = self.start(harness.config_of(events=EVENTS, include=[self.tree.pattern]))
        falls = harness.Falls()
        self.own.limit_to(self.own.usage() + 16 * self.MIB)
        with harness.Workload(self.tree, cgroup, 0, 50, 5000, 20) as work:
            before, usage = daemon.scrape_after_polls(), work.usage()
            falls.look_at(before)
            work.run()
            self.fill_the_page_cache(256 * self.MIB)
            after, used = daemon.scrape_after_polls(), work.usage()
        falls.look_at(after)

        harness.require(self.own.times_at_the_limit() > 0, "the page cache is not charged here")
        self.assertEqual(self.own.kills(), 0)
        for metric in ("context_switches", "minor_faults"):
            name = f"perf_cgroup_{metric}_total"
            self.assertAlmostEqual(after.since(before, name, cgroup=cgroup),
                                   used[metric] - usage[metric], delta=1)
        self.assertEqual(falls.found, [])
        self.assertEqual(daemon.lines("warn") + daemon.lines("error"), [])

    def test_it_is_killed_beyond_the_limit_and_counts_all_after_a_restart_with_more(self):
        config = config_of_many(self.tree, 2 * CGROUPS)
        port = harness.free_port()
        daemon = self.start(config, port=port)
        daemon.scrape_after_polls()
        self.own.limit_to(self.own.usage() + self.MIB // 2)
        made = 0
        while made < 2 * CGROUPS and daemon.child.poll() is None:
            self.tree.make(f"{made:04}")
            made += 1
            if made % 50 == 0:
                time.sleep(0.1)  # for a poll
        self.assertEqual(daemon.child.wait(timeout=harness.PATIENCE), -signal.SIGKILL)
        self.assertGreater(self.own.kills(), 0)

        self.own.limit_to(512 * self.MIB)
        again = self.start(config, port=port)
        again.scrape_when("all cgroups", lambda scrape: scrape.value(
            "perf_event_exporter_cgroups", state="counted") == made)
        self.assertEqual(again.lines("warn") + again.lines("error"), [])
        print(f"\nkilled at {made} cgroups")


class LeavingClientsTest(unittest.TestCase):
    CLIENTS = 200
    CGROUPS = 200

    def test_clients_that_leave_before_their_answer_end_nothing(self):
        harness.require_events(*EVENTS)
        tree = self.enterContext(harness.CgroupTree("leaving"))
        for number in range(self.CGROUPS):  # so that an answer is more than a socket takes at once
            tree.make(f"{number:03}")
        config = harness.config_of(events=EVENTS, include=[tree.pattern])
        with harness.Daemon(config) as daemon:
            daemon.scrape_when("all cgroups", lambda scrape: scrape.value(
                "perf_event_exporter_cgroups", state="counted") == self.CGROUPS)
            host, _, port = daemon.address.partition(":")
            for number in range(self.CLIENTS):
                with socket.create_connection((host, int(port))) as client:
                    client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * (1 + number % 3))
                    if number % 2:
                        client.recv(100)  # in the middle of the answer
                    # With a reset: what is written afterwards is EPIPE or ECONNRESET.
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            daemon.scrape_after_polls()
            harness.until("closed connections", lambda: daemon.open_sockets() <= 2)
            self.assertEqual(daemon.lines("warn") + daemon.lines("error"), [])
            daemon.terminate()


class NobodyLogsTest(unittest.TestCase):
    """Nobody is there any more who reads what is logged: a write is EPIPE, and a signal unless that is
    ignored."""

    CONFIG = harness.config_of(events=EVENTS, scope="cpu")

    def setUp(self):
        harness.require_events(*EVENTS)

    def test_a_stderr_whose_reader_has_gone_stops_nothing_and_is_counted(self):
        reader, writer = os.pipe()
        with harness.Daemon(self.CONFIG, "--log.level=debug",
                            preexec_fn=lambda: os.dup2(writer, 2)) as daemon:
            os.close(writer)
            harness.until("a line", lambda: b"listening" in os.read(reader, 65536))
            os.close(reader)
            scrape = daemon.scrape_when("dropped lines", lambda scrape: scrape.get(
                ("perf_event_exporter_log_messages_dropped_total", ()), 0) > 3)
            self.assertTrue(scrape.has("perf_cpu_context_switches_total", cpu="0"))
            daemon.terminate()

    def lacks_lines_while_the_journal_is_away(self, unlinked):
        harness.require_mounts()
        journal = self.enterContext(Journal())
        with harness.Daemon(self.CONFIG, "--log.level=debug", wrapper=journal.WRAPPER,
                            env=journal.environment(), preexec_fn=journal.become_stderr) as daemon:
            self.assertIn("PRIORITY=6", journal.entry_with("MESSAGE=listening"))
            journal.entry_with("MESSAGE=polled")
            journal.go(unlinked)
            daemon.scrape_when("dropped lines", lambda scrape: scrape.get(
                ("perf_event_exporter_log_messages_dropped_total", ()), 0) > 3)
            journal.come_back()
            entry = journal.entry_with("MESSAGE=log lines are missing here")
            self.assertIn("PRIORITY=4", entry)
            self.assertGreater(int(re.search(r"^PERF_LINES=(\d+)$", entry, re.MULTILINE)[1]), 3)
            journal.entry_with("MESSAGE=polled")
            daemon.terminate()

    def test_lines_are_counted_while_nobody_listens_at_the_socket_of_the_journal(self):
        self.lacks_lines_while_the_journal_is_away(unlinked=False)

    def test_lines_are_counted_while_there_is_no_socket_of_the_journal(self):
        self.lacks_lines_while_the_journal_is_away(unlinked=True)


class Journal:
    """Listens where systemd-journald does, as only the daemon sees it, and is the reader of its stderr."""

    WRAPPER = ["unshare", "--mount", "--propagation", "private", "sh", "-c",
               'mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/journal && '
               'mount --bind "$JOURNAL_FOLDER" /run/systemd/journal && exec "$@"', "sh"]

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="pex_test_")
        self.stream, self.stderr = socket.socketpair()
        self.entries = None

    def __enter__(self):
        self.come_back()
        return self

    def __exit__(self, *_):
        for each in (self.entries, self.stream, self.stderr):
            each.close()
        shutil.rmtree(self.folder)

    def environment(self):
        stderr = os.fstat(self.stderr.fileno())
        return {**os.environ, "JOURNAL_FOLDER": self.folder,
                "JOURNAL_STREAM": f"{stderr.st_dev}:{stderr.st_ino}"}

    def become_stderr(self):
        """In the child."""
        os.dup2(self.stderr.fileno(), 2)

    def come_back(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{self.folder}/socket")
        self.entries = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.entries.bind(f"{self.folder}/socket")

    def go(self, unlinked):
        self.entries.close()
        if unlinked:
            os.unlink(f"{self.folder}/socket")
        self.stderr.close()
        self.stream.close()

    def entry_with(self, beginning):
        """The next one that begins so."""
        deadline = time.monotonic() + harness.PATIENCE
        while True:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.entries], [], [], left)[0]:
                raise AssertionError(f"the journal waited in vain for {beginning!r}")
            entry = self.entries.recv(65536).decode()
            if entry.startswith(beginning):
                return entry


class FullDiskTest(unittest.TestCase):
    def test_a_log_without_room_stops_nothing_and_is_counted(self):
        harness.require_events(*EVENTS)
        full = ["sh", "-c", 'exec "$@" 2>/dev/full', "sh"]
        config = harness.config_of(events=EVENTS, scope="cpu")
        with harness.Daemon(config, "--log.level=debug", wrapper=full) as daemon:
            daemon.scrape_when("dropped lines", lambda scrape: scrape.get(
                ("perf_event_exporter_log_messages_dropped_total", ()), 0) > 3)
            daemon.terminate()


if __name__ == "__main__":
    harness.main()
