"""Kills starts of the daemon, each in a step that its state file names.

A start writes its next step into a file beside that. The kernel asks us before it opens that file
(fanotify(7)): whoever is killed then ends in the step before, however short that is.
"""

import collections
import contextlib
import ctypes
import os
import re
import select
import signal
import struct

import harness

FAN_CLOEXEC, FAN_CLASS_CONTENT, FAN_MARK_ADD, FAN_ALLOW = 1, 4, 1, 1
FAN_CLOSE_WRITE, FAN_OPEN_PERM, FAN_EVENT_ON_CHILD = 0x8, 0x10000, 0x8000000
AT_FDCWD = -100
EVENT = struct.Struct("=IBBHQii")  # fanotify_event_metadata

# What needs a PMU is not counted after crashes.
CONFIG = """\
collection: {interval: 200ms}
groups:
  - {name: core, events: [cycles], scope: cpu}
  - {name: software, events: [context-switches, minor-faults], scope: cpu}
"""
STEPS = ["planning", "planning core", "planning software", "planning", "opening"]
KILLS = 3


class StepKiller(harness.Repeated):
    """Sees the starts whose state is in this directory, of whatever container."""

    every = 0  # it waits itself

    def __init__(self, directory):
        super().__init__()
        libc = ctypes.CDLL(None, use_errno=True)
        self.group = libc.fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, os.O_RDONLY | os.O_CLOEXEC)
        marked = self.group >= 0 and libc.fanotify_mark(
            self.group, FAN_MARK_ADD, ctypes.c_uint64(FAN_CLOSE_WRITE | FAN_OPEN_PERM | FAN_EVENT_ON_CHILD),
            AT_FDCWD, os.fsencode(directory)) == 0
        harness.require(marked, f"the kernel does not ask before it opens a file: {os.strerror(ctypes.get_errno())}")
        self.noted = collections.defaultdict(list)  # steps of each process
        self.number, self.killed = 0, STEPS[:KILLS]  # none is to be killed

    def __exit__(self, *failure):
        super().__exit__(*failure)
        os.close(self.group)  # whoever still waits goes on
        assert not self.problems, self.problems

    def kill_in(self, number):
        """The next starts, in the step of this number, from 1 on."""
        self.number, self.killed = number, []

    def await_kills(self):
        """The steps in which they were."""
        harness.until("starts that are killed", lambda: len(self.killed) == KILLS)
        return self.killed

    def once(self):
        if select.select([self.group], [], [], 0.1)[0]:
            for _, _, _, _, mask, fd, pid in EVENT.iter_unpack(os.read(self.group, 100 * EVENT.size)):
                with contextlib.closing(os.fdopen(fd, "rb")) as file:
                    self._see(mask, file, pid)

    def _see(self, mask, file, pid):
        """What has this descriptor may be read without another question."""
        if mask & FAN_CLOSE_WRITE:
            state = dict(re.findall(r"(?m)^(\w+)=(.*)$", file.read().decode()))
            self.noted[pid].append(f"{state.get('step')} {state.get('group')}".strip())
        if not mask & FAN_OPEN_PERM:
            return
        steps = self.noted[pid]
        is_next = os.readlink(f"/proc/self/fd/{file.fileno()}").endswith("/start.new")
        is_a_start = steps[:1] == STEPS[:1]  # seen from its beginning
        if is_next and is_a_start and len(steps) == self.number and len(self.killed) < KILLS:
            os.kill(pid, signal.SIGKILL)
            self.killed.append(steps[-1])
        with contextlib.suppress(FileNotFoundError):  # it is killed, and waits no longer
            os.write(self.group, struct.pack("=iI", file.fileno(), FAN_ALLOW))


def check(test, scrape, is_reduced):
    """Whether it has tried the group that needs a PMU, of which not every machine has one."""
    tried = scrape.is_refused("cycles") or bool(scrape.with_name("perf_cpu_cycles_total"))
    test.assertEqual(tried, not is_reduced)
    test.assertTrue(scrape.with_name("perf_cpu_context_switches_total"))
    test.assertEqual(scrape.has("perf_event_exporter_reduced_info", counted="software", reason="crashes"),
                     is_reduced)
