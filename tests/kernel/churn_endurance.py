"""Minutes of cgroups that come and go: what the daemon holds does not grow. By hand:

    PEX_TEST_CGROUP_SOURCE=records MINUTES=30 churn_endurance.py DAEMON WORKLOAD

Prints what was held, and by how much that grew in an hour, by the line of least squares.
"""

import os
import re
import time
import unittest

import harness
from churn_test import Scraper, run_once_in

EVENTS = ["task-clock", "context-switches", "minor-faults"]
MINUTES = float(os.environ.get("MINUTES", "10"))
WARM_UP = 60.0    # seconds in which memory may still grow
LONG = 120        # looks, of which there is one in a second
EACH_SECOND = 17  # a thousand in a minute
LIFE = 1.5      # seconds
LINGER = 5
RING = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) .*anon_inode:\[perf_event\]", re.MULTILINE)
# The most that each may grow, while 60 000 cgroups come and go.
PER_HOUR = {"memory": 4e6, "descriptors": 60.0, "rings": 1.0}


def held_by(daemon):
    """Bytes of resident memory, descriptors, bytes of rings."""
    status = harness.read_text(f"/proc/{daemon.pid}/status")
    rings = RING.findall(harness.read_text(f"/proc/{daemon.pid}/maps"))
    return {"memory": 1024 * int(re.search(r"^VmRSS:\s+(\d+)", status, re.MULTILINE)[1]),
            "descriptors": daemon.open_fds(),
            "rings": sum(int(end, 16) - int(start, 16) for start, end in rings)}


def sources_of(daemon):
    """Source -> CPUs."""
    found = daemon.scrape().with_name("perf_event_exporter_cgroup_source_cpus")
    return {dict(labels)["source"]: int(value) for (_, labels), value in found.items()}


def slope(points):
    """Of (seconds, value), in an hour."""
    times, values = zip(*points)
    mean_time, mean_value = sum(times) / len(times), sum(values) / len(values)
    return 3600 * (sum((t - mean_time) * (v - mean_value) for t, v in points)
                   / sum((t - mean_time) ** 2 for t in times))


class Phase:
    """A time in which cgroups are counted by the same sources: a CPU whose records are not complete
    changes to descriptors."""

    def __init__(self, sources, begin):
        self.sources, self.begin = sources, begin
        self.seen = {name: [] for name in PER_HOUR}

    def look_at(self, daemon, passed):
        if passed < self.begin + WARM_UP:
            return
        for name, value in held_by(daemon).items():
            self.seen[name].append((passed, value))

    def is_long(self):
        return len(self.seen["memory"]) >= LONG

    def slopes(self):
        return {name: slope(points) for name, points in self.seen.items()}

    def description(self):
        lines = [f"from {self.begin:.0f} s on by {self.sources}:"]
        if not self.is_long():
            return lines[0] + " too short"
        for name, points in self.seen.items():
            values = [value for _, value in points]
            lines.append(f"  {name}: {min(values)} to {max(values)} in "
                         f"{points[-1][0] - points[0][0]:.0f} s, {slope(points):+.1f} in an hour")
        return "\n".join(lines)


class Churn:
    """Cgroups of which each second some are made, run once, and are removed after LIFE."""

    def __init__(self, tree):
        self.tree = tree
        self.alive = []  # (end, path)
        self.made = 0

    def step(self):
        for _ in range(EACH_SECOND):
            cgroup = self.tree.make(f"job-{self.made}")
            self.made += 1
            run_once_in(self.tree, cgroup)
            self.alive.append((time.monotonic() + LIFE, cgroup))
        self.remove(time.monotonic())

    def remove(self, now):
        while self.alive and self.alive[0][0] <= now:
            self.tree.remove(self.alive.pop(0)[1])


class EnduranceTest(unittest.TestCase):
    def test_what_the_daemon_holds_does_not_grow_with_time(self):
        harness.require_events(*EVENTS)
        tree = self.enterContext(harness.CgroupTree("endurance"))
        config = harness.config_of(events=EVENTS, include=[tree.pattern], interval="1s",
                                   linger=f"{LINGER}s")
        daemon = self.enterContext(harness.Daemon(config))
        churn, phases = Churn(tree), []
        begin = time.monotonic()
        with Scraper(daemon, every=2) as scraper:
            while (passed := time.monotonic() - begin) < 60 * MINUTES:
                churn.step()
                sources = sources_of(daemon)
                if not phases or sources != phases[-1].sources:
                    phases.append(Phase(sources, passed))
                phases[-1].look_at(daemon, passed)
                time.sleep(max(0.0, begin + int(passed) + 1 - time.monotonic()))
        churn.remove(float("inf"))
        last = daemon.scrape()

        print(f"\n{churn.made} cgroups in {MINUTES:g} minutes, {scraper.scrapes} scrapes")
        for phase in phases:
            print(phase.description(), flush=True)
        for prefix in ("switch_records_total", "unnamed_cgroups", "cgroups_missed_total"):
            print(last.with_name(f"perf_event_exporter_{prefix}"))
        self.assertEqual(scraper.problems, [])
        self.assertEqual(scraper.falls.found, [])
        long = [phase for phase in phases if phase.is_long()]
        self.assertGreater(len(long), 0, "the source of the counts never stayed for long enough")
        for phase in long:
            for name, grown in phase.slopes().items():
                self.assertLess(grown, PER_HOUR[name], f"{name} {phase.sources}")


if __name__ == "__main__":
    harness.main()
