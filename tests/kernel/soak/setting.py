"""What soak_test.py disturbs: a tree of cgroups with work in it, and two daemons that count it."""

import contextlib
import os
import re
import sys
import time

import harness

EVENTS = ["task-clock", "context-switches", "minor-faults"]
OTHER_EVENTS = [["cpu-migrations"], ["cpu-migrations", "major-faults"]]  # one after the other
SOURCES = ("descriptors", "records")
INTERVAL = 0.25  # seconds
LINGER = 5.0
STEADY = 3
CLOCK = "perf_cgroup_task_clock_seconds_total"
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
    """soak/steady-N, soak/nest-0/inner-0: they work all the time; soak/rests-0 seldom; soak/churn: of
    those that come and go."""

    def __init__(self, stack):
        self.tree = stack.enter_context(harness.CgroupTree("soak"))
        harness.require(self.tree.is_v2, "only cgroups of version 2 have cpu.stat")
        self.works = {name: (0.004, 0.012) for name in
                      [*(f"steady-{number}" for number in range(STEADY)), "nest-0/inner-0"]}
        self.works["rests-0"] = (0.06, 6.0)
        for name in ("nest-0", "churn", *self.works):
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
        """Cgroups below churn end by themselves, and so do the sums of them."""
        return labels.get("cgroup", "").startswith(f"{self.tree.path}/churn/") or "kind" in labels

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
        lines.append(f"{section}: {{{', '.join(f'{key}: {value}' for key, value in keys.items())}}}")
    return "\n".join([*lines, ""])


class Watched:
    """A daemon, and what it is seen to do."""

    MEMORY = re.compile(r"^Pss:\s+(\d+) kB", re.MULTILINE)

    def __init__(self, setting, source, stack):
        self.setting, self.source = setting, source
        self.other_events = 0
        self.daemon = stack.enter_context(
            harness.Daemon(config_of(setting.tree, source), "--web.enable-lifecycle"))
        if source == "records":
            self.daemon.await_source()
        self.read_until = 0  # of its log, in bytes

    def configure(self, changes=None, text=None):
        self.daemon.write_config(
            text or config_of(self.setting.tree, self.source, changes, self.other_events))

    def new_lines(self):
        """What it has logged since the last call, in whole lines."""
        with open(f"{self.daemon.scratch}/stderr", "rb") as file:
            file.seek(self.read_until)
            text = file.read()
        whole = text[:text.rfind(b"\n") + 1]
        self.read_until += len(whole)
        return whole.decode().splitlines()

    def lines_with(self, text):
        return [line for line in self.daemon.stderr().splitlines() if text in line]

    def files(self):
        """(counters, sockets, others) that it has open."""
        directory, kinds = f"/proc/{self.daemon.pid}/fd", [0, 0, 0]
        for fd in os.listdir(directory):
            with contextlib.suppress(FileNotFoundError):
                link = os.readlink(f"{directory}/{fd}")
                kinds[0 if link == "anon_inode:[perf_event]" else
                      1 if link.startswith("socket:") else 2] += 1
        return kinds

    def memory(self):
        """Bytes that are its own: its part of what it shares included."""
        rollup = harness.read_text(f"/proc/{self.daemon.pid}/smaps_rollup")
        return 1024 * int(self.MEMORY.search(rollup)[1])

    def threads(self):
        return len(os.listdir(f"/proc/{self.daemon.pid}/task"))

    def at_rest(self):
        """A scrape in which no cgroup lingers, waits or is left out."""
        def is_at_rest(scrape):
            return not any(scrape.value("perf_event_exporter_cgroups", state=state)
                           for state in ("lingering", "waiting", "left_out"))
        return self.daemon.scrape_when("the end of all that came and went", is_at_rest)


class Mark:
    """What two daemons have counted, and the kernel has charged, while nothing runs."""

    def __init__(self, setting, watched):
        self.at = time.monotonic()
        self.true = {target: setting.cpu_seconds(target) for target in setting.targets}
        self.scrapes = {each.source: each.daemon.scrape_after_polls() for each in watched}
        self.left_out = {each.source: left_out_paths(each.daemon) for each in watched}

    def since(self, before, source, target):
        """Increments of (counted, enabled, running, true); None where the cgroup has no value."""
        first, last = before.scrapes[source], self.scrapes[source]
        def grown(name, **labels):
            return last.value(name, **labels) - first.value(name, **labels)
        labels = labels_of(last, target)
        if labels is None or labels_of(first, target) != labels:
            return None
        return (grown(CLOCK, **labels), grown(ENABLED, group="software", **labels),
                grown(RUNNING, group="software", **labels), self.true[target] - before.true[target])


def labels_of(scrape, target):
    found = [dict(labels) for name, labels in scrape if name == CLOCK
             and dict(labels).get("cgroup") == target]
    return found[0] if found else None


def left_out_paths(daemon):
    import json  # pylint: disable=import-outside-toplevel
    return json.loads(daemon.get("/api/v1/status")[1])["cgroups"]["left_out_paths"] or []
