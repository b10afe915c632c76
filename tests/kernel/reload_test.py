"""Reloads: the counters of every group that has not changed go on, as in an exporter that was never
reloaded.
"""

import functools
import os
import resource
import signal
import unittest

import harness
from churn_test import Scraper

EVENTS = ["context-switches", "minor-faults"]
METRICS = ["perf_cgroup_context_switches_total", "perf_cgroup_minor_faults_total"]
WORK = 1000  # of each event, at least

LABELS = "labels: [{match: '/**', set: {team: x}}]"
CHANGES = [  # section -> keys
    {},
    {"evidence": "cgroups: none"},
    {"openmetrics": "created: true"},
    {"limits": "max_series: 5000, opens_per_second: 500"},
    {"collection": "interval: 150ms, max_age: 1s"},
    {"cgroups": f"linger: 5s, max: 9, close_after: 1h, {LABELS}"},
    {"cgroups": f"sums: [{{name: team, by: [team], zero_for: 0s}}], {LABELS}"},
]


def config_of(tree, change=None):
    sections = {"collection": "interval: 100ms"} | (change or {})
    selected = f"include: ['{tree.pattern}'], source: descriptors"
    sections["cgroups"] = ", ".join([selected, *filter(None, [sections.get("cgroups")])])
    groups = f"groups: [{{name: software, events: [{', '.join(EVENTS)}], scope: [cpu, cgroup]}}]"
    return "\n".join([groups, *(f"{name}: {{{keys}}}" for name, keys in sections.items()), ""])


def reloads_of(daemon):
    return [line for line in daemon.lines("info") if "configuration reloaded" in line]


def await_work(daemon, before, cgroup):
    """Until the process in the cgroup has done enough to compare, however busy the machine is."""
    def grown(scrape, metric):
        return sum(value for (_, labels), value in scrape.with_name(metric).items()
                   if dict(labels)["cgroup"] == cgroup)
    daemon.scrape_when("enough work", lambda scrape: all(
        grown(scrape, metric) - grown(before, metric) > WORK for metric in METRICS))


class Reloaded:
    """Two exporters count the same work; one of them is reloaded again and again. The counters of what
    stays are those of the other."""

    MORE_EVENTS = []
    POLLS = 0  # from one reload to the next, at least

    @classmethod
    def setUpClass(cls):
        harness.require_events(*EVENTS, *cls.MORE_EVENTS)
        cls.tree = cls.enterClassContext(harness.CgroupTree("reload"))
        cls.cgroup, _ = cls.tree.make("work"), cls.tree.make("more")
        work = cls.enterClassContext(harness.touches_pages(cls.tree, cls.cgroup))
        work.stop()
        cls.daemons = [cls.enterClassContext(harness.Daemon(cls.config(0))) for _ in range(2)]
        cls.before = [daemon.scrape_after_polls() for daemon in cls.daemons]
        reloaded = cls.daemons[0]
        with Scraper(reloaded, every=0.05) as cls.scraper:
            work.go_on()
            for number in range(1, cls.RELOADS + 1):
                reloaded.write_config(cls.config(number))
                reloaded.send(signal.SIGHUP)
                harness.until(f"reload {number}",
                              lambda number=number: len(reloads_of(reloaded)) == number)
                if cls.POLLS:
                    reloaded.scrape_after_polls(cls.POLLS)
            await_work(cls.daemons[1], cls.before[1], cls.cgroup)
            work.stop()
            cls.after = [daemon.scrape_after_polls() for daemon in cls.daemons]
            cls.true_faults = work.minor_faults()

    def test_each_counter_of_the_cgroup_is_that_of_the_other_exporter(self):
        for metric in METRICS:
            grown = [after.value(metric, **self.labels(after)) -
                     before.value(metric, **self.labels(before))
                     for before, after in zip(self.before, self.after)]
            print(f"\n{metric}: {grown[0]:.0f} after {self.RELOADS} reloads, {grown[1]:.0f} without")
            self.assertGreater(grown[1], WORK)
            self.compare(metric, *grown)

    def compare(self, _metric, reloaded, other):
        self.assertEqual(reloaded, other)

    def labels(self, scrape):
        """Of the series of the cgroup, which a change may have given another label."""
        (labels,) = [dict(labels) for name, labels in scrape
                     if name == METRICS[0] and ("cgroup", self.cgroup) in labels]
        return labels

    def test_no_counter_of_what_stays_falls(self):
        self.assertEqual([fall for fall in self.scraper.falls.found if self.stays(fall)], [])
        self.assertEqual(self.scraper.problems, [])

    def test_each_reload_reports_what_it_keeps(self):
        self.assertEqual(len(reloads_of(self.daemons[0])), self.RELOADS)
        for line in reloads_of(self.daemons[0]):
            self.assertIn(self.REPORTED, line)
        self.assertEqual(self.daemons[0].lines("error"), [])


class OtherSettingsTest(Reloaded, unittest.TestCase):
    """Each reload changes what all groups stay with."""

    RELOADS, POLLS = 42, 1
    REPORTED = "groups_kept=2 groups_opened=0 groups_closed=0"

    @classmethod
    def config(cls, number):
        return config_of(cls.tree, CHANGES[number % len(CHANGES)])

    def stays(self, fall):
        """A sum ends with the reload that removes it, and begins at 0 with the one that adds it."""
        return "perf_team_" not in fall and "('sum', 'team')" not in fall


class AddedSumTest(unittest.TestCase):
    SUM = "perf_all_minor_faults_total"

    def test_the_first_sum_begins_without_what_was_counted_before(self):
        harness.require_events(*EVENTS)
        tree = self.enterContext(harness.CgroupTree("reload"))
        cgroup = tree.make("work")
        work = self.enterContext(harness.touches_pages(tree, cgroup))
        daemon = self.enterContext(harness.Daemon(config_of(tree)))
        daemon.scrape_when("faults", lambda scrape: scrape.has(METRICS[1], cgroup=cgroup) and
                           scrape.value(METRICS[1], cgroup=cgroup) > 1000)
        work.stop()
        before = daemon.scrape_after_polls().value(METRICS[1], cgroup=cgroup)

        daemon.write_config(config_of(tree, {"cgroups": "sums: [{name: all, by: [], zero_for: 0s}]"}))
        daemon.send(signal.SIGHUP)
        added = daemon.scrape_when("the sum", lambda scrape: scrape.has(self.SUM))
        work.go_on()
        daemon.scrape_when("more faults", lambda scrape: scrape.value(self.SUM) > 1000)
        work.stop()
        after = daemon.scrape_after_polls()

        self.assertEqual(added.value(self.SUM), 0)
        self.assertEqual(after.value(self.SUM), after.value(METRICS[1], cgroup=cgroup) - before)


class UncountedTest(unittest.TestCase):
    """A cgroup that exists, is not counted for a while, and is counted again. A workload touches so
    many pages each time, and knows it."""

    PAGES = 50_000
    FAULTS = "perf_cgroup_minor_faults_total"
    SOURCES = ["descriptors", "records"]

    def test_one_that_is_not_selected_for_a_while(self):
        self.check("exclude: ['{cgroup}']")

    def test_one_that_gives_way_to_another(self):
        self.check("max: 1")

    def check(self, uncounted):
        harness.require_events(*EVENTS)
        for source in self.SOURCES:
            with self.subTest(source=source):
                harness.undisturbed(functools.partial(self.observe, uncounted, source))

    def observe(self, uncounted, source):
        tree = harness.CgroupTree("reload")
        with tree:
            tree.make("a")  # the first by path stays where there is room for one
            cgroup = tree.make("b")
            keys = uncounted.format(cgroup=cgroup)
            with harness.Daemon(self.config(tree, source)) as daemon:
                _, _, before = self.around_work(daemon, tree, cgroup)
                self.reload(daemon, tree, source, keys)
                absent = daemon.scrape_when("end of the series", lambda scrape: not [
                    labels for _, labels in scrape if ("cgroup", cgroup) in labels])
                used = -self.cpu_time(tree, cgroup)
                self.work(tree, cgroup)
                used += self.cpu_time(tree, cgroup)
                daemon.scrape_after_polls(4)  # records keep for two polls what a new cgroup did
                self.reload(daemon, tree, source, "")
                again = daemon.scrape_when("the series", lambda scrape: scrape.has(
                    self.FAULTS, cgroup=cgroup))
                begun, faults, after = self.around_work(daemon, tree, cgroup)
        harness.check_measured(begun, after, cgroup)
        self.assertEqual(absent.value("perf_event_exporter_cgroups", state="lingering"), 0)
        meanwhile, later = (self.grown(a, b, cgroup)
                            for a, b in ((before, again), (begun, after)))
        print(f"\n{keys}, {source}: {used:.4f} s of CPU time while it was not counted, then "
              f"{meanwhile['unmeasured']:.4f} s unmeasured and {meanwhile['faults']:.0f} faults; "
              f"{later['faults']:.0f} of {faults} faults after that")
        self.assertGreaterEqual(meanwhile["unmeasured"], 0.98 * used)
        self.assertLess(meanwhile["faults"], self.PAGES / 2)
        self.assertGreaterEqual(later["faults"], self.PAGES)
        self.assertLess(later["faults"], 1.02 * faults)

    def around_work(self, daemon, tree, cgroup):
        """Scrapes while it is in the cgroup, as what it did before it moved there is another's; and its
        faults in between, of which a sanitizer adds to those of its pages."""
        daemon.scrape_when("its counters", lambda scrape: scrape.has(self.FAULTS, cgroup=cgroup))
        with self.workload(tree, cgroup) as work:
            begun = daemon.scrape_after_polls()
            faults = work.run()["minflt"]
            self.assertGreaterEqual(faults, self.PAGES)
            return begun, faults, daemon.scrape_after_polls()

    def work(self, tree, cgroup):
        with self.workload(tree, cgroup) as work:
            work.run()

    def workload(self, tree, cgroup):
        return harness.Workload(tree, cgroup, min(harness.online_cpus()), 0, self.PAGES, 0)

    @staticmethod
    def reload(daemon, tree, source, keys):
        reloads = len(reloads_of(daemon))
        daemon.write_config(UncountedTest.config(tree, source, keys))
        daemon.send(signal.SIGHUP)
        harness.until("reload", lambda: len(reloads_of(daemon)) == reloads + 1)

    @staticmethod
    def config(tree, source, keys=""):
        return config_of(tree, {"cgroups": keys} if keys else None).replace(
            "source: descriptors", f"source: {source}")

    @staticmethod
    def cpu_time(tree, cgroup):
        return harness.number_in(f"{tree.mount}{cgroup}/cpu.stat", "usage_usec") / 1e6

    def grown(self, before, after, cgroup):
        return {"faults": after.since(before, self.FAULTS, cgroup=cgroup),
                "unmeasured": harness.unmeasured(before, after, cgroup=cgroup)}


class ChangedGroupTest(Reloaded, unittest.TestCase):
    """Each reload changes one event of one group; now and then also the patterns of cgroups."""

    MORE_EVENTS = ["cpu-migrations", "major-faults", "page-faults", "alignment-faults"]
    SOURCE = "descriptors"
    RELOADS = 200
    REPORTED = "groups_kept=2 groups_opened=2 groups_closed=2"

    @classmethod
    def config(cls, number):
        events = [cls.MORE_EVENTS[number % 4], cls.MORE_EVENTS[(number // 4 + 1) % 4]]
        events = list(dict.fromkeys(events))
        patterns = f"'{cls.tree.pattern}'" + (", '/none/*'" if number % 7 == 3 else "")
        exclude = "'/**/more'" if number % 5 == 1 else ""
        return "\n".join([
            "groups:",
            f"- {{name: stays, events: [{', '.join(EVENTS)}], scope: [cpu, cgroup]}}",
            f"- {{name: changes, events: [{', '.join(events)}], scope: [cpu, cgroup]}}",
            "collection: {interval: 100ms}",
            f"cgroups: {{include: [{patterns}], exclude: [{exclude}], source: {cls.SOURCE}}}",
            ""])

    def stays(self, fall):
        return any(name in str(fall) for name in ("context_switches", "minor_faults", "stays"))


class ChangedGroupByRecordsTest(ChangedGroupTest):
    """Where a machine leaves out records, or is so busy that some are lost, each exporter lacks others,
    and estimates them, until it counts that CPU by descriptors."""
    SOURCE = "records"
    RELOADS = 60

    def compare(self, metric, reloaded, other):
        lacking = [scrape.value("perf_event_exporter_switch_records_total", outcome=outcome)
                   for scrape in self.after for outcome in ("lost", "skipped")]
        print(f"\nrecords lost and left out: {lacking}")
        if not any(lacking):
            return self.assertAlmostEqual(reloaded, other, delta=2e-3 * other)
        unmeasured = max(map(self.unmeasured, self.before, self.after))
        print(f"unmeasured: {unmeasured:.2%} of the time")
        if metric == "perf_cgroup_minor_faults_total":
            self.assertLess(reloaded, (1.1 + unmeasured) * self.true_faults)
        self.assertGreater(reloaded, (0.8 - unmeasured) * other)

    def unmeasured(self, before, after):
        """Part of the time of the cgroup that lies around missing records."""
        enabled = after.since(before, "perf_group_enabled_seconds_total", cgroup=self.cgroup, group="stays")
        return harness.unmeasured(before, after, "stays", cgroup=self.cgroup) / enabled


class WatchTest(unittest.TestCase):
    """--config.watch: nobody sends a signal."""

    NEXT_TRY = 60  # seconds

    def setUp(self):
        harness.require_events(*EVENTS)
        self.daemon = self.enterContext(harness.Daemon(
            harness.config_of(events=EVENTS[:1], scope="cpu"), "--config.watch"))
        self.daemon.scrape_after_polls()

    def test_a_changed_file_is_reloaded(self):
        self.daemon.write_config(harness.config_of(events=EVENTS, scope="cpu"))
        harness.until("the reload", lambda: reloads_of(self.daemon))
        scrape = self.daemon.scrape_after_polls()
        self.assertTrue(scrape.has("perf_cpu_minor_faults_total", cpu="0"))

    def test_a_file_that_is_written_in_place_is_not_reloaded_however_long_its_writer_pauses(self):
        text = harness.config_of(events=EVENTS, scope="cpu")
        with open(self.daemon.config_path, "w", encoding="utf-8") as file:
            file.write(text[:text.index("groups:")])
            file.flush()
            self.daemon.logged("written in place")
            file.write(text[text.index("groups:"):])
        harness.until("a second line", lambda: len(self.daemon.logged("written in place")) == 2)
        self.assertEqual(reloads_of(self.daemon), [])
        self.daemon.write_config(text)
        harness.until("the reload", lambda: reloads_of(self.daemon))

    def test_a_file_that_is_created_anew_is_not_reloaded_however_long_its_writer_pauses(self):
        text = harness.config_of(events=EVENTS, scope="cpu") + "evidence: {cgroups: none}\n"
        os.replace(self.daemon.config_path, f"{self.daemon.config_path}~")
        self.addCleanup(os.remove, f"{self.daemon.config_path}~")
        with open(self.daemon.config_path, "w", encoding="utf-8") as file:
            file.write(text[:text.index("evidence:")])  # valid by itself
            file.flush()
            self.daemon.logged("written in place")
            file.write(text[text.index("evidence:"):])
        harness.until("a second line", lambda: len(self.daemon.logged("written in place")) == 2)
        self.assertEqual(reloads_of(self.daemon), [])

    def test_a_broken_file_changes_nothing_until_it_is_repaired(self):
        self.daemon.write_config("groups: none\n")
        harness.until("the error", lambda: self.daemon.lines("error"))
        self.assertEqual(reloads_of(self.daemon), [])
        failed = self.daemon.scrape().value("perf_event_exporter_config_last_reload_successful")
        self.assertEqual(failed, 0)

        self.daemon.write_config(harness.config_of(events=EVENTS, scope="cpu"))
        harness.until("the reload", lambda: reloads_of(self.daemon))

    def test_a_file_that_could_not_be_read_for_lack_of_descriptors_is_read_a_minute_later(self):
        limits = resource.prlimit(self.daemon.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(self.daemon.pid, resource.RLIMIT_NOFILE, (3, limits[1]))
        self.daemon.write_config(harness.config_of(events=EVENTS, scope="cpu"))
        self.daemon.logged(" level=error ")
        resource.prlimit(self.daemon.pid, resource.RLIMIT_NOFILE, limits)

        harness.until("the reload", lambda: reloads_of(self.daemon),
                      patience=self.NEXT_TRY + harness.PATIENCE)
        self.daemon.logged("the configuration is tried again")
        scrape = self.daemon.scrape_after_polls()
        self.assertTrue(scrape.has("perf_cpu_minor_faults_total", cpu="0"))


class ReplacingTest(unittest.TestCase):
    def test_other_cpus_replace_all_counters(self):
        harness.require_events(*EVENTS)
        daemon = self.enterContext(harness.Daemon(
            harness.config_of(events=EVENTS, scope="cpu")))
        daemon.write_config(harness.config_of(events=EVENTS, scope="cpu") +
                            "cpus: {exclude: ['1']}\n")
        daemon.send(signal.SIGHUP)
        (line,) = harness.until("the reload", lambda: reloads_of(daemon))
        self.assertIn("groups_kept=0 groups_opened=1 groups_closed=1", line)


if __name__ == "__main__":
    harness.main()
