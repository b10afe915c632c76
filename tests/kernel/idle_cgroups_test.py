"""Cgroups that do nothing: their counters are closed, and what they do later is not passed over."""

import os
import unittest

import harness
import perf_events

EVENTS = ["task-clock", "context-switches"]
CLOSE_AFTER = 2     # seconds
OPEN_AFTER = 0.005  # seconds of CPU time


class IdleCgroupsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        harness.require_events(*EVENTS)
        perf_events.require()
        cls.tree = cls.enterClassContext(harness.CgroupTree("idle"))
        cls.rests = cls.tree.make("rests")
        cls.works = cls.tree.make("works")
        cls.enterClassContext(harness.busy_loop(cls.tree, cls.works, min(harness.online_cpus())))
        cls.reader = cls.enterClassContext(perf_events.Counters(
            ["task-clock"], harness.online_cpus(), cls.tree.mount + cls.rests))
        harness.undisturbed(cls.observe)

    @classmethod
    def observe(cls):
        cls.scrapes, cls.used, cls.counted = {}, {}, {}
        harness.burn(cls.tree, cls.rests, 0.1)
        with harness.Daemon(cls.config()) as daemon:
            harness.burn(cls.tree, cls.rests, 0.1)
            stolen = harness.stolen()
            cls.look(daemon, "busy")
            cls.scrapes["idle"] = daemon.scrape_when("one idle cgroup", cls.idle(1))
            cls.scrapes["idle, later"] = daemon.scrape_after_polls(5)
            harness.burn(cls.tree, cls.rests, 0.3)
            daemon.scrape_when("no idle cgroup", cls.idle(0))
            cls.look(daemon, "seen")
            harness.burn(cls.tree, cls.rests, 0.2)
            cls.look(daemon, "busy again")
            cls.stolen = harness.stolen() - stolen

    @classmethod
    def look(cls, daemon, mark):
        """While nothing runs in the cgroup that rests."""
        cls.scrapes[mark] = daemon.scrape_after_polls()
        if not cls.idle(0)(cls.scrapes[mark]):
            raise harness.Disturbed(f"{CLOSE_AFTER} s went by before it was seen {mark}")
        cls.used[mark] = cls.cpu_time()
        cls.counted[mark] = cls.reader.sums()["task-clock"]

    @classmethod
    def config(cls):
        return "\n".join([
            "collection: {interval: 200ms}",
            f"groups: [{{name: software, events: [{', '.join(EVENTS)}], scope: cgroup}}]",
            f"cgroups: {{include: ['{cls.tree.pattern}'], source: descriptors, close_after: {CLOSE_AFTER}s}}",
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

    def grown(self, metric, before, after):
        labels = {"cgroup": self.rests} | ({"group": "software"} if metric.startswith("perf_group") else {})
        return self.scrapes[after].since(self.scrapes[before], metric, **labels)

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
        # By a counter that is open all the time it may be more than in cpu.stat, which leaves out
        # interrupts and the time of other virtual machines.
        used = self.used["busy again"] - self.used["busy"]
        counted = (self.counted["busy again"] - self.counted["busy"]) / 1e9
        print(f"\n{used:.4f} s of CPU time, {counted:.4f} s by another counter: {running:.4f} s "
              f"counted, {enabled - running:.4f} s unmeasured, {self.stolen:.2f} s were stolen")
        self.assertGreaterEqual(enabled - running, OPEN_AFTER)
        tolerance = 0.02 * used + 0.005 + self.stolen
        self.assertGreater(enabled, min(used, counted) - tolerance)
        self.assertLess(enabled, max(used, counted) + tolerance)

    def test_it_is_counted_from_its_last_total_on(self):
        for metric in ("perf_cgroup_task_clock_seconds_total",
                       "perf_cgroup_context_switches_total"):
            self.assertGreaterEqual(self.grown(metric, "idle", "busy again"), 0, metric)
        counted = self.grown("perf_cgroup_task_clock_seconds_total", "seen", "busy again")
        self.assertEqual(round(counted * 1e9), self.counted["busy again"] - self.counted["seen"])


if __name__ == "__main__":
    harness.main()
