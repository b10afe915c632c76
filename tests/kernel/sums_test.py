"""Jobs that live for less than a scrape interval, in the sum of their cgroups: Prometheus has all of
their CPU time, however seldom it scrapes.
"""

import contextlib
import shutil
import time
import unittest

import harness
import perf_events
from prometheus_test import Prometheus

POLL = 0.2              # seconds
LINGER = 1              # seconds
INTERVALS = (2, 4, 8)   # seconds
ZERO_FOR = 10           # seconds, longer than any of them, and over before the last job
JOBS, LIFE, CPU_TIME = 6, 0.4, 0.2
EVERY = 2               # seconds from one job to the next
SUM = "perf_app_task_clock_seconds_total"


def config_of(tree):
    return "\n".join([
        f"collection: {{interval: {1000 * POLL:.0f}ms}}",
        "groups: [{name: software, events: [task-clock], scope: cgroup}]",
        "cgroups:",
        f"  include: ['{tree.pattern}']",
        f"  linger: {LINGER}s",
        "  labels: [{match: 're:.*/(?P<app>[a-z]+)-[0-9]+', set: {app: $1}}]",
        f"  sums: [{{name: app, by: [app], zero_for: {ZERO_FOR}s}}]", ""])


def scrapes_of(target):
    jobs = "".join(f"""
  - job_name: every_{interval}s
    scrape_interval: {interval}s
    static_configs: [{{targets: ["{target}"]}}]""" for interval in INTERVALS)
    return f"scrape_configs:{jobs}\n"


def run_job(tree, daemon, number):
    """Returns the CPU time it uses in its cgroup, which is counted from the first ns on, and for how
    long its series is served."""
    begin = time.monotonic()
    cgroup = tree.make(f"batch-{number}")
    daemon.scrape_when("the cgroup", lambda scrape: scrape.has(
        "perf_cgroup_task_clock_seconds_total", cgroup=cgroup, app="batch"))
    with perf_events.Counters(["task-clock"], harness.online_cpus(), tree.mount + cgroup) as counters:
        end = time.monotonic() + LIFE
        harness.burn(tree, cgroup, CPU_TIME)
        time.sleep(max(0, end - time.monotonic()))
        used = counters.sums()["task-clock"] / 1e9
    tree.remove(cgroup)
    daemon.scrape_when("the end of its series", lambda scrape: not scrape.has(
        "perf_cgroup_task_clock_seconds_total", cgroup=cgroup, app="batch"))
    return used, time.monotonic() - begin


class ShortJobsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        harness.require(shutil.which("prometheus"), "prometheus is not installed")
        harness.require_events("task-clock")
        perf_events.require()
        harness.undisturbed(cls.observe)

    @classmethod
    def observe(cls):
        with contextlib.ExitStack() as stack:
            tree = stack.enter_context(harness.CgroupTree("sums"))
            cls.daemon = stack.enter_context(harness.Daemon(config_of(tree)))
            cls.prometheus = stack.enter_context(Prometheus(scrapes_of(cls.daemon.address)))
            harness.until("a scrape", lambda: cls.prometheus.scalar("sum(up)") == len(INTERVALS))
            tree.make("batch-0")  # with which the sum begins
            cls.await_scrapes_after(0)
            cls.jobs = []  # CPU time, and for how long its series was served
            for number in range(1, JOBS + 1):
                begin = time.monotonic()
                cls.jobs.append(run_job(tree, cls.daemon, number))
                time.sleep(max(0, begin + EVERY - time.monotonic()))
            cls.used = sum(used for used, _ in cls.jobs)
            cls.await_scrapes_after(time.time() + 4 * POLL)
            for interval in INTERVALS:
                if cls.prometheus.scalar(f'min_over_time({SUM}{{job="every_{interval}s"}}[10m])'):
                    raise harness.Disturbed(f"a scrape every {interval} s came after {ZERO_FOR} s")
            cls.addClassCleanup(stack.pop_all().close)

    @classmethod
    def await_scrapes_after(cls, moment):
        for interval in INTERVALS:
            harness.until(f"a scrape of the sum every {interval} s after {moment}",
                          lambda interval=interval: cls.last_scrape(interval) > moment, pause=0.1)

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
                self.assertAlmostEqual(counted, self.used, delta=1e-6)

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
            series = f'(perf_cgroup_task_clock_seconds_total{{job="every_{interval}s"}}[10m])'
            alone = self.prometheus.scalar(f"sum(max_over_time{series} - min_over_time{series})")
            # On a busy machine a series may be served for so long that it is scraped twice.
            twice = sum(used for used, served in self.jobs if served > interval)
            print(f"\nincrease of each cgroup, every {interval} s: {alone:.3f} s of {twice:.3f} s")
            self.assertLessEqual(alone, twice + 1e-6)
        self.assertLess(twice, self.used)


class TenantTest(unittest.TestCase):
    MAX = 3

    def test_a_tenant_with_many_names_takes_no_sum_from_another(self):
        harness.require_events("task-clock")
        tree = self.enterContext(harness.CgroupTree("sums"))
        config = config_of(tree).replace(tree.pattern, tree.path + "/**").replace(
            "by: [app]", f"by: [app], max: {self.MAX}")
        daemon = self.enterContext(harness.Daemon(config))
        tree.make("tenant")
        for app in "abcdef":
            tree.make(f"tenant/{app}-1")
        daemon.scrape_when("more than there may be",
                           lambda scrape: scrape.has("perf_app_cgroups", app="other"))
        tree.make("web-1")
        scrape = daemon.scrape_when("the other one's",
                                    lambda scrape: scrape.has("perf_app_cgroups", app="web"))

        apps = {dict(labels)["app"]: value
                for (_, labels), value in scrape.with_name("perf_app_cgroups").items()}
        self.assertEqual(len(apps), self.MAX + 1)
        self.assertEqual(sum(apps.values()), len("abcdef") + 1)
        self.assertEqual(apps["web"], 1)
        self.assertEqual(scrape.value("perf_event_exporter_sum_cgroups_left_out", sum="app"),
                         apps["other"])


class NestedTest(unittest.TestCase):
    WORK = 0.1  # seconds

    def test_what_is_done_in_nested_cgroups_is_added_once(self):
        harness.require_events("task-clock")
        perf_events.require()
        tree = self.enterContext(harness.CgroupTree("sums"))
        daemon = self.enterContext(harness.Daemon(config_of(tree).replace(
            tree.pattern, tree.path + "/**").replace(
                "  sums:", "  nesting: all\n  sums:").replace(
                    f"name: app, by: [app], zero_for: {ZERO_FOR}s",
                    "name: all, by: [], zero_for: 0s")))

        def make(name):
            cgroup = tree.make(name)
            daemon.scrape_when("the cgroup", lambda scrape: scrape.has(
                "perf_cgroup_task_clock_seconds_total", cgroup=cgroup))
            return cgroup

        outer = make("outer")
        with perf_events.Counters(["task-clock"], harness.online_cpus(),
                                  tree.mount + outer) as counters:
            inner = make("outer/inner")
            for cgroup in (outer, inner, make("outer/inner/job")):
                harness.burn(tree, cgroup, self.WORK)
            tree.remove(inner + "/job")
            harness.burn(tree, inner, self.WORK)
            tree.remove(inner)
            harness.burn(tree, outer, self.WORK)
            used = counters.sums()["task-clock"] / 1e9
        daemon.scrape_after_polls()
        scrape = daemon.scrape_after_polls()

        self.assertGreater(used, 4.5 * self.WORK)  # each of five, by another clock and from its start on
        self.assertAlmostEqual(scrape.value("perf_all_task_clock_seconds_total"), used, delta=1e-3)


if __name__ == "__main__":
    harness.main()
