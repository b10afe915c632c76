"""Other programs that count next to us, which come first, while we count, and go: our counters of the
CPUs go on and agree with those of another reader.

Where the first event on a CPU is one of a cgroup that is not running, the kernel leaves its context of
that CPU inactive, and what is opened disabled and enabled afterwards never counts, without an error.
"""

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
import unittest

import harness
import perf_events

EVENTS = ["context-switches", "minor-faults"]
PAGES = 5_000
SWITCHES = 200


def metric(event):
    return f"perf_cpu_{event.replace('-', '_')}_total"


def opened_as_most_do(cpu):
    """A counter of the CPU that is enabled after its opening. One that does not count shows that the
    context of the CPU is not active."""
    fd = perf_events.open_event("context-switches", cpu, bits=perf_events.DISABLED,
                                read_format=perf_events.TOTAL_TIME_ENABLED)
    perf_events.libc.ioctl(fd, perf_events.IOC_ENABLE, 0)
    return fd


def is_active(cpu):
    fd = opened_as_most_do(cpu)
    try:
        time.sleep(0.01)  # in which the time of a counter that is alive goes on
        return int.from_bytes(os.read(fd, 16)[8:], "little") > 0
    finally:
        os.close(fd)


class IdleEventsTest(unittest.TestCase):
    def setUp(self):
        perf_events.require()
        harness.require_cpus(0, 1)
        harness.require_events(*EVENTS)
        self.cpus = sorted(harness.online_cpus())
        self.tree = self.enterContext(harness.CgroupTree("idle_events"))
        self.busy = self.tree.make("busy")
        self.idle = self.tree.make("idle")
        self.config = harness.config_of(events=EVENTS, scope="cpu")

    def hold(self):
        """As cAdvisor: events of a cgroup in which nothing runs, on every CPU."""
        return perf_events.Counters(["context-switches", "task-clock"], self.cpus,
                                    self.tree.mount + self.idle)

    def hold_first(self):
        """The same, and they are the first ones there."""
        holder = self.enterContext(self.hold())
        active = [cpu for cpu in self.cpus if is_active(cpu)]
        harness.require(not active, f"somebody else counts on the CPUs {active} already")
        return holder

    @contextlib.contextmanager
    def workers(self):
        """One for each CPU, which work when they are let go."""
        with contextlib.ExitStack() as stack:
            yield [stack.enter_context(harness.Workload(self.tree, self.busy, cpu, SWITCHES, PAGES, 1))
                   for cpu in self.cpus]

    def grown(self, before, after, event, cpu):
        return (after.value(metric(event), cpu=str(cpu))
                - before.value(metric(event), cpu=str(cpu)))

    def assert_counts_all_work(self, daemon):
        """With no other reader, whose counters would make ours count."""
        with self.workers() as workers:
            before = daemon.scrape_after_polls()
            for workload in workers:
                workload.run()
            after = daemon.scrape_after_polls()
        for event, least in (("context-switches", SWITCHES), ("minor-faults", PAGES)):
            for cpu in self.cpus:
                with self.subTest(event=event, cpu=cpu):
                    self.assertGreaterEqual(self.grown(before, after, event, cpu), least)

    def assert_counts_alike(self, daemon):
        """What we count while there is work on every CPU lies between what another reader counts in
        a shorter and in a longer time."""
        with perf_events.Counters(EVENTS, self.cpus) as theirs, self.workers() as workers:
            outer_before = theirs.read()
            before = daemon.scrape_after_polls()
            inner_before = theirs.read()
            for workload in workers:
                workload.run()
            inner_after = theirs.read()
            after = daemon.scrape_after_polls()
            outer_after = theirs.read()
        for event in EVENTS:
            for cpu in self.cpus:
                ours = self.grown(before, after, event, cpu)
                least = inner_after[event, cpu] - inner_before[event, cpu]
                most = outer_after[event, cpu] - outer_before[event, cpu]
                with self.subTest(event=event, cpu=cpu):
                    self.assertGreater(least, 0)
                    self.assertGreaterEqual(ours, least)
                    self.assertLessEqual(ours, most)
        self.assertEqual(after.problems("standstill", "software"), 0)

    def test_counts_next_to_events_of_an_idle_cgroup_that_were_there_first(self):
        self.hold_first()

        with harness.Daemon(self.config) as daemon:
            self.assert_counts_all_work(daemon)
            self.assert_counts_alike(daemon)

    def test_a_single_scrape_counts_next_to_them_as_well(self):
        self.hold_first()

        with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
            file.write(self.config)
            file.flush()
            ended = subprocess.run([harness.daemon_binary, "--once", f"--config.file={file.name}"],
                                   capture_output=True, text=True, check=True)

        scrape = harness.Scrape(ended.stdout)
        for cpu in map(str, self.cpus):
            self.assertGreater(scrape.value("perf_cpu_context_switches_total", cpu=cpu), 0)
            self.assertGreater(scrape.value("perf_group_enabled_seconds_total", cpu=cpu,
                                            group="software"), 0.05)

    def test_goes_on_while_they_come_and_go(self):
        with harness.Daemon(self.config) as daemon:
            self.assert_counts_alike(daemon)
            for _ in range(2):
                with self.hold():
                    self.assert_counts_alike(daemon)
                self.assert_counts_alike(daemon)

    def test_goes_on_when_they_were_there_first_and_go(self):
        holder = self.hold_first()
        with harness.Daemon(self.config) as daemon:
            holder.close()
            self.assert_counts_all_work(daemon)
            self.assert_counts_alike(daemon)

    def test_counts_next_to_perf(self):
        harness.require(shutil.which("perf"), "perf is not installed (Debian: linux-perf)")
        idle = self.idle.removeprefix("/")
        for kind in (["-a"], ["-a", "--for-each-cgroup", idle]):
            with self.subTest(kind=" ".join(kind)):
                with self.perf(kind) as perf, harness.Daemon(self.config) as daemon:
                    self.assert_counts_all_work(daemon)
                    self.assert_counts_alike(daemon)
                    perf.child.terminate()
                    perf.child.wait()
                    self.assert_counts_alike(daemon)
                    with self.perf(kind):
                        self.assert_counts_alike(daemon)

    def perf(self, kind):
        """A `perf stat` that has opened its counters."""
        command = ["perf", "stat", "-e", ",".join(EVENTS), *kind, "--", "sleep", "1000"]
        perf = harness.Process(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
        try:
            harness.until("perf counts", lambda: counters_of(perf.pid) >= len(self.cpus))
        except BaseException:
            perf.__exit__()
            raise
        return perf


def counters_of(pid):
    directory = f"/proc/{pid}/fd"
    return [perf_events.link_of(f"{directory}/{fd}") for fd in os.listdir(directory)].count(
        "anon_inode:[perf_event]")


if __name__ == "__main__":
    harness.main()
