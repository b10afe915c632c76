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
    def setUp(self):
        self.judge = judges.Monotone(lambda labels: "/churn/" in labels["cgroup"])

    def look(self, value, created=None, labels=STEADY):
        scrape = {("clock_total", labels): value, ("gauge", labels): -value}
        if created is not None:
            scrape["clock_created", labels] = created
        self.judge.look_at(scrape, self.judge.replacements)

    def test_accepts_counters_that_stand_still_and_grow(self):
        for value in (1, 1, 2):
            self.look(value, created=10)
        self.assertEqual(self.judge.problems, [])

    def test_finds_a_counter_that_falls(self):
        self.look(2, created=10)
        self.look(1, created=10)
        self.assertRegex(self.judge.problems[0], "fell without a later _created")

    def test_finds_a_counter_that_falls_where_the_instant_of_creation_is_not_served(self):
        self.look(2, created=10)
        self.look(1)
        self.assertEqual(len(self.judge.problems), 1)

    def test_finds_a_counter_that_falls_in_a_reload_and_keeps_its_instant_of_creation(self):
        self.look(2, created=10)
        self.judge.counters_are_replaced()
        self.look(1, created=10)
        self.assertEqual(len(self.judge.problems), 1)

    def test_finds_a_counter_that_starts_again_without_a_reload(self):
        self.look(2, created=10)
        self.look(3, created=11)
        self.assertRegex(self.judge.problems[0], "started again without a reason")

    def test_accepts_a_counter_that_a_reload_has_replaced(self):
        self.look(2, created=10)
        self.judge.counters_are_replaced()
        self.judge.counters_are_replaced()
        self.look(1, created=11)
        self.assertEqual(self.judge.problems, [])
        self.look(0, created=12)
        self.assertEqual(len(self.judge.problems), 1)

    def test_accepts_it_where_the_first_scrape_after_that_has_no_instant_of_creation(self):
        self.look(0, created=10)
        self.judge.counters_are_replaced()
        self.judge.counters_are_replaced()
        self.look(0)
        self.look(0, created=11)
        self.assertEqual(self.judge.problems, [])
        self.look(0, created=12)
        self.assertEqual(len(self.judge.problems), 1)

    def test_finds_a_counter_of_another_group_that_a_reload_has_replaced(self):
        self.judge.may_change = lambda name, labels: name != "clock_total"
        self.look(2, created=10)
        self.judge.counters_are_replaced()
        self.look(1, created=11)
        self.assertEqual(len(self.judge.problems), 1)

    def test_accepts_it_also_between_two_scrapes_while_the_reload_is_under_way(self):
        self.look(2, created=10)
        self.judge.counters_are_replaced()
        self.look(3, created=10)
        self.look(1, created=11)
        self.judge.counters_are_replaced()
        self.look(2, created=11)
        self.assertEqual(self.judge.problems, [])

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

    def test_remembers_the_instant_of_creation_over_scrapes_without_it(self):
        self.look(2, created=10)
        self.look(3)
        self.look(4, created=11)
        self.assertEqual(len(self.judge.problems), 1)


class TruthTest(unittest.TestCase):
    def problems(self, counted=100.0, enabled=None, running=None, **more):
        judge = judges.Truth()
        judge.compare("a cgroup", counted=counted, true=100.0,
                      enabled=counted if enabled is None else enabled,
                      running=counted if running is None else running, **more)
        return judge.problems

    def test_accepts_the_time_of_cgroups_without_a_name_and_no_more(self):
        for unnamed, found in ((2.0, 0), (0.5, 1)):
            with self.subTest(unnamed=unnamed):
                self.assertEqual(len(self.problems(97.5, unnamed=unnamed)), found)

    def test_accepts_one_percent_and_finds_more_in_both_directions(self):
        for counted, found in ((99.1, 0), (100.9, 0), (98.9, 1), (101.1, 1)):
            with self.subTest(counted=counted):
                self.assertEqual(len(self.problems(counted)), found)

    def test_accepts_what_is_published_as_not_counted_up_to_a_tenth(self):
        self.assertEqual(self.problems(95.0, enabled=100.0), [])
        self.assertRegex(self.problems(80.0, enabled=100.0)[0], "more than 10% is not counted")
        self.assertEqual(self.problems(20.0, enabled=100.0, unmeasured=1), [])
        self.assertEqual(self.problems(99.5, enabled=119.5, away=15.0), [])

    def test_finds_a_loss_that_is_not_published(self):
        self.assertEqual(len(self.problems(95.0, enabled=97.0)), 1)

    def test_accepts_by_how_much_another_counter_has_less_as_well(self):
        self.assertEqual(self.problems(97.0, other=97.5), [])
        self.assertEqual(len(self.problems(97.0, other=99.0)), 1)
        self.assertEqual(len(self.problems(103.0, other=97.5)), 1)

    def test_accepts_by_how_much_another_counter_has_more_as_well(self):
        self.assertEqual(self.problems(103.0, other=102.5), [])
        self.assertEqual(len(self.problems(103.0, other=101.0)), 1)
        self.assertEqual(len(self.problems(97.0, other=102.5)), 1)

    def test_accepts_what_is_lost_around_a_cpu_that_comes_back(self):
        self.assertEqual(self.problems(97.0, lost=0.03), [])
        self.assertEqual(len(self.problems(95.0, lost=0.03)), 1)

    def test_accepts_what_an_idle_cgroup_has_used_that_is_not_published_yet(self):
        self.assertEqual(self.problems(95.0, pending=5.0), [])
        self.assertEqual(self.problems(105.0, pending=5.0), [])
        self.assertEqual(len(self.problems(93.0, pending=5.0)), 1)
        self.assertEqual(len(self.problems(107.0, pending=5.0)), 1)

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
        return judge.problems

    def test_accepts_what_stays_between_bounds(self):
        for name in judges.Flat.BOUNDS:
            with self.subTest(name):
                self.assertEqual(self.problems(name, lambda now: 50 + now % 40), [])

    def test_finds_what_grows_slowly_all_the_time(self):
        for name, (noise, per_hour) in judges.Flat.BOUNDS.items():
            with self.subTest(name):
                grown = 1.1 * (noise + per_hour)
                self.assertEqual(len(self.problems(name, lambda now, g=grown: g * now / 3600)), 1)
                self.assertEqual(self.problems(name, lambda now, g=grown: g * now / 9000), [])

    def test_is_not_misled_by_a_third_of_the_values(self):
        self.assertEqual(self.problems("memory", lambda now: 1e9 if now % 40 == 0 else 1e7), [])
        self.assertEqual(len(self.problems(
            "memory", lambda now: 1e9 if now % 40 == 0 else 1e4 * now)), 1)

    def test_what_grows_while_it_warms_up_is_no_problem(self):
        self.assertEqual(self.problems("memory", lambda now: 1e6 * min(now, self.WARM_UP)), [])

    def test_the_slope_is_that_of_a_line(self):
        self.assertAlmostEqual(judges.theil_sen([(x, 3 * x + 1) for x in range(1000)]), 3)


class LogTest(unittest.TestCase):
    KNOWN = 'ts=1 level=info msg="configuration reloaded" groups_kept=3'

    def test_counts_lines_that_are_expected_by_kind(self):
        judge = judges.Log()
        judge.read(self.KNOWN)
        judge.read(self.KNOWN)
        self.assertEqual((judge.kinds["reloaded"], judge.problems), (2, []))

    def test_finds_a_line_that_is_not_expected(self):
        for line in ('ts=1 level=warn msg="something else"', "terminate called",
                     self.KNOWN.replace("info", "error")):
            judge = judges.Log()
            judge.read(line)
            self.assertEqual(judge.problems, [line])

    def test_each_pattern_is_of_one_kind_and_has_a_reason(self):
        for _, kind, reason in judges.EXPECTED:
            self.assertTrue(kind and reason)


class AnswersTest(unittest.TestCase):
    def setUp(self):
        self.judge = judges.Answers()

    def polled(self, timestamp, polls, overruns=0, replacements=0, interval=0.25):
        self.judge.polled(timestamp, polls, overruns, interval, replacements)

    def test_accepts_answers_in_time_and_finds_others(self):
        self.judge.answered("/-/ready", 200, 0.1)
        self.assertEqual(self.judge.problems, [])
        self.judge.answered("/-/ready", 503, 0.1)
        self.judge.answered("/-/healthy", 200, judges.Answers.LATEST + 1)
        self.assertEqual(len(self.judge.problems), 2)

    def test_accepts_polls_at_their_interval_and_more_of_them(self):
        self.polled(100, 10)
        self.polled(102, 18)
        self.polled(104, 40)
        self.assertEqual(self.judge.problems, [])

    def test_accepts_polls_of_either_interval_while_it_changes(self):
        self.polled(100, 10)
        self.polled(102, 18, interval=0.15)
        self.polled(104, 26)
        self.assertEqual(self.judge.problems, [])

    def test_finds_polls_that_are_missing_without_an_overrun(self):
        self.polled(100, 10)
        self.polled(104, 12)
        self.polled(105, 16, overruns=1)
        self.assertEqual(len(self.judge.problems), 1)

    def test_accepts_polls_that_are_missing_and_reported(self):
        self.polled(100, 10)
        self.polled(104, 12, overruns=14)
        self.polled(108, 14, overruns=14)
        self.polled(109, 18, overruns=28)
        self.polled(110, 22, overruns=28)
        self.assertEqual((self.judge.problems, self.judge.late), ([], 2))

    def test_accepts_overruns_that_are_counted_while_a_poll_runs_that_is_published_later(self):
        self.polled(100, 10)
        self.polled(100, 10, overruns=6)
        self.polled(100, 10, overruns=10)
        self.polled(104, 11, overruns=14)
        self.polled(105, 15, overruns=14)
        self.assertEqual(self.judge.problems, [])

    def test_overruns_of_long_ago_are_no_excuse(self):
        self.polled(100, 10)
        self.polled(104, 12, overruns=30)
        for second in range(5, 12):
            self.polled(100 + second, 12 + 4 * (second - 4), overruns=30)
        self.polled(116, 42, overruns=30)
        self.polled(117, 46, overruns=30)
        self.assertEqual(len(self.judge.problems), 1)

    def test_accepts_that_there_is_no_poll_while_counters_are_replaced(self):
        self.polled(100, 10)
        self.polled(104, 11, replacements=1)
        self.assertEqual(self.judge.problems, [])


if __name__ == "__main__":
    unittest.main()
