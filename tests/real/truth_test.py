"""What is published about a cgroup and a CPU is what the kernel itself charged there."""

import os
import unittest

import harness

EVENTS = ["task-clock", "context-switches", "minor-faults", "major-faults", "cpu-migrations"]
SWITCHES, PAGES, CPU_MS = 100_000, 50_000, 2_000


def machine_switches():
    """Context switches of the whole machine since boot."""
    for line in harness.read_text("/proc/stat").splitlines():
        if line.startswith("ctxt "):
            return int(line.split()[1])
    raise AssertionError("no ctxt in /proc/stat")


def stolen_seconds(cpu):
    """Time that the hypervisor gave to others while the CPU wanted to run, since boot (proc(5))."""
    for line in harness.read_text("/proc/stat").splitlines():
        fields = line.split()
        if fields[0] == f"cpu{cpu}":
            return int(fields[8]) / os.sysconf("SC_CLK_TCK")
    raise AssertionError(f"no cpu{cpu} in /proc/stat")


class Bracket:
    """A scrape while a workload is blocked, and what the kernel says at the same time.

    The machine does not stand still meanwhile, so its own number is read on both sides: the poll
    that was scraped lies between the two.
    """

    def __init__(self, daemon, workload):
        self.stolen = stolen_seconds(1)
        self.machine_before = machine_switches()
        self.scrape = daemon.scrape_after_polls()
        self.machine_after = machine_switches()
        self.usage = workload.usage()


class Run:
    """One workload from blocked to blocked: what it saw, what was charged to it, what we count."""

    def __init__(self, daemon, workload):
        self.before = Bracket(daemon, workload)
        self.seen = workload.run()
        self.after = Bracket(daemon, workload)

    def increment(self, name, **labels):
        return self.after.scrape.value(name, **labels) - self.before.scrape.value(name, **labels)

    def charged(self, name):
        return self.after.usage[name] - self.before.usage[name]


class TruthTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """Two workloads in turn, of which each test looks at another side."""
        harness.require_events(*EVENTS)
        harness.require_cpus(0, 1)
        tree = cls.enterClassContext(harness.CgroupTree("truth"))
        cls.busy, cls.idle = tree.make("busy"), tree.make("idle")
        config = harness.config_of(events=EVENTS, include=[tree.pattern])
        daemon = cls.enterClassContext(harness.Daemon(config))
        cls.enterClassContext(harness.Workload(tree, cls.idle))  # blocked for as long as we look

        switching = harness.Workload(tree, cls.busy, 1, SWITCHES, PAGES, 0)
        computing = harness.Workload(tree, cls.busy, 1, 0, 0, CPU_MS)
        cls.switching = Run(daemon, cls.enterClassContext(switching))
        cls.computing = Run(daemon, cls.enterClassContext(computing))

    def test_workloads_did_what_they_were_to_do(self):
        self.assertEqual(self.switching.seen["nvcsw"], SWITCHES)
        self.assertGreaterEqual(self.switching.seen["minflt"], PAGES)
        self.assertGreaterEqual(self.computing.seen["cpu_ns"], CPU_MS * 1_000_000)

    def test_context_switches_of_a_cgroup_are_those_of_its_process(self):
        # The event and the process's own number rise in the same place, __schedule(), and the
        # process is blocked at both brackets: nothing is in between, so they are equal.
        run = self.switching
        counted = run.increment("perf_cgroup_context_switches_total", cgroup=self.busy)
        self.assertAlmostEqual(counted, run.charged("context_switches"), delta=1)
        # getrusage() was called inside: it lacks the switch into the last wait, and what may have
        # preempted the process between the wake-up and the first call, the last call and the wait.
        self.assertAlmostEqual(counted, run.seen["nvcsw"] + run.seen["nivcsw"], delta=5)

    def test_page_faults_of_a_cgroup_are_those_of_its_process(self):
        # Memory of stdio and stack first used outside the two calls of getrusage() is not in it.
        run = self.switching
        counted = run.increment("perf_cgroup_minor_faults_total", cgroup=self.busy)
        self.assertAlmostEqual(counted, run.charged("minor_faults"), delta=1)
        self.assertAlmostEqual(counted, run.seen["minflt"], delta=8)
        self.assertEqual(run.increment("perf_cgroup_major_faults_total", cgroup=self.busy),
                         run.charged("major_faults"))

    def test_task_clock_of_a_cgroup_is_the_cpu_time_of_its_process(self):
        run = self.computing
        counted = run.increment("perf_cgroup_task_clock_seconds_total", cgroup=self.busy)
        charged = run.charged("task_clock_seconds")
        # In a virtual machine the scheduler does not charge a process for time that the hypervisor
        # took away from it; perf's clock runs on. Both agree where nothing is stolen.
        stolen = run.after.stolen - run.before.stolen
        self.assertGreaterEqual(counted, 0.99 * charged)
        self.assertLessEqual(counted, 1.01 * charged + stolen)
        self.assertAlmostEqual(charged, run.seen["cpu_ns"] / 1e9, delta=charged / 100)

    def test_task_clock_of_a_cgroup_that_switches_is_not_above_its_cpu_time(self):
        # The scheduler charges a process for the switch to it, no perf clock does: in a virtual
        # machine that is several us each, and any plain perf event shows it. So no lower bound.
        run = self.switching
        counted = run.increment("perf_cgroup_task_clock_seconds_total", cgroup=self.busy)
        self.assertGreater(counted, 0)
        self.assertLessEqual(counted, 1.01 * run.charged("task_clock_seconds"))

    def test_pinned_process_is_never_seen_to_migrate(self):
        for run in (self.switching, self.computing):
            self.assertEqual(run.increment("perf_cgroup_migrations_total", cgroup=self.busy), 0)

    def test_software_groups_have_the_cpu_whenever_they_want_it(self):
        for labels in ({"cgroup": self.busy}, {"cpu": "0"}, {"cpu": "1"}):
            enabled, running = (
                self.computing.increment(f"perf_group_{time}_seconds_total", group="software",
                                         **labels)
                for time in ("enabled", "running"))
            self.assertAlmostEqual(running, enabled, delta=enabled / 1000)

    def test_sleeping_neighbour_shows_nothing_of_it(self):
        # Its process is blocked throughout, so each of these is exactly zero.
        first, last = self.switching.before.scrape, self.computing.after.scrape
        counters = [series for series in last.with_name("perf_cgroup_")
                    if series[0].endswith("_total") and dict(series[1])["cgroup"] == self.idle]
        self.assertEqual(len(counters), len(EVENTS))
        for series in counters:
            self.assertEqual(last[series] - first[series], 0, series)

    def test_cpu_of_the_workload_shows_all_of_it(self):
        # Others run there as well, so these are lower bounds.
        for metric in ("context_switches", "minor_faults"):
            on_cpu = self.switching.increment(f"perf_cpu_{metric}_total", cpu="1")
            in_cgroup = self.switching.increment(f"perf_cgroup_{metric}_total", cgroup=self.busy)
            self.assertGreaterEqual(on_cpu, in_cgroup, metric)

    def test_cpus_together_show_the_switches_of_the_machine_once(self):
        # However busy the others are: had another CPU shown the workload's switches as well, or had
        # any been lost, the sum would leave these bounds. Every online CPU is in the sum.
        before, after = self.switching.before, self.switching.after
        counted = sum(value - before.scrape[series] for series, value in
                      after.scrape.with_name("perf_cpu_context_switches_total").items())
        self.assertGreaterEqual(counted, after.machine_before - before.machine_after)
        self.assertLessEqual(counted, after.machine_after - before.machine_before)

    def test_task_clock_of_a_cpu_is_time_that_passed(self):
        passed = self.computing.increment("perf_event_exporter_last_poll_timestamp_seconds")
        for cpu in ("0", "1"):
            counted = self.computing.increment("perf_cpu_task_clock_seconds_total", cpu=cpu)
            self.assertAlmostEqual(counted, passed, delta=passed / 20)


if __name__ == "__main__":
    harness.main()
