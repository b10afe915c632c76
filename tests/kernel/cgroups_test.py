"""Cgroups as they are in the wild: by the hundred, short-lived, too many, and with names."""

import collections
import contextlib
import functools
import itertools
import json
import os
import re
import resource
import tempfile
import threading
import time
import unittest

import harness
import perf_events
from churn_test import Scraper

EVENTS = ["task-clock", "context-switches", "minor-faults"]
EXPORTER = "perf_event_exporter_"


def config_of(tree, *, interval="1s", linger="1h", cgroups="", rest=""):
    return "\n".join([
        f"collection: {{interval: {interval}}}",
        "groups:",
        f"  - {{name: software, events: [{', '.join(EVENTS)}], scope: cgroup}}",
        f"cgroups: {{include: ['{tree.pattern}'], linger: {linger}, max: 2000{cgroups}}}",
        rest, ""])


def used_by(cgroup, shown):
    """CPU seconds in all points of a cgroup in the status, and how far off they may be, as the ends of
    points are rounded to ms; None while there is no line of it."""
    activity = shown["activity"]
    ages = [activity["span_seconds"], *activity["point_ages_seconds"]]
    lengths = [earlier - later for earlier, later in zip(ages, ages[1:])]
    for line in activity["top_cgroups"]:
        if line["cgroup"] == cgroup:
            points = [(point, length) for point, length in zip(line["points"], lengths)
                      if point is not None]
            return sum(point * length for point, length in points), 0.001 * sum(
                point for point, _ in points)
    return None


def state(scrape, name):
    return scrape.value(EXPORTER + "cgroups", state=name)


def nanoseconds(scrape, cgroup):
    """Published task clock; seconds with all digits."""
    return round(scrape.value("perf_cgroup_task_clock_seconds_total", cgroup=cgroup) * 1e9)


class ChurnTest(unittest.TestCase):
    BATCHES, BATCH = 10, 30
    WORK = 0.02  # seconds

    def test_hundreds_of_short_lives_are_counted_in_full_and_leave_nothing(self):
        harness.require_events(*EVENTS)
        perf_events.require()
        tree = self.enterContext(harness.CgroupTree("lives"))
        daemon = self.enterContext(harness.Daemon(config_of(tree, interval="500ms")))
        daemon.scrape_after_polls()
        fds, dying = daemon.open_fds(), tree.dying()
        used = {}
        with Scraper(daemon) as scraper:
            for batch in range(self.BATCHES):
                used |= self.live(tree, [f"job-{batch}-{number}" for number in range(self.BATCH)], scraper)
            last = daemon.scrape_after_polls()

        self.assertEqual(scraper.problems, [])
        self.assertEqual(scraper.falls.found, [])
        self.assertGreater(scraper.scrapes, 5)
        self.assertEqual(last.value(EXPORTER + "cgroups_missed_total"), 0)
        self.assertEqual({cgroup: nanoseconds(last, cgroup) for cgroup in used}, used)
        self.assertEqual(len(last.with_name("perf_cgroup_task_clock_seconds_total")), len(used))
        self.assertGreater(min(used.values()), self.WORK * 1e9 / 2)
        harness.until("descriptors as before", lambda: daemon.open_fds() == fds)
        harness.until("dying cgroups as before", lambda: tree.dying() == dying)
        self.assertEqual(daemon.lines("error") + daemon.lines("warn"), [])

    def live(self, tree, names, scraper):
        """Cgroups come, work a little once they have series, and go. Returns the task clock of each in ns,
        by counters of our own: the scheduler's accounts (cpu.stat) have the switch to a task as well, and
        in a virtual machine not the time that the hypervisor took, which perf's clocks go on through."""
        cgroups, used = [tree.make(name) for name in names], {}
        with contextlib.ExitStack() as stack:
            readers = {cgroup: stack.enter_context(perf_events.Counters(
                ["task-clock"], harness.online_cpus(), tree.mount + cgroup)) for cgroup in cgroups}
            harness.until("their series", lambda: scraper.seen_cgroups.issuperset(cgroups))
            for cgroup, reader in readers.items():
                harness.burn(tree, cgroup, self.WORK)
                used[cgroup] = reader.sums()["task-clock"]
        for cgroup in cgroups:
            tree.remove(cgroup)
        return used


class ShortLifeTest(unittest.TestCase):
    def setUp(self):
        harness.require_events(*EVENTS)
        perf_events.require()
        self.tree = self.enterContext(harness.CgroupTree("short"))
        self.counters = len(EVENTS) * len(harness.online_cpus())

    def live(self, daemon, seconds):
        """The path of a cgroup that has come, used so much CPU time, and gone; and how much it was
        by counters of our own, in ns."""
        before = daemon.open_fds()
        cgroup = self.tree.make("brief")
        with perf_events.Counters(["task-clock"], harness.online_cpus(),
                                  self.tree.mount + cgroup) as reader:
            harness.until("all its counters",
                          lambda: daemon.open_fds() == before + 1 + self.counters, pause=0.005)
            harness.burn(self.tree, cgroup, seconds)
            used = reader.sums()["task-clock"]
        self.tree.remove(cgroup)
        return cgroup, used

    def test_what_lives_between_two_polls_is_counted(self):
        daemon = self.enterContext(harness.Daemon(config_of(self.tree, interval="3s")))
        daemon.scrape_after_polls(1)
        cgroup, used = self.live(daemon, 0.2)
        scrape = daemon.scrape_after_polls(1)

        self.assertEqual(scrape.value(EXPORTER + "cgroups_missed_total"), 0)
        self.assertEqual(nanoseconds(scrape, cgroup), used)

    def test_the_status_shows_what_was_used_in_a_life_shorter_than_its_points(self):
        daemon = self.enterContext(harness.Daemon(config_of(self.tree)))
        harness.until("a point without it", lambda: daemon.status()["activity"]["span_seconds"] > 0)
        cgroup, used = self.live(daemon, 0.25)
        shown, rounded = harness.until("its line", lambda: used_by(cgroup, daemon.status()))

        self.assertAlmostEqual(shown, used / 1e9, delta=rounded + used / 1e9 / 1000)

    def test_none_is_lost_without_a_report(self):
        # Most of these are gone before they can be found.
        number = 300
        daemon = self.enterContext(harness.Daemon(config_of(self.tree)))
        daemon.scrape_after_polls(1)
        for i in range(number):
            os.rmdir(self.tree.mount + self.tree.make(str(i)))
        missed = EXPORTER + "cgroups_missed_total"

        def told(scrape):
            return (scrape.value(missed)
                    + len(scrape.with_name("perf_cgroup_task_clock_seconds_total")))

        daemon.scrape_when("an account of all", lambda scrape: told(scrape) >= number)
        scrape = daemon.scrape_after_polls(2)
        self.assertEqual(told(scrape), number)
        self.assertGreater(scrape.value(missed), 0)

    def test_a_new_one_is_counted_however_rare_the_polls_are(self):
        daemon = self.enterContext(harness.Daemon(config_of(self.tree, interval="1h")))
        before = daemon.open_fds()
        self.tree.make("new")
        begun = time.monotonic()
        harness.until("all its counters", lambda: daemon.open_fds() == before + 1 + self.counters,
                      pause=0.005)
        print(f"counted after {(time.monotonic() - begun) * 1000:.0f} ms", flush=True)


class TooManyTest(unittest.TestCase):
    LIMIT, CGROUPS = 256, 500

    def setUp(self):
        harness.require_events(*EVENTS)
        self.tree = self.enterContext(harness.CgroupTree("many"))
        for i in range(self.CGROUPS):
            self.tree.make(f"{i:03}")

    def test_a_limit_that_is_lowered_while_it_runs_is_kept(self):
        daemon = self.enterContext(harness.Daemon(config_of(self.tree, linger="0s")))
        hard = resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE)[1]
        needed = (self.CGROUPS + 1) * (len(EVENTS) * len(harness.online_cpus()) + 1) + 128
        harness.require(needed < hard, f"the hard limit of {hard} descriptors is too low")
        daemon.scrape_when("all", lambda scrape: state(scrape, "counted") == self.CGROUPS)

        resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (self.LIMIT, self.LIMIT))
        # Until then there is no descriptor for a connection either.
        harness.until("few descriptors", lambda: daemon.open_fds() < self.LIMIT)
        few = daemon.scrape_when("fewer", lambda scrape: state(scrape, "left_out") > 0)

        # What has ended since the poll before has its last reading in this one.
        self.assertEqual(len(few.with_name("perf_cgroup_task_clock_seconds_total")),
                         state(few, "counted") + state(few, "lingering"))
        self.assertEqual(few.with_name(EXPORTER + "event_open_errors_total"), {})

    def test_counters_are_opened_at_the_pace_that_is_allowed(self):
        harness.undisturbed(self.open_at_a_pace)

    def open_at_a_pace(self):
        a_second = 100  # cgroups
        config = config_of(self.tree, interval="100ms",
                           rest=f"limits: {{opens_per_second: {a_second * len(EVENTS)}}}")
        begun = time.monotonic()
        with harness.Daemon(config) as daemon:
            first = daemon.scrape()

            def is_as_allowed(scrape):  # the first second is free
                allowed = a_second * (time.monotonic() - begun + 1)
                self.assertLessEqual(state(scrape, "counted"), allowed)
                return state(scrape, "counted") == self.CGROUPS
            daemon.scrape_when("all", is_as_allowed)
        if state(first, "counted") == self.CGROUPS:
            raise harness.Disturbed("all were open before it was asked for the first time")
        self.assertGreater(state(first, "waiting"), 0)
        self.assertEqual(state(first, "left_out"), 0)


class Comings(harness.Repeated):
    """Cgroups that come and go, of which each lives so long: more than can be opened."""

    LIFE, EVERY = 3.0, 0.2

    def __init__(self, tree):
        super().__init__()
        self.tree = tree
        self.made = self.removed = 0

    def run(self):
        living = collections.deque()
        for number in itertools.count():
            living.append((time.monotonic(), self.tree.make(self.name(number))))
            self.made = number + 1
            while living and (self.ending.is_set() or
                              time.monotonic() - living[0][0] > self.LIFE):
                self.tree.remove(living.popleft()[1])
                self.removed += 1
            if self.ending.wait(self.EVERY) and not living:
                return

    @staticmethod
    def name(number):
        return f"a{number:06}"


class FairnessTest(unittest.TestCase):
    def test_one_that_stays_is_counted_however_many_come_and_go_before_it_by_path(self):
        perf_events.require()
        harness.require_events(*EVENTS)
        tree = self.enterContext(harness.CgroupTree("fair"))
        one_a_second = f"limits: {{opens_per_second: {len(EVENTS)}}}"
        config = config_of(tree, interval="200ms", linger="0s", rest=one_a_second)
        daemon = self.enterContext(harness.Daemon(config))
        comings = self.enterContext(Comings(tree))
        harness.until("the first to go", lambda: comings.removed > 0)
        daemon.scrape_when("some that wait", lambda scrape: state(scrape, "waiting") > 5)

        cgroup = tree.make("z")
        daemon.scrape_after_polls(1)  # it has been found
        first_behind = f"{tree.path}/{comings.name(comings.made + 1)}"
        name = "perf_cgroup_task_clock_seconds_total"

        def counted(scrape):
            cgroups = {dict(labels)["cgroup"] for _, labels in scrape.with_name(name)}
            if cgroup in cgroups:
                return True
            self.assertEqual([each for each in cgroups if each >= first_behind], [])
            return False
        daemon.scrape_when("it, before those that came later", counted)
        with perf_events.Counters(["task-clock"], harness.online_cpus(),
                                  tree.mount + cgroup) as reader:
            before = daemon.scrape_after_polls().value(name, cgroup=cgroup)
            harness.burn(tree, cgroup, 0.2)
            counted = daemon.scrape_after_polls().value(name, cgroup=cgroup) - before
            used = reader.sums()["task-clock"] / 1e9
        self.assertAlmostEqual(counted, used, delta=1e-6)


class SwitchesTest(unittest.TestCase):
    def test_cgroups_that_switch_all_the_time_are_counted_as_any_others(self):
        perf_events.require()
        harness.require_events(*EVENTS)
        tree = self.enterContext(harness.CgroupTree("switches"))
        config = config_of(tree, interval="200ms").replace("scope: cgroup", "scope: [cpu, cgroup]")
        daemon = self.enterContext(harness.Daemon(config))
        name = "perf_cgroup_context_switches_total"

        def counted(scrape):
            return [scrape.value(name, cgroup=cgroup) for cgroup in cgroups]

        def bracket(scrape):
            """It, and what other counters have before and after it."""
            first = [reader.sums()["context-switches"] for reader in readers]
            return first, scrape(), [reader.sums()["context-switches"] for reader in readers]

        cgroups = [tree.make(name) for name in ("ping", "pong")]
        with contextlib.ExitStack() as stack:
            readers = [stack.enter_context(perf_events.Counters(
                ["context-switches"], harness.online_cpus(), tree.mount + cgroup)) for cgroup in cgroups]
            stack.enter_context(harness.SwitchingPair(tree, cgroups, max(harness.online_cpus())))
            daemon.scrape_when("both cgroups", lambda scrape: state(scrape, "counted") == 2)
            earliest, before, latest = bracket(daemon.scrape_after_polls)
            daemon.scrape_when("many switches", lambda scrape: min(
                now - then for now, then in zip(counted(scrape), counted(before))) > 1000)
            least, after, most = bracket(lambda: daemon.scrape_after_polls(4))
        for i, grown in enumerate(now - then for now, then in zip(counted(after), counted(before))):
            print(f"{grown:.0f} switches, by another counter {least[i] - latest[i]} to "
                  f"{most[i] - earliest[i]}", flush=True)
            self.assertGreaterEqual(grown, least[i] - latest[i])
            self.assertLessEqual(grown, most[i] - earliest[i])
        # The time of the whole CPU stands still at each switch, which is no absence of it.
        self.assertNotIn("was offline", daemon.stderr())
        for scrape in (before, after):
            for problem in ("standstill", "anomaly"):
                self.assertEqual(scrape.problems(problem), 0, problem)
        opened = [scrape.value(EXPORTER + "open_events") for scrape in (before, after)]
        self.assertEqual(opened[0], opened[1])


class LeftOutTest(unittest.TestCase):
    CGROUPS, COUNTED, SECONDS, PAUSE = 4500, 256, 8, 0.1

    def test_thousands_that_are_left_out_cost_next_to_nothing_when_others_come_and_go(self):
        harness.require_events("context-switches")
        tree = self.enterContext(harness.CgroupTree("over"))
        for number in range(self.CGROUPS):
            tree.make(f"{number:04}")
        config = "\n".join([
            "collection: {interval: 100ms, max_age: 1h}",
            "groups: [{name: software, events: [context-switches], scope: cgroup}]",
            f"cgroups: {{include: ['{tree.pattern}'], max: {self.COUNTED}}}", ""])
        daemon = self.enterContext(harness.Daemon(config))
        scrape = daemon.scrape_when("values of as many as may be counted",
                                    lambda scrape: len(self.names(scrape)) == self.COUNTED)
        self.assertEqual(state(scrape, "counted"), self.COUNTED)
        self.assertEqual(state(scrape, "left_out"), self.CGROUPS - self.COUNTED)

        quiet = self.share_of_a_cpu(daemon, lambda number: None)
        names = self.names(scrape)

        def make_anew(number):
            path = names[number % len(names)]
            tree.remove(path)
            time.sleep(self.PAUSE)
            tree.make(path.rpartition("/")[2])

        busy = self.share_of_a_cpu(daemon, make_anew)
        print(f"{quiet * 100:.2f} % of a CPU, {busy * 100:.2f} % while they come and go", flush=True)
        after = daemon.scrape_after_polls()
        self.assertGreater(after.value(EXPORTER + "cgroups_left_out_total", reason="max"),
                           self.CGROUPS - self.COUNTED)  # they did come and go
        self.assertEqual(state(after, "counted"), self.COUNTED)
        # Were all looked at each time, it would be several times as much.
        self.assertLess(busy, 3 * quiet)

    @staticmethod
    def names(scrape):
        return sorted({dict(labels)["cgroup"] for _, labels in
                       scrape.with_name("perf_cgroup_context_switches_total")})

    def share_of_a_cpu(self, daemon, step):
        """What the daemon uses while `step(number)` is done, some times a second."""
        begun, used = time.monotonic(), daemon.cpu_seconds()
        for number in itertools.count():
            if time.monotonic() - begun > self.SECONDS:
                return (daemon.cpu_seconds() - used) / (time.monotonic() - begun)
            step(number)
            time.sleep(self.PAUSE)


class TenantsTest(unittest.TestCase):
    """One tenant has as many cgroups as he likes; another one comes afterwards."""

    LIMIT, MANY = 256, 300

    def setUp(self):
        harness.require_events("context-switches")
        self.tree = self.enterContext(harness.CgroupTree("tenants"))
        self.tree.make("tenant")

    def start(self, rest=""):
        return self.enterContext(harness.Daemon("\n".join([
            "collection: {interval: 100ms}",
            "groups: [{name: software, events: [context-switches], scope: cgroup}]",
            f"cgroups: {{include: ['{self.tree.path}/**'], max: {self.LIMIT}, linger: 0s}}",
            rest, ""])))

    def counted_below(self, scrape, name):
        return sum(dict(labels)["cgroup"].startswith(f"{self.tree.path}/{name}/") for _, labels in
                   scrape.with_name("perf_cgroup_context_switches_total"))

    def test_one_who_takes_all_room_gives_way_to_one_who_comes(self):
        for number in range(self.MANY):
            self.tree.make(f"tenant/{number:032x}")
        daemon = self.start()
        daemon.scrape_when("as many as there is room for",
                           lambda scrape: state(scrape, "counted") == self.LIMIT)

        self.tree.make("other")
        cgroup = self.tree.make("other/one")
        scrape = daemon.scrape_when("the other tenant alone with those that stay", lambda scrape:
                                    scrape.has("perf_cgroup_context_switches_total", cgroup=cgroup)
                                    and state(scrape, "lingering") == 0)

        self.assertEqual(self.counted_below(scrape, "tenant"), self.LIMIT - 1)
        self.assertEqual(scrape.value(EXPORTER + "cgroups_left_out_total", reason="fair_share"), 1)
        daemon.logged("had more than its fair share")

    def test_directories_without_end_do_not_hide_another_tenant(self):
        followed = 1000
        daemon = self.start(f"limits: {{max_cgroup_directories: {followed}}}")
        for number in range(2 * followed):
            self.tree.make(f"tenant/{number:05}")
        self.tree.make("other")
        cgroup = self.tree.make("other/one")

        scrape = daemon.scrape_when("the other tenant", lambda scrape: scrape.has(
            "perf_cgroup_context_switches_total", cgroup=cgroup))
        scrape = daemon.scrape_when("all events taken", lambda scrape: scrape.value(
            EXPORTER + "cgroup_directories", state="beyond_limit") > followed)
        self.assertLessEqual(scrape.value(EXPORTER + "cgroup_directories", state="followed"),
                             followed)
        daemon.logged(f"the limit is {followed}, and most of the others",
                      f"in '{self.tree.path}/tenant'")
        self.assertGreater(daemon.status()["cgroups"]["directories"]["beyond_limit"], 0)


class WrongTreeTest(unittest.TestCase):
    def refusal_of(self, directory):
        done = harness.run("--config.check", f"--path.cgroupfs={directory}", config=harness.config_of(
            events=["context-switches"], include=["/**"]))
        return done.returncode, done.stdout + done.stderr

    def test_a_directory_that_is_no_cgroup_is_refused_before_anything_is_counted(self):
        harness.require_events("context-switches")
        with tempfile.TemporaryDirectory() as directory:
            status, text = self.refusal_of(directory)
        self.assertEqual(status, 1, text)
        self.assertIn("it is not in a cgroup file system", text)
        self.assertIn("--path.cgroupfs", text)

    def test_the_command_shows_what_would_be_selected_of_a_copied_tree_and_that_it_is_one(self):
        harness.require_events("context-switches")
        with tempfile.TemporaryDirectory() as directory:
            os.mkdir(f"{directory}/a.service")
            done = harness.run("cgroups", f"--path.cgroupfs={directory}", config=harness.config_of(
                events=["context-switches"], include=["/*"]))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^counted +/a\.service")
        self.assertIn("it is not in a cgroup file system", done.stdout)

    def test_a_hierarchy_of_other_controllers_is_refused(self):
        harness.require_events("context-switches")
        others = [point for point, kind, options in harness.mounts()
                  if kind == "cgroup" and "perf_event" not in options]
        harness.require(others, "no version 1 hierarchy of another controller is mounted")
        status, text = self.refusal_of(others[0])
        self.assertEqual(status, 1, text)
        self.assertIn("without the perf_event controller", text)


class UncountedTest(unittest.TestCase):
    """What is in no counted cgroup, next to the kernel's own account (cpu.stat)."""
    METRIC = EXPORTER + "uncounted_cpu_seconds_total"

    def setUp(self):
        self.tree = self.enterContext(harness.CgroupTree("uncounted"))
        if not self.tree.is_v2:
            self.skipTest("cgroups of version 1 have no cpu.stat: NOT tested")
        self.cpu = max(harness.online_cpus())
        self.counted, self.hog = self.tree.make("counted"), self.tree.make("hog_17")
        self.config = config_of(self.tree, interval="2s").replace(self.tree.pattern, self.counted)

    def used(self, *names, path=""):
        """CPU seconds, to date."""
        return sum(harness.number_in(f"{self.tree.mount}{path}/cpu.stat", name)
                   for name in names) / 1e6

    def moment(self, daemon):
        """After a poll that has read it: what is published, and what the kernel said at that time."""
        timestamp = EXPORTER + "last_poll_timestamp_seconds"
        first = daemon.scrape().value(self.METRIC)
        samples = []

        def next_scrape():
            samples.append((time.time(), self.used("user_usec", "system_usec"),
                            self.used("usage_usec", path=self.counted),
                            self.used("usage_usec", path=self.hog)))
            scrape = daemon.scrape()
            return scrape if scrape.value(self.METRIC) > first else None

        scrape = harness.until("a poll", next_scrape)
        at, *used = min(samples, key=lambda sample: abs(sample[0] - scrape.value(timestamp)))
        if abs(at - scrape.value(timestamp)) > 0.1:
            raise harness.Disturbed("the machine gave the test no time when a poll was made")
        return scrape.value(self.METRIC), *used, at

    @contextlib.contextmanager
    def sampled(self):
        """Each 20 ms in the background: the time, and the CPU seconds of the machine and the hog."""
        samples, stop = [], threading.Event()

        def sample():
            while not stop.wait(0.02):
                samples.append((time.monotonic(), self.used("user_usec", "system_usec"),
                                self.used("usage_usec", path=self.hog)))

        thread = threading.Thread(target=sample)
        thread.start()
        try:
            yield samples
        finally:
            stop.set()
            thread.join()

    def bounds(self, samples, span, ratio):
        """Least and most of `ratio(seconds, machine, hog)` over each `span` seconds of the samples."""
        values = []
        for first in samples:
            last = next((each for each in samples if each[0] >= first[0] + span), None)
            if last:
                values.append(ratio(*(b - a for a, b in zip(first, last))))
        if not values:
            raise harness.Disturbed(f"no samples of {span} s")
        return min(values), max(values)

    def check_share(self, share, samples, span):
        least, most = self.bounds(samples, span, lambda seconds, machine, hog: hog / machine)
        if not least - 0.02 <= share <= most + 0.02:
            raise harness.Disturbed(f"a share of {share}, not {least} to {most}")

    def test_a_busy_loop_that_no_pattern_matches_is_found_with_its_share(self):
        self.enterContext(harness.busy_loop(self.tree, self.counted, self.cpu))
        daemon = self.enterContext(harness.Daemon(self.config))
        daemon.scrape_after_polls()
        self.enterContext(harness.busy_loop(self.tree, self.hog, self.cpu))
        samples = self.enterContext(self.sampled())
        polls = daemon.status()["polls"]["polls_total"]

        def found():
            largest = daemon.status()["cgroups"]["uncounted"]["largest"]
            return {each["cgroup"]: each for each in largest}.get(self.hog)

        harness.until("the busy loop among the largest", found)
        self.assertLessEqual(daemon.status()["polls"]["polls_total"] - polls, 3, "two, and one under way")

        def attempt():
            before = self.moment(daemon)
            after = self.moment(daemon)
            part = found()
            uncounted, machine, counted, _, _ = (
                later - earlier for earlier, later in zip(before, after))
            if abs(uncounted - (machine - counted)) > 0.02 * machine + 0.1:
                raise harness.Disturbed(f"{uncounted} s of {machine - counted} s")
            self.check_share(part["cpu_time_ratio"], samples, 2)
            self.assertIn("hog_*", part["reason"])

        harness.undisturbed(attempt)

    def test_it_is_known_where_no_event_can_be_counted_by_cgroup(self):
        counted = f"[{', '.join(EVENTS)}], scope: cgroup}}"
        self.assertIn(counted, self.config)
        daemon = self.enterContext(harness.Daemon(self.config.replace(
            counted, "[no-such-pmu/event=1/], scope: cgroup, optional: true}\n"
                     "  - {name: cpus, events: [cpu-clock], scope: cpu}")))
        daemon.scrape_after_polls()
        begin = daemon.scrape().value(self.METRIC)
        harness.until("more of it", lambda: daemon.scrape().value(self.METRIC) > begin)

    def test_the_table_and_the_rest_are_the_cpu_time_of_the_machine(self):
        samples = self.enterContext(self.sampled())
        self.enterContext(harness.busy_loop(self.tree, self.counted, self.cpu))
        daemon = self.enterContext(harness.Daemon(self.config))

        def activity():
            return daemon.status()["activity"]

        harness.until("a row of the table", lambda: activity()["top_cgroups"])
        self.enterContext(harness.busy_loop(self.tree, self.hog, self.cpu))

        def attempt():
            first = activity()["recent_seconds"]
            harness.until("another point", lambda: activity()["recent_seconds"] > first)
            now = daemon.status()
            rows = now["activity"]["top_cgroups"]
            self.assertEqual([each["cgroup"] for each in rows], [self.counted])
            cpus = sum(each["cpu_seconds_per_second"] for each in (*rows, now["cgroups"]["uncounted"]))
            least, most = self.bounds(samples, now["activity"]["recent_seconds"],
                                      lambda seconds, machine, hog: machine / seconds)
            if not 0.99 * least <= cpus <= 1.01 * most:
                raise harness.Disturbed(f"{cpus} CPUs of {least} to {most}")

        harness.undisturbed(attempt)

    def test_the_commands_name_it_with_its_share_and_the_pattern_that_counts_it(self):
        self.enterContext(harness.busy_loop(self.tree, self.hog, self.cpu))

        def attempt(command):
            with self.sampled() as samples:
                done = harness.run(command, config=self.config)
            said = " ".join(done.stdout.split())
            self.assertRegex(said, rf"[\d.]+ CPUs, [\d.]+ %: {self.hog} \(no pattern of "
                             r"cgroups.include matches it; add '[^']*_\*_uncounted/hog_\*'")
            share = float(re.search(rf"([\d.]+) %: {self.hog} ", said)[1]) / 100
            self.check_share(share, samples, 0.9)

        for command in ("cgroups", "doctor"):
            harness.undisturbed(functools.partial(attempt, command))

    def test_has_nothing_that_a_counted_cgroup_did_before_it_ended(self):
        daemon = self.enterContext(harness.Daemon(config_of(self.tree, interval="2s")))

        def attempt():
            before = self.moment(daemon)
            for number in range(10):
                path = self.tree.make(f"short_{number}")
                harness.burn(self.tree, path, 0.2)
                self.tree.remove(path)
            after = self.moment(daemon)
            uncounted, machine = after[0] - before[0], after[1] - before[1]
            if uncounted > machine - 2.0 + 0.02 * machine + 0.1:
                raise harness.Disturbed(f"{uncounted} s of {machine} s, of which 2 s are counted")

        harness.undisturbed(attempt)


class ContainerNamesTest(unittest.TestCase):
    def test_a_container_has_the_names_that_its_engine_writes_also_later(self):
        tree = self.enterContext(harness.CgroupTree("names"))
        docker = self.enterContext(tempfile.TemporaryDirectory())
        ids = [digit * 64 for digit in "ab"]

        def write(number, name):
            os.makedirs(f"{docker}/{ids[number]}", exist_ok=True)
            with open(f"{docker}/{ids[number]}/config.v2.json", "w", encoding="utf-8") as file:
                json.dump({"ID": ids[number], "Config": {"Image": "nginx:1.25"}, "Name": name}, file)

        write(0, "/web")
        paths = [tree.make(f"docker-{each}.scope") for each in ids]
        sums = (f", container_names: [{docker}], sums: [{{name: images, by: [image], zero_for: 0s}}]")
        daemon = self.enterContext(harness.Daemon(config_of(tree, cgroups=sums)))

        def names(scrape):
            known = [dict(labels) for _, labels in scrape.with_name("perf_cgroup_info")]
            return {each["cgroup"]: (each.get("container"), each.get("image")) for each in known}

        self.assertEqual(names(daemon.scrape_after_polls()),
                         {paths[0]: ("web", "nginx:1.25"), paths[1]: (None, None)})
        write(1, "/later")
        scrape = daemon.scrape_when("the name of the other container", lambda scrape:
                                    names(scrape)[paths[1]] == ("later", "nginx:1.25"))
        self.assertEqual(scrape.value("perf_images_cgroups", image="nginx:1.25"), 2)


class ListTest(unittest.TestCase):
    def test_the_command_shows_what_is_selected_with_its_labels_and_what_has_no_room(self):
        harness.require_root()
        tree = self.enterContext(harness.CgroupTree("list"))
        for name in ("a.service", "b.service", "c.service"):
            tree.make(name)
        rule = f", labels: [{{match: 're:{tree.path}/(.).service', set: {{letter: '$1'}}}}]"
        config = config_of(tree, cgroups=rule).replace("max: 2000", "max: 2")
        done, plain = (harness.run("cgroups", *words, config=config) for words in (["--labels"], []))
        lines = done.stdout.splitlines()

        self.assertIn(f"counted       {tree.path}/a.service", plain.stdout.splitlines())
        self.assertIn(f'counted       {tree.path}/a.service letter="a" unit="a.service"', lines)
        self.assertIn(f'counted       {tree.path}/b.service letter="b" unit="b.service"', lines)
        self.assertIn(f"left out      {tree.path}/c.service (cgroups.max leaves no room for it)", lines)
        self.assertIn("raise cgroups.max", done.stdout)


class ExplanationTest(unittest.TestCase):
    """The reason for each cgroup, in a copy of a tree."""
    CONFIG = """groups:
  - {name: core, events: [context-switches], scope: cgroup}
cgroups:
  include: ["/*.service", "/d.slice", "/d.slice/*.service", "/machine.slice/*"]
  exclude: ["/b.*"]
"""
    HELPER = f"/machine.slice/libpod-conmon-{'0' * 64}.scope"

    def setUp(self):
        harness.require_events("context-switches")
        self.mount = self.enterContext(tempfile.TemporaryDirectory())
        for path in ("/a.service", "/b.service", "/c", "/d.slice/e.service", self.HELPER):
            os.makedirs(self.mount + path)
        harness.write_text(f"{self.mount}/cgroup.controllers", "")  # of version 2
        self.use_cpu("/c", 1_500_000)
        self.use_cpu("/d.slice/e.service", 700)

    def use_cpu(self, path, microseconds):
        harness.write_text(f"{self.mount}{path}/cpu.stat", f"usage_usec {microseconds}\n")

    def run_command(self, *words, config=CONFIG):
        return harness.run("cgroups", *words, f"--path.cgroupfs={self.mount}", config=config)

    def test_each_cgroup_has_its_reason_those_with_most_cpu_time_first(self):
        done = self.run_command("--all")

        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [line for line in done.stdout.splitlines()[1:] if " /" in line]
        self.assertEqual(lines, [
            "not selected  /c 1.500 s (no pattern of cgroups.include matches it)",
            'counted       /d.slice/e.service 0.001 s unit="e.service" slice="d.slice"',
            'counted       /a.service unit="a.service"',
            "not selected  /b.service (cgroups.exclude has '/b.*')",
            "not selected  /d.slice ('nesting: leaves' selects '/d.slice/e.service' inside of it)",
            "not selected  /machine.slice (no pattern of cgroups.include matches it)",
            f"not selected  {self.HELPER} (it only serves a container; 'helpers: true' selects it)"])

    def test_a_unit_is_found_by_its_name(self):
        done = self.run_command("e.service", "/c")

        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([line.split()[:2] for line in done.stdout.splitlines() if " /" in line],
                         [["not", "selected"], ["counted", "/d.slice/e.service"]])

    def test_a_path_that_is_not_there_fails_and_the_others_are_shown(self):
        done = self.run_command("/a.service", "/x.service")

        self.assertEqual(done.returncode, 1)
        self.assertIn("counted       /a.service", done.stdout)
        self.assertIn("not there     /x.service (there is no such cgroup)", done.stdout)

    def test_without_an_event_the_reason_is_the_event(self):
        config = self.CONFIG.replace("context-switches", "no_such_pmu/event/")
        done = self.run_command("/a.service", config=config)

        self.assertIn("not counted   /a.service (no event can be counted by cgroup", done.stdout)
        self.assertNotIn("is selected by cgroups.include", done.stdout)


class ReplacedTest(unittest.TestCase):
    """A selected cgroup that has another one inside of it: all that it has is counted in its place."""

    PAGES = 2000
    OF_A_READING = 5  # page faults of a process that reads its own numbers

    def test_each_page_fault_inside_of_it_is_counted_once(self):
        harness.require_events(*EVENTS)
        tree = self.enterContext(harness.CgroupTree("replaced"))
        _, *parts, rest = [tree.make("user.service" + inside) for inside in ("", "/a.service", "/b.scope", "/c")]
        inside_of_rest = tree.make("user.service/c/d")
        config = config_of(tree, interval="200ms").replace(
            tree.pattern, f"{tree.path}/*.service', '{tree.path}/user.service/*.service")
        daemon = self.enterContext(harness.Daemon(config))
        works = [self.enterContext(harness.Workload(tree, cgroup, 0, 10, self.PAGES, 10))
                 for cgroup in (*parts, inside_of_rest)]
        before = self.faults(daemon)
        true = [work.run()["minflt"] for work in works]
        after = self.faults(daemon)

        self.assertEqual(sorted(after), [*parts, rest])
        for cgroup, faults in zip((*parts, rest), true):
            self.assertGreaterEqual(faults, self.PAGES)
            self.assertAlmostEqual(after[cgroup] - before[cgroup], faults, delta=self.OF_A_READING)

    @staticmethod
    def faults(daemon):
        found = daemon.scrape_after_polls().with_name("perf_cgroup_minor_faults_total")
        return {dict(labels)["cgroup"]: value for (_, labels), value in found.items()}


class NamesTest(unittest.TestCase):
    def test_a_name_that_is_no_text_breaks_nothing(self):
        harness.require_events(*EVENTS)
        tree = self.enterContext(harness.CgroupTree("names"))
        name = b'caf\xe9 "<b>\\x2d\\'
        config = config_of(tree).replace(tree.pattern, tree.path + "/**")
        daemon = self.enterContext(harness.Daemon(config))
        os.mkdir(os.fsencode(tree.directory) + b"/" + name)
        scrape = daemon.scrape_when("it", lambda scrape: scrape.with_name("perf_cgroup_info"))

        (_, labels), = scrape.with_name("perf_cgroup_info")
        self.assertEqual(dict(labels)["cgroup"],
                         tree.path + r'/caf�e9 \"<b>\\x2d\\'.replace(r"\ufffd", "\ufffd"))


class LogLinksTest(unittest.TestCase):
    CONTAINER = "0123456789abcdef" * 4
    POD = "11111111-2222-3333-4444-555555555555"
    SLICE = f"kubepods-pod{POD.replace('-', '_')}.slice"
    SCOPE = f"cri-containerd-{CONTAINER}.scope"

    def setUp(self):
        harness.require_events(*EVENTS)
        self.tree = self.enterContext(harness.CgroupTree("names"))
        logs = self.enterContext(tempfile.TemporaryDirectory())
        self.link = f"{logs}/shop-7d4b_prod_web-{self.CONTAINER}.log"
        rest = f"kubernetes: {{metadata: log_links, log_links: '{logs}'}}"
        config = config_of(self.tree, rest=rest).replace(self.tree.pattern, self.tree.path + "/**/*.scope")
        self.daemon = self.enterContext(harness.Daemon(config))

    def test_containers_get_the_names_of_their_links_as_soon_as_there_are_any(self):
        self.tree.make(self.SLICE)
        cgroup = self.tree.make(f"{self.SLICE}/{self.SCOPE}")
        identity = {"cgroup": cgroup, "container_id": self.CONTAINER, "pod_uid": self.POD}
        known = dict(identity, qos_class="guaranteed", runtime="containerd", slice=self.SLICE,
                     unit=self.SCOPE)
        self.daemon.scrape_when("what the path tells",
                                lambda scrape: scrape.has("perf_cgroup_info", **known))

        os.symlink("/nowhere", self.link)
        named = dict(known, pod="shop-7d4b", namespace="prod", container="web")
        scrape = self.daemon.scrape_when("what Kubernetes tells",
                                         lambda scrape: scrape.has("perf_cgroup_info", **named))
        self.assertTrue(scrape.has("perf_cgroup_minor_faults_total", **identity))
        self.assertFalse(scrape.has("perf_cgroup_info", **known))

        os.remove(self.link)  # rotated away
        self.assertTrue(self.daemon.scrape_after_polls().has("perf_cgroup_info", **named))

    def test_a_users_cgroup_that_is_named_like_a_container_has_neither_its_id_nor_its_name(self):
        os.symlink("/nowhere", self.link)
        users = ("user@1000.service", "ci.service")  # the latter with Delegate= and User=
        for parent in (*users, *(f"{user}/{self.SLICE}" for user in users), self.SLICE):
            made = self.tree.make(parent)
            if parent.startswith(users[1]):
                os.chown(self.tree.mount + made, 1000, 1000)
        cgroups = [self.tree.make(f"{parent}/{self.SCOPE}")
                   for parent in (*(f"{user}/{self.SLICE}" for user in users), self.SLICE)]

        def known(scrape):
            labels = [dict(labels) for _, labels in scrape.with_name("perf_cgroup_info")]
            return {each["cgroup"]: each for each in labels}

        scrape = self.daemon.scrape_when("all", lambda scrape: set(cgroups) <= set(known(scrape)))
        *claimed, true = (known(scrape)[cgroup] for cgroup in cgroups)
        self.assertEqual(true["container_id"], self.CONTAINER)
        self.assertEqual((true["pod_uid"], true["pod"]), (self.POD, "shop-7d4b"))
        for user, labels in zip(users, claimed):
            with self.subTest(user=user):
                self.assertFalse({"container_id", "pod_uid", "pod", "namespace", "container"} & set(labels))
        (line,) = self.daemon.logged("leaving out the labels")  # of one: they have one cause
        self.assertTrue(any(cgroup in line for cgroup in cgroups[:2]), line)


if __name__ == "__main__":
    harness.main()
