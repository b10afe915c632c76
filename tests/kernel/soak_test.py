"""Everything at once, for minutes or hours: cgroups come and go, clients scrape in all manners, the
configuration is reloaded, descriptors run out, a CPU goes and comes back, other programs use perf.
Two daemons count the same tree, one by descriptors and one by records. No counter falls, CPU time
is that of cpu.stat, nothing that is held grows, and nothing unexpected is logged. docs/development/faults.md
has figures.

PEX_SOAK_MINUTES: how long. PEX_SOAK_HOTPLUG: set, CPU 1 goes and comes back as well, which disturbs
other tests. PEX_SEED: what is done, in which order; each run prints its own, which is drawn only where
PEX_SOAK_MINUTES is set. `./dev soak MINUTES` sets the first two."""

import collections
import contextlib
import os
import random
import signal
import time
import traceback
import unittest

import harness
import perf_events
import web
from soak import disturbances, observers, report, setting
from soak.judges import Truth

MINUTES = float(os.environ.get("PEX_SOAK_MINUTES", "2"))
HOTPLUG = bool(os.environ.get("PEX_SOAK_HOTPLUG"))
SEED = int(os.environ.get("PEX_SEED") or (
    random.SystemRandom().randrange(10**6) if "PEX_SOAK_MINUTES" in os.environ else 20260901))
WINDOW = (10.0, 20.0)  # seconds from one comparison to the next
WARM_UP = min(30 * MINUTES, 300)  # seconds until what it holds is watched
REPORTED_EVERY = 300  # seconds


def setUpModule():
    web.enter_network_of_hosts()


class Soak:
    """All that takes part, from the first to the last second."""

    def __init__(self, stack):
        self.chance = random.Random(SEED)
        self.setting = setting.Setting(stack)
        self.watched = [setting.Watched(self.setting, source, stack) for source in setting.SOURCES]
        for each in self.watched:  # it keeps the thread that reads the file
            each.daemon.send(signal.SIGHUP)
            each.daemon.logged("configuration reloaded")
        self.at_rest = [self.rest(each) for each in self.watched]
        self.truth = Truth()
        self.exhaustion = disturbances.Exhaustion(SEED, self.setting, self.watched)
        self.scrapes = [observers.Scrapes(each, WARM_UP, lambda: self.exhaustion.is_short)
                        for each in self.watched]
        self.probes = [observers.Probes(each.watched, each.answers) for each in self.scrapes]
        self.reloads = [disturbances.Reloads(SEED, each) for each in self.watched]
        self.hotplug = ([disturbances.Hotplug(SEED, stack)]
                        if HOTPLUG and disturbances.Hotplug.is_allowed() else [])
        of_each = [kind(SEED, each) for each in self.watched
                   for kind in (disturbances.Pauses, disturbances.Clients)]
        self.churn = disturbances.Churn(SEED, self.setting)
        self.disturbances = [*self.reloads, *self.hotplug, self.exhaustion, *of_each,
                             disturbances.OtherPerfUsers(SEED, self.setting), self.churn]
        self.windows = self.left_out = 0
        self.problems = []
        self.reported = collections.Counter()  # problems that were printed

    def run(self):
        begin = reported = time.monotonic()
        with contextlib.ExitStack() as stack:
            for each in [*self.scrapes, *self.probes, *self.disturbances]:
                stack.enter_context(each)
            while time.monotonic() - begin < 60 * MINUTES:
                try:
                    self.window()
                except harness.Interrupted:
                    raise
                except Exception:  # pylint: disable=broad-except
                    self.problems.append(traceback.format_exc())
                    if any(each.daemon.child.poll() is not None for each in self.watched):
                        raise
                self.report_new_problems((time.monotonic() - begin) / 60)
                if time.monotonic() - reported > REPORTED_EVERY:
                    reported = time.monotonic()
                    self.minutes = (reported - begin) / 60
                    print(report.table(self), flush=True)
            self.start_again()
        self.minutes = (time.monotonic() - begin) / 60
        self.left = [self.rest_as(each, first) for each, first in zip(self.watched, self.at_rest)]
        for each in self.scrapes:
            each.read_log()
        for each in self.watched:
            each.replaced_at_end = each.daemon.stderr().count("groups_opened=1")

    def report_new_problems(self, minutes):
        """At once: a long run that has failed can be ended."""
        now = collections.Counter(
            problem for each in [self, *self.disturbances, *self.scrapes, *self.probes, self.truth,
                                 *(judge for scrapes in self.scrapes for judge in
                                   (scrapes.answers, scrapes.monotone, scrapes.log))]
            for problem in list(each.problems))
        for problem in now - self.reported:
            print(f"after {minutes:.1f} minutes: {problem}", flush=True)
        self.reported = now

    def window(self):
        """One comparison, and what may happen between two of them."""
        before, lost = self.mark(), self.lost_polls()
        time.sleep(self.chance.uniform(*WINDOW))
        after = self.mark(before)
        self.windows += 1
        lost_by_all, *lost_by_each = (now - then for now, then in zip(self.lost_polls(), lost))
        if lost_by_all:
            after.others = {}  # our own counters ended with the CPU
        for each, lost in zip(self.watched, lost_by_each):
            self.compare(each, before, after, lost_by_all + lost)
        after.end()
        self.chance.choice([lambda: self.replace(1 - self.watched[0].other_events),
                            self.change_sources, lambda: None])()

    def mark(self, before=None):
        """While all that would disturb it is between two steps."""
        with contextlib.ExitStack() as stack:
            for each in self.disturbances:
                if not isinstance(each, (disturbances.Clients, disturbances.OtherPerfUsers)):
                    stack.enter_context(each.quiet)
            stack.enter_context(self.setting.frozen())
            return setting.Mark(self.setting, self.watched, before)

    def lost_polls(self):
        """So far: around a CPU that came back, and by each daemon around one that was found not to
        write all records."""
        gone = sum(each.did["CPU 1 gone and back"] for each in self.hotplug)
        return [2 * gone, *(len(scrapes.cpus_by_records) for scrapes in self.scrapes)]

    def compare(self, watched, before, after, lost_polls):
        if lost_polls:  # those that were skipped lie between two polls, maybe these
            lost_polls += after.overruns(watched.source) - before.overruns(watched.source)
        out = self.exhaustion.take_left_out(watched.source)
        skipped = (after.scrapes[watched.source].records("skipped")
                   - before.scrapes[watched.source].records("skipped"))
        not_written = {"unmeasured": 2} if skipped else {}  # some virtual machines do not write all
        for target in self.setting.targets:
            grown = after.since(before, watched.source, target)
            if grown is None or target in out:
                self.left_out += 1
                continue
            may_be_idle = ({"unmeasured": 2, "pending": setting.SELDOM[0]}
                           if target.endswith("/rests-0") else not_written)
            away = lost_polls * setting.INTERVAL
            self.truth.compare(f"{target} by {watched.source}", **grown, **may_be_idle, away=away,
                               lost=away / (after.at - before.at))

    @contextlib.contextmanager
    def only_our_reload(self):
        """Of both daemons, with descriptors for whoever asks how it ended."""
        with contextlib.ExitStack() as stack:
            for each in [*self.reloads, *self.hotplug, self.exhaustion]:
                stack.enter_context(each.quiet)
            yield
            for each in self.watched:
                each.await_source()

    def replace(self, other_events):
        """The counters of one group of each daemon, by counting other events in it."""
        with self.only_our_reload():
            for reloads, scrapes in zip(self.reloads, self.scrapes):
                scrapes.monotone.counters_are_replaced()
                reloads.replace(other_events)
                reloads.watched.daemon.scrape_after_polls()
                scrapes.monotone.counters_are_replaced()

    def start_again(self):
        """With the events of the beginning."""
        if self.watched[0].other_events:
            self.replace(0)

    def change_sources(self):
        with self.only_our_reload():
            for reloads in self.reloads:
                reloads.change_source()

    @staticmethod
    def rest(watched):
        """What it holds when nothing happens."""
        watched.at_rest()
        harness.until("end of all connections", lambda: watched.files()["sockets"] == 1)

        def looked_at():
            """Both at once, while no CPU changes the way in which it counts."""
            scrape, files = watched.daemon.scrape_after_polls(), watched.files()
            open_events = scrape.value("perf_event_exporter_open_events")
            return (scrape, files, open_events) if files["counters"] == open_events else None
        scrape, files, open_events = harness.until("as many counters as are reported", looked_at)
        idle = scrape.value("perf_event_exporter_cgroups", state="idle")
        of_a_cgroup = (len(setting.EVENTS) + 1) * len(harness.online_cpus())
        by_records = scrape.value("perf_event_exporter_cgroup_source_cpus", source="records")
        return {"cgroups": files["cgroups"], "other files": watched.other_files(),
                "eventfds": files["eventfds"],
                "threads": watched.threads(), "watches": watched.watches(),
                "CPUs by records": by_records,
                "open events": open_events + (0 if by_records else idle * of_a_cgroup)}

    def rest_as(self, watched, first):
        """What it holds at the end: as at first, once it has closed all that it did not keep."""
        deadline = time.monotonic() + harness.PATIENCE
        while True:
            last = self.rest(watched)
            now, then = comparable(last, first)
            if now == then or time.monotonic() > deadline:
                return last
            time.sleep(0.5)


def comparable(*states):
    """But for what the records of a CPU allow, and the eventfd that a worker makes when it first waits
    for records, and keeps."""
    apart = {"eventfds": 0}
    if any(each["CPUs by records"] for each in states):
        apart |= {"CPUs by records": 0, "open events": 0}
    return [{**each, **apart} for each in states]


class SoakTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        harness.require_events(*setting.EVENTS)
        perf_events.require()
        print(f"\nseed {SEED}, {MINUTES:g} minutes, {'with' if HOTPLUG else 'without'} hotplug",
              flush=True)
        cls.soak = Soak(cls.enterClassContext(contextlib.ExitStack()))
        cls.soak.run()
        print(report.table(cls.soak), flush=True)

    def assert_none(self, problems):
        problems = list(problems)
        self.assertEqual(len(problems), 0, "\n" + "\n".join(problems[:20]))

    def test_each_disturbance_did_what_it_is_there_for(self):
        can = [each for each in self.soak.disturbances if getattr(each, "can_pause", True)]
        self.assertEqual([each.name for each in can if not each.did], [])
        self.assert_none(self.soak.problems)
        self.assert_none(problem for each in self.soak.disturbances for problem in each.problems)

    def test_each_scrape_and_each_probe_is_answered_and_late_polls_are_reported(self):
        self.assert_none(problem for each in [*self.soak.scrapes, *self.soak.probes]
                         for problem in each.problems)
        self.assert_none(problem for each in self.soak.scrapes for problem in each.answers.problems)

    def test_a_reload_changes_counters_only_where_it_was_to_do_so(self):
        for each in self.soak.reloads:
            changed = each.watched.replaced_at_end
            self.assertEqual(changed, each.did["changed"], each.watched.source)

    def test_no_counter_falls_unless_a_reload_has_replaced_it(self):
        self.assert_none(problem for each in self.soak.scrapes
                         for problem in each.monotone.problems)

    def test_cpu_time_is_that_of_cpu_stat(self):
        self.assertGreater(len(self.soak.truth.texts), 0)
        self.assert_none(self.soak.truth.problems)

    def test_nothing_that_is_held_grows(self):
        self.assert_none(f"by {each.watched.source}: {problem}" for each in self.soak.scrapes
                         for problem in each.flat.problems)

    def test_at_rest_it_holds_what_it_held_in_the_beginning(self):
        for watched, first, last in zip(self.soak.watched, self.soak.at_rest, self.soak.left):
            with self.subTest(source=watched.source):
                made = last["eventfds"] - first["eventfds"]
                self.assertLessEqual(made, len(harness.online_cpus()))
                self.assertEqual(*comparable(first, last))

    def test_only_what_is_expected_is_logged(self):
        self.assert_none(problem for each in self.soak.scrapes for problem in each.log.problems)


if __name__ == "__main__":
    harness.main()
