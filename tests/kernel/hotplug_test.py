"""A CPU goes and comes back: what was counted stays, and what it does then is counted again."""

import itertools
import os
import subprocess
import time
import unittest

import harness
import perf_events

EVENTS = ["task-clock", "context-switches", "minor-faults"]
SWITCH = "/sys/devices/system/cpu/cpu1/online"
SCRAPE_EVERY = 0.1
OFFLINE_FOR = 1.0
PAGES = 20_000
POLL = 0.1


def set_cpu1_online(online):
    with open(SWITCH, "w", encoding="ascii") as file:
        file.write("1" if online else "0")


def guard():
    """A process of its own that brings CPU 1 back when this one ends, even by SIGKILL; closing what
    is returned makes it do so at once."""
    script = f"exec 3<&0; (read nothing <&3; echo 1 >{SWITCH}) &"
    with subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, start_new_session=True) as starter:
        pipe, starter.stdin = starter.stdin, None  # the guard has outlived its starter
    return pipe


class HotplugTest(unittest.TestCase):
    def setUp(self):
        harness.require_root()
        harness.require_cpus(0, 1)
        try:
            set_cpu1_online(True)  # is so: only finds out whether we may
        except OSError as error:
            self.skipTest(f"CPU 1 cannot be taken offline: {error}")
        self.enterContext(guard())
        self.addCleanup(set_cpu1_online, True)
        harness.require_events(*EVENTS)
        perf_events.require()
        self.tree = self.enterContext(harness.CgroupTree("hotplug"))

    def start(self, interval, **config):
        text = harness.config_of(interval=interval, include=[self.tree.pattern],
                                 **{"events": EVENTS, **config})
        return self.enterContext(harness.Daemon(text))

    def take_offline(self):
        try:
            set_cpu1_online(False)
        except OSError as error:
            self.skipTest(f"CPU 1 cannot be taken offline: {error}")

    def assert_counts_on_cpu_1(self, daemon, cgroup, after_polls=2, per_cpu=True):
        """Work on CPU 1 that starts after so many polls shows up whole, in its cgroup and there."""
        before, after, true = harness.undisturbed(
            lambda: self.work_on_cpu_1(daemon, cgroup, after_polls))
        counted = after.since(before, "perf_cgroup_minor_faults_total", cgroup=cgroup)
        self.assertGreaterEqual(counted, PAGES)
        self.assertAlmostEqual(counted, true, delta=1)
        if per_cpu:
            on_cpu = after.since(before, "perf_cpu_minor_faults_total", cpu="1")
            self.assertGreaterEqual(on_cpu, PAGES)

    @staticmethod
    def cpus_by_records(daemon):
        return daemon.scrape().value("perf_event_exporter_cgroup_source_cpus", source="records")

    def work_on_cpu_1(self, daemon, cgroup, after_polls):
        with harness.Workload(self.tree, cgroup, 1, 100, PAGES, 50) as workload:
            before, usage = daemon.scrape_after_polls(after_polls), workload.usage()
            workload.run()
            after, used = daemon.scrape_after_polls(), workload.usage()
        if harness.BY_RECORDS:
            harness.check_measured(before, after, cgroup)
        return before, after, used["minor_faults"] - usage["minor_faults"]

    def assert_worker_sits_on_cpu_1(self, daemon):
        """From elsewhere each reading would interrupt the CPU. Its thread has its name. One that was
        late stays off its CPU for a minute."""
        tasks = f"/proc/{daemon.pid}/task"

        def affinities():
            return [os.sched_getaffinity(int(task)) for task in os.listdir(tasks)
                    if harness.read_text(f"{tasks}/{task}/comm") == "cpu1\n"]
        harness.until("one worker, on CPU 1", lambda: affinities() == [{1}])

    def scrape_for(self, seconds, daemon, falls):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            falls.look_at(daemon.scrape())
            time.sleep(SCRAPE_EVERY)

    def test_counting_goes_on_around_a_cpu_that_is_away_for_a_second(self):
        number = itertools.count()
        harness.undisturbed(lambda: self.count_around_an_absence(next(number)))

    def count_around_an_absence(self, number):
        moved, steady = self.tree.make(f"moved-{number}"), self.tree.make(f"steady-{number}")
        text = harness.config_of(interval=f"{1000 * POLL:.0f}ms", include=[self.tree.pattern],
                                 events=EVENTS)
        falls = harness.Falls()
        with harness.Daemon(text) as daemon, perf_events.Counters(
                ["task-clock"], [0], self.tree.mount + steady) as counters, \
                harness.busy_loop(self.tree, steady, cpu=0) as neighbour:
            self.assert_counts_on_cpu_1(daemon, moved)
            fds, way = daemon.open_fds(), self.cpus_by_records(daemon)
            neighbour.stop()
            before, begun = daemon.scrape_after_polls(), counters.sums()["task-clock"]
            neighbour.go_on()

            self.take_offline()
            self.scrape_for(OFFLINE_FOR, daemon, falls)
            away = daemon.scrape_after_polls()
            fds_while_away = daemon.open_fds()
            set_cpu1_online(True)
            self.scrape_for(OFFLINE_FOR / 2, daemon, falls)

            neighbour.stop()
            after, ended = daemon.scrape_after_polls(), counters.sums()["task-clock"]
            falls.look_at(after)
            self.assert_counts_on_cpu_1(daemon, moved)
            falls.look_at(daemon.scrape())
            # A CPU that was found not to write all records counts by descriptors now.
            if self.cpus_by_records(daemon) == way:
                harness.until("descriptors as before", lambda: daemon.open_fds() == fds)
            self.assert_worker_sits_on_cpu_1(daemon)
            warnings = [line for line in daemon.lines("warn") + daemon.lines("error")
                        if "records" not in line]  # of switches: their losses

        self.assertEqual((falls.found, warnings), ([], []))
        self.assertLess(fds_while_away, fds)  # nothing is held open on a CPU that is away
        on_cpu_1 = [scrape.value("perf_cpu_task_clock_seconds_total", cpu="1")
                    for scrape in (before, away, after)]
        self.assertEqual(on_cpu_1, sorted(set(on_cpu_1)))  # grows before and after
        self.assert_undisturbed(steady, before, after, ended - begun)

    def assert_undisturbed(self, cgroup, before, after, used):
        """The neighbour on CPU 0 was stopped at both scrapes, so we have each ns that another
        counter has. By records, but for the way from one task to the next, and what is said to be
        unmeasured: around records that the kernel did not write."""
        counted = after.since(before, "perf_cgroup_task_clock_seconds_total", cgroup=cgroup)
        self.assertGreater(used, 0)
        of_records = 0
        if harness.BY_RECORDS:
            missing = round(1e9 * harness.unmeasured(before, after, cgroup=cgroup))
            if missing > used / 5:
                raise harness.Disturbed(f"{missing / 1e9:.3f} s of {used / 1e9:.3f} s were not measured")
            of_records = used // 1000 + missing
        self.assertAlmostEqual(round(counted * 1e9), used, delta=of_records)

    def go_and_come_back_between_two_polls(self, daemon):
        polls = "perf_event_exporter_polls_total"

        def go():
            before = daemon.scrape_after_polls(1).value(polls)
            self.take_offline()
            set_cpu1_online(True)
            if daemon.scrape().value(polls) != before:
                raise harness.Disturbed("the CPU took longer than a poll to go and come back")
        harness.undisturbed(go)

    def test_absence_that_is_shorter_than_a_poll_is_found_by_the_next_one(self):
        # The clock of the CPU went on for a while before it went, which is no sign of life.
        cgroup = self.tree.make("moved")
        daemon = self.start("3s")
        falls = harness.Falls()
        fds, way = daemon.open_fds(), self.cpus_by_records(daemon)
        begin, before = time.monotonic(), daemon.scrape_after_polls(1)
        falls.look_at(before)

        self.go_and_come_back_between_two_polls(daemon)

        self.assert_counts_on_cpu_1(daemon, cgroup, after_polls=1)  # which opens anew
        after = daemon.scrape()
        falls.look_at(after)
        self.assertEqual(falls.found, [])
        lost = harness.unmeasured(before, after, cpu="1")  # software is scaled by nothing
        self.assertGreater(lost, 0.1)
        self.assertLess(lost, time.monotonic() - begin)
        daemon.logged(" level=warn ", "CPU 1 was offline and is back")
        self.assert_worker_sits_on_cpu_1(daemon)
        if self.cpus_by_records(daemon) == way:
            harness.until("descriptors as before", lambda: daemon.open_fds() == fds)

    def test_cpu_that_was_away_at_the_start_is_counted_once_it_is_there(self):
        cgroup = self.tree.make("moved")
        self.take_offline()
        daemon = self.start("100ms")
        self.assertFalse(daemon.scrape_after_polls().has("perf_cpu_minor_faults_total", cpu="1"))

        set_cpu1_online(True)

        self.assert_counts_on_cpu_1(daemon, cgroup)
        self.assert_worker_sits_on_cpu_1(daemon)

    def test_counting_of_one_event_in_cgroups_alone_resumes_as_well(self):
        # No group shrinks and no clock of a CPU stands still: nothing but the work is missing.
        cgroup = self.tree.make("moved")
        daemon = self.start("1s", events=["minor-faults"], scope="cgroup")

        self.go_and_come_back_between_two_polls(daemon)

        self.assert_counts_on_cpu_1(daemon, cgroup, after_polls=2, per_cpu=False)


if __name__ == "__main__":
    harness.main()
