"""Reloads that only publish in another way: every counter goes on, as in an exporter that was never
reloaded.
"""

import signal
import unittest

import harness
from churn_test import Scraper

EVENTS = ["context-switches", "minor-faults"]
METRICS = ["perf_cgroup_context_switches_total", "perf_cgroup_minor_faults_total"]
RELOADS = 42

LABELS = "labels: [{match: '/**', set: {team: x}}]"
CHANGES = [  # section -> keys
    {"evidence": "cgroups: none"},
    {"openmetrics": "created: true"},
    {"limits": "max_series: 5000, opens_per_second: 500"},
    {"collection": "interval: 150ms, max_age: 1s"},
    {"cgroups": f"linger: 5s, max: 9, close_after: 1h, {LABELS}"},
    {"cgroups": f"sums: [{{name: team, by: [team], zero_for: 0s}}], {LABELS}"},
    {},
]


def config_of(tree, change=None):
    sections = {"collection": "interval: 100ms"} | (change or {})
    selected = f"include: ['{tree.pattern}'], source: descriptors"
    sections["cgroups"] = ", ".join([selected, *filter(None, [sections.get("cgroups")])])
    groups = f"groups: [{{name: software, events: [{', '.join(EVENTS)}], scope: [cpu, cgroup]}}]"
    return "\n".join([groups, *(f"{name}: {{{keys}}}" for name, keys in sections.items()), ""])


def reloads_of(daemon):
    return [line for line in daemon.lines("info") if "configuration reloaded" in line]


class ReloadUnderLoadTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        harness.require_events(*EVENTS)
        tree = cls.enterClassContext(harness.CgroupTree("reload"))
        cls.cgroup = tree.make("work")
        work = cls.enterClassContext(harness.touches_pages(tree, cls.cgroup))
        work.stop()
        cls.daemons = [cls.enterClassContext(harness.Daemon(config_of(tree))) for _ in range(2)]
        cls.before = [daemon.scrape_after_polls() for daemon in cls.daemons]
        reloaded = cls.daemons[0]
        with Scraper(reloaded, every=0.05) as cls.scraper:
            work.go_on()
            for number in range(RELOADS):
                reloaded.write_config(config_of(tree, CHANGES[number % len(CHANGES)]))
                reloaded.send(signal.SIGHUP)
                harness.until(f"reload {number}",
                              lambda number=number: len(reloads_of(reloaded)) == number + 1)
                reloaded.scrape_after_polls(1)
            work.stop()
            cls.after = [daemon.scrape_after_polls() for daemon in cls.daemons]

    def test_each_counter_of_the_cgroup_is_that_of_the_other_exporter(self):
        for metric in METRICS:
            grown = [after.value(metric, **self.labels(after)) -
                     before.value(metric, **self.labels(before))
                     for before, after in zip(self.before, self.after)]
            print(f"\n{metric}: {grown[0]:.0f} after {RELOADS} reloads, {grown[1]:.0f} without")
            self.assertGreater(grown[1], 1000)
            self.assertEqual(grown[0], grown[1])

    def labels(self, scrape):
        """Of the series of the cgroup, which a change may have given another label."""
        (labels,) = [labels for name, labels in scrape if name == METRICS[0]]
        return dict(labels)

    def test_no_counter_falls(self):
        self.assertEqual(self.scraper.falls.found, [])
        self.assertEqual(self.scraper.problems, [])

    def test_each_reload_reports_that_counters_are_kept(self):
        self.assertEqual(len(reloads_of(self.daemons[0])), RELOADS)
        for line in reloads_of(self.daemons[0]):
            self.assertIn("counters=kept", line)
        self.assertEqual(self.daemons[0].lines("error"), [])


class ReplacingTest(unittest.TestCase):
    def test_a_reload_that_counts_something_else_reports_that_counters_are_replaced(self):
        harness.require_events(*EVENTS)
        daemon = self.enterContext(harness.Daemon(
            harness.config_of(events=EVENTS, scope="cpu")))
        daemon.write_config(harness.config_of(events=EVENTS[:1], scope="cpu"))
        daemon.send(signal.SIGHUP)
        (line,) = harness.until("the reload", lambda: reloads_of(daemon))
        self.assertIn("counters=replaced", line)


if __name__ == "__main__":
    harness.main()
