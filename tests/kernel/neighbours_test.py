"""Beside other programs that count on the same CPUs and in the same cgroups, and come and go, our
counts are what a reader of the same events has that was there all the time.

How long they come and go: PEX_NEIGHBOURS_SECONDS, 20 if it is not set, and longer where
each could not come and go three times; in which order: PEX_SEED.
"""

import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import harness
import perf_events

EVENTS = ["context-switches", "page-faults", "task-clock"]
METRICS = dict(zip(EVENTS, ("context_switches", "page_faults", "task_clock_seconds")))
SECONDS = int(os.environ.get("PEX_NEIGHBOURS_SECONDS", "20"))
ROUNDS = 3  # at least
SEED = int(os.environ.get("PEX_SEED", "20260901"))

# Faults and switches, so many times or until it is ended.
WORK = """
import mmap, sys, time
times = int(sys.argv[1]) if len(sys.argv) > 1 else -1
while times:
    times -= 1
    with mmap.mmap(-1, 64 * mmap.PAGESIZE) as memory:
        for page in range(64):
            memory[page * mmap.PAGESIZE] = 1
    time.sleep(0.001)
"""


def machine_switches():
    """Context switches of the whole machine since boot."""
    return harness.number_in("/proc/stat", "ctxt")


def config(tree):
    return harness.config_of(events=EVENTS, include=[tree.path + "/**"], linger="1h")


def counted(scrape, event, scope, **labels):
    """In the unit of the kernel: of clocks ns."""
    value = scrape.value(f"perf_{scope}_{METRICS[event]}_total", **labels)
    return round(value * 1e9) if METRICS[event].endswith("_seconds") else int(value)


def work_in(tree, cgroup):
    """A process that works there until it is ended."""
    return harness.Process([sys.executable, "-S", "-c", WORK],
                           preexec_fn=lambda: tree.join(cgroup))


class Offset:
    """Two counters of the same events that began at different times: what one has above the other
    is the same at all times. When one is read before and after the other, it is between two bounds.
    They become narrower from time to time, and are one number when nothing happens."""

    def __init__(self):
        self.least, self.most = -float("inf"), float("inf")

    def narrow(self, before, counter, after):
        """Whether there still is such a number."""
        self.least = max(self.least, before - counter)
        self.most = min(self.most, after - counter)
        return self.least <= self.most


class Comparison:
    """A daemon, each scrape of which is compared with a reader of the same events, read before the
    poll and after it. No count may fall, stay behind or run ahead."""

    def __init__(self, test, daemon, cpus, cgroups):
        self.test, self.daemon = test, daemon
        self.cpus, self.cgroups = cpus, cgroups  # Counters; path -> Counters
        self.offsets = {}
        self.falls = harness.Falls()
        self.compared = 0

    def compare(self):
        before = self._read()
        scrape = self.daemon.scrape_after_polls()
        after = self._read()
        self.falls.look_at(scrape)
        self.test.assertEqual(self.falls.found, [])
        for (event, scope, labels), least in before.items():
            value = counted(scrape, event, scope, **dict(labels))
            most = after[event, scope, labels]
            offset = self.offsets.setdefault((event, scope, labels), Offset())
            self.test.assertTrue(
                offset.narrow(least, value, most),
                f"{event} of {scope} {labels}: {value}, the reader's {least} to {most}, which has "
                f"{offset.most} to {offset.least} more than we")
            self.compared += 1
        return scrape

    def _read(self):
        read = {(event, "cpu", (("cpu", str(cpu)),)): count
                for (event, cpu), count in self.cpus.read().items()}
        for cgroup, counters in self.cgroups.items():
            for event, count in counters.sums().items():
                read[event, "cgroup", (("cgroup", cgroup),)] = count
        return read

    def width(self, event, cgroup):
        """Of what is between the bounds; 0: both count alike to the last event."""
        offset = self.offsets[event, "cgroup", (("cgroup", cgroup),)]
        return offset.most - offset.least


class PerfStat:
    """`perf stat -a` next to us, from its first report on until it is ended."""

    COMMAND = ["perf", "stat", "-x,", "-I", "100", "-a", "-e", "context-switches"]

    def __init__(self, *args):
        self.output = tempfile.NamedTemporaryFile("r", prefix="pex_test_")
        self.process = harness.Process([*self.COMMAND, "-o", self.output.name, *args],
                                       stderr=subprocess.DEVNULL)

    def __enter__(self):
        harness.until("a report of perf", self.reports)
        return self

    def __exit__(self, *_):
        self.process.__exit__()
        self.output.close()

    def reports(self):
        """Counts of each interval, all in all."""
        return re.findall(r"^ *[0-9.]+,(\d+),,context-switches,",
                          harness.read_text(self.output.name), re.MULTILINE)

    def total(self):
        self.process.child.send_signal(signal.SIGINT)
        self.process.child.wait(timeout=harness.PATIENCE)
        return sum(map(int, self.reports()))


def require_all():
    perf_events.require()
    harness.require_events(*EVENTS)
    harness.require(shutil.which("perf"), "perf is not installed (Debian: linux-perf)")


class FirstOnACpuTest(unittest.TestCase):
    """Another program's event of a cgroup that does not run, enabled when it is opened, is the
    first one on a CPU. The kernel does not start that CPU's context for it, and to enable a group
    that was opened disabled does not start it either. Such a group stays at 0 without an error,
    until that CPU switches between cgroups while any has events, or somebody opens an event that
    counts at once (Linux 6.1 to 6.18). So all that works here stays in one cgroup. What cAdvisor
    opens disabled, and enables then, did no harm on 6.18."""

    SWITCHES, PAGES, CPU_MS = 500, 500, 20

    def setUp(self):
        perf_events.require()
        harness.require_events(*EVENTS)
        users = perf_events.users()
        harness.require(not users, f"others have events open, which may be the first: {users}")
        self.cpus = sorted(harness.online_cpus())
        self.tree = self.enterContext(harness.CgroupTree("first"))
        self.resting = self.tree.make("resting")

    def hold(self, cpus):
        """Events of a cgroup in which nothing runs."""
        return self.enterContext(
            perf_events.Counters(EVENTS, cpus, self.tree.mount + self.resting))

    def start(self):
        """Without cgroups: a task of one that we count ourselves would start the context."""
        return self.enterContext(harness.Daemon(harness.config_of(events=EVENTS, scope="cpu")))

    def assert_counts(self, daemon):
        """Each CPU shows what a process does there, and all together what the machine does."""
        for cpu in self.cpus:
            with harness.Workload(self.tree, "/", cpu, self.SWITCHES, self.PAGES,
                                  self.CPU_MS) as workload:
                earliest = machine_switches()
                before = daemon.scrape_after_polls()
                switches_before = machine_switches()
                workload.run()
                switches_after = machine_switches()
                after = daemon.scrape_after_polls()
                latest = machine_switches()
            for event, least in (("context-switches", self.SWITCHES), ("page-faults", self.PAGES),
                                 ("task-clock", self.CPU_MS * 1_000_000)):
                name = f"perf_cpu_{METRICS[event]}_total"
                self.assertTrue(after.has(name, cpu=str(cpu)), f"{name} of CPU {cpu} is absent")
                grown = (counted(after, event, "cpu", cpu=str(cpu))
                         - counted(before, event, "cpu", cpu=str(cpu)))
                self.assertGreaterEqual(grown, least, f"{event} on CPU {cpu}")
            grown = sum(counted(after, "context-switches", "cpu", cpu=str(each))
                        - counted(before, "context-switches", "cpu", cpu=str(each))
                        for each in self.cpus)
            self.assertGreaterEqual(grown, switches_after - switches_before)
            self.assertLessEqual(grown, latest - earliest)
            self.assertEqual(after.standstills(), 0)

    def test_cpus_are_counted_where_it_was_there_before_us(self):
        self.hold(self.cpus)
        self.assert_counts(self.start())

    def test_cpus_are_counted_where_it_was_there_on_one_cpu(self):
        self.hold(self.cpus[-1:])
        self.assert_counts(self.start())

    def test_cpus_are_counted_after_it_has_gone(self):
        neighbour = self.hold(self.cpus)
        daemon = self.start()
        daemon.scrape_after_polls()
        neighbour.close()
        self.assert_counts(daemon)

    def test_cpus_are_counted_where_it_was_opened_as_cadvisor_does(self):
        for groups in ([[event] for event in EVENTS], [EVENTS]):
            with self.subTest(groups=groups), perf_events.Cadvisor(groups, self.cpus) as neighbour:
                neighbour.add(self.tree.mount + self.resting)
                with harness.Daemon(harness.config_of(events=EVENTS, scope="cpu")) as daemon:
                    self.assert_counts(daemon)

    def test_cpus_are_counted_next_to_perf_that_was_there_before_us_and_after_it_has_gone(self):
        harness.require(shutil.which("perf"), "perf is not installed (Debian: linux-perf)")
        for options in ([], ["--for-each-cgroup", self.resting.removeprefix("/")]):
            command = ["perf", "stat", "-a", "-e", ",".join(EVENTS), *options]
            with self.subTest(options=options), harness.Process(
                    command, stderr=subprocess.DEVNULL) as perf:
                harness.until("perf counts",
                              lambda perf=perf: perf_events.opened_by(perf.pid) >= len(self.cpus))
                with harness.Daemon(harness.config_of(events=EVENTS, scope="cpu")) as daemon:
                    self.assert_counts(daemon)
                    perf.child.terminate()
                    perf.child.wait()
                    self.assert_counts(daemon)

    def test_a_single_scrape_counts_next_to_it(self):
        self.hold(self.cpus)
        ended = harness.run("--once", config=harness.config_of(events=EVENTS, scope="cpu"))
        scrape = harness.Scrape(ended.stdout)
        for cpu in map(str, self.cpus):
            self.assertGreater(scrape.value("perf_cpu_context_switches_total", cpu=cpu), 0)
            self.assertGreater(scrape.value("perf_group_enabled_seconds_total", cpu=cpu,
                                            group="software"), 0.05)

    def test_cpus_are_counted_by_a_second_exporter_as_well(self):
        self.hold(self.cpus)
        for daemon in (self.start(), self.start()):
            self.assert_counts(daemon)

    def test_cpus_are_counted_after_a_reload_next_to_it(self):
        daemon = self.start()
        self.hold(self.cpus)
        for events in (EVENTS[:1], EVENTS):  # each is another configuration
            daemon.write_config(harness.config_of(events=events, scope="cpu"))
            daemon.send(signal.SIGHUP)
            daemon.scrape_when("what it names", lambda scrape, events=events: {
                event for event in EVENTS if scrape.with_name(f"perf_cpu_{METRICS[event]}_total")
            } == set(events))
        self.assert_counts(daemon)


class ComeAndGoTest(unittest.TestCase):
    LIVES = 30  # times that the work of one life is done

    def setUp(self):
        require_all()
        self.random = random.Random(SEED)
        self.cpus = sorted(harness.online_cpus())
        self.tree = self.enterContext(harness.CgroupTree("neighbours"))
        self.steady, self.resting = self.tree.make("steady"), self.tree.make("resting")
        self.outside = self.enterContext(harness.CgroupTree("outside"))  # that we do not count
        self.others = [self.outside.directory, self.tree.mount + self.steady,
                       self.tree.mount + self.resting]
        self.cadvisor = self.enterContext(perf_events.Cadvisor([EVENTS[:1], EVENTS[1:]],
                                                              self.cpus))
        self.holders = {}  # directory -> Counters of somebody else
        self.lives, self.visits = 0, {}
        self.second = self.statistics = self.on_cpus = None

    def visitor(self):
        """What holds all of one: closed when it goes, or at the end."""
        return self.enterContext(contextlib.ExitStack())

    def watch(self):
        """A daemon that has found both cgroups, and what it is held against."""
        stack = self.visitor()
        daemon = stack.enter_context(harness.Daemon(config(self.tree)))
        daemon.scrape_when("all cgroups", lambda scrape: all(
            scrape.has("perf_cgroup_page_faults_total", cgroup=cgroup)
            for cgroup in (self.steady, self.resting)))
        return stack, Comparison(self, daemon, self.on_cpus, self.in_cgroups)

    # What may happen next.

    def toggle_cadvisor(self):
        """It has found a container, or one has gone."""
        directory = self.random.choice(self.others)
        if directory in self.cadvisor.containers:
            self.cadvisor.forget(directory)
        else:
            self.cadvisor.add(directory)
        self.cadvisor.read()

    def toggle_holder(self):
        """Somebody opens or closes events that count from then on, without a group."""
        directory = self.random.choice(self.others)
        if directory in self.holders:
            self.holders.pop(directory).close()
        else:
            self.holders[directory] = self.enterContext(
                perf_events.Counters(EVENTS, self.cpus, directory))

    def toggle_second_exporter(self):
        if self.second:
            stack, comparison = self.second
            comparison.compare()
            self.second = None
            stack.close()
        else:
            self.second = self.watch()

    def toggle_perf_stat(self):
        """Between its first and its last report we counted no more than it, and from before it
        until after it no less."""
        if not self.statistics:
            before = self.switches(self.first.compare())
            stack = self.visitor()
            perf = stack.enter_context(PerfStat())
            self.statistics = stack, perf, before, self.switches(self.first.compare())
            return
        stack, perf, before, within = self.statistics
        within = self.switches(self.first.compare()) - within
        total = perf.total()
        after = self.switches(self.first.compare()) - before
        self.statistics = None
        stack.close()
        self.assertLessEqual(within, total)
        self.assertLessEqual(total, after)

    def switches(self, scrape):
        return sum(counted(scrape, "context-switches", "cpu", cpu=str(cpu)) for cpu in self.cpus)

    def toggle_work(self):
        """While it is stopped nothing happens there, and counts are equal, not only near."""
        self.is_working = not self.is_working
        if self.is_working:
            self.work.go_on()
            return
        self.work.stop()
        for each in self.watched():
            each.compare()
            for event in EVENTS:
                self.assertEqual(each.width(event, self.steady), 0, event)

    def short_life(self):
        """A cgroup comes, works under the eyes of `perf stat --for-each-cgroup`, cAdvisor and a
        reader, and goes: all have the same in the end."""
        self.lives += 1
        cgroup = self.tree.make(f"life-{self.lives}")
        directory = self.tree.mount + cgroup
        with perf_events.Counters(EVENTS, self.cpus, directory) as reader:
            if self.random.random() < 0.5:
                self.cadvisor.add(directory)
            for each in self.watched():
                each.daemon.scrape_when("the new cgroup", lambda scrape: all(scrape.has(
                    f"perf_cgroup_{metric}_total", cgroup=cgroup) for metric in METRICS.values()))
            perfs = self.run_under_perf(cgroup)
            read = reader.sums()
            others = self.cadvisor.read().get(directory)
            scrapes = [each.compare() for each in self.watched()]
        ours = [{event: counted(scrape, event, "cgroup", cgroup=cgroup) for event in EVENTS}
                for scrape in scrapes]
        if others:
            self.assertEqual(others, read)
            self.cadvisor.forget(directory)
        self.assertGreater(min(read.values()), 0)
        self.assertEqual(perfs, {event: read[event] for event in perfs})
        self.assertEqual(ours, [read] * len(ours))
        self.tree.remove(cgroup)
        for each in self.watched():
            last = each.compare()
            self.assertEqual({event: counted(last, event, "cgroup", cgroup=cgroup)
                              for event in EVENTS}, read)

    def run_under_perf(self, cgroup):
        """What perf says of all that was done there."""
        join = f"echo 0 >{self.tree.mount}{cgroup}/cgroup.procs && exec \"$@\""
        done = subprocess.run(
            ["perf", "stat", "-x,", "-a", "-e", "context-switches,page-faults", "--for-each-cgroup",
             cgroup.removeprefix("/"), "--", "sh", "-c", join, "sh", sys.executable, "-S", "-c",
             WORK, str(self.LIVES)], capture_output=True, text=True, check=True)
        found = re.findall(r"^(\d+),,([a-z-]+),", done.stderr, re.MULTILINE)
        self.assertEqual(len(found), 2, done.stderr)
        return {event: int(count) for count, event in found}

    def assert_no_cpu_stands_still(self, daemon):
        before = daemon.scrape_after_polls()
        after = daemon.scrape_after_polls()
        for cpu in map(str, self.cpus):
            self.assertGreater(counted(after, "task-clock", "cpu", cpu=cpu),
                               counted(before, "task-clock", "cpu", cpu=cpu), f"CPU {cpu}")

    def watched(self):
        return [self.first, *([self.second[1]] if self.second else [])]

    def test_our_counts_are_those_of_a_reader_that_was_there_all_the_time(self):
        # In the order of FirstOnACpuTest: the reader of the CPUs would start their contexts.
        self.in_cgroups = {cgroup: self.enterContext(perf_events.Counters(
            EVENTS, self.cpus, self.tree.mount + cgroup)) for cgroup in (self.steady, self.resting)}
        _, self.first = self.watch()
        self.assert_no_cpu_stands_still(self.first.daemon)
        self.on_cpus = self.first.cpus = self.enterContext(
            perf_events.Counters(EVENTS, self.cpus))
        self.work = self.enterContext(work_in(self.tree, self.steady))
        self.is_working = True
        steps = [self.toggle_cadvisor, self.toggle_holder, self.toggle_second_exporter,
                 self.toggle_perf_stat, self.toggle_work, self.short_life]
        end = time.monotonic() + SECONDS
        while time.monotonic() < end or min(self.visits.values(), default=0) < ROUNDS:
            for step in self.random.sample(steps, len(steps)):  # each as often as the others
                step()
                self.visits[step.__name__] = self.visits.get(step.__name__, 0) + 1
                for each in self.watched():
                    each.compare()
        print(f"\nseed {SEED}: {self.first.compared} counts compared beside {self.visits}",
              flush=True)
        self.assertEqual(self.first.daemon.lines("warn") + self.first.daemon.lines("error"), [])


if __name__ == "__main__":
    harness.main()
