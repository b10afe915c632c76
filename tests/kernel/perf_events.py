"""perf_event_open(2) for the tests themselves: counters that owe nothing to the daemon, to compare
it with, and the way in which another program opens its own."""

import contextlib
import ctypes
import os
import platform
import struct

import harness

# From linux/perf_event.h, without what stands before each name there.
NUMBER_OF_CALL = {"x86_64": 298, "aarch64": 241}
TYPE_SOFTWARE, TYPE_BREAKPOINT = 1, 5
CONFIG = {"task-clock": 1, "page-faults": 2, "context-switches": 3, "cpu-migrations": 4,
          "minor-faults": 5, "major-faults": 6}
SIZE_VER0, SIZE_VER1 = 64, 72
BREAKPOINT_WRITE = 2
DISABLED, INHERIT = 1 << 0, 1 << 1
TOTAL_TIME_ENABLED, TOTAL_TIME_RUNNING, ID, GROUP = 1 << 0, 1 << 1, 1 << 2, 1 << 3
SAMPLE_IDENTIFIER = 1 << 16
FLAG_PID_CGROUP, FLAG_FD_CLOEXEC = 1 << 2, 1 << 3
IOC_ENABLE, IOC_RESET = 0x2400, 0x2403

libc = ctypes.CDLL(None, use_errno=True)


def require():
    harness.require_root()
    harness.require(platform.machine() in NUMBER_OF_CALL,
                    f"the test does not know the system calls of {platform.machine()}")


def opened_by(pid):
    """How many events a process has open, as far as we see them."""
    number = 0
    with contextlib.suppress(FileNotFoundError, ProcessLookupError, PermissionError):
        for fd in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                number += os.readlink(f"/proc/{pid}/fd/{fd}") == "anon_inode:[perf_event]"
    return number


def users():
    """Programs that have events open, by process id, as far as we see them."""
    found = {}
    for pid in filter(opened_by, filter(str.isdigit, os.listdir("/proc"))):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found[int(pid)] = harness.read_text(f"/proc/{pid}/comm").strip()
    return found


def open_event(event, cpu, *, pid=-1, leader=-1, bits=0, read_format=0, sample_type=0,
               in_cgroup=False):
    """A descriptor. `pid` is -1, or `in_cgroup` the descriptor of its directory."""
    attribute = struct.pack("=IIQQQQQIIQ", TYPE_SOFTWARE, SIZE_VER0, CONFIG[event], 0,
                            sample_type, read_format, bits, 0, 0, 0)
    return open_attribute(f"{event} on CPU {cpu}", attribute, pid, cpu, leader,
                          FLAG_PID_CGROUP if in_cgroup else 0)


def open_attribute(what, attribute, pid, cpu, leader, flags):
    fd = libc.syscall(NUMBER_OF_CALL[platform.machine()], attribute, pid, cpu, leader,
                      ctypes.c_ulong(FLAG_FD_CLOEXEC | flags))
    if fd < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"open {what}: {os.strerror(code)}")
    return fd


def breakpoints_fire():
    """Whether the machine stops at the debug registers that it lets us set: one that was seen does
    not (a virtual machine), and every breakpoint counts 0 there."""
    variable = ctypes.c_uint64()
    attribute = struct.pack("=IIQQQQQIIQQ", TYPE_BREAKPOINT, SIZE_VER1, 0, 0, 0, 0, 0, 0,
                            BREAKPOINT_WRITE, ctypes.addressof(variable), ctypes.sizeof(variable))
    fd = open_attribute("a breakpoint", attribute, 0, -1, -1, 0)
    try:
        for number in range(10):
            variable.value = number
        return struct.unpack("=Q", os.read(fd, 8))[0] > 0
    finally:
        os.close(fd)


@contextlib.contextmanager
def directory(path):
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)


def reset_and_enable(leader):
    for request in (IOC_RESET, IOC_ENABLE):
        if libc.ioctl(leader, request, 0) != 0:
            raise OSError(ctypes.get_errno(), "reset or enable a group")


class Counters:
    """Each of `events` on each of `cpus`, by itself, enabled when it is opened, until closed: of a
    cgroup's directory, or of all that runs there."""

    def __init__(self, events, cpus, cgroup=None):
        self.fds = {}
        try:
            if cgroup is None:
                self._open(events, cpus, -1)
            else:
                with directory(cgroup) as fd:
                    self._open(events, cpus, fd)
        except BaseException:
            self.close()
            raise

    def _open(self, events, cpus, pid):
        for event in events:
            for cpu in cpus:
                self.fds[event, cpu] = open_event(event, cpu, pid=pid, in_cgroup=pid >= 0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        while self.fds:
            os.close(self.fds.popitem()[1])

    def read(self):
        """(event, cpu) -> count; of clocks ns."""
        return {key: int.from_bytes(os.read(fd, 8), "little") for key, fd in self.fds.items()}

    def sums(self):
        """event -> count on all CPUs."""
        sums = {}
        for (event, _), count in self.read().items():
            sums[event] = sums.get(event, 0) + count
        return sums


class Cadvisor:
    """Opens and closes events as cAdvisor does for the containers it sees come and go (google/
    cadvisor, perf/collector_libpfm.go): for each cgroup group after group, of a group event after
    event on all CPUs. The leader alone is bound to the cgroup, and disabled; its members are
    neither. When a group is there, each of its leaders is reset and enabled."""

    FORMAT = TOTAL_TIME_ENABLED | TOTAL_TIME_RUNNING | GROUP | ID

    def __init__(self, groups, cpus):
        self.groups = groups  # lists of events
        self.cpus = sorted(cpus)
        self.containers = {}  # directory -> (events, leader) of each group and CPU, all descriptors

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for container in list(self.containers):
            self.forget(container)

    def add(self, container):
        leaders, fds = self.containers[container] = [], []
        with directory(container) as cgroup:
            for events in self.groups:
                group = {cpu: self._open(events[0], cpu, cgroup=cgroup) for cpu in self.cpus}
                fds += group.values()
                for event in events[1:]:
                    fds += [self._open(event, cpu, leader=group[cpu]) for cpu in self.cpus]
                for leader in group.values():
                    reset_and_enable(leader)
                    leaders.append((events, leader))

    def _open(self, event, cpu, *, cgroup=-1, leader=-1):
        is_leader = leader < 0
        return open_event(event, cpu, pid=cgroup, in_cgroup=is_leader, leader=leader,
                          bits=INHERIT | (DISABLED if is_leader else 0), read_format=self.FORMAT,
                          sample_type=SAMPLE_IDENTIFIER)

    def forget(self, container):
        for fd in self.containers.pop(container)[1]:
            os.close(fd)

    def read(self):
        """What its housekeeping reads: directory -> event -> count on all CPUs."""
        return {container: self._sums(leaders)
                for container, (leaders, _) in self.containers.items()}

    @staticmethod
    def _sums(leaders):
        sums = {}
        for events, leader in leaders:
            words = struct.unpack(f"={3 + 2 * len(events)}Q",
                                  os.read(leader, 8 * (3 + 2 * len(events))))
            for event, count in zip(events, words[3::2]):
                sums[event] = sums.get(event, 0) + count
        return sums
