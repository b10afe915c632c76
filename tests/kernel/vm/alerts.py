"""Which of the shipped alerts fire on what an emulated machine was scraped: judged by a real Prometheus,
with the rules of packaging/prometheus."""

import contextlib
import json
import os
import re
import subprocess
import tempfile
import urllib.parse
import urllib.request

import yaml
from machine import harness  # what a scrape is read with

RULES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../packaging/prometheus")
BOOTED = 1_790_000_000  # when the machine was started: any time in the past
STEP = 15               # seconds
UNITS = {"s": 1, "m": 60, "h": 3600}


def openmetrics(record):
    """The scrapes, with their times."""
    series = {}
    for name, scrape in record.scrapes.items():
        at = BOOTED + record.uptimes["scrape", name]
        for (metric, labels), value in [*scrape.items(), (("up", ()), 1)]:
            text = ",".join(f"{label}={json.dumps(of)}" for label, of in
                            [*labels, ("job", "perf_event_exporter"), ("instance", "vm")])
            series.setdefault(metric, []).append((text, at, value))
    lines = []
    for metric, samples in series.items():
        lines.append(f"# TYPE {metric} unknown")
        lines += [f"{metric}{{{labels}}} {value} {at:.3f}" for labels, at, value in sorted(samples)]
    return "\n".join([*lines, "# EOF", ""])


class History:
    """A Prometheus that has these scrapes, and what the rules make of them."""

    def __init__(self, record):
        times = [BOOTED + at for (kind, _), at in record.uptimes.items() if kind == "scrape"]
        self.begin, self.end = min(times), max(times)
        self.text = openmetrics(record)

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self.folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="pex_test_"))
            with open(f"{self.folder}/scrapes", "w", encoding="utf-8") as file:
                file.write(self.text)
            self.blocks("openmetrics", f"{self.folder}/scrapes", f"{self.folder}/data")
            with self.prometheus() as address:
                self.blocks("rules", f"--start={self.begin:.0f}", f"--end={self.end:.0f}",
                            f"--eval-interval={STEP}s", f"--url=http://{address}",
                            f"--output-dir={self.folder}/rules", f"{RULES}/rules.yaml")
            for block in os.listdir(f"{self.folder}/rules"):
                os.rename(f"{self.folder}/rules/{block}", f"{self.folder}/data/{block}")
            self.address = stack.enter_context(self.prometheus())
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *failure):
        self.stack.close()

    @staticmethod
    def blocks(*arguments):
        subprocess.run(["promtool", "tsdb", "create-blocks-from", *arguments], check=True,
                       capture_output=True)

    @contextlib.contextmanager
    def prometheus(self):
        address = f"127.0.0.1:{harness.free_port()}"
        with open(f"{self.folder}/prometheus.yml", "w", encoding="utf-8") as file:
            file.write("global: {}\n")
        with subprocess.Popen(
                ["prometheus", f"--config.file={self.folder}/prometheus.yml",
                 f"--storage.tsdb.path={self.folder}/data", "--storage.tsdb.retention.time=10y",
                 f"--web.listen-address={address}"],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                self.address = address
                harness.until("Prometheus", lambda: self.answers("up"))
                yield address
            finally:
                process.terminate()

    def answers(self, expression):
        try:
            return self.values(expression)
        except OSError:  # it starts
            return None

    def values(self, expression):
        query = urllib.parse.urlencode({"query": expression, "start": self.begin, "end": self.end,
                                        "step": STEP})
        with urllib.request.urlopen(f"http://{self.address}/api/v1/query_range?{query}",
                                    timeout=harness.PATIENCE) as answer:
            return json.load(answer)["data"]["result"]

    def firing(self):
        """Alerts that were true for as long as they wait."""
        with open(f"{RULES}/alerts.yaml", encoding="utf-8") as file:
            groups = yaml.safe_load(file)["groups"]
        return [f"{rule['alert']}: {series['metric']}" for group in groups for rule in group["rules"]
                for series in self.values(rule["expr"])
                if longest(series["values"]) >= seconds(rule.get("for", "0s"))]


def seconds(text):
    number, unit = re.fullmatch(r"(\d+)([smh])", text).groups()
    return int(number) * UNITS[unit]


def longest(values):
    """Seconds without a gap."""
    most = since = 0
    last = None
    for at, _ in values:
        since = since + at - last if last is not None and at - last <= STEP else 0
        most, last = max(most, since), at
    return most
