"""What runs out or stands still outside: readers of stderr and of notifications, memory, threads,
standard descriptors. The program goes on, or ends in a defined way and says why."""

import contextlib
import fcntl
import os
import re
import resource
import shutil
import socket
import subprocess
import tempfile
import unittest

import harness

EVENTS = ["task-clock", "context-switches"]
CPU_ONLY = harness.config_of(events=EVENTS, scope="cpu")
F_SETPIPE_SZ = 1031
UNABLE = 3


class FolderTest(unittest.TestCase):
    def setUp(self):
        harness.require_root()
        harness.require_events(*EVENTS)
        self.folder = self.enterContext(tempfile.TemporaryDirectory(prefix="pex_test_"))
        os.chmod(self.folder, 0o755)

    def config(self):
        return harness.write_text(f"{self.folder}/config.yaml", CPU_ONLY)


class UnreadTest(FolderTest):
    def full_pipe(self):
        """A FIFO without room for a single byte. Both ends are open here, so it never breaks."""
        path = f"{self.folder}/stderr"
        os.mkfifo(path)
        fifo = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self.addCleanup(os.close, fifo)
        fcntl.fcntl(fifo, F_SETPIPE_SZ, 4096)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(fifo, b"x")
        return path, fifo

    def with_stderr(self, path):
        return ["sh", "-c", 'to=$1; shift; exec "$@" 2>"$to"', "sh", path]

    def test_with_a_stderr_without_a_reader_http_and_sigterm_work(self):
        path, _ = self.full_pipe()
        with harness.Daemon(CPU_ONLY, "--log.level=debug", wrapper=self.with_stderr(path)) as daemon:
            daemon.scrape_after_polls(5)
            daemon.terminate()  # with status 0

    def test_what_was_logged_meanwhile_can_be_read_later(self):
        path, fifo = self.full_pipe()
        with harness.Daemon(CPU_ONLY, "--log.level=debug", wrapper=self.with_stderr(path)) as daemon:
            daemon.scrape_after_polls(5)
            text = b""

            def has_come():
                nonlocal text
                with contextlib.suppress(BlockingIOError):
                    text += os.read(fifo, 65536)
                return text.count(b"msg=\"polled\"") >= 5
            harness.until("the lines", has_come)
            self.assertRegex(text.decode().lstrip("x"), r"\Ats=\S+ level=info msg=\"listening")

    def test_an_error_at_the_start_ends_it_without_a_reader(self):
        path, _ = self.full_pipe()
        ended = harness.run("--config.file=/nonexistent", wrapper=self.with_stderr(path))
        self.assertEqual(ended.returncode, 1)

    def test_a_service_manager_that_does_not_read_holds_up_nothing(self):
        receiver = self.enterContext(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        receiver.bind(f"{self.folder}/notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    sender.sendto(b"X=1", f"{self.folder}/notify")
        environment = {**os.environ, "NOTIFY_SOCKET": f"{self.folder}/notify"}
        with harness.Daemon(CPU_ONLY, env=environment) as daemon:
            daemon.scrape_after_polls(3)
            daemon.terminate()


class StandardFilesTest(FolderTest):
    def test_closed_ones_are_dev_null(self):
        closing = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh"]
        with harness.Daemon(CPU_ONLY, wrapper=closing) as daemon:
            daemon.scrape_after_polls()
            for number in (0, 1, 2):
                self.assertEqual(os.readlink(f"/proc/{daemon.pid}/fd/{number}"), "/dev/null")


# Of the loader, and of libstdc++ when the initializer of a library has no memory for an exception.
BEFORE_MAIN = ("error while loading shared libraries", "cannot allocate TLS data structures",
               "terminate called without an active exception\n")
OF_A_LIBRARY = "[low_level_alloc.cc"  # Abseil, which RE2 has used since 2023


class MemoryTest(FolderTest):
    def test_too_little_is_reported_in_one_line_and_ends_with_its_status(self):
        harness.require(not harness.is_instrumented(), "sanitizers reserve terabytes")
        config, seen = f"--config.file={self.config()}", set()
        # In small steps: most allocations are threads' stacks, whose lack has status 1. Others fail only within
        # some tens of kB of limits, which the steps of the gate may pass over.
        steps = 32 if harness.ALL_TESTS else 4  # in a megabyte
        for megabytes in [*(number / steps for number in range(8 * steps, 96 * steps)), *range(96, 900, 32)]:
            limit = int(megabytes * 2**20)
            ended = harness.run("--once", config, preexec_fn=lambda: resource.setrlimit(
                resource.RLIMIT_AS, (limit, limit)))
            with self.subTest(megabytes=megabytes, stderr=ended.stderr):
                if not seen and any(message in ended.stderr for message in BEFORE_MAIN):
                    continue
                if OF_A_LIBRARY in ended.stderr:  # it ends the program by itself
                    continue
                seen.add(ended.returncode)
                self.assertIn(ended.returncode, (0, 1, UNABLE))
                if ended.returncode == UNABLE:
                    self.assertRegex(
                        ended.stderr.splitlines()[-1],
                        r'\Ats=\S+Z level=error msg="(out of memory, .*Remedy: .*|.*unhandled exception: .*)"\Z')
                elif ended.returncode == 1:
                    self.assertRegex(ended.stderr, r'level=error msg=".*Remedy: ')
            if ended.returncode == 0:
                break
        self.assertLessEqual({0, UNABLE}, seen)


class ThreadTest(FolderTest):
    def run_with(self, processes):
        """As a user that has nothing else, with a limit of its processes and threads."""
        for command in ("setpriv", "prlimit"):
            harness.require(shutil.which(command), f"there is no {command} here")
        binary = f"{self.folder}/program"
        if not os.path.exists(binary):
            shutil.copy(harness.daemon_binary, binary)
        user = 50000 + os.getpid() % 10000  # not that of another run: its threads would count too
        command = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups",
                   "--inh-caps=+perfmon", "--ambient-caps=+perfmon",
                   "prlimit", f"--nproc={processes}", binary,
                   f"--config.file={self.config()}", "--once"]
        return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=harness.PATIENCE, check=False)

    def test_too_few_are_reported_or_done_without(self):
        seen = []
        for threads in range(1, 16 + len(harness.online_cpus())):  # one of them for each CPU
            ended = self.run_with(threads)
            with self.subTest(threads=threads, stderr=ended.stderr):
                self.assertIn(ended.returncode, (0, 1))
                if ended.returncode == 1:
                    self.assertRegex(ended.stderr,
                                     r'level=error msg="start the thread[^"]*Remedy: raise TasksMax=')
                seen.append((ended.returncode, "level=warn" in ended.stderr))
        self.assertEqual(seen[0][0], 1)
        self.assertIn((0, True), seen)   # a CPU without a thread of its own is counted all the same
        self.assertEqual(seen[-1], (0, False))


class NameTest(FolderTest):
    NAMES = (b"pex\x1b]0;pwned\x07", "pex\u009b31m".encode(), b"pex\x9b2J",
             "pex\u202egnp".encode())

    IN_LABELS = ("pex\ufffd1b]0;pwned\ufffd07", "pex\ufffdc2\ufffd9b31m", "pex\ufffd9b2J")

    CONTROL = "\x00-\x09\x0b-\x1f\x7f-\x9f"
    TURNING = "\u2028-\u202e\u2066-\u2069"

    def assert_plain(self, text, unwanted=CONTROL + TURNING):
        self.assertIsNone(re.search(f"[{unwanted}]", text))

    def test_names_of_cgroups_reach_no_terminal_as_commands(self):
        with harness.CgroupTree("names") as tree:
            for name in self.NAMES:
                os.mkdir(os.fsencode(tree.directory) + b"/" + name)
            try:
                config = harness.config_of(events=EVENTS, scope="cgroup", include=[f"{tree.path}/**"])
                for words in (["cgroups"], ["cgroups", "--log.level=debug"], ["doctor"], ["--once"]):
                    ended = harness.run(*words, config=config, text=False)
                    text = (ended.stdout + ended.stderr).decode()  # is UTF-8
                    self.assert_plain(text, self.CONTROL)
                    if words != ["--once"]:  # it prints a scrape as it is
                        self.assert_plain(text)
                    if words != ["doctor"]:
                        for shown in self.IN_LABELS:
                            self.assertIn(shown, text)
                    if words[0] == "cgroups":
                        self.assertIn(r"pex\u202egnp", text)
            finally:
                for name in self.NAMES:
                    os.rmdir(os.fsencode(tree.directory) + b"/" + name)

    def test_words_of_the_command_line_are_reported_plainly(self):
        for word in ("--no\x1b[2J", "--log.level=\x9b", "list\x07"):
            ended = harness.run(word, text=False)
            self.assertEqual(ended.returncode, 2)
            self.assert_plain(ended.stderr.decode())


if __name__ == "__main__":
    harness.main()
