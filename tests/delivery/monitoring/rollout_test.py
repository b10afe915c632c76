"""A bad configuration reaches all exporters of a fleet at once: each goes on counting, and alerts name it.

    rollout_test.py DAEMON WORKLOAD

Each exporter has a network namespace of its own and a socket from outside, as the shipped unit gives it. A
Prometheus with the shipped rules scrapes them; its alerts wait for seconds in place of minutes.
"""

import os
import re
import shutil
import signal
import socket
import sys
import tempfile
import unittest

import mixin

sys.path.insert(0, f"{mixin.root}/tests/kernel")
import harness
from dashboards_test import Scraping
from web_test import HAND_OVER

EXPORTERS = 100
INTERVAL = 1.0  # seconds from poll to poll
EVENTS = ["task-clock", "context-switches"]
GOOD = harness.config_of(events=EVENTS, interval="1s", scope="cpu")
FAILED, UNKNOWN = "PerfEventExporterConfigReloadFailed", "PerfEventExporterConfigUnknownKeys"
BAD = [  # and the alert
    (GOOD[:GOOD.index("events")], FAILED),
    ("", FAILED),
    (GOOD.replace("interval", "intervall"), FAILED),
    (GOOD.replace("1s", "1"), FAILED),
    (GOOD.replace("task-clock", "task-clokc"), FAILED),
    (f"requires: '>=99'\nsince_99: {{a: b}}\n{GOOD}", UNKNOWN),
]


class Exporter(harness.Daemon):
    def __init__(self, number):
        self.bad, self.alert = BAD[number % len(BAD)]
        self.is_watching = number // len(BAD) % 2 == 0
        self.socket = socket.create_server(("127.0.0.1", 0))
        fd = self.socket.fileno()
        super().__init__(GOOD, "--web.systemd-socket", *["--config.watch"] * self.is_watching,
                         wrapper=["unshare", "--net", sys.executable, "-S", "-c", HAND_OVER, str(fd)],
                         pass_fds=[fd], listens=False, port=self.socket.getsockname()[1])

    def __exit__(self, *failure):
        super().__exit__(*failure)
        self.socket.close()

    def load(self, config):
        self.write_config(config)
        if not self.is_watching:
            self.send(signal.SIGHUP)


def rules_that_fire_soon(folder):
    for path in mixin.RULE_FILES:
        yield harness.write_text(f"{folder}/{os.path.basename(path)}", re.sub(
            r"(?m)^    interval: .*\n", "", re.sub(r"(?m)^(        for: )\d+m", r"\g<1>5s", mixin.read_text(path))))


class RolloutTest(unittest.TestCase):
    def setUp(self):
        harness.require(shutil.which("prometheus"), "prometheus is not installed")
        harness.require_events(*EVENTS)
        harness.require(mixin.run("unshare", "--net", "true").returncode == 0, "needs network namespaces")
        self.exporters = [self.enterContext(Exporter(number)) for number in range(EXPORTERS)]
        rules = list(rules_that_fire_soon(self.enterContext(tempfile.TemporaryDirectory())))
        self.prometheus = self.enterContext(Scraping(
            {"perf_event_exporter": {each.address: each.address for each in self.exporters}}, rules))

    def firing(self, *names):
        """{(alert, instance)} of those whose names begin so."""
        return {(alert["labels"]["alertname"], alert["labels"]["instance"])
                for alert in self.prometheus.api("alerts")["alerts"]
                if alert["state"] == "firing" and alert["labels"]["alertname"].startswith(names)}

    def test_a_bad_file_stops_no_exporter_and_alerts_name_each(self):
        harness.until("scrapes of all", lambda: self.prometheus.scalar("sum(up)") == EXPORTERS)
        before = [each.scrape() for each in self.exporters]

        for each in self.exporters:
            each.load(each.bad)
        expected = {(each.alert, each.address) for each in self.exporters}
        harness.until("alerts of all", lambda: self.firing("PerfEventExporterConfig") == expected, pause=1)
        after = [each.scrape() for each in self.exporters]

        gaps = []
        for start, end in zip(before, after):
            passed = end.since(start, "perf_event_exporter_last_poll_timestamp_seconds")
            for cpu in map(str, harness.online_cpus()):
                gaps.append(passed - end.since(start, "perf_cpu_task_clock_seconds_total", cpu=cpu))
        print(f"\nnot counted: at most {max(gaps):.3f} s of {passed:.0f} s on each CPU")
        self.assertLess(max(map(abs, gaps)), INTERVAL)
        self.assertEqual(self.prometheus.query('count(min_over_time(perf_event_exporter_counting[10m]) == 0)'), {})
        self.assertEqual(self.firing("PerfEventExporterCountsNothing", "PerfEventExporterDown",
                                     "PerfEventExporterNotPolling"), set())

        for each in self.exporters:
            each.load(GOOD)
        harness.until("the end of the alerts", lambda: not self.firing("PerfEventExporterConfig"), pause=1)


if __name__ == "__main__":
    harness.main()
