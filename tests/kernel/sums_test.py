"""Jobs that live for less than a scrape interval, in the sum of their cgroups: Prometheus has all of
their CPU time, however seldom it scrapes.
"""

import os
import shutil
import time
import unittest

import harness
import perf_events
from prometheus_test import Prometheus

POLL = 0.5               # seconds
INTERVALS = (5, 15, 30)  # seconds
ZERO_FOR = 35            # seconds, longer than any of them, and over before the last job
JOBS, LIFE, CPU_TIME = 10, 0.6, 0.4
EVERY = 4                # seconds from one job to the next
SUM = "perf_app_task_clock_seconds_total"


def config_of(tree):
    return "\n".join([
        f"collection: {{interval: {1000 * POLL:.0f}ms}}",
        "groups: [{name: software, events: [task-clock], scope: cgroup}]",
        "cgroups:",
        f"  include: ['{tree.pattern}']",
        "  linger: 2s",
        "  labels: [{match: 're:.*/(?P<app>[a-z]+)-[0-9]+', set: {app: $1}}]",
        f"  sums: [{{name: app, by: [app], zero_for: {ZERO_FOR}s}}]", ""])


def scrapes_of(target):
    jobs = "".join(f"""
  - job_name: every_{interval}s
    scrape_interval: {interval}s
    static_configs: [{{targets: ["{target}"]}}]""" for interval in INTERVALS)
    return f"scrape_configs:{jobs}\n"


def run_job(tree, daemon, number):
    """Returns the CPU time it uses in its cgroup, which is counted from the first ns on."""
    cgroup = tree.make(f"batch-{number}")
    daemon.scrape_when("the cgroup", lambda scrape: scrape.has(
        "perf_cgroup_task_clock_seconds_total", cgroup=cgroup, app="batch"))
    with perf_events.Counters(["task-clock"], harness.online_cpus(), tree.mount + cgroup) as counters:
        end = time.monotonic() + LIFE
        pid = os.fork()
        if pid == 0:
            try:
                tree.join(cgroup)
                while time.process_time() < CPU_TIME and time.monotonic() < end:
                    pass
                time.sleep(max(0, end - time.monotonic()))
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
        used = counters.sums()["task-clock"] / 1e9
    tree.remove(cgroup)
    return used


class ShortJobsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        harness.require(shutil.which("prometheus"), "prometheus is not installed")
        harness.require_events("task-clock")
        perf_events.require()
        tree = cls.enterClassContext(harness.CgroupTree("sums"))
        cls.daemon = cls.enterClassContext(harness.Daemon(config_of(tree)))
        cls.prometheus = cls.enterClassContext(Prometheus(scrapes_of(cls.daemon.address)))
        # All intervals begin before the first job, so that none has its first sum after ZERO_FOR.
        harness.until("a scrape", lambda: cls.prometheus.scalar('up{job="every_5s"}') == 1)
        cls.used = 0
        for number in range(JOBS):
            begin = time.monotonic()
            cls.used += run_job(tree, cls.daemon, number)
            time.sleep(max(0, begin + EVERY - time.monotonic()))
        polled = time.time() + 4 * POLL
        for interval in INTERVALS:
            harness.until(f"a scrape every {interval} s after the last job has been counted",
                          lambda interval=interval: cls.last_scrape(interval) > polled,
                          patience=ZERO_FOR + 3 * max(INTERVALS), pause=1)

    @classmethod
    def last_scrape(cls, interval):
        return cls.prometheus.scalar(f'timestamp({SUM}{{job="every_{interval}s"}})')

    @classmethod
    def increase(cls, interval):
        """Between the first and the last sample, so that Prometheus extrapolates nothing."""
        return cls.prometheus.scalar(f'{SUM}{{job="every_{interval}s"}}'
                                     f' - min_over_time({SUM}{{job="every_{interval}s"}}[5m])')

    def test_the_sum_has_the_cpu_time_of_all_jobs(self):
        for interval in INTERVALS:
            with self.subTest(interval=interval):
                counted = self.increase(interval)
                print(f"\nscraped every {interval} s: {counted:.3f} s of {self.used:.3f} s")
                self.assertAlmostEqual(counted, self.used, delta=self.used / 20)

    def test_increase_has_it(self):
        # Asked at the last sample: later, it extrapolates into the time since, by up to 1.1 scrapes.
        for interval in INTERVALS:
            with self.subTest(interval=interval):
                series = f'{SUM}{{job="every_{interval}s"}}'
                last = self.last_scrape(interval)
                counted = self.prometheus.scalar(f"increase({series}[10m] @ {last})")
                print(f"\nincrease() of scrapes every {interval} s: {counted:.3f} s")
                self.assertAlmostEqual(counted, self.used, delta=self.used / 20)

    def test_the_jobs_alone_do_not_have_it(self):
        # What the sum is for: each cgroup's series begins with what it had used by then.
        for interval in INTERVALS:
            alone = self.prometheus.scalar(
                'sum(increase(perf_cgroup_task_clock_seconds_total'
                f'{{job="every_{interval}s"}}[10m]))')
            print(f"\nincrease() of each cgroup, every {interval} s: {alone:.3f} s")
            self.assertLess(alone, self.used / 2)


if __name__ == "__main__":
    harness.main()
