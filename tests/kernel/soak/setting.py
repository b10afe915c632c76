"""What soak_test.py disturbs: a tree of cgroups with work in it, and two daemons that count it."""

import collections
import contextlib
import json
import os
import re
import resource
import sys
import time
import urllib.error

import harness
import perf_events
from soak import cgroup_churn

EVENTS = ["task-clock", "context-switches", "minor-faults"]
OTHER_EVENTS = [["cpu-migrations"], ["cpu-migrations", "major-faults"]]  # one after the other
SOURCES = ("descriptors", "records")
INTERVAL = 0.25  # seconds
LINGER = 5.0
STEADY = 3
SELDOM = (0.06, 6.0)  # seconds of work and of rest: such a cgroup becomes idle
DESCRIPTORS = 520  # of a daemon: enough for about 40 cgroups
CLOCK = "perf_cgroup_task_clock_seconds_total"
UNNAMED = "perf_event_exporter_unnamed_cgroups_cpu_seconds_total"
AWAITING = "perf_event_exporter_unnamed_cgroups"  # whose time is not in UNNAMED yet
ENABLED, RUNNING = (f"perf_group_{time}_seconds_total" for time in ("enabled", "running"))

# Works for a while, and rests, without end.
LOOP = """
import sys, time
work, rest = map(float, sys.argv[1:])
while True:
    end = time.thread_time() + work
    while time.thread_time() < end:
        pass
    time.sleep(rest)
"""


class Setting:
    """soak/steady-N, soak/nest-0/inner-0: they work all the time; soak/rests-0 seldom; in
    soak/churn are those that come and go, in soak/many more than there are descriptors for."""

    def __init__(self, stack):
        self.tree = stack.enter_context(harness.CgroupTree("soak"))
        harness.require(self.tree.is_v2, "only cgroups of version 2 have cpu.stat")
        self.works = {name: (0.003, 0.017) for name in
                      [*(f"steady-{number}" for number in range(STEADY)), "nest-0/inner-0"]}
        self.works["rests-0"] = SELDOM
        for name in ("nest-0", "churn", "many", *self.works):
            self.tree.make(name)
        self.targets = [self.tree.path, *(f"{self.tree.path}/{name}" for name in
                                          ("nest-0", "churn", *self.works))]
        for name, (work, rest) in self.works.items():
            stack.enter_context(harness.Process(
                [sys.executable, "-S", "-c", LOOP, str(work), str(rest)],
                preexec_fn=lambda name=name: self.tree.join(f"{self.tree.path}/{name}")))

    def directory(self, name):
        return f"{self.tree.directory}/{name}"

    def may_end(self, labels):
        """Cgroups below churn and many end by themselves, and so do sums."""
        cgroup = labels.get("cgroup", "")
        return (cgroup.startswith((f"{self.tree.path}/churn/", f"{self.tree.path}/many/"))
                or labels.keys() & {"kind", "team"})

    @staticmethod
    def may_change(name, labels):
        """The counters of OTHER_EVENTS, which a reload changes."""
        return (labels.get("group") == "others" or "_migrations_" in name or
                "_major_faults_" in name)

    def cpu_seconds(self, target):
        return harness.number_in(f"{self.tree.mount}{target}/cpu.stat", "usage_usec") / 1e6

    @contextlib.contextmanager
    def frozen(self):
        """Nothing runs in the tree, so that all that was counted can be compared with cpu.stat."""
        self._freeze(1)
        try:
            yield
        finally:
            self._freeze(0)

    def _freeze(self, state):
        with open(f"{self.tree.directory}/cgroup.freeze", "w", encoding="ascii") as file:
            file.write(str(state))
        events = f"{self.tree.directory}/cgroup.events"
        harness.until(f"the tree in state {state}",
                      lambda: harness.number_in(events, "frozen") == state)


def config_of(tree, source, changes=None, other_events=0):
    """`changes`: section -> key -> value."""
    sections = {
        "collection": {"interval": f"{1000 * INTERVAL:.0f}ms", "max_age": "200ms"},
        "openmetrics": {"created": "true"},
        "cgroups": {
            "source": source, "include": f"['{tree.path}', '{tree.path}/**']", "nesting": "all",
            "linger": f"{LINGER:.0f}s", "max": "400", "close_after": "2s",
            "labels": "[{match: 're:.*/(?P<kind>[a-z]+)-[0-9]+', set: {kind: $1}}]",
            "sums": "[{name: kinds, by: [kind], zero_for: 0s}]"},
    }
    for section, keys in (changes or {}).items():
        sections[section] = {**sections.get(section, {}), **keys}
    groups = [f"{{name: software, events: [{', '.join(EVENTS)}], scope: [cpu, cgroup]}}",
              f"{{name: others, events: [{', '.join(OTHER_EVENTS[other_events])}], scope: cgroup}}"]
    lines = [f"groups: [{', '.join(groups)}]"]
    for section, keys in sections.items():
        values = ", ".join(f"{key}: {value}" for key, value in keys.items())
        lines.append(f"{section}: {{{values}}}")
    return "\n".join([*lines, ""])


def few_descriptors():
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))


class Log:
    """The lines of a file, from its end on."""

    def __init__(self, path):
        self.path = path
        self.read_until = os.path.getsize(path)

    def from_the_beginning(self):
        self.read_until = 0
        return self

    def new_lines(self):
        """Those that are whole, each of them once."""
        with open(self.path, "rb") as file:
            file.seek(self.read_until)
            text = file.read()
        whole = text[:text.rfind(b"\n") + 1]
        self.read_until += len(whole)
        return whole.decode().splitlines()


class Watched:
    """A daemon, and what it is seen to do."""

    MEMORY = re.compile(r"^Pss:\s+(\d+) kB", re.MULTILINE)

    def __init__(self, setting, source, stack):
        self.setting, self.source = setting, source
        self.other_events = 0
        self.replaced_at_end = None  # reloads that replaced counters, of its log
        self.kinds = [("anon_inode:[perf_event]", "counters"), ("socket:", "sockets"),
                      ("anon_inode:[eventfd]", "eventfds"),
                      (setting.tree.directory, "cgroups")]  # by what the link begins with
        self.daemon = stack.enter_context(
            harness.Daemon(config_of(setting.tree, source), "--web.enable-lifecycle",
                           preexec_fn=few_descriptors))
        self.await_source()

    def await_source(self):
        if self.source == "records":
            self.daemon.await_source()

    def configure(self, changes=None, text=None):
        self.daemon.write_config(
            config_of(self.setting.tree, self.source, changes, self.other_events)
            if text is None else text)

    def log(self):
        return Log(f"{self.daemon.scratch}/stderr")

    def files(self):
        """What it has open, by kind."""
        directory, kinds = f"/proc/{self.daemon.pid}/fd", collections.Counter()
        for fd in os.listdir(directory):
            with contextlib.suppress(FileNotFoundError):
                link = os.readlink(f"{directory}/{fd}")
                kinds[next((kind for beginning, kind in self.kinds if link.startswith(beginning)),
                           "other files")] += 1
        return kinds

    def other_files(self):
        """Of files(), by what they are. Some are open for a moment only."""
        directory, stable = f"/proc/{self.daemon.pid}/fd", None
        for _ in range(10):
            links = collections.Counter()
            for fd in os.listdir(directory):
                with contextlib.suppress(FileNotFoundError):
                    link = os.readlink(f"{directory}/{fd}")
                    if not any(link.startswith(beginning) for beginning, _ in self.kinds):
                        links[re.sub(r"\d+", "N", link)] += 1
            stable = links if stable is None else stable & links
            time.sleep(0.05)
        return dict(stable)

    def memory(self):
        """Bytes that are its own: its part of what it shares included."""
        rollup = harness.read_text(f"/proc/{self.daemon.pid}/smaps_rollup")
        return 1024 * int(self.MEMORY.search(rollup)[1])

    def watches(self):
        """Of directories, that the kernel has for its inotify instances."""
        directory, watches = f"/proc/{self.daemon.pid}/fd", 0
        for fd in os.listdir(directory):
            with contextlib.suppress(FileNotFoundError):
                if os.readlink(f"{directory}/{fd}") == "anon_inode:inotify":
                    info = harness.read_text(f"/proc/{self.daemon.pid}/fdinfo/{fd}")
                    watches += info.count("inotify wd:")
        return watches

    def threads(self):
        return len(os.listdir(f"/proc/{self.daemon.pid}/task"))

    def at_rest(self):
        """A scrape in which no cgroup lingers, waits or is left out."""
        def is_at_rest(scrape):
            return not any(scrape.value("perf_event_exporter_cgroups", state=state)
                           for state in ("lingering", "waiting", "left_out"))
        return self.daemon.scrape_when("the end of all that came and went", is_at_rest)


class Mark:
    """What two daemons have counted, and the kernel has charged, while nothing runs. Counters of
    our own begin at a mark, and end at the next one."""

    def __init__(self, setting, watched, before=None):
        self.at = time.monotonic()
        self.stolen = harness.stolen()
        self.true = {target: setting.cpu_seconds(target) for target in setting.targets}
        self.scrapes = {each.source: scrape_with_names(each.daemon) for each in watched}
        self.others = before.end() if before else {}  # target -> seconds
        self.readers = {target: perf_events.Counters(["task-clock"], harness.online_cpus(),
                                                     setting.tree.mount + target)
                        for target in setting.targets}

    def end(self):
        """Closes its counters; target -> what they counted, in seconds."""
        counted = {target: reader.sums()["task-clock"] / 1e9
                   for target, reader in self.readers.items()}
        for reader in self.readers.values():
            reader.close()
        self.readers = {}
        return counted

    def overruns(self, source):
        return self.scrapes[source].value("perf_event_exporter_poll_overruns_total")

    def since(self, before, source, target):
        """What Truth.compare() takes; None where the cgroup has no value."""
        first, last = before.scrapes[source], self.scrapes[source]
        labels = labels_of(last, target)
        if labels is None or labels_of(first, target) != labels:
            return None

        def grown(name, **more):
            return last.value(name, **labels, **more) - first.value(name, **labels, **more)

        awaiting = without_name(last) - without_name(first)
        return {"counted": grown(CLOCK), "enabled": grown(ENABLED, group="software"),
                "running": grown(RUNNING, group="software"),
                "unnamed": (last.get((UNNAMED, ()), 0) - first.get((UNNAMED, ()), 0)
                            + max(awaiting, 0) * cgroup_churn.WORKS[1]),
                "true": self.true[target] - before.true[target], "other": self.others.get(target),
                "stolen": self.stolen - before.stolen}


def without_name(scrape):
    return scrape.get((AWAITING, ()), 0)  # absent until cgroups were counted by records


def scrape_with_names(daemon):
    """By records, what a cgroup did is added to those around it once its name is known: names are looked
    for once a second. Some cgroups outside of ours may have none for longer."""
    end = time.monotonic() + 3
    while True:
        scrape = daemon.scrape_after_polls()
        if not without_name(scrape) or time.monotonic() > end:
            return scrape


def labels_of(scrape, target):
    found = [dict(labels) for name, labels in scrape if name == CLOCK
             and dict(labels).get("cgroup") == target]
    return found[0] if found else None


def left_out_paths(daemon):
    """While it has no descriptor for a client, it answers nothing but health."""
    status = harness.until("the status", lambda: answer_of(daemon, "/api/v1/status"))
    return set(json.loads(status)["cgroups"]["left_out_paths"] or [])


def answer_of(daemon, path):
    with contextlib.suppress(ConnectionError, urllib.error.URLError):
        status, text = daemon.get(path)
        return text if status == 200 else None
    return None
