"""What looks at the daemons in soak_test.py all the time, and hands what it saw to the judges."""

import collections
import contextlib
import http.client
import time

import harness
import web
from soak import judges

SCRAPER = web.OTHER_HOSTS[0]  # another host than all other clients


class Scrapes(harness.Repeated):
    """Of one daemon: its counters, its polls, what it holds and what it logs."""

    POLLS = ("last_poll_timestamp_seconds", "polls_total", "poll_overruns_total",
             "poll_interval_seconds")

    def __init__(self, watched, warm_up, is_short):
        """`is_short()`: it may have no descriptor for us at the moment."""
        super().__init__()
        self.watched, self.is_short = watched, is_short
        self.refused = 0
        self.monotone = judges.Monotone(watched.setting.may_end, watched.setting.may_change)
        self.answers = judges.Answers()
        self.flat = judges.Flat(warm_up)
        self.log = judges.Log()
        self.lines = watched.log().from_the_beginning()
        self.cpus_by_records = []  # as often as they change
        self.by_source = collections.Counter()  # CPUs, summed over all scrapes
        self.last = None

    def once(self):
        replacements, was_short = self.monotone.replacements, self.is_short()
        try:
            self.last = scrape = self.scrape()
        except (AssertionError, ConnectionError):
            if not was_short and not self.is_short():
                raise
            self.refused += 1
            return
        self.monotone.look_at(scrape, replacements)
        self.answers.polled(*(scrape.value(f"perf_event_exporter_{name}") for name in self.POLLS),
                            replacements)
        by_records = int(scrape.value("perf_event_exporter_cgroup_source_cpus", source="records"))
        for source in ("records", "descriptors"):
            self.by_source[source] += scrape.value("perf_event_exporter_cgroup_source_cpus", source=source)
        if self.cpus_by_records[-1:] != [by_records]:
            self.cpus_by_records.append(by_records)
        self.look_at_process()
        self.read_log()

    def scrape(self):
        host, port = web.split(self.watched.daemon.address)
        with contextlib.closing(http.client.HTTPConnection(
                host, port, harness.PATIENCE, (SCRAPER, 0))) as connection:
            answer = web.ask(connection, headers={"Accept": web.OPENMETRICS})
        if answer.status != 200:
            raise AssertionError(f"scrape answered with {answer.status}: {answer.text}")
        return harness.Scrape(answer.text)

    def look_at_process(self):
        files = self.watched.files()
        self.flat.add(time.monotonic(), {
            **{kind: files[kind] for kind in ("counters", "sockets", "cgroups", "other files")},
            "threads": self.watched.threads(), "memory": self.watched.memory(),
            "watches": self.watched.watches(),
            "cgroups held by the kernel": self.watched.setting.tree.dying()})

    def read_log(self):
        for line in self.lines.new_lines():
            self.log.read(line)


class Probes(harness.Repeated):
    """Health and readiness of one daemon, each on a connection of its own."""

    every = 0.2
    PATHS = ("/-/healthy", "/-/ready")

    def __init__(self, watched, answers):
        super().__init__()
        self.watched, self.answers = watched, answers

    def once(self):
        for path in self.PATHS:
            stopwatch = harness.Stopwatch(self.watched.daemon.pid)
            status = self.watched.daemon.get(path)[0]
            self.answers.answered(path, status, stopwatch.seconds())
