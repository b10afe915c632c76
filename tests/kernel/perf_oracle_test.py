"""Every event of this machine's PMUs becomes for us what it becomes for `perf`.

`perf stat -vv` prints the perf_event_attr of each event before it asks the kernel for it, also for
events that the kernel then refuses. Here harness.workload_binary is the program print_attributes.

Not compared, because perf sets them for its own ends: size, sample_type, read_format, disabled,
inherit, precise_ip; and exclude_guest, which perf sets unless H or G is asked for, while we count
inside of virtual machines as well. Nor terms that give an event of the PMU another value: perf adds
the bits of both values (resolved.txt).
"""

import itertools
import os
import shutil
import subprocess
import unittest

import harness

TRACEFS = "/sys/kernel/tracing"
SOURCES = "/sys/bus/event_source/devices"

# For one command alone, in a mount namespace of its own, where it is not mounted already.
MOUNT_TRACEFS = f"mountpoint -q {TRACEFS} || mount -t tracefs tracefs {TRACEFS}"
WITH_TRACEFS = ("unshare", "-m", "sh", "-c", f'{MOUNT_TRACEFS} && exec "$@"', "sh")

COMPARED = ("type", "config", "config1", "config2", "bp_type", "exclude_user", "exclude_kernel",
            "exclude_hv", "exclude_idle", "exclude_host")
PERF_CALLS_THEM = {"{ bp_addr, config1 }": "config1", "{ bp_len, config2 }": "config2"}

HARDWARE = ["cycles", "cpu-cycles", "instructions", "cache-references", "cache-misses", "branches",
            "branch-misses", "bus-cycles", "stalled-cycles-frontend", "stalled-cycles-backend",
            "ref-cycles"]
SOFTWARE = ["page-faults", "faults", "context-switches", "cs", "cpu-migrations", "minor-faults",
            "major-faults", "alignment-faults", "emulation-faults"]
ONLY_WITHOUT_MODIFIERS = ["cpu-clock", "task-clock", "dummy", "bpf-output", "cgroup-switches"]
CACHE = [f"{cache}-{operation}"
         for cache, operations in {
             "L1-dcache": ("load", "store", "prefetch"), "L1-icache": ("load", "prefetch"),
             "LLC": ("load", "store", "prefetch"), "dTLB": ("load", "store", "prefetch"),
             "iTLB": ("load",), "branch": ("load",), "node": ("load", "store", "prefetch")}.items()
         for verb in operations
         for operation in (verb + ("es" if verb == "prefetch" else "s"), verb + "-misses")]


def in_numbers(fields):
    """Those that are compared; perf leaves out what is 0."""
    return {name: int(fields.get(name, "0"), 0) for name in COMPARED}


def run(command):
    return subprocess.run(command, capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL)


def perfs(event, wrapper=()):
    """The first perf_event_attr that perf makes of `event`: later ones are what it tries next when
    the kernel refuses."""
    ended = run([*wrapper, "perf", "stat", "-vv", "-e", event, "-a", "--", "true"])
    _, begin, rest = ended.stderr.partition("\nperf_event_attr:\n")
    if not begin:
        raise AssertionError(f"perf makes nothing of '{event}': {ended.stderr}")
    fields = {}
    for line in rest.partition("\n---")[0].splitlines():
        name, _, value = line.strip().rpartition("  ")
        fields[PERF_CALLS_THEM.get(name.strip(), name.strip())] = value.split()[0]  # then its name
    return fields


def ours(event, wrapper=()):
    """Of an event that is one counter here."""
    ended = run([*wrapper, harness.workload_binary, event])
    if ended.returncode != 0:
        raise AssertionError(f"we make nothing of it: {ended.stdout}{ended.stderr}")
    (line,) = ended.stdout.splitlines()
    return dict(word.split("=", 1) for word in line.removeprefix(event).split())


def combinations(letters):
    return ["".join(some) for count in range(len(letters) + 1)
            for some in itertools.combinations(letters, count)]


class PerfOracleTest(unittest.TestCase):
    def setUp(self):
        harness.require(shutil.which("perf"), "perf is not installed (Debian: linux-perf)")
        harness.require_root()
        works = run(["perf", "stat", "-e", "dummy", "-a", "--", "true"])
        harness.require(works.returncode == 0, f"perf does not work here: {works.stderr.strip()}")

    def compare(self, event, wrapper=(), perf_spelling=None):
        with self.subTest(event=event):
            perfs_fields = perfs(perf_spelling or event, wrapper)
            our_fields = ours(event, wrapper)
            self.assertEqual(in_numbers(our_fields), in_numbers(perfs_fields))
            if set("HG") & set(event.rpartition(":")[2]):
                self.assertEqual(our_fields["exclude_guest"],
                                 perfs_fields.get("exclude_guest", "0"))

    def require_one_core_pmu_at_most(self):
        several = [name for name in os.listdir(SOURCES) if os.path.exists(f"{SOURCES}/{name}/cpus")]
        harness.require(len(several) < 2, "a hybrid machine: one event is several there")

    def test_software_events(self):
        for event in SOFTWARE + ONLY_WITHOUT_MODIFIERS:
            self.compare(event)
        for event, modes in itertools.product(SOFTWARE, ("k", "uk", "ukh", "p")):
            self.compare(f"{event}:{modes}")
        for event in ("page-faults", "minor-faults", "major-faults"):
            self.compare(f"{event}:u")

    def test_hardware_events(self):
        self.require_one_core_pmu_at_most()
        for event in HARDWARE + CACHE + ["r1c2", "r01c2", "rffff"]:
            self.compare(event)
            self.compare(f"{event}:u")

    def test_modifiers(self):
        self.require_one_core_pmu_at_most()
        for letters in combinations("ukhHGI")[1:]:
            self.compare(f"instructions:{letters}")
        for letters in ("p", "pp", "D", "e", "ukD"):
            self.compare(f"instructions:{letters}")
        self.compare("instructions:W", perf_spelling="{instructions}:W")  # since 6.12 of groups only

    def test_events_of_the_msr_pmu(self):
        harness.require(os.path.isdir(f"{SOURCES}/msr"), "this kernel has no PMU msr")
        for name in os.listdir(f"{SOURCES}/msr/events"):
            if "." not in name and not os.path.exists(f"{SOURCES}/msr/events/{name}.snapshot"):
                self.compare(f"msr/{name}/")
        for terms in ("event=0x0", "event=4", "config=0x2", "event=0x3,config=0xff",
                      "config1=0x5,config2=0x6", "tsc,event=0x1", "event=0x1,name=foo"):
            self.compare(f"msr/{terms}/")

    def test_tracepoints(self):
        readable = run([*WITH_TRACEFS, "test", "-r", f"{TRACEFS}/events/sched/sched_switch/id"])
        harness.require(readable.returncode == 0, f"no tracefs: {readable.stderr.strip()}")
        for event in ("sched:sched_switch", "sched:sched_wakeup", "sched:sched_process_fork"):
            for modifiers in ("", ":k", ":uk"):  # :u is refused, as it would be 0
                self.compare(event + modifiers, WITH_TRACEFS)

    def test_breakpoints(self):
        harness.require(os.path.isdir(f"{SOURCES}/breakpoint"), "this kernel has no PMU breakpoint")
        for place, access, modes in itertools.product(
                ("0x1000", "0x1000/1", "0x1000/8", "0xffffffff81000000/2"), ("", ":w", ":r", ":rw"),
                ("", ":u", ":k")):
            if access or not modes:  # without an access, perf reads modes as one
                self.compare(f"mem:{place}{access}{modes}")
        for modes in ("", ":u", ":k"):
            self.compare(f"mem:0x1000:x{modes}")

    # perf has no spelling for the path of a uprobe, as it gives it in a file of tracefs ('perf
    # probe'): the terms of the PMU are compared, which say everything else.
    def test_uprobes_but_for_their_path(self):
        harness.require(os.path.isdir(f"{SOURCES}/uprobe"), "this kernel has no PMU uprobe")
        self.compare("uprobe:/bin/sh:0x1234", perf_spelling="uprobe/config2=0x1234/")
        self.compare("uretprobe:/bin/sh:0x1234", perf_spelling="uprobe/retprobe,config2=0x1234/")
        self.assertEqual(ours("uretprobe:/bin/sh:0x1234")["type"],
                         harness.read_text(f"{SOURCES}/uprobe/type").strip())


if __name__ == "__main__":
    harness.main()
