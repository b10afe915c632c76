"""Cgroups that do nothing: their counters are closed, and what they do later is not passed over."""

import os
import time
import unittest

import harness
import perf_events

EVENTS = ["task-clock", "context-switches"]
OPEN_AFTER = 0.005  # seconds of CPU time


def work_in(tree, cgroup, cpu_time):
    """A process that uses about so much CPU time, and ends."""
    pid = os.fork()
    if pid == 0:
        try:
            tree.join(cgroup)
            while time.process_time() < cpu_time:
                pass
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


class IdleCgroupsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        harness.require_events(*EVENTS)
        perf_events.require()
        cls.tree = cls.enterClassContext(harness.CgroupTree("idle"))
        cls.rests = cls.tree.make("rests")
        cls.works = cls.tree.make("works")
        cls.enterClassContext(harness.busy_loop(cls.tree, cls.works, min(harness.online_cpus())))
        work_in(cls.tree, cls.rests, 0.1)
        cls.reader = cls.enterClassContext(perf_events.Counters(
            ["task-clock"], harness.online_cpus(), cls.tree.mount + cls.rests))
        cls.daemon = cls.enterClassContext(harness.Daemon(cls.config()))
        work_in(cls.tree, cls.rests, 0.1)
        cls.scrapes = {"busy": cls.daemon.scrape_after_polls()}
        cls.used = {"busy": cls.cpu_time()}
        cls.counted = {"busy": cls.task_clock()}
        cls.scrapes["idle"] = cls.daemon.scrape_when("one idle cgroup", cls.idle(1))
        cls.scrapes["idle, later"] = cls.daemon.scrape_after_polls(5)
        work_in(cls.tree, cls.rests, 0.3)
        cls.daemon.scrape_when("no idle cgroup", cls.idle(0))
        cls.used["seen"] = cls.cpu_time()
        work_in(cls.tree, cls.rests, 0.2)
        cls.scrapes["busy again"] = cls.daemon.scrape_after_polls()
        cls.used["busy again"] = cls.cpu_time()
        cls.counted["busy again"] = cls.task_clock()

    @classmethod
    def config(cls):
        return "\n".join([
            "collection: {interval: 200ms}",
            f"groups: [{{name: software, events: [{', '.join(EVENTS)}], scope: cgroup}}]",
            f"cgroups: {{include: ['{cls.tree.pattern}'], source: descriptors, close_after: 5s}}",
            ""])

    @staticmethod
    def idle(number):
        return lambda scrape: scrape.value("perf_event_exporter_cgroups", state="idle") == number

    @classmethod
    def cpu_time(cls):
        """Of the cgroup that rests, in seconds."""
        stat = os.path.join(cls.tree.mount + cls.rests, "cpu.stat")
        if not os.path.exists(stat):
            raise unittest.SkipTest("cgroups of version 1 have no cpu.stat")
        return harness.number_in(stat, "usage_usec") / 1e6

    @classmethod
    def task_clock(cls):
        """By a counter that is open all the time. On a busy machine it is more than cpu.stat, where
        interrupts and the time of other virtual machines are left out."""
        return cls.reader.sums()["task-clock"] / 1e9

    def grown(self, metric, before, after):
        values = [self.scrapes[mark].value(metric, **labels)
                  for mark in (before, after)
                  for labels in [{"cgroup": self.rests} | (
                      {"group": "software"} if metric.startswith("perf_group") else {})]]
        return values[1] - values[0]

    def test_its_counters_are_closed_and_its_series_stay(self):
        def open_events(mark):
            return self.scrapes[mark].value("perf_event_exporter_open_events")

        of_a_cgroup = len(EVENTS) * len(harness.online_cpus())
        self.assertEqual(open_events("busy") - open_events("idle, later"), of_a_cgroup)
        self.assertEqual(open_events("busy again"), open_events("busy"))
        for metric in ("perf_cgroup_task_clock_seconds_total",
                       "perf_cgroup_context_switches_total", "perf_group_enabled_seconds_total"):
            self.assertEqual(self.grown(metric, "idle", "idle, later"), 0, metric)

    def test_the_busy_cgroup_is_counted_all_the_time(self):
        of_busy = [self.scrapes[mark].value("perf_cgroup_task_clock_seconds_total",
                                            cgroup=self.works)
                   for mark in ("busy", "idle", "idle, later", "busy again")]
        self.assertEqual(of_busy, sorted(set(of_busy)))

    def test_what_it_did_while_they_were_closed_is_unmeasured(self):
        enabled = self.grown("perf_group_enabled_seconds_total", "idle, later", "busy again")
        running = self.grown("perf_group_running_seconds_total", "idle, later", "busy again")
        used, counted = (of["busy again"] - of["busy"] for of in (self.used, self.counted))
        print(f"\n{used:.4f} s of CPU time, {counted:.4f} s by another counter: {running:.4f} s "
              f"counted, {enabled - running:.4f} s unmeasured")
        self.assertGreaterEqual(enabled - running, OPEN_AFTER)
        self.assertGreater(running, 0.15)
        self.assertGreater(enabled, min(used, counted) - 0.02 * used - 0.005)
        self.assertLess(enabled, max(used, counted) + 0.02 * used + 0.005)

    def test_it_is_counted_from_its_last_total_on(self):
        for metric in ("perf_cgroup_task_clock_seconds_total",
                       "perf_cgroup_context_switches_total"):
            self.assertGreaterEqual(self.grown(metric, "idle", "busy again"), 0, metric)
        counted = self.grown("perf_cgroup_task_clock_seconds_total", "idle", "busy again")
        self.assertGreater(counted, 0.15)


if __name__ == "__main__":
    harness.main()
