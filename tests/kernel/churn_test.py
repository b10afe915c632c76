"""Cgroups that come and go leave nothing behind: no descriptor, no held cgroup, no wrong series."""

import contextlib
import time
import unittest

import harness

EVENTS = ["task-clock", "context-switches", "minor-faults"]
BATCHES, BATCH = 5, 100
RUNS = 5  # of processes in a cgroup that lives
SCRAPE_EVERY = 0.25
LINGER = 2


class Scraper(harness.Repeated):
    """Scrapes at a steady pace and keeps what was wrong."""

    def __init__(self, daemon, every=SCRAPE_EVERY):
        super().__init__()
        self.daemon_under_test = daemon
        self.every = every
        self.falls = harness.Falls()
        self.seen_cgroups = set()
        self.scrapes = 0
        self.polled = None       # when the counts of the last scrape were read
        self.longest_poll = 0.0  # seconds from one reading to the next

    def once(self):
        scrape = self.daemon_under_test.scrape()  # fails unless 200 and without duplicates
        self.scrapes += 1
        self.falls.look_at(scrape)
        polled = scrape.value("perf_event_exporter_last_poll_timestamp_seconds")
        self.longest_poll = max(self.longest_poll, polled - (self.polled or polled))
        self.polled = polled
        for _, labels in scrape.with_name("perf_cgroup_minor_faults_total"):
            self.seen_cgroups.add(dict(labels)["cgroup"])


def run_once_in(tree, *cgroups):
    """A process that joins each of the cgroups, runs in it and ends."""
    harness.in_a_process(lambda: [tree.join(cgroup) for cgroup in cgroups])


class ShortLingerTest(unittest.TestCase):
    def test_a_client_that_scrapes_less_often_than_series_linger_is_reported(self):
        harness.require_events(*EVENTS)
        tree = self.enterContext(harness.CgroupTree("linger"))
        tree.make("a")
        config = harness.config_of(events=EVENTS, include=[tree.pattern], interval="100ms",
                                   linger="200ms")
        daemon = self.enterContext(harness.Daemon(config))

        pause = shortest = 0.3  # seconds

        def seen():
            nonlocal pause
            pause *= 1.03  # a busy machine disturbs long intervals less
            time.sleep(pause)
            return daemon.scrape().get(("perf_event_exporter_scrape_interval_seconds", ()))

        interval = harness.until("four scrapes at even intervals", seen)

        self.assertGreater(interval, shortest)
        warned = daemon.logged(" level=warn ", "cgroups.linger is 0.2 s")
        self.assertEqual(len(warned), 1)
        self.assertIn("Remedy: set cgroups.linger to", warned[0])
        self.assertIn("cgroups.linger is 0.2 s", " ".join(daemon.status()["warnings"]))


class LifeTest(unittest.TestCase):
    def test_cgroup_that_is_created_again_under_its_path_continues_its_series(self):
        harness.require_events(*EVENTS)
        harness.undisturbed(self.create_again)

    def create_again(self):
        # Polls are so far apart that each cgroup works, ends and is replaced between two of them:
        # its last events are still read, and there is never a second sample or a fall.
        with contextlib.ExitStack() as stack:
            tree = stack.enter_context(harness.CgroupTree("life"))
            cgroup = tree.make("again")
            config = harness.config_of(events=EVENTS, include=[tree.pattern], interval="1s")
            daemon = stack.enter_context(harness.Daemon(config))
            name, pages, charged = "perf_cgroup_minor_faults_total", 2000, 0
            falls = harness.Falls()
            first = daemon.scrape_after_polls(1)
            for _ in range(2):
                falls.look_at(daemon.scrape_after_polls(1))
                with harness.Workload(tree, cgroup, 0, 10, pages, 5) as workload:
                    before = workload.usage()["minor_faults"]
                    workload.run()
                    charged += workload.usage()["minor_faults"] - before
                tree.remove(cgroup)
                tree.make("again")
            last = daemon.scrape_after_polls(2)
        falls.look_at(last)

        self.assertEqual(falls.found, [])
        harness.check_measured(first, last, cgroup)
        self.assertGreaterEqual(last.value(name, cgroup=cgroup), charged)
        self.assertLess(last.value(name, cgroup=cgroup), charged + 200)  # beginning and end


class ChurnTest(unittest.TestCase):
    def test_hundreds_of_cgroups_come_and_go_without_a_trace(self):
        harness.require_events(*EVENTS)
        with harness.CgroupTree("churn") as tree:
            config = harness.config_of(events=EVENTS, include=[tree.pattern], linger=f"{LINGER}s")
            with harness.Daemon(config) as daemon:
                self.count_one(tree, daemon)
                fds_before, dying_before = daemon.open_fds(), tree.dying()
                most_fds = 0
                with Scraper(daemon) as scraper:
                    for batch in range(BATCHES):
                        most_fds = max(most_fds, self.live_and_die(tree, daemon, scraper, batch))
                    self.assert_nothing_is_left(tree, daemon, fds_before, dying_before)
                harness.until("end of all connections", lambda: daemon.open_sockets() == 1)

        self.assertEqual(scraper.problems, [])
        self.assertEqual(scraper.falls.found, [])
        self.assertEqual(len(scraper.seen_cgroups), BATCHES * BATCH)
        self.assertGreater(scraper.scrapes, 2 * BATCHES)
        if not harness.BY_RECORDS:
            self.assertGreaterEqual(most_fds - fds_before, BATCH * len(EVENTS))  # could have leaked

    @staticmethod
    def count_one(tree, daemon):
        """By records, what counts all cgroups is opened with the first one, and kept."""
        first = tree.make("first")
        daemon.scrape_when("the first cgroup", lambda scrape: scrape.value(
            "perf_event_exporter_cgroups", state="counted") == 1)
        tree.remove(first)
        daemon.scrape_when("its end", lambda scrape: not scrape.with_name("perf_cgroup_"))

    def live_and_die(self, tree, daemon, scraper, batch):
        """Returns how many descriptors the daemon had while the batch lived."""
        cgroups = [tree.make(f"{batch}-{number}") for number in range(BATCH)]
        run_once_in(tree, *cgroups)
        scrape = daemon.scrape_when(  # as many there were in the batch before
            "all cgroups of the batch",
            lambda scrape: scrape.value("perf_event_exporter_cgroups", state="counted") == BATCH
            and scrape.has("perf_cgroup_minor_faults_total", cgroup=cgroups[-1]))
        for cgroup in cgroups:
            scrape.value("perf_cgroup_minor_faults_total", cgroup=cgroup)
        fds = daemon.open_fds()
        for _ in range(RUNS):  # they come back to life now and then
            run_once_in(tree, *cgroups[::10])
            daemon.scrape_after_polls(1)
        harness.until("a scrape of each cgroup", lambda: scraper.seen_cgroups.issuperset(cgroups))
        for cgroup in cgroups:
            tree.remove(cgroup)
        return fds

    def assert_nothing_is_left(self, tree, daemon, fds_before, dying_before):
        harness.until("descriptors as before", lambda: daemon.open_fds() == fds_before or (
            harness.BY_RECORDS and daemon.open_fds() < fds_before))  # of a CPU that gave them up
        harness.until("dying cgroups as before", lambda: tree.dying() == dying_before)
        last = daemon.scrape_when("end of the lingering series",
                                  lambda scrape: not scrape.with_name("perf_cgroup_"))
        for state in ("counted", "lingering", "left_out"):
            self.assertEqual(last.value("perf_event_exporter_cgroups", state=state), 0, state)
        # None was too many, none was refused: one that goes while it is opened is no failure.
        self.assertEqual(last.with_name("perf_event_exporter_cgroups_left_out_total"), {})
        self.assertEqual(last.with_name("perf_event_exporter_event_open_errors_total"), {})
        self.assertEqual(last.problems("read_error"), 0)
        # On a busy machine scrapes may come at longer intervals than series linger.
        lines = [line for line in daemon.lines("warn") + daemon.lines("error")
                 if "cgroups.linger is" not in line]
        if harness.BY_RECORDS:  # of a CPU that gave them up
            lines = [line for line in lines if "switches between cgroups" not in line]
        self.assertEqual(lines, [])


if __name__ == "__main__":
    harness.main()
