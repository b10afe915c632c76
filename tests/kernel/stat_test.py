"""The command `stat` against `perf stat`, and how it starts and ends.

Exact: both count the same process, which is blocked when they start and when they end. A command
that both run one after the other does not do the same twice: its page faults are those of its
dynamic linker too, so there a few may differ.
"""

import contextlib
import json
import os
import pty
import resource
import select
import shutil
import signal
import subprocess
import tempfile
import unittest

import harness
import perf_events

SWITCHES, PAGES, CPU_MS, PROCESSES = 2_000, 50_000, 300, 300
EVENTS = "page-faults,minor-faults,context-switches,task-clock"
NOBODY = 65534
ANOTHER = 65533    # user
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all"]
A_FEW = 50         # page faults of starting a program
CLOCK = 1e-3       # relative, of task-clock: each switch is read a moment earlier or later
USER_ONLY = 2      # kernel.perf_event_paranoid: the kernel itself is not for everybody


def stat(*args, **options):
    return harness.run("stat", *args, **options)


def counts(text):
    """Event -> its object, of the JSON on the last line."""
    return {event["event"]: event for event in json.loads(text.splitlines()[-1])["events"]}


def perf_counts(text):
    """Event -> count, of `perf stat -x,`; clocks in seconds."""
    found = {}
    for line in text.splitlines():
        fields = line.split(",")
        if len(fields) > 3:
            number = float(fields[0])
            found[fields[2].partition(":")[0]] = number / 1e3 if fields[1] == "msec" else number
    return found


def faults_of_children():
    """Of all that have ended and were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_minflt + used.ru_majflt


def child_of(pid):
    """The first child that a process has forked, once there is one."""
    def children():
        return harness.read_text(f"/proc/{pid}/task/{pid}/children").split()
    return int(harness.until(f"child of {pid}", children)[0])


def program_of(pid):
    with contextlib.suppress(OSError):
        return os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    return None


def await_program(pid, name):
    harness.until(f"process {pid} executes {name}", lambda: program_of(pid) == name)


class AgainstPerfTest(unittest.TestCase):
    def setUp(self):
        harness.require(shutil.which("perf"), "perf is not installed (Debian: linux-perf)")
        harness.require_events(*EVENTS.split(","))
        self.tree = self.enterContext(harness.CgroupTree("stat"))
        self.cgroup = self.tree.make("one")

    def attach(self, *command, events):
        """A program that counts until SIGINT; returns once it counts."""
        counter = self.enterContext(harness.Process(command, stdout=subprocess.PIPE,
                                                    stderr=subprocess.PIPE))
        self.addCleanup(counter.child.stderr.close)
        harness.until("counters", lambda: perf_events.opened_by(counter.pid) >= events)
        counter.await_state("S")
        return counter.child

    @staticmethod
    def end(counter):
        counter.send_signal(signal.SIGINT)
        return counter.communicate(timeout=harness.PATIENCE)

    def test_a_process_has_exactly_the_counts_of_perf_stat(self):
        workload = self.enterContext(
            harness.Workload(self.tree, self.cgroup, 1, SWITCHES, PAGES, CPU_MS))
        number = len(EVENTS.split(","))
        perf = self.attach("perf", "stat", "-x,", "-e", EVENTS, "-p", str(workload.pid),
                           events=number)
        ours = self.attach(harness.daemon_binary, "stat", "--output", "json", "-e", EVENTS, "-p",
                           str(workload.pid), events=number)
        stolen = harness.stolen()
        seen = workload.run()
        counted = counts(self.end(ours)[0])
        perfs = perf_counts(self.end(perf)[1])
        stolen = harness.stolen() - stolen

        self.assertEqual(ours.returncode, 0)
        self.assertGreaterEqual(seen["minflt"], PAGES)
        for event in ("page-faults", "minor-faults", "context-switches"):
            self.assertEqual(counted[event]["estimate"], perfs[event], event)
        self.assertAlmostEqual(counted["minor-faults"]["estimate"], seen["minflt"], delta=A_FEW)
        self.assertAlmostEqual(counted["task-clock"]["estimate"], perfs["task-clock"],
                               delta=CLOCK * perfs["task-clock"] + stolen)
        for event in counted.values():
            self.assertEqual(event["coverage"], "complete")
            self.assertEqual(event["standard_error"], 0)
            self.assertEqual(event["running_seconds"], event["enabled_seconds"])

    def test_a_command_has_the_counts_of_perf_stat(self):
        command = ["setarch", "-R", harness.workload_binary, self.tree.mount + self.cgroup, "1",
                   str(SWITCHES), str(PAGES), "0"]
        two_lines = "\n\n"
        perf = subprocess.run(["perf", "stat", "-x,", "-e", EVENTS, "--", *command], text=True,
                              input=two_lines, capture_output=True, check=True)
        ours = subprocess.run([harness.daemon_binary, "stat", "--output", "json", "-e", EVENTS, "--",
                               *command], text=True, input=two_lines, capture_output=True,
                              check=True)
        perfs, counted = perf_counts(perf.stderr), counts(ours.stderr)
        reported = dict(pair.split("=") for pair in ours.stdout.split()[1:])

        for event in ("page-faults", "minor-faults"):
            self.assertAlmostEqual(counted[event]["estimate"], perfs[event], delta=A_FEW)
            self.assertAlmostEqual(counted[event]["estimate"], PAGES, delta=PAGES // 20)
            self.assertGreaterEqual(counted[event]["estimate"], int(reported["minflt"]))
        # Each time the command waits or is preempted is one more.
        self.assertGreaterEqual(counted["context-switches"]["estimate"],
                                int(reported["nvcsw"]) + int(reported["nivcsw"]))
        self.assertLess(counted["context-switches"]["estimate"],
                        int(reported["nvcsw"]) + int(reported["nivcsw"]) + A_FEW)

    def test_a_command_is_counted_with_its_children(self):
        # The shell prints its page faults and those of its children, as /proc/PID/stat has them. They
        # differ from run to run by several percent.
        command = ["sh", "-c", "for i in 1 2 3 4; do head -c 40000000 /dev/zero | "
                               "tail -c 40000000 > /dev/null; done; "
                               "read all < /proc/$$/stat; echo $all"]
        perf = subprocess.run(["perf", "stat", "-x,", "-e", "page-faults", "--", *command],
                              text=True, capture_output=True, check=True)
        ours = stat("--output", "json", "-e", "page-faults", "--", *command)

        for counted, run in ((perf_counts(perf.stderr)["page-faults"], perf),
                             (counts(ours.stderr)["page-faults"]["estimate"], ours)):
            fields = run.stdout.rpartition(")")[2].split()
            minor, of_children, major, major_of_children = map(int, fields[7:11])
            true = minor + of_children + major + major_of_children
            self.assertGreater(true, 40_000)
            self.assertAlmostEqual(counted, true, delta=true // 200)


class StatTest(unittest.TestCase):
    def setUp(self):
        harness.require_events("page-faults", "task-clock")

    def test_ends_with_the_status_of_its_command(self):
        for command, status in ((["true"], 0), (["sh", "-c", "exit 7"], 7),
                                (["sh", "-c", "kill -9 $$"], 128 + 9),
                                (["/nonexistent"], 127), (["/etc"], 126)):
            with self.subTest(command):
                self.assertEqual(stat("-e", "page-faults", "--", *command).returncode, status)

    def test_ends_with_one_for_a_process_that_is_not_there(self):
        ended = stat("-e", "page-faults", "-p", 2**22 + 1)
        self.assertEqual(ended.returncode, 1)
        self.assertIn("there is no such process", ended.stderr)

    def test_does_not_run_a_command_of_which_nothing_can_be_counted(self):
        with tempfile.TemporaryDirectory() as scratch:
            ended = stat("-e", "nosuchpmu/event=1/", "--", "touch", f"{scratch}/ran")
            self.assertEqual(ended.returncode, 1)
            self.assertIn("not counted", ended.stderr)
            self.assertIn("Remedy: ", ended.stderr)
            self.assertIn("the command was not run", ended.stderr)
            self.assertEqual(os.listdir(scratch), [])

    def test_a_command_that_is_probed_can_create_processes(self):
        probed = os.path.join(os.path.dirname(harness.workload_binary), "probed")
        event = f"uprobe:{probed}:pex_probed_call"
        self.require_probes(event)
        with contextlib.ExitStack() as cleanup:
            tree = cleanup.enter_context(harness.CgroupTree("probed"))
            run = [probed, tree.mount + tree.make("busy"), "0", "1000"]
            alone = stat("--output", "json", "-e", event, "--", "sh", "-c",
                         'printf "\\n\\n" > "$0" && exec "$@" < "$0"',
                         cleanup.enter_context(tempfile.NamedTemporaryFile()).name, *run)
            below = stat("--output", "json", "-e", event, "--", "sh", "-c",
                         'printf "\\n\\n" | "$@" && yes | head -n 3000000 | tail -n 1', "sh", *run)

        self.assertEqual((alone.returncode, below.returncode), (0, 0), below.stderr)
        self.assertEqual(counts(alone.stderr)[event]["estimate"], 1000)
        self.assertEqual(counts(alone.stderr)[event]["coverage"], "complete")
        self.assertEqual(counts(below.stderr)[event]["coverage"], "incomplete")
        self.assertRegex(below.stderr, "did not count threads and children that started later")

    def require_probes(self, event):
        harness.require(stat("-e", event, "--", "true").returncode == 0, "uprobes cannot be counted")

    def test_leaves_standard_output_to_the_command(self):
        ended = stat("-e", "page-faults", "--", "echo", "of the command")
        self.assertEqual(ended.stdout, "of the command\n")
        self.assertIn("perf_cgroup_page_faults_total", ended.stderr)

    def test_starts_a_line_behind_an_unfinished_one_of_the_command(self):
        for output in ("text", "json"):
            ended = stat("--output", output, "-e", "page-faults", "--", "sh", "-c",
                         "printf unfinished >&2")
            line, _, result = ended.stderr.partition("\n")
            self.assertEqual(line, "unfinished")
            self.assertRegex(result, "^(GROUP|{)")

    def test_its_own_messages_have_its_name(self):
        ended = stat("-e", "page-faults", "--", "/nonexistent")
        self.assertTrue(ended.stderr.startswith("perf_event_exporter: execute"), ended.stderr)

    def test_gives_the_command_the_default_action_of_sigpipe(self):
        ended = stat("-e", "page-faults", "--", "sh", "-c", "yes | head -1")
        self.assertEqual(ended.stdout, "y\n")
        self.assertNotIn("Broken pipe", ended.stderr)

    def test_leaves_the_limits_of_the_command_as_they_were(self):
        command = ("sh", "-c", "ulimit -Sn 512; exec \"$0\" stat -e page-faults -- sh -c 'ulimit -n'",
                   harness.daemon_binary)
        self.assertEqual(subprocess.run(command, text=True, capture_output=True,
                                        check=True).stdout, "512\n")

    def test_counts_a_process_until_it_ends(self):
        with harness.Process(["sleep", "1000"]) as sleeper:
            counting = self.enterContext(harness.Process(
                [harness.daemon_binary, "stat", "-e", "task-clock", "-p", str(sleeper.pid)],
                stdout=subprocess.PIPE))
            harness.until("counters", lambda: perf_events.opened_by(counting.pid) > 0)
            counting.await_state("S")
            sleeper.child.kill()
            text, _ = counting.child.communicate(timeout=harness.PATIENCE)
        self.assertEqual(counting.child.returncode, 0)
        self.assertIn("perf_cgroup_task_clock_seconds_total", text)

    def test_a_command_that_creates_many_processes_is_counted_but_for_their_ends(self):
        before = faults_of_children()
        ended = stat("--output", "json", "-e", "page-faults,task-clock", "--", "sh", "-c",
                     f"for i in $(seq {PROCESSES}); do /bin/true; done")
        between = faults_of_children()
        alone = counts(stat("--output", "json", "-e", "page-faults", "--", "true").stderr)
        of_stat = faults_of_children() - between - alone["page-faults"]["estimate"]
        true = between - before - of_stat
        counted = counts(ended.stderr)
        self.assertAlmostEqual(counted["page-faults"]["estimate"], true, delta=true / 20)
        warnings = json.loads(ended.stderr.splitlines()[-1])["warnings"]
        self.assertLessEqual(len(warnings), 1, warnings)
        for warning in warnings:
            self.assertIn("while it frees its memory", warning)
        self.assertEqual({event["coverage"] for event in counted.values()},
                         {"incomplete" if warnings else "complete"})


class SignalsTest(unittest.TestCase):
    def setUp(self):
        harness.require_events("page-faults")

    def start(self, *command):
        """The program once its command runs, and the command's number."""
        process = self.enterContext(harness.Process(
            [harness.daemon_binary, "stat", "-e", "page-faults", "--", *command],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        self.addCleanup(process.child.stderr.close)
        child = child_of(process.pid)
        await_program(child, os.path.basename(os.path.realpath(shutil.which(command[0]))))
        return process.child, child

    def test_a_signal_is_passed_on_and_the_counts_are_printed(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            with self.subTest(number):
                process, child = self.start("sleep", "1000")
                process.send_signal(number)
                _, text = process.communicate(timeout=harness.PATIENCE)
                self.assertEqual(process.returncode, 128 + number)
                self.assertIn(f"signal {int(number)} ended the command", text)
                self.assertFalse(os.path.exists(f"/proc/{child}"))

    def test_a_signal_before_its_start_leaves_the_command_out(self):
        def be_interrupted():  # the signal stays pending over exec
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
            os.kill(os.getpid(), signal.SIGTERM)
        ended = stat("-e", "page-faults", "--", "echo", "ran", preexec_fn=be_interrupted)
        self.assertEqual(ended.returncode, 128 + signal.SIGTERM)
        self.assertEqual(ended.stdout, "")
        self.assertIn("interrupted before the command was run", ended.stderr)

    def test_has_the_status_of_a_command_where_children_are_ignored(self):
        def ignore_children():
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        ended = stat("-e", "page-faults", "--", "sh", "-c", "exit 7", preexec_fn=ignore_children)
        self.assertEqual(ended.returncode, 7, ended.stderr)
        ended = stat("-e", "page-faults", "--", "grep", "SigIgn", "/proc/self/status",
                     preexec_fn=ignore_children)
        self.assertTrue(int(ended.stdout.split()[1], 16) & 1 << signal.SIGCHLD - 1)

    def test_control_c_ends_both_and_prints(self):
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(harness.daemon_binary, [harness.daemon_binary, "stat", "-e", "page-faults",
                                             "--", "sleep", "1000"])
        try:
            await_program(child_of(pid), os.path.basename(os.path.realpath(shutil.which("sleep"))))
            os.write(terminal, b"\x03")
            text = b""
            with contextlib.suppress(OSError):  # the terminal's last process has ended
                while some := os.read(terminal, 65536):
                    text += some
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
            _, status = os.waitpid(pid, 0)
            os.close(terminal)
        self.assertEqual(os.waitstatus_to_exitcode(status), 128 + signal.SIGINT)
        self.assertIn(b"perf_cgroup_page_faults_total", text)

    def test_a_signal_ends_the_counting_of_a_process_which_goes_on(self):
        with harness.Process(["sleep", "1000"]) as sleeper:
            for number in (signal.SIGINT, signal.SIGHUP):
                process = self.enterContext(harness.Process(
                    [harness.daemon_binary, "stat", "-e", "page-faults", "-p", str(sleeper.pid)],
                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)).child
                harness.until("counters", lambda pid=process.pid: perf_events.opened_by(pid) > 0)
                process.send_signal(number)
                text, _ = process.communicate(timeout=harness.PATIENCE)
                self.assertEqual(process.returncode, 0)
                self.assertIn("perf_cgroup_page_faults_total", text)
                self.assertIsNone(sleeper.child.poll())

    def test_a_command_does_not_outlive_a_program_that_is_killed(self):
        process, child = self.start("sleep", "1000")
        command = os.pidfd_open(child)
        self.addCleanup(os.close, command)
        process.kill()
        process.wait()
        ended, _, _ = select.select([command], [], [], harness.PATIENCE)
        self.assertTrue(ended)


class WithoutRightsTest(unittest.TestCase):
    """Of a user with none, as a person has who tries an event."""

    def setUp(self):
        harness.require_events("page-faults")
        level = int(harness.read_text("/proc/sys/kernel/perf_event_paranoid"))
        harness.require(level == USER_ONLY, f"kernel.perf_event_paranoid is {level}, not 2")
        self.scratch = self.enterContext(tempfile.TemporaryDirectory())
        os.chmod(self.scratch, 0o755)
        self.binary = shutil.copy(harness.daemon_binary, self.scratch)

    def stat(self, *args):
        return subprocess.run([*AS_NOBODY, self.binary, "stat", "--output", "json", *args], text=True,
                              capture_output=True, check=False)

    def test_an_own_command_is_counted_in_user_mode(self):
        ended = self.stat("-e", "page-faults:u", "--", "true")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertGreater(counts(ended.stderr)["page-faults:u"]["estimate"], 0)

    def test_what_the_kernel_does_is_refused_with_a_remedy(self):
        ended = self.stat("-e", "page-faults", "--", "true")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("in user mode only", counts(ended.stderr)["page-faults"]["reason"])

    def test_a_process_of_the_same_user_is_not_called_that_of_another(self):
        with harness.Process([*AS_NOBODY, "sleep", "1000"]) as sleeper:
            harness.until("it is nobody's", lambda: os.stat(f"/proc/{sleeper.pid}").st_uid == NOBODY)
            ended = self.stat("-e", "page-faults", "-p", str(sleeper.pid))
        reason = counts(ended.stdout)["page-faults"]["reason"]
        self.assertIn("too high for your own process", reason)
        self.assertNotIn("another user", reason)

    def test_a_process_of_another_user_is_refused_with_the_reason(self):
        with harness.Process(["sleep", "1000"]) as sleeper:
            ended = self.stat("-e", "page-faults:u", "-p", str(sleeper.pid))
        self.assertEqual(ended.returncode, 1)
        self.assertIn("belongs to another user", counts(ended.stdout)["page-faults:u"]["reason"])

    def program_of_another(self):
        program = shutil.copy(shutil.which("head"), self.scratch)
        os.chown(program, ANOTHER, ANOTHER)
        os.chmod(program, 0o4755)  # after chown, which removes the bit
        return [program, "-c", "4000000000", "/dev/zero"]

    def test_a_process_that_takes_the_rights_of_another_user_is_not_counted_as_zero(self):
        waits = f"read -r line; exec {' '.join(self.program_of_another())}"
        with harness.Process([*AS_NOBODY, "sh", "-c", waits], stdin=subprocess.PIPE,
                             stdout=subprocess.DEVNULL) as process, \
             harness.Process([*AS_NOBODY, self.binary, "stat", "--output", "json", "-e",
                              "page-faults:u", "-p", str(process.pid)],
                             stdout=subprocess.PIPE) as counting:
            harness.until("counters", lambda: perf_events.opened_by(counting.pid) > 0)
            counting.await_state("S")
            process.child.stdin.write("\n")
            process.child.stdin.flush()
            process.child.wait()
            text, _ = counting.child.communicate(timeout=harness.PATIENCE)
        event = counts(text)["page-faults:u"]
        self.assertIsNone(event["estimate"])
        self.assertIn("set-user-ID", event["reason"])

    def test_a_program_that_takes_the_rights_of_another_user_is_not_counted_as_zero(self):
        # It works for longer than the hypervisor may take the CPU while it starts, and is counted.
        ended = self.stat("-e", "page-faults:u", "--", "sh", "-c", 'exec "$@" >/dev/null', "sh",
                          *self.program_of_another())
        event = counts(ended.stderr)["page-faults:u"]
        self.assertIsNone(event["estimate"])
        self.assertIn("set-user-ID", event["reason"])


if __name__ == "__main__":
    harness.main()
