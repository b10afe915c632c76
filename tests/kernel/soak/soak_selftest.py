#!/usr/bin/env python3
"""Shows that each judge of soak_test.py accepts what is right, and finds what is wrong."""

import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent.parent))
from soak import judges  # noqa: E402

JOB, STEADY = (("cgroup", "/soak/churn/job-1"),), (("cgroup", "/soak/steady-0"),)


class MonotoneTest(unittest.TestCase):
    RELOAD = None  # begins or ends
    # What a counter does -> its values, each with its _created or None, and how many problems that is.
    ROWS = {
        "stands still and grows": ([(1, 10), (1, 10), (2, 10)], 0),
        "falls": ([(2, 10), (1, 10)], 1),
        "falls, its creation is not served": ([(2, 10), (1, None)], 1),
        "falls in a reload, keeps its creation": ([(2, 10), RELOAD, (1, 10)], 1),
        "starts again without a reload": ([(2, 10), (3, 11)], 1),
        "starts again after scrapes without its creation": ([(2, 10), (3, None), (4, 11)], 1),
        "is replaced": ([(2, 10), RELOAD, RELOAD, (1, 11)], 0),
        "is replaced, starts again": ([(2, 10), RELOAD, RELOAD, (1, 11), (0, 12)], 1),
        "is replaced, its creation comes later": ([(0, 10), RELOAD, RELOAD, (0, None), (0, 11)], 0),
        "the same, starts again": ([(0, 10), RELOAD, RELOAD, (0, None), (0, 11), (0, 12)], 1),
        "is replaced between two scrapes of a reload":
            ([(2, 10), RELOAD, (3, 10), (1, 11), RELOAD, (2, 11)], 0),
    }

    def setUp(self):
        self.judge = judges.Monotone(lambda labels: "/churn/" in labels["cgroup"])

    def look(self, value, created=None, labels=STEADY):
        scrape = {("clock_total", labels): value, ("gauge", labels): -value}
        if created is not None:
            scrape["clock_created", labels] = created
        self.judge.look_at(scrape, self.judge.replacements)

    def test_finds_falls_and_starts_without_a_reason(self):
        for name, (steps, problems) in self.ROWS.items():
            with self.subTest(name):
                self.setUp()
                for step in steps:
                    if step is self.RELOAD:
                        self.judge.counters_are_replaced()
                    else:
                        self.look(*step)
                self.assertEqual(len(self.judge.problems), problems)

    def test_finds_a_counter_of_another_group_that_a_reload_has_replaced(self):
        self.judge.may_change = lambda name, labels: name != "clock_total"
        self.look(2, created=10)
        self.judge.counters_are_replaced()
        self.look(1, created=11)
        self.assertEqual(len(self.judge.problems), 1)

    def test_accepts_a_reload_that_begins_and_ends_while_a_scrape_is_requested(self):
        self.look(2, created=10)
        before = self.judge.replacements
        self.judge.counters_are_replaced()
        self.judge.counters_are_replaced()
        self.judge.look_at({("clock_total", STEADY): 1, ("clock_created", STEADY): 11}, before)
        self.assertEqual(self.judge.problems, [])

    def test_accepts_that_what_ends_by_itself_comes_again(self):
        self.look(2, created=10, labels=JOB)
        self.look(1, created=11, labels=JOB)
        self.assertEqual(self.judge.problems, [])
        self.look(0, created=11, labels=JOB)
        self.assertEqual(len(self.judge.problems), 1)


class TruthTest(unittest.TestCase):
    # Of 100 s: how many were counted, what else is known, and how many problems that is.
    ROWS = [
        # One percent is accepted in both directions.
        (99.1, {}, 0), (100.9, {}, 0), (98.9, {}, 1), (101.1, {}, 1),
        # The time of cgroups without a name, and no more.
        (97.5, {"unnamed": 2.0}, 0), (97.5, {"unnamed": 0.5}, 1),
        # What is published as not counted, up to a tenth, or to what is allowed.
        (95.0, {"enabled": 100.0}, 0), (80.0, {"enabled": 100.0}, 1),
        (20.0, {"enabled": 100.0, "unmeasured": 1}, 0), (99.5, {"enabled": 119.5, "away": 15.0}, 0),
        # A loss that is not published.
        (95.0, {"enabled": 97.0}, 1),
        # By how much another counter has less, or more, as well.
        (97.0, {"other": 97.5}, 0), (97.0, {"other": 99.0}, 1), (103.0, {"other": 97.5}, 1),
        (103.0, {"other": 102.5}, 0), (103.0, {"other": 101.0}, 1), (97.0, {"other": 102.5}, 1),
        # What is lost around a CPU that comes back.
        (97.0, {"lost": 0.03}, 0), (95.0, {"lost": 0.03}, 1),
        # What an idle cgroup has used that is not published yet.
        (95.0, {"pending": 5.0}, 0), (105.0, {"pending": 5.0}, 0),
        (93.0, {"pending": 5.0}, 1), (107.0, {"pending": 5.0}, 1),
    ]

    def test_finds_counts_that_are_not_true(self):
        for counted, known, problems in self.ROWS:
            with self.subTest(counted=counted, **known):
                judge = judges.Truth()
                judge.compare("a cgroup", counted=counted, true=100.0, running=counted,
                              **{"enabled": counted, **known})
                self.assertEqual(len(judge.problems), problems)

    def test_a_comparison_of_next_to_nothing_is_none(self):
        judge = judges.Truth()
        judge.compare("a cgroup", counted=0, enabled=0, running=0, true=0.1)
        self.assertEqual((judge.texts, judge.problems), ([], []))


class FlatTest(unittest.TestCase):
    WARM_UP, END = 60, 3660

    def problems(self, name, value_at):
        judge = judges.Flat(self.WARM_UP)
        for now in range(0, self.END, 10):
            judge.add(now, {name: value_at(now)})
        return len(judge.problems)

    def test_finds_what_grows_slowly_all_the_time(self):
        for name, (noise, per_hour) in judges.Flat.BOUNDS.items():
            with self.subTest(name):
                grown = 1.1 * (noise + per_hour)
                self.assertEqual(self.problems(name, lambda now, g=grown: g * now / 3600), 1)
                self.assertEqual(self.problems(name, lambda now, g=grown: g * now / 9000), 0)
                self.assertEqual(self.problems(name, lambda now: 50 + now % 40), 0)

    def test_is_not_misled_by_a_third_of_the_values(self):
        for value_at, problems in ((lambda now: 1e7, 0), (lambda now: 1e4 * now, 1)):
            self.assertEqual(self.problems(
                "memory", lambda now, at=value_at: 1e9 if now % 40 == 0 else at(now)), problems)

    def test_what_grows_while_it_warms_up_is_no_problem(self):
        self.assertEqual(self.problems("memory", lambda now: 1e6 * min(now, self.WARM_UP)), 0)


class LogTest(unittest.TestCase):
    KNOWN = 'ts=1 level=info msg="configuration reloaded" groups_kept=3'

    def test_counts_lines_that_are_expected_and_finds_others(self):
        for line, problems in ((self.KNOWN, []), *((line, [line]) for line in (
                'ts=1 level=warn msg="something else"', "terminate called",
                self.KNOWN.replace("info", "error")))):
            judge = judges.Log()
            judge.read(line)
            self.assertEqual((judge.kinds["reloaded"], judge.problems), (not problems, problems))


class AnswersTest(unittest.TestCase):
    # When polls come -> (time, polls, overruns, interval, reloads) of each scrape, and the problems.
    ROWS = {
        "at their interval": ([(100, 10, 0, 0.25, 0), (102, 18, 0, 0.25, 0)], 0),
        "more often": ([(100, 10, 0, 0.25, 0), (102, 40, 0, 0.25, 0)], 0),
        "at either interval while that changes":
            ([(100, 10, 0, 0.25, 0), (102, 18, 0, 0.15, 0), (104, 26, 0, 0.25, 0)], 0),
        "too late, without overruns":
            ([(100, 10, 0, 0.25, 0), (104, 12, 0, 0.25, 0), (105, 16, 1, 0.25, 0)], 1),
        "too late, with overruns":
            ([(100, 10, 0, 0.25, 0), (104, 12, 14, 0.25, 0), (108, 14, 14, 0.25, 0),
              (109, 18, 28, 0.25, 0), (110, 22, 28, 0.25, 0)], 0),
        "too late, with overruns that are counted before they end":
            ([(100, 10, 0, 0.25, 0), (100, 10, 6, 0.25, 0), (100, 10, 10, 0.25, 0),
              (104, 11, 14, 0.25, 0), (105, 15, 14, 0.25, 0)], 0),
        "too late, long after overruns":
            ([(100, 10, 0, 0.25, 0), (104, 12, 30, 0.25, 0),
              *((100 + second, 12 + 4 * (second - 4), 30, 0.25, 0) for second in range(5, 12)),
              (116, 42, 30, 0.25, 0), (117, 46, 30, 0.25, 0)], 1),
        "not while counters are replaced": ([(100, 10, 0, 0.25, 0), (104, 11, 0, 0.25, 1)], 0),
    }

    def test_finds_polls_that_are_late_and_not_reported(self):
        for name, (scrapes, problems) in self.ROWS.items():
            with self.subTest(name):
                judge = judges.Answers()
                for scrape in scrapes:
                    judge.polled(*scrape)
                self.assertEqual(len(judge.problems), problems)

    def test_finds_answers_that_are_wrong_or_late(self):
        for status, seconds, problems in ((200, 0.1, 0), (503, 0.1, 1),
                                          (200, judges.Answers.LATEST + 1, 1)):
            judge = judges.Answers()
            judge.answered("/-/ready", status, seconds)
            self.assertEqual(len(judge.problems), problems)


if __name__ == "__main__":
    unittest.main()
