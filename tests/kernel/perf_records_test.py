"""Each record becomes for us what it becomes for `perf`.

Files of `perf record`, and files of our own rings (records.cc, which is harness.workload_binary
here), are printed by `perf report -D` and by our decoder, and compared (record_comparison.py). What
perf does not print of a record, such as a sample's cgroup, is compared by what perf makes of it.
"""

import collections
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness
from perf_oracle_test import TRACEFS, WITH_TRACEFS
from record_comparison import RecordComparison, sizes_of_groups

SWITCHES = f"{TRACEFS}/events/sched/sched_switch/format"

# Makes a process, threads of execution, mappings, names and namespaces. Ends soon.
SCENE = """
for n in 1 2 3; do /bin/ls -R /usr/include >/dev/null; done
unshare --mount --uts true
"""
# The same from two cgroups, and a third one comes and goes. {0} is a directory of cgroups.
SCENE_IN_CGROUPS = """
mkdir {0}/c && rmdir {0}/c
echo 0 >{0}/a/cgroup.procs
(echo 0 >{0}/b/cgroup.procs; """ + SCENE.strip().replace(">/dev/null", "") + """) | cat >/dev/null
"""


def run(command, **options):
    ended = subprocess.run(command, capture_output=True, text=True, check=False,
                           errors="surrogateescape", stdin=subprocess.DEVNULL, **options)
    if ended.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: {ended.stderr}")
    return ended.stdout


@contextlib.contextmanager
def recorded(*options, scene=("sh", "-c", SCENE), wrapper=()):
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "perf.data")
        run([*wrapper, "perf", "record", "-q", "-o", path, *options, "--", *scene])
        yield path


@contextlib.contextmanager
def recorded_by_us(events, ring_bytes=1 << 20):
    with harness.CgroupTree("records") as tree, tempfile.TemporaryDirectory() as directory:
        for name in "ab":
            tree.make(name)
        path = os.path.join(directory, "perf.data")
        run([harness.workload_binary, "record", events, str(ring_bytes), path, "sh", "-c",
             SCENE_IN_CGROUPS.format(tree.directory)])
        yield path


class PerfRecordsTest(RecordComparison, unittest.TestCase):
    def setUp(self):
        harness.require(shutil.which("perf"), "perf is not installed (Debian: linux-perf)")
        harness.require_root()
        works = subprocess.run(["perf", "record", "-q", "-e", "dummy", "-o", "/dev/null", "true"],
                               capture_output=True, check=False)
        harness.require(works.returncode == 0, f"perf does not work here: {works.stderr.decode()}")

    def compare(self, path, expected):
        """All records of the file; of `expected` there must be some. Returns ours."""
        return self.compare_records(run([harness.workload_binary, "print", path]),
                                    run(["perf", "report", "-D", "-i", path]), expected)

    def test_samples_of_the_whole_machine_with_side_band_records(self):
        with recorded("-a", "-e", "cpu-clock", "-F", "199", "-g", "-d", "-W", "-T", "--all-cgroups",
                      "--namespaces", "--switch-events", "--phys-data", "--data-page-size",
                      "--code-page-size", "--user-regs=ax,bx", "--intr-regs=sp,ip") as path:
            decoded = self.compare(path, {f"PERF_RECORD_{name}" for name in (
                "MMAP", "MMAP2", "COMM", "FORK", "EXIT", "SAMPLE", "CGROUP", "NAMESPACES",
                "SWITCH_CPU_WIDE")})
            self.compare_cgroups(path, decoded)

    def compare_cgroups(self, path, decoded):
        """`perf report` counts the samples of each cgroup by its path."""
        paths = {record["cgroup"]: record["path"] for record in decoded.values()
                 if record["record"] == "PERF_RECORD_CGROUP"}
        samples = collections.Counter(paths[record["cgroup"]] for record in decoded.values()
                                      if record["record"] == "PERF_RECORD_SAMPLE")
        listed = run(["perf", "report", "-i", path, "--stdio", "-g", "none", "--no-children", "-n",
                      "--sort", "cgroup"])
        rows = re.findall(r"^ +[\d.]+% +(\d+) +(\S+)$", listed, re.MULTILINE)
        self.assertEqual({name: int(count) for count, name in rows}, dict(samples))

    def test_groups_that_are_read_with_each_sample(self):
        with recorded("-e", "{cpu-clock,context-switches,page-faults}:S", "-F", "999",
                      scene=("ls", "-R", "/usr/include")) as path:
            decoded = self.compare(path, {"PERF_RECORD_SAMPLE"})
            self.assertEqual(sizes_of_groups(decoded), {3})

    def test_copies_of_stacks_with_their_registers(self):
        with recorded("-e", "page-faults", "-c", "1", "--call-graph", "dwarf,512") as path:
            decoded = self.compare(path, {"PERF_RECORD_SAMPLE"})
            sizes = {len(record["stack"]) for record in decoded.values() if "stack" in record}
            self.assertIn(2 * 512, sizes)

    def test_readings_of_inherited_events(self):
        with recorded("-s", "-e", "page-faults,minor-faults", "-c", "10") as path:
            self.compare(path, {"PERF_RECORD_READ", "PERF_RECORD_SAMPLE"})

    def test_mappings_with_build_ids(self):
        with recorded("--buildid-mmap", "-e", "page-faults", "-c", "100") as path:
            decoded = self.compare(path, {"PERF_RECORD_MMAP2"})
            self.assertIn(40, {len(record.get("build_id", "")) for record in decoded.values()})

    def test_records_that_were_lost(self):
        with recorded("-a", "-m", "1", "-e", "page-faults", "-c", "1", "--call-graph",
                      "dwarf,4096") as path:
            self.compare(path, {"PERF_RECORD_LOST"})

    def test_several_events_of_different_formats(self):
        with recorded("-e", "cpu-clock/call-graph=fp/", "-e", "page-faults/call-graph=no,period=3/",
                      "-e", "context-switches/call-graph=no,time=0/") as path:
            decoded = self.compare(path, {"PERF_RECORD_SAMPLE"})
            samples = [record for record in decoded.values()
                       if record["record"] == "PERF_RECORD_SAMPLE"]
            self.assertGreater(len({record["event"] for record in samples}), 1)
            self.compare_events(path, samples)

    def test_records_of_tracepoints(self):
        readable = subprocess.run([*WITH_TRACEFS, "test", "-r", SWITCHES], check=False)
        harness.require(readable.returncode == 0, "no tracefs")
        offset, size = re.search(r"field:pid_t next_pid;\s+offset:(\d+);\s+size:(\d+);",
                                 run([*WITH_TRACEFS, "cat", SWITCHES])).groups()
        with recorded("-a", "-R", "-e", "sched:sched_switch", "-c", "1",
                      wrapper=WITH_TRACEFS) as path:
            decoded = self.compare(path, {"PERF_RECORD_SAMPLE"})
            printed = run(["perf", "script", "-i", path, "--ns", "-F", "time,trace"])
        raw = {record["time"]: bytes.fromhex(record["raw"]) for record in decoded.values()
               if record["record"] == "PERF_RECORD_SAMPLE"}
        place = slice(int(offset), int(offset) + int(size))
        self.assertEqual(
            {int(second) * 10**9 + int(ns): int(pid) for second, ns, pid in re.findall(
                r"^ *(\d+)\.(\d{9}):.* next_pid=(\d+)", printed, re.MULTILINE)},
            {time: int.from_bytes(data[place], sys.byteorder) for time, data in raw.items()})

    def test_rings_of_events_with_all_fields(self):
        with recorded_by_us("all-fields") as path:
            decoded = self.compare(path, {f"PERF_RECORD_{name}" for name in (
                "MMAP2", "COMM", "FORK", "EXIT", "SAMPLE", "CGROUP", "NAMESPACES",
                "SWITCH_CPU_WIDE")})
        self.assertEqual(sizes_of_groups(decoded), {3})

    def test_rings_of_switches_between_cgroups(self):
        with recorded_by_us("switches") as path:
            decoded = self.compare(path, {"PERF_RECORD_SAMPLE"})
        self.assertEqual(sizes_of_groups(decoded), {6})
        self.assertGreater(len({record["cgroup"] for record in decoded.values()
                                if record["record"] == "PERF_RECORD_SAMPLE"}), 1)

    def test_rings_that_lose_records(self):
        with recorded_by_us("floods", ring_bytes=os.sysconf("SC_PAGESIZE")) as path:
            self.compare(path, {"PERF_RECORD_LOST", "PERF_RECORD_SAMPLE"})

    def compare_events(self, path, samples):
        """`perf script` counts the samples of each event by its name."""
        names = run(["perf", "evlist", "-i", path]).split()
        printed = collections.Counter(
            match[1] for match in re.finditer(r"([\w-]+)(?:/.*/)?: *$", run(
                ["perf", "script", "-i", path, "-F", "event"]), re.MULTILINE))
        counted = collections.Counter(re.match(r"[\w-]+", names[record["event"]])[0]
                                      for record in samples)
        self.assertEqual(printed, counted)


if __name__ == "__main__":
    harness.main()
