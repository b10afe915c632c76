"""What an exporter does on a machine that is overloaded: how late its polls are, how long scrapes take,
and whether it reports both. In each condition, with each means that a unit or a manifest could choose.

  bench_overload DAEMON [--seconds N] [--condition NAME]... [--means NAME]...

As root, on a machine without other work. The client has a real-time priority above all others, so that
what it waits for is the exporter.
"""

import argparse
import contextlib
import ctypes
import http.client
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "kernel"))

import harness  # noqa: E402

EVENTS = ["context-switches", "cpu-migrations", "minor-faults", "major-faults", "task-clock"]
CGROUPS = 50
INTERVAL = 1.0  # seconds
BETWEEN_SCRAPES = 0.1
SPINNERS = 4  # on each CPU
REALTIME = 50  # priority of the loop; the client's is above
HEADROOM = 16 * 2**20  # of memory, for a process that reads a file
FILE_MIB = 256
QUOTA_US, PERIOD_US = 5_000, 100_000
SLICE_NS = 100_000
SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}[os.uname().machine]


# --------------------------------------------------------------------------------------------------
# limits on what a cgroup gets, by either version


class Control:
    """A cgroup of a controller, removed at the end with what is in it."""

    def __init__(self, controller, name):
        mount = harness.v1_mount(controller)
        self.is_v2 = mount is None
        if self.is_v2:
            mount, _ = harness.hierarchy()
            (pathlib.Path(mount) / "cgroup.subtree_control").write_text(f"+{controller}")
        self.directory = pathlib.Path(mount) / f"pex_bench_{os.getpid()}_{name}"

    def __enter__(self):
        self.directory.mkdir()
        return self

    def __exit__(self, *_):
        harness.remove_tree(str(self.directory))

    def write(self, name, value):
        (self.directory / name).write_text(str(value))

    def take(self, pid):
        self.write("cgroup.procs", pid)

    def set_weight(self, weight):
        """1 to 10 000, 100 by default; version 1 has 1024 shares by default."""
        if self.is_v2:
            return self.write("cpu.weight", max(1, round(weight)))
        self.write("cpu.shares", max(2, round(weight * 1024 / 100)))

    def set_quota(self, quota_us, period_us):
        if self.is_v2:
            return self.write("cpu.max", f"{quota_us} {period_us}")
        self.write("cpu.cfs_period_us", period_us)
        self.write("cpu.cfs_quota_us", quota_us)

    def used_memory(self):
        name = "memory.current" if self.is_v2 else "memory.usage_in_bytes"
        return int((self.directory / name).read_text())

    def limit_memory(self, limit):
        self.write("memory.high" if self.is_v2 else "memory.limit_in_bytes", limit)


def spin():
    pid = os.fork()
    if pid == 0:
        while True:
            pass
    return pid


@contextlib.contextmanager
def spinning(cpus, number=1, control=None, realtime=0):
    """Processes that never sleep, so many on each CPU."""
    pids = []
    try:
        for cpu in cpus:
            for _ in range(number):
                pid = spin()
                pids.append(pid)
                os.sched_setaffinity(pid, {cpu})
                if control:
                    control.take(pid)
                if realtime:
                    os.sched_setscheduler(pid, os.SCHED_FIFO, os.sched_param(realtime))
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


# --------------------------------------------------------------------------------------------------
# conditions: (what is done to the exporter, for its process)


@contextlib.contextmanager
def quiet(_):
    yield


@contextlib.contextmanager
def threads_that_spin(_):
    with spinning(harness.online_cpus(), SPINNERS):
        yield


def weight(light_weight, heavy_weight):
    """Its cgroup, next to one that wants all CPUs."""
    @contextlib.contextmanager
    def limited(daemon):
        with Control("cpu", "light") as light, Control("cpu", "heavy") as heavy:
            light.set_weight(getattr(daemon, "weight", light_weight))
            heavy.set_weight(heavy_weight)
            light.take(daemon.pid)
            with spinning(harness.online_cpus(), SPINNERS, heavy):
                yield
            restore("cpu", daemon.pid)
    return limited


def weight_of(millicpus):
    """Of a pod with such a request, of cgroups of version 1; version 2 has about the same."""
    return millicpus * 1024 / 1000 / 1024 * 100


@contextlib.contextmanager
def quota(daemon):
    """That another process of the same cgroup uses up."""
    with Control("cpu", "quota") as control:
        control.set_quota(QUOTA_US, PERIOD_US)
        control.take(daemon.pid)
        with spinning([max(harness.online_cpus())], 1, control):
            yield
        restore("cpu", daemon.pid)


@contextlib.contextmanager
def realtime_loop(_):
    with spinning([max(harness.online_cpus())], 1, realtime=REALTIME):
        yield


@contextlib.contextmanager
def memory(daemon):
    """Its cgroup has little more than it needs, and another process of the cgroup reads file after
    file: what can be reclaimed is, again and again, and that is its code too."""
    control = daemon.memory
    with tempfile.NamedTemporaryFile(dir=os.path.dirname(daemon.scratch)) as file:
        block = os.urandom(2**20)
        for _ in range(FILE_MIB):
            file.write(block)
        file.flush()
        os.sync()
        control.limit_memory(control.used_memory() + HEADROOM)
        with reading(file.name, control):
            yield
        control.limit_memory(2**40)


@contextlib.contextmanager
def reading(path, control):
    pid = os.fork()
    if pid == 0:
        control.take(os.getpid())
        while True:
            with open(path, "rb", buffering=0) as file:
                while file.read(2**20):
                    pass
    try:
        yield
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def restore(controller, pid):
    mount = harness.v1_mount(controller) or harness.hierarchy()[0]
    (pathlib.Path(mount) / "cgroup.procs").write_text(str(pid))


CONDITIONS = {
    "none": quiet,
    f"{SPINNERS} spinning threads on each CPU": threads_that_spin,
    "weight 1 next to 10 000": weight(1, 10_000),
    "pod next to one of 4 CPUs": weight(weight_of(20), weight_of(4_000)),
    f"quota of {QUOTA_US / PERIOD_US:.0%} used up": quota,
    "real-time loop on one CPU": realtime_loop,
    "memory reclaimed": memory,
}


# --------------------------------------------------------------------------------------------------
# means: what a unit could set for the exporter


def each_thread(pid, act):
    for thread in os.listdir(f"/proc/{pid}/task"):
        act(int(thread))


def default(_):
    pass


def cpu_weight(weight):
    def set_weight(daemon):
        daemon.weight = weight
    return set_weight


def nice(daemon):
    each_thread(daemon.pid, lambda thread: os.setpriority(os.PRIO_PROCESS, thread, -20))


class SchedAttr(ctypes.Structure):
    """struct sched_attr of linux/sched/types.h."""

    _fields_ = [("size", ctypes.c_uint32), ("policy", ctypes.c_uint32), ("flags", ctypes.c_uint64),
                ("nice", ctypes.c_int32), ("priority", ctypes.c_uint32),
                ("runtime", ctypes.c_uint64), ("deadline", ctypes.c_uint64),
                ("period", ctypes.c_uint64)]


def short_slice(daemon):
    """sched(7): a thread of the normal policy may ask for a slice, since Linux 6.12."""
    libc = ctypes.CDLL(None, use_errno=True)
    attr = SchedAttr(size=ctypes.sizeof(SchedAttr), runtime=SLICE_NS)

    def act(thread):
        if libc.syscall(SCHED_SETATTR, thread, ctypes.byref(attr), 0) != 0:
            raise OSError(ctypes.get_errno(), "sched_setattr")
    each_thread(daemon.pid, act)


MEANS = {
    "default": default,
    "CPUWeight=100": cpu_weight(100),
    "CPUWeight=1000": cpu_weight(1_000),
    "CPUWeight=10000": cpu_weight(10_000),
    "requests.cpu 50m": cpu_weight(weight_of(50)),
    "requests.cpu 100m": cpu_weight(weight_of(100)),
    "Nice=-20": nice,
    "slice of 0.1 ms": short_slice,
}


# --------------------------------------------------------------------------------------------------
# what is seen


class Client:
    """Scrapes on one connection; knows when each poll was, and what each scrape took."""

    def __init__(self, address):
        self.connection = http.client.HTTPConnection(address, timeout=60)
        self.took = []
        self.polled = []  # the times of polls
        self.first = self.last = None

    def scrape(self):
        begun = time.monotonic()
        self.connection.request("GET", "/metrics")
        answer = self.connection.getresponse()
        text = answer.read().decode()
        self.took.append(time.monotonic() - begun)
        if answer.status != 200:
            raise RuntimeError(f"a scrape was answered with {answer.status}: {text[:200]}")
        self.last = harness.Scrape(text)
        self.first = self.first or self.last
        polled = self.last.value("perf_event_exporter_last_poll_timestamp_seconds")
        if not self.polled or polled != self.polled[-1]:
            self.polled.append(polled)

    def grown(self, name, **labels):
        return self.last.value(name, **labels) - self.first.value(name, **labels)

    def late(self):
        """How much longer than the interval each poll came after the one before."""
        gaps = (later - sooner for sooner, later in zip(self.polled, self.polled[1:]))
        return [max(0.0, gap - INTERVAL) for gap in gaps] or [float("inf")]


def percentile(values, part):
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def memory_of(pid):
    """In bytes, what is resident."""
    return 1024 * int(re.search(r"VmRSS:\s*(\d+) kB", harness.read_text(f"/proc/{pid}/status"))[1])


def watch(daemon, condition, seconds):
    """(client, CPU seconds used meanwhile, bytes that are resident in addition afterwards)"""
    client = Client(daemon.address)
    before = memory_of(daemon.pid)
    with CONDITIONS[condition](daemon):
        time.sleep(2 * INTERVAL)  # until it is felt
        used = daemon.cpu_seconds()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            begun = time.monotonic()
            client.scrape()
            time.sleep(max(0.0, begun + BETWEEN_SCRAPES - time.monotonic()))
        used = daemon.cpu_seconds() - used
    daemon.scrape_after_polls(2)
    return client, used, memory_of(daemon.pid) - before


def reported(client):
    """Polls that were skipped, and those that were published without a CPU."""
    late = "perf_event_exporter_cpu_late_polls_total"
    without = (sum(scrape.with_name(late).values()) for scrape in (client.last, client.first))
    return f"{client.grown('perf_event_exporter_poll_overruns_total'):.0f}, {next(without) - next(without):.0f}"


@contextlib.contextmanager
def exporter(program, tree):
    """With its own copy of the program, whose pages are charged to its memory cgroup."""
    config = harness.config_of(events=EVENTS, interval=f"{INTERVAL:g}s", include=[tree.pattern])
    config = config.replace(f"interval: {INTERVAL:g}s", f"interval: {INTERVAL:g}s, max_age: 1m")
    with Control("memory", "memory") as control:
        copy = shutil.copy(program, f"/tmp/pex_bench_{os.getpid()}")
        try:
            os.sync()
            with open(copy, "rb") as file:  # its pages leave the memory
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            with harness.Daemon(config, command=copy,
                                preexec_fn=lambda: control.take(os.getpid())) as daemon:
                daemon.memory = control
                daemon.scrape_after_polls(3)
                yield daemon
        finally:
            os.unlink(copy)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("daemon")
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--condition", action="append", choices=list(CONDITIONS))
    parser.add_argument("--means", action="append", choices=list(MEANS))
    asked = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("bench_overload: needs root, for cgroups and priorities")
    os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(REALTIME + 10))
    print("| condition | means | polls late p50, p99, most | scrapes p50, p99, most | "
          "overruns, polls without a CPU | CPU | memory |")
    print("| --- | --- | --- | --- | --- | --- | --- |", flush=True)
    for condition in asked.condition or CONDITIONS:
        for means in asked.means or ["default"]:
            measure(asked.daemon, condition, means, asked.seconds)


def measure(program, condition, means, seconds):
    with harness.CgroupTree("overload") as tree:
        for number in range(CGROUPS):
            tree.make(str(number))
        with exporter(program, tree) as daemon:
            MEANS[means](daemon)
            client, used, grown = watch(daemon, condition, seconds)
            late = client.late()
            print(f"| {condition} | {means} | "
                  + ", ".join(f"{1000 * value:.0f}" for value in (
                      statistics.median(late), percentile(late, 0.99), max(late))) + " ms | "
                  + ", ".join(f"{1000 * value:.1f}" for value in (
                      statistics.median(client.took), percentile(client.took, 0.99),
                      max(client.took)))
                  + f" ms | {reported(client)} | {used / seconds:.2%} | "
                  f"{grown / 2**20:+.1f} MiB |", flush=True)


if __name__ == "__main__":
    main()
