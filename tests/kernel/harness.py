"""The daemon against the real kernel: start it, scrape it, give it cgroups and work, end it.

Each test here is a program, `NAME_test.py DAEMON WORKLOAD`. What a machine cannot run is skipped
with the reason; a program of which nothing ran exits with 77, which CTest shows as skipped. Nothing
waits for a fixed time: everything is awaited, and gives up loudly.
"""

import contextlib
import functools
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import unittest
import urllib.error
import urllib.request

SKIPPED = 77
ALL_TESTS = "PEX_PROPERTY_SECONDS" in os.environ  # `./dev test --all`, which has more time than the gate
PATIENCE = 200.0  # seconds; only a test that fails takes this long, however busy the machine is
ATTEMPTS = 8      # of what a busy machine may disturb
ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

daemon_binary = None
workload_binary = None


def main():
    """Runs the tests of the calling program and exits with their verdict."""
    global daemon_binary, workload_binary
    daemon_binary, workload_binary = arguments("DAEMON_BINARY", "WORKLOAD_BINARY")
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)  # which a shell lets its background jobs ignore
    with contextlib.suppress(PermissionError, ProcessLookupError):
        os.setpriority(os.PRIO_PROCESS, 0, -5)  # the machine may be busy; our cadence matters
    run_tests(2)


def arguments(*names):
    """Paths that are given to the calling program."""
    if len(sys.argv) <= len(names):
        sys.exit(f"usage: {sys.argv[0]} {' '.join(names)} [TEST...]")
    return [os.path.abspath(each) for each in sys.argv[1:len(names) + 1]]


def run_tests(skipped):
    """Runs the tests of the calling program, whose names stand behind so many arguments, and exits with
    their verdict."""
    for number in ENDINGS:
        signal.signal(number, interrupt)
    runner = unittest.TextTestRunner(verbosity=2, resultclass=Result)
    exit_with(unittest.main(module="__main__", argv=[sys.argv[0], *sys.argv[1 + skipped:]], exit=False,
                            testRunner=runner).result)


def exit_with(result):
    for test, reason in result.skipped:
        print(f"SKIPPED: {test}: {reason}", flush=True)
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(SKIPPED if result.skipped and len(result.skipped) >= result.testsRun else 0)


class Interrupted(Exception):
    """We were told to end: the test under way fails, cleans up after itself, and is the last."""


def interrupt(number, _):
    for each in ENDINGS:  # cleaning up is not to be interrupted
        signal.signal(each, lambda *_: None)
    raise Interrupted(signal.Signals(number).name)


class Result(unittest.TextTestResult):
    def addError(self, test, err):
        super().addError(test, err)
        self._stop_if_interrupted(err)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        self._stop_if_interrupted(err)

    def _stop_if_interrupted(self, err):
        if err and issubclass(err[0], Interrupted):
            self.failfast = True  # ends a test that has more subtests
            self.stop()


def until(what, condition, patience=PATIENCE, pause=0.02):
    """The first true value of `condition()`; fails naming `what` when there is none in time."""
    deadline = time.monotonic() + patience
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {patience} s in vain: {what}")
        time.sleep(pause)


def read_text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write_text(path, text):
    """Returns the path."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def run(*args, config=None, wrapper=(), **options):
    """A command of the daemon, run to its end; `config` is the text of its configuration."""
    command = [*wrapper, daemon_binary, *map(str, args)]
    options = {"capture_output": True, "text": True, "stdin": subprocess.DEVNULL, "timeout": PATIENCE,
               "check": False, **options}
    if config is None:
        return subprocess.run(command, **options)
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(config)
        file.flush()
        return subprocess.run([*command, f"--config.file={file.name}"], **options)


def in_a_process(work):
    """Calls it in a process of its own, and waits for the end of that."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


def burn(tree, cgroup, seconds):
    """A process joins the cgroup, uses so much CPU time and ends."""
    def work():
        tree.join(cgroup)
        while time.process_time() < seconds:
            pass
    in_a_process(work)


# --------------------------------------------------------------------------------------------------
# A busy machine


class Disturbed(Exception):
    """The machine disturbed an attempt, which therefore proves nothing. The message says how."""


class Unwritten(Disturbed):
    """The kernel wrote no record of a switch. Some virtual machines do that, however idle they are."""


def undisturbed(attempt, attempts=ATTEMPTS):
    """Returns what `attempt()` returns, the first time that nothing disturbs it. Prints what did. Fails
    if each attempt was disturbed; skips if the cause of all was a kernel that leaves out records."""
    reasons = []
    for number in range(1, attempts + 1):
        try:
            return attempt()
        except Disturbed as disturbance:
            reasons.append(disturbance)
            print(f"\nattempt {number} of {attempts} was disturbed: {disturbance}", flush=True)
    text = f"each of {attempts} attempts was disturbed, the last one because {reasons[-1]}"
    if all(isinstance(reason, Unwritten) for reason in reasons):
        raise unittest.SkipTest(text)
    raise AssertionError(text)


def unmeasured(before, after, group="software", **labels):
    """Seconds of a row of groups whose events were not counted, between two scrapes."""
    enabled, running = (after.since(before, f"perf_group_{name}_seconds_total", group=group, **labels)
                        for name in ("enabled", "running"))
    return enabled - running


def check_measured(before, after, *cgroups):
    """Raises if something that `cgroups` did between two scrapes of a daemon was not counted, and records
    of switches are missing: the events around one are not."""
    missing = sum(unmeasured(before, after, cgroup=cgroup) for cgroup in cgroups)
    if missing < 1e-9:
        return
    lost, skipped = (after.records(outcome) - before.records(outcome)
                     for outcome in ("lost", "skipped"))
    if lost:
        raise Disturbed(f"{missing:.6f} s were not measured: no room for {lost:.0f} records")
    if skipped:
        raise Unwritten(f"{missing:.6f} s were not measured: the kernel wrote no record of {skipped:.0f} "
                        "switches")


def stolen():
    """CPU time in seconds that the hypervisor took from all CPUs since boot (proc_stat(5))."""
    fields = read_text("/proc/stat").partition("\n")[0].split()
    return int(fields[8]) / os.sysconf("SC_CLK_TCK")


def waited(pid):
    """Seconds for which threads of a process were ready to run and had no CPU."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # ended meanwhile
            total += int(read_text(f"/proc/{pid}/task/{task}/schedstat").split()[1])
    return total / 1e9


class Stopwatch:
    """Measures the time that passes while a process could go on: without the time for which its threads
    or this one waited for a CPU, or the hypervisor had it."""

    def __init__(self, pid):
        self.pid = pid
        self.begin, self.before = time.monotonic(), self._taken()
        self.taken = 0.0

    def _taken(self):
        return waited(self.pid) + waited(os.getpid()) + stolen()

    def seconds(self):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the process has ended
            self.taken = max(self.taken, self._taken() - self.before)
        return max(0.0, time.monotonic() - self.begin - self.taken)


# --------------------------------------------------------------------------------------------------
# What the machine must have


def require(condition, reason):
    if not condition:
        raise unittest.SkipTest(reason)


def require_root():
    require(os.geteuid() == 0, "needs root")


def require_events(*events):
    """Skips unless the daemon can open `events` here: seccomp and old kernels forbid it."""
    require_root()
    listed = run("list", "--output", "json")
    here = {event["event"] for event in json.loads(listed.stdout) if event["available"]}
    missing = sorted(set(events) - here)
    require(not missing, f"this machine cannot count {', '.join(missing)}")


def require_perfmon_to_matter():
    """Skips where a process with CAP_PERFMON and no more may not count, and where one without may."""
    level = int(read_text("/proc/sys/kernel/perf_event_paranoid"))
    require(level in (1, 2), f"kernel.perf_event_paranoid is {level}, at which CAP_PERFMON makes no "
                             "difference; sysctl kernel.perf_event_paranoid=2 makes it run")


@functools.cache
def is_instrumented():
    """Whether the daemon was built with a sanitizer of addresses or threads."""
    with open(daemon_binary, "rb") as binary:
        content = binary.read()
    return b"__asan_init" in content or b"__tsan_init" in content


def require_mounts():
    require_root()
    require(may_mount("tmpfs", "/mnt"), "needs to be let mount file systems")


def may_mount(kind, point, *options):
    """Tried where nobody sees it."""
    tried = subprocess.run(["unshare", "--mount", "--propagation", "private", "mount", "-t", kind,
                            *options, kind, point], capture_output=True, check=False)
    return tried.returncode == 0


def online_cpus():
    cpus = set()
    for part in read_text("/sys/devices/system/cpu/online").strip().split(","):
        first, _, last = part.partition("-")
        cpus.update(range(int(first), int(last or first) + 1))
    return cpus


def require_cpus(*cpus):
    missing = set(cpus) - (online_cpus() & os.sched_getaffinity(0))
    require(not missing, f"needs the CPUs {sorted(missing)}")


def mounts():
    """(mount point, file system, its options) of each mount that we see."""
    for line in read_text("/proc/self/mountinfo").splitlines():
        left, _, right = line.partition(" - ")
        kind, _, options = right.split(maxsplit=2)
        yield left.split()[4], kind, options.split(",")


def v1_mount(controller):
    """Mount point of the version 1 hierarchy that carries `controller`; None if there is none."""
    return next((point for point, kind, options in mounts()
                 if kind == "cgroup" and controller in options), None)


def hierarchy():
    """Mount point of the cgroup hierarchy of the perf_event controller, and whether it is v2."""
    v1 = v1_mount("perf_event")
    if v1:
        return v1, False
    v2 = next((point for point, kind, _ in mounts() if kind == "cgroup2"), None)
    require(v2, "no mounted cgroup hierarchy has the perf_event controller")
    return v2, True


def v1_controllers():
    """Name -> (number of its hierarchy, 0 for v2; cgroups in that, removed ones too that something
    still holds), of /proc/cgroups (cgroups(7))."""
    rows = (line.split() for line in read_text("/proc/cgroups").splitlines()[1:])
    return {name: (int(number), int(cgroups)) for name, number, cgroups, _ in rows}


# --------------------------------------------------------------------------------------------------
# cgroups and what runs in them


class CgroupTree:
    """A cgroup of the test's own, with cgroups below it; all are emptied and removed at the end."""

    def __init__(self, subject):
        require_root()
        self.mount, self.is_v2 = hierarchy()
        self.path = f"/{name_of_trees(os.getpid())}{subject}"
        self.directory = self.mount + self.path
        self.pattern = self.path + "/*"  # for cgroups.include

    def __enter__(self):
        try:
            os.mkdir(self.directory)
        except OSError as error:
            self.__exit__()
            raise unittest.SkipTest(f"cannot make cgroups: {error}") from error
        return self

    def __exit__(self, *_):
        remove_tree(self.directory)

    def make(self, name):
        """A new cgroup; returns its path as the daemon labels it."""
        path = f"{self.path}/{name}"
        os.mkdir(self.mount + path)
        return path

    def remove(self, path):
        remove_cgroup(self.mount + path)

    def join(self, path):
        """Moves the calling process, which may have been forked just now."""
        with open(f"{self.mount}{path}/cgroup.procs", "wb", buffering=0) as procs:
            procs.write(b"0")

    def dying(self):
        """Removed cgroups that something still holds: below ours, on v1 in the whole hierarchy,
        which must be mounted from its root."""
        if self.is_v2:
            return number_in(f"{self.directory}/cgroup.stat", "nr_dying_descendants")
        return v1_controllers()["perf_event"][1] - sum(1 for _ in os.walk(self.mount))


def name_of_trees(pid):
    """What the names of the cgroups begin with that a test program made."""
    return f"pex_test_{pid}_"


def number_in(path, key):
    """Of a line "key number" in a file of the kernel's."""
    return int(re.search(rf"^{key} (\d+)$", read_text(path), re.MULTILINE)[1])


def remove_tree(directory):
    for each, _, _ in os.walk(directory, topdown=False):
        remove_cgroup(each)


def remove_cgroup(directory):
    def removed():
        try:
            os.rmdir(directory)
        except FileNotFoundError:
            pass
        except OSError:  # busy until the last process in it has been reaped
            with contextlib.suppress(OSError):
                for pid in read_text(f"{directory}/cgroup.procs").split():
                    os.kill(int(pid), signal.SIGKILL)
            return False
        return True

    until(f"removal of {directory}", removed)


class Process:
    """A child process that ends with the test. Its numbers come from /proc, where they are exact as
    long as it is blocked or stopped."""

    def __init__(self, command, **options):
        self.child = subprocess.Popen(command, text=True, **options)
        self.pid = self.child.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            self.child.kill()
        self.child.wait()
        for stream in (self.child.stdin, self.child.stdout):
            if stream:
                stream.close()

    def _stat(self):
        return read_text(f"/proc/{self.pid}/stat").rpartition(")")[2].split()

    def minor_faults(self):
        return int(self._stat()[7])

    def await_state(self, state):
        until(f"state {state} of process {self.pid}", lambda: self._stat()[0] == state)

    def stop(self):
        os.kill(self.pid, signal.SIGSTOP)
        self.await_state("T")

    def go_on(self):
        os.kill(self.pid, signal.SIGCONT)

    def usage(self):
        """What the kernel has charged to it, in the names of our metrics (proc_pid_stat(5))."""
        status = dict(line.split(":\t", 1)
                      for line in read_text(f"/proc/{self.pid}/status").splitlines())
        fields = self._stat()
        return {
            "context_switches": int(status["voluntary_ctxt_switches"])
                                + int(status["nonvoluntary_ctxt_switches"]),
            "minor_faults": int(fields[7]),
            "major_faults": int(fields[9]),
            "task_clock_seconds": int(read_text(f"/proc/{self.pid}/schedstat").split()[0]) / 1e9,
        }


class Workload(Process):
    """workload.cc, which see: blocked in `cgroup`, until it is let go."""

    def __init__(self, tree, cgroup, *amounts):
        # By records, what a task did on its CPU before it moved, since the last switch between two
        # cgroups there, belongs to the cgroup that it is in at the next one. So it starts next to
        # it.
        start = functools.partial(tree.join, tree.path) if BY_RECORDS else None
        super().__init__([workload_binary, tree.mount + cgroup, *map(str, amounts)],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=start)
        if self.child.stdout.readline() != "waiting\n":
            self.__exit__()
            raise AssertionError("the workload did not start")
        self.await_state("S")

    def run(self):
        """Lets it work; returns what it saw itself, once it is blocked again."""
        self.child.stdin.write("\n")
        self.child.stdin.flush()
        line = self.child.stdout.readline()
        if not line:
            raise AssertionError("the workload ended halfway")
        self.await_state("S")
        return {key: int(value) for key, _, value in
                (pair.partition("=") for pair in line.split())}


def busy_loop(tree, cgroup, cpu):
    """A process that computes without end in `cgroup` on `cpu`, before most others."""
    loop = "while True: pass"

    def prepare():
        tree.join(cgroup)
        os.sched_setaffinity(0, {cpu})
        with contextlib.suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, -10)

    return Process([sys.executable, "-S", "-c", loop], preexec_fn=prepare)


def touches_pages(tree, cgroup):
    """A process in `cgroup` that sleeps, and touches pages that it gives back, without end."""
    loop = """
import mmap, time
while True:
    with mmap.mmap(-1, 64 * 4096) as pages:
        for at in range(0, len(pages), 4096):
            pages[at] = 1
    time.sleep(0.001)
"""
    return Process([sys.executable, "-S", "-c", loop], preexec_fn=lambda: tree.join(cgroup))


class SwitchingPair(Process):
    """Two processes, in a cgroup each, that pass a byte to and fro on one CPU: next to nothing but switches
    between cgroups."""

    LOOP = """
import os, sys
(mine, theirs), (others, ours) = os.pipe(), os.pipe()
is_first = os.fork() > 0
with open(sys.argv[1 if is_first else 2], "w") as procs:
    procs.write("0")
while is_first and os.write(theirs, b"x"):
    os.read(others, 1)
while os.read(mine, 1):
    os.write(ours, b"x")
"""

    def __init__(self, tree, cgroups, cpu):
        procs = [f"{tree.mount}{cgroup}/cgroup.procs" for cgroup in cgroups]
        super().__init__([sys.executable, "-S", "-c", self.LOOP, *procs], start_new_session=True,
                         preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))

    def __exit__(self, *_):
        self.signal(signal.SIGKILL)
        super().__exit__()

    def signal(self, number):
        os.killpg(self.pid, number)


def switch_often(tree, cgroup, cpu, times=200):
    """The CPU goes from its idle task, which is in the root, to one in `cgroup`, and back."""
    def prepare():
        tree.join(cgroup)
        os.sched_setaffinity(0, {cpu})

    script = f"import time\nfor _ in range({times}): time.sleep(1e-4)"
    subprocess.run([sys.executable, "-S", "-c", script], preexec_fn=prepare, check=True)


# --------------------------------------------------------------------------------------------------
# The daemon


class Scrape(dict):
    """(name, sorted labels) -> value. Fails on a line that is no sample and on a second sample."""

    SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)")
    LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"(?:,|$)')

    def __init__(self, text):
        super().__init__()
        self.text = text
        for line in text.splitlines():
            if line.startswith("#"):
                continue
            match = self.SAMPLE.fullmatch(line)
            if not match:
                raise AssertionError(f"not a sample: {line!r}")
            name, labels, value = match.groups()
            series = (name, tuple(sorted(self.LABEL.findall(labels or ""))))
            if series in self:
                raise AssertionError(f"two samples of one series: {line!r}")
            self[series] = float(value)

    def value(self, name, **labels):
        return self[(name, tuple(sorted(labels.items())))]

    def since(self, before, name, **labels):
        """By how much a series has grown since another scrape."""
        return self.value(name, **labels) - before.value(name, **labels)

    def has(self, name, **labels):
        return (name, tuple(sorted(labels.items()))) in self

    def records(self, outcome):
        """Of switches between cgroups, on all CPUs: read, lost (no room) or skipped (not written)."""
        name = "perf_event_exporter_switch_records_total"
        return sum(value for (_, labels), value in self.with_name(name).items()
                   if dict(labels)["outcome"] == outcome)

    def unrecorded(self):
        """Switches between cgroups whose records are missing, whether the kernel says so or not."""
        return self.records("lost") + self.records("skipped")

    def late_polls(self):
        """Of all CPUs: polls that were published with earlier totals of one."""
        return sum(self.with_name("perf_event_exporter_cpu_late_polls_total").values())

    def standstills(self):
        """Groups of whole CPUs that the kernel did not schedule, as others count cgroups too: what they
        missed is unmeasured."""
        return self.problems("standstill")

    def is_refused(self, event, scope="cpu"):
        """Whether a configured event is not available. One that is available has no series."""
        return any(dict(labels)["event"] == event and dict(labels)["scope"] == scope for _, labels in
                   self.with_name("perf_event_exporter_event_refusal_info"))

    def problems(self, problem, group=None):
        """Of the readings of a group, or of all: one that has not happened has no series."""
        return sum(value for (_, labels), value in self.with_name("perf_group_problems_total").items()
                   if dict(labels)["problem"] == problem and group in (None, dict(labels)["group"]))

    def with_name(self, prefix):
        return {series: value for series, value in self.items() if series[0].startswith(prefix)}


class Repeated(threading.Thread):
    """Calls `once()` each `every` seconds while it is open, and keeps what failed."""

    every = 1.0

    def __init__(self):
        super().__init__(name=type(self).__name__)
        self.ending = threading.Event()
        self.problems = []

    def pause(self):
        return self.every

    def run(self):
        while not self.ending.wait(self.pause()):
            try:
                self.once()
            except Exception:  # pylint: disable=broad-except
                self.problems.append(f"{self.name}: {traceback.format_exc()}")

    def once(self):
        raise NotImplementedError

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ending.set()
        self.join()


class Falls:
    """Looks at scrape after scrape for a counter that is lower than it has ever been."""

    def __init__(self):
        self.highest = {}
        self.found = []

    def look_at(self, scrape):
        for series, value in scrape.items():
            if not series[0].endswith("_total"):
                continue
            if value < self.highest.get(series, value):
                self.found.append(f"{series}: {self.highest[series]} -> {value}")
            self.highest[series] = value


# auto, records, descriptors: how cgroups are counted where a test's configuration does not say it.
# Not auto unless a test asks for it: its descriptors differ from machine to machine.
CGROUP_SOURCE = os.environ.get("PEX_TEST_CGROUP_SOURCE", "descriptors")
BY_RECORDS = CGROUP_SOURCE == "records"


def with_cgroup_source(config):
    if "source:" in config:
        return config
    return re.sub(r"^cgroups: *(\{|$)", lambda found: (
        f"cgroups: {{source: {CGROUP_SOURCE}, " if found[1] else
        f"cgroups:\n  source: {CGROUP_SOURCE}"), config, flags=re.MULTILINE)


def config_of(*, events, interval="100ms", scope="[cpu, cgroup]", include=(), linger="60s"):
    """A configuration with one group."""
    lines = [f"collection: {{interval: {interval}}}",
             "groups:",
             f"  - {{name: software, events: [{', '.join(events)}], scope: {scope}}}"]
    if include:
        patterns = ", ".join(f'"{pattern}"' for pattern in include)
        lines.append(f"cgroups: {{include: [{patterns}], linger: {linger}}}")
    return "\n".join([*lines, ""])


_kept = []  # sockets


def free_port():
    """Nobody else is given it, as a socket of ours stays bound to it. That one never listens, so whoever
    names the port may listen there, with SO_REUSEADDR."""
    keeper = socket.socket()
    keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    keeper.bind(("127.0.0.1", 0))
    _kept.append(keeper)
    return keeper.getsockname()[1]


def why_sizes_differ(status):
    """Why a daemon with this status may have other counters open than `size` prints; None: it has
    those."""
    cgroups, machine = status["cgroups"], status["machine"]
    if cgroups["counted"] is None:
        return "no poll has ended"
    for state in ("waiting", "lingering", "left_out", "idle"):
        if cgroups[state]:
            return f"{cgroups[state]} cgroups: {state}"
    if any(group["coverage_ratio"] not in (1, None) for group in status["groups"]):
        return "counters are refused"
    if machine["late_cpus"] or (cgroups["cpus_by_records"] and cgroups["cpus_by_descriptors"]):
        return "CPUs differ"
    return None


def printed_sizes(config, cgroups):
    """What `size` prints with so many cgroups: way of counting -> what -> text. It ends with 1 where
    that does not fit into the limits."""
    ended = run("size", f"--cgroups={cgroups}", config=config)
    rows = [re.split(r"  +", line.rstrip()) for line in ended.stdout.splitlines() if "  " in line]
    if not rows or rows[0][0]:
        raise AssertionError(f"size ended with {ended.returncode}: {ended.stdout}{ended.stderr}")
    ways = rows[0][1:]
    return {way: {row[0]: row[1 + place] for row in rows[1:]} for place, way in enumerate(ways)}


@functools.cache
def counters_of(config, cgroups, by_records):
    """As `size` prints it for the text of a configuration; None: it does not, as this is not the way of
    counting that is configured."""
    of_way = printed_sizes(config, cgroups).get("by records" if by_records else "by descriptors")
    return of_way and int(of_way["counters"])


class Daemon:
    """The daemon over `config` on a loopback port, from ready to a clean end.

    `wrapper` is put before its command, `command` replaces its binary, a file at `config_path` the
    one that is written, `options` go to Popen. It is
    asked over TLS where there is a context `tls`, and with `headers` in each request. Where it
    `listens` to nothing by itself, sockets for its port are handed to it.
    """

    ready = "/-/ready"  # answers with 200 once the test may begin

    def __init__(self, config, *args, wrapper=(), command=None, config_path=None, port=None,
                 tls=None, headers=None, listens=True, **options):
        self.scratch = tempfile.mkdtemp(prefix="pex_test_")
        os.chmod(self.scratch, 0o755)
        self.config_path = config_path or f"{self.scratch}/config.yaml"
        if not config_path:
            self.write_config(config)
        self.address = f"127.0.0.1:{port or free_port()}"
        listen = [f"--web.listen-address={self.address}"] if listens else []
        self.command = [*wrapper, command or daemon_binary, f"--config.file={self.config_path}",
                        *listen, *args]
        self.tls = tls
        self.headers = headers or {}
        self.options = options
        self.child = None
        self.is_plain = not (wrapper or command or tls or headers or options) and all(
            each.startswith("--log.") for each in args)

    def __enter__(self):
        try:
            with open(f"{self.scratch}/stderr", "w", encoding="utf-8") as stderr:
                self.child = subprocess.Popen(self.command, stderr=stderr,
                                              stdin=subprocess.DEVNULL, **self.options)
            until("readiness", self._is_ready)
            if BY_RECORDS:
                self.await_source()
            if self.is_plain and not is_instrumented():
                self.check_size()
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        return self

    def __exit__(self, failure, *_):
        try:
            if self.child and failure is None and self.child.poll() is None:
                self.terminate()
        finally:
            if self.child:
                self.child.kill()
                self.child.wait()
            if self.child and failure and not issubclass(failure, (Disturbed, unittest.SkipTest)):
                print("stderr of the daemon:\n" + self.stderr(), file=sys.stderr)
            shutil.rmtree(self.scratch)

    @property
    def pid(self):
        return self.child.pid

    def write_config(self, text):
        """Another file in its place, as --config.watch wants it."""
        new = self.config_path + ".new"
        write_text(new, with_cgroup_source(text))
        os.chmod(new, 0o644)  # whoever it runs as
        os.rename(new, self.config_path)

    def _is_ready(self):
        if self.child.poll() is not None:
            raise AssertionError(f"ended with {self.child.returncode} instead of getting ready")
        try:
            return self.get(self.ready)[0] == 200
        except (ConnectionError, urllib.error.URLError):
            return False

    def await_source(self):
        """Where a CPU does not write all records, the daemon finds that out once there are many, by
        an interval of which a part is estimated, and counts by descriptors there from then on."""
        if not self.scrape().with_name("perf_event_exporter_cgroup_source_cpus"):
            return  # no cgroups are counted
        with CgroupTree("records") as tree:
            for cpu in online_cpus():
                switch_often(tree, tree.make(str(cpu)), cpu)
        self.scrape_after_polls()

    def check_size(self, patience=PATIENCE):
        """`size` prints what is open, in whatever test a daemon is started. Returns why this cannot
        be compared; None: it was, and is so. It is not where something is refused, waits or ends.
        Other programs may create cgroups between two looks."""
        deadline = time.monotonic() + patience
        while True:
            status = self.status()
            reason = why_sizes_differ(status)
            if reason:
                return reason
            cgroups, by_records = status["cgroups"], status["cgroups"]["cpus_by_records"] > 0
            counters = counters_of(read_text(self.config_path), cgroups["counted"], by_records)
            if counters is None:
                return "records were given up"
            opened = status["limits"]["open_events"]
            # By records, less a comparison with descriptors, which takes some ms a minute, and a base
            # without events.
            if opened == counters or (by_records and counters / 2 < opened < counters):
                return None
            if time.monotonic() > deadline:
                raise AssertionError(f"size prints {counters} counters with {cgroups['counted']} "
                                     f"cgroups, and {opened} are open")
            time.sleep(0.1)

    def get(self, path):
        """Status and text of one GET on a connection of its own."""
        url = f"{'https' if self.tls else 'http'}://{self.address}{path}"
        request = urllib.request.Request(url, headers=self.headers)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE, context=self.tls) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as answer:
            with answer:
                return answer.code, answer.read().decode()

    def status(self):
        code, text = self.get("/api/v1/status")
        if code != 200:
            raise AssertionError(f"the status answered with {code}: {text}")
        return json.loads(text)

    def scrape(self):
        status, text = self.get("/metrics")
        if status != 200:
            raise AssertionError(f"scrape answered with {status}: {text}")
        return Scrape(text)

    def scrape_when(self, what, condition):
        """The first scrape of which `condition` is true."""
        def scraped():
            scrape = self.scrape()
            return scrape if condition(scrape) else None
        return until(what, scraped)

    def scrape_after_polls(self, polls=2):
        """A scrape of counts that were all read after this call: a poll may be under way now, the
        one after it began later. Begins again after a poll in which a CPU was late: it has earlier
        totals of that CPU."""
        name = "perf_event_exporter_polls_total"
        first = self.scrape()

        def is_later(scrape):
            nonlocal first
            if scrape.late_polls() != first.late_polls():
                first = scrape
            return scrape.value(name) >= first.value(name) + polls
        return self.scrape_when(f"{polls} more polls in which no CPU is late", is_later)

    def open_fds(self):
        """Descriptors but for sockets: a connection just closed by us may still be open there."""
        return sum(not target.startswith("socket:") for target in self._fds())

    def open_sockets(self):
        """The listening one, and one for each connection."""
        return sum(target.startswith("socket:") for target in self._fds())

    def _fds(self):
        directory, targets = f"/proc/{self.pid}/fd", []
        for fd in os.listdir(directory):
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                targets.append(os.readlink(f"{directory}/{fd}"))
        return targets

    def cpu_seconds(self):
        """What it has used so far, of user and system."""
        fields = read_text(f"/proc/{self.pid}/stat").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_bytes(self):
        return int(read_text(f"/proc/{self.pid}/statm").split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def stderr(self):
        """What it has logged so far. The log is written by a thread of its own: a line may come later
        than what a scrape or the status shows of its cause."""
        return read_text(f"{self.scratch}/stderr")

    def logged(self, *fragments):
        """The lines with all of these, once there is one."""
        return until(f"a line of the log with {fragments}", lambda: [
            line for line in self.stderr().splitlines()
            if all(fragment in line for fragment in fragments)])

    def lines(self, level):
        """What the daemon logged, but for CPUs that gave it no time: that is the machine's load, and
        its counts are right all the same. And but for patterns of cgroups that a test makes later,
        and for machines that do not write all records."""
        return [line for line in self.stderr().splitlines()
                if f" level={level} " in line and "not responded for" not in line
                and "the kernel wrote no record of" not in line
                and "matched no cgroup when the configuration was loaded" not in line]

    def send(self, number):
        self.child.send_signal(number)

    def wait(self, within=PATIENCE):
        """Its exit status; `within` seconds in which it could go on."""
        stopwatch = Stopwatch(self.pid)
        while self.child.poll() is None:
            if stopwatch.seconds() > within:
                raise AssertionError(f"did not end within {within} s")
            time.sleep(0.01)
        return self.child.returncode

    def terminate(self, number=signal.SIGTERM, within=PATIENCE):
        """Ends it; fails unless it ends cleanly. Sanitizers report on stderr."""
        self.send(number)
        status = self.wait(within)
        stderr = self.stderr()
        if status != 0 or "Sanitizer" in stderr or "runtime error:" in stderr:
            raise AssertionError(f"ended with status {status}:\n{stderr}")
