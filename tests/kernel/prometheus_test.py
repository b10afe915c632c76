"""The packaged Prometheus scrapes the daemon and works out what an operator would look at."""

import json
import shutil
import subprocess
import tempfile
import unittest
import urllib.error
import urllib.parse
import urllib.request

import harness
import perf_events

EVENTS = ["task-clock", "context-switches", "cpu-migrations", "minor-faults", "major-faults"]
SCRAPES = 8  # behind each rate
EVERY = 0.5  # seconds
COUNTERS = '{__name__=~".+_total"}'

CONFIG = """
global: {{scrape_interval: 500ms}}
scrape_configs:
  - job_name: perf_event_exporter
    static_configs: [{{targets: ["{target}"]}}]
"""


class Prometheus:
    """A Prometheus with a database of its own."""

    ARGUMENTS = []

    def __init__(self, config):
        self.scratch = tempfile.mkdtemp(prefix="pex_test_")
        self.address = f"127.0.0.1:{harness.free_port()}"
        with open(f"{self.scratch}/prometheus.yml", "w", encoding="utf-8") as file:
            file.write(config)

    def __enter__(self):
        with open(f"{self.scratch}/log", "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                ["prometheus", f"--config.file={self.scratch}/prometheus.yml",
                 f"--storage.tsdb.path={self.scratch}/data",
                 f"--web.listen-address={self.address}", *self.ARGUMENTS],
                stdout=log, stderr=log)
        return self

    def __exit__(self, failure, *_):
        self.process.kill()
        self.process.wait()
        if failure is not None:
            print(harness.read_text(f"{self.scratch}/log"))
        shutil.rmtree(self.scratch)

    def query(self, expression):
        """Labels without the target's own -> value; empty while it does not answer."""
        query = urllib.parse.urlencode({"query": expression})
        url = f"http://{self.address}/api/v1/query?{query}"
        try:
            with urllib.request.urlopen(url, timeout=harness.PATIENCE) as answer:
                result = json.load(answer)["data"]["result"]
        except urllib.error.HTTPError as error:
            with error:
                if error.code != 503:  # it says so until its database is open
                    raise AssertionError(f"{expression}: {error.read().decode()}") from error
            return {}
        except (urllib.error.URLError, ConnectionError):
            return {}
        return {tuple((key, value) for key, value in sorted(each["metric"].items())
                      if key not in ("job", "instance")): float(each["value"][1])
                for each in result}

    def scalar(self, expression):
        return next(iter(self.query(expression).values()), 0)

    def await_scrapes(self, number):
        harness.until(f"{number} successful scrapes by Prometheus",
                      lambda: self.scalar("sum_over_time(up[5m])") >= number,
                      pause=0.1)


class PrometheusTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """A cgroup that works when a test lets it."""
        harness.require(shutil.which("prometheus"), "prometheus is not installed")
        harness.require_events(*EVENTS)
        perf_events.require()
        harness.require_cpus(1)
        tree = cls.enterClassContext(harness.CgroupTree("prometheus"))
        cls.cgroup = tree.make("busy")
        config = harness.config_of(events=EVENTS, include=[tree.pattern])
        cls.daemon = cls.enterClassContext(harness.Daemon(config))
        cls.counters = cls.enterClassContext(perf_events.Counters(
            ["task-clock"], harness.online_cpus(), tree.mount + cls.cgroup))
        cls.busy = cls.enterClassContext(harness.busy_loop(tree, cls.cgroup, cpu=1))
        cls.busy.stop()
        cls.prometheus = cls.enterClassContext(
            Prometheus(CONFIG.format(target=cls.daemon.address)))
        cls.prometheus.await_scrapes(SCRAPES + 2)

    def rates(self, name):
        return harness.until(f"rates of {name}", lambda: self.prometheus.query(
            f"rate({name}[{5 * SCRAPES * EVERY:.0f}s])"))

    def test_target_is_up(self):
        harness.until("a scrape that succeeds", lambda: self.prometheus.scalar("up") == 1)

    def test_each_cpu_switches(self):
        rates = self.rates("perf_cpu_context_switches_total")
        self.assertEqual(len(rates), len(harness.online_cpus()))
        for cpu, rate in rates.items():
            self.assertGreater(rate, 0, cpu)

    def test_busy_cgroup_uses_the_cpu_time_that_any_counter_sees(self):
        # On a quiet machine a whole CPU, on a busy one what the others leave: how much it was is
        # known to another counter. Stopped at both ends, so that nothing is under way while
        # Prometheus fetches the values.
        total = f'perf_cgroup_task_clock_seconds_total{{cgroup="{self.cgroup}"}}'
        stored_before, seen_before = self.stored_and_seen(total)
        self.busy.go_on()
        harness.until("half a second of work", lambda: self.seen() > seen_before + 500_000_000)
        self.busy.stop()
        stored, seen = self.stored_and_seen(total)
        # By records, each switch is booked on either task, and what is around a missing one estimated.
        self.assertAlmostEqual(stored - stored_before, seen - seen_before,
                               delta=(seen - seen_before) / 20 if harness.BY_RECORDS else 0)
        rates = self.rates(total)
        self.assertEqual(list(rates), [(("cgroup", self.cgroup),)])
        self.assertGreater(rates[(("cgroup", self.cgroup),)], 0)

    def stored_and_seen(self, total):
        self.daemon.scrape_after_polls()
        self.prometheus.await_scrapes(self.prometheus.scalar("sum_over_time(up[5m])") + 2)
        return round(self.prometheus.scalar(total) * 1e9), self.seen()

    def seen(self):
        return self.counters.sums()["task-clock"]

    def test_no_counter_was_ever_reset(self):
        names = [dict(labels)["__name__"]
                 for labels in self.prometheus.query(f"count by (__name__) ({COUNTERS})")]
        self.assertGreater(len(names), 2 * len(EVENTS))
        for name in names:
            resets = self.prometheus.query(f"resets({name}[5m])")
            self.assertTrue(resets, name)
            self.assertEqual(set(resets.values()), {0}, f"{name}: {resets}")

    def test_promtool_finds_nothing_to_complain_about(self):
        harness.require(shutil.which("promtool"), "promtool is not installed")
        checked = subprocess.run(["promtool", "check", "metrics"], input=self.daemon.scrape().text,
                                 capture_output=True, text=True, check=False)
        self.assertEqual((checked.returncode, checked.stdout, checked.stderr), (0, "", ""))


if __name__ == "__main__":
    harness.main()
