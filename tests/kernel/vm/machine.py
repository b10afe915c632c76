"""Boots an emulated arm64 machine with a PMU, lets it run one scenario (guest/SCENARIO.sh) and reads
what that wrote down.

QEMU counts instructions as it executes them: virtual time is 8 ns for each (-icount shift=3), unless a
boot has a slower CPU, and jumps over what the machine sleeps (sleep=off). So a run neither depends on how
busy this machine is nor takes as long as it seems to: ten idle minutes are seconds. With one CPU the counts
are exact; with more, QEMU adds to the counters of each what the others executed meanwhile.
"""

import base64
import glob
import gzip
import os
import re
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # what scrapes are read with

PATIENCE = 600.0  # seconds; only a run that hangs takes this long
COMMON = ["-m", "512", "-rtc", "base=2026-01-01,clock=vm", "-display", "none", "-monitor", "none",
          "-nodefaults", "-no-reboot", "-serial", "stdio"]
ARM64 = ["qemu-system-aarch64", "-M", "virt", *COMMON]
# kpti=off: else each system call changes the page tables (arm64), and QEMU translates addresses anew.
KERNEL_ARGUMENTS = "panic=-1 loglevel=3 kpti=off"
# One thread for all CPUs: the kernel patches its own text, which others would execute half patched.
AMD64 = ["qemu-system-x86_64", "-M", "q35", "-accel", "tcg,thread=single", *COMMON]


class Record:
    """What a scenario wrote down, entry by entry (guest/lib.sh)."""

    ENTRY = re.compile(r"^@@ (\S+) (\S+) (\S+)\n", re.MULTILINE)

    def __init__(self, text):
        self.texts = {}    # (kind, name) -> text
        self.uptimes = {}  # (kind, name) -> seconds since the kernel started
        parts = self.ENTRY.split(text)[1:]
        for kind, name, uptime, body in zip(*(parts[i::4] for i in range(4))):
            self.texts[kind, name] = body
            self.uptimes[kind, name] = float(uptime)
        self.scrapes = {name: harness.Scrape(body)
                        for (kind, name), body in self.texts.items() if kind == "scrape"}

    def truth(self, mark, work):
        """What the counter of `work` itself said before it stopped for `mark`."""
        return int(self.texts["truth", f"{mark}:{work}"], 16)

    def true_increment(self, work, before, after):
        return self.truth(after, work) - self.truth(before, work)

    def increment(self, metric, before, after, **labels):
        """Of a series that must be in both scrapes."""
        return self._value(after, metric, labels) - self._value(before, metric, labels)

    def _value(self, name, metric, labels):
        if not self.scrapes[name].has(metric, **labels):
            raise AssertionError(f"in scrape '{name}' there is no {metric} of {labels}")
        return self.scrapes[name].value(metric, **labels)


class Boot:
    """One run of a machine. `kernel` names a folder that fetch.sh filled."""

    directory = None  # where run.sh put kernels and archives

    def __init__(self, scenario, kernel, *, cpus=1, pmu=True, cgroups="v2", source="",
                 shift=3, rounds=1, archives=("base",), patience=PATIENCE):
        self.scenario = scenario
        self.kernel = kernel
        self.cpus = cpus
        self.is_amd64 = kernel.startswith("amd64-")
        self.cpu = "max" if self.is_amd64 else "neoverse-n1" + ("" if pmu else ",pmu=off")
        self.cgroups = cgroups
        self.source = source  # of the counts of cgroups: "" as the scenario says
        self.shift = 1 if self.is_amd64 else shift  # an instruction takes 2^shift ns
        self.rounds = rounds  # of a scenario that repeats itself
        self.name = "-".join(filter(None, (scenario, kernel, cgroups, source)))  # of its files
        self.archives = ("amd64",) if self.is_amd64 else archives
        self.patience = patience
        self.run = None  # a future, once it is started
        self.took = None  # seconds

    def image(self):
        found = glob.glob(f"{self.directory}/kernels/{self.kernel}/boot/vmlinuz-*")
        if not found:
            raise unittest.SkipTest(f"no kernel {self.kernel}: see the lines 'fetch:' above")
        return found[0]

    def release(self):
        return os.path.basename(self.image()).removeprefix("vmlinuz-")

    def record(self):
        return self.run.result()

    def start(self):
        """To be called once, in any thread; blocks until the machine is off."""
        started = time.monotonic()
        console = self._run_machine()
        self.took = time.monotonic() - started
        status = re.search(r"^SCENARIO-ENDED (\d+)", console, re.MULTILINE)
        begin, _, rest = console.partition("RECORD-BEGINS\n")
        if not status or status[1] != "0" or not rest:
            raise AssertionError(f"the scenario {self.scenario} on {self.release()} failed:\n"
                                 + (begin if rest else console)[-6000:])
        encoded = rest.partition("RECORD-ENDS")[0]
        text = gzip.decompress(base64.b64decode(encoded)).decode()
        with open(f"{self.directory}/record-{self.name}", "w",
                  encoding="utf-8") as kept:
            kept.write(text)  # to look at what a test complains of
        return Record(text)

    def _run_machine(self):
        image = self.image()
        initrd = f"{self.directory}/initramfs-{self.name}"
        with open(initrd, "wb") as joined:
            for archive in self.archives:
                with open(f"{self.directory}/{archive}.cpio", "rb") as part:
                    joined.write(part.read())
        console = "ttyS0" if self.is_amd64 else "ttyAMA0"
        command = [*(AMD64 if self.is_amd64 else ARM64), "-icount", f"shift={self.shift},sleep=off",
                   "-cpu", self.cpu, "-smp", str(self.cpus), "-kernel", image, "-initrd", initrd, "-append",
                   f"console={console} {KERNEL_ARGUMENTS} SCENARIO={self.scenario} "
                   f"CGROUPS={self.cgroups} SOURCE={self.source} ROUNDS={self.rounds}"]
        try:
            ended = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, timeout=self.patience, check=False)
            output = ended.stdout
        except subprocess.TimeoutExpired as expired:
            output = (expired.stdout or b"") + f"\nstill running after {self.patience} s\n".encode()
        finally:
            os.unlink(initrd)
        return output.decode(errors="replace").replace("\r", "")
