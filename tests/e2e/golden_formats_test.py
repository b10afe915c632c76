#!/usr/bin/env python3
"""Every golden scrape has the shape of its format, and no series twice: *.prom are in the text
format, *.om in OpenMetrics. A file holds one scrape, or several that begin with "# poll N"; the
last one tells the same in both formats.

    golden_formats_test.py [CASES]
"""

import re
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "kernel"))
import exposition  # noqa: E402

POLL = re.compile(r"^# poll [0-9]+\n", re.MULTILINE)

cases = HERE / "cases"


def scrapes(path: Path):
    """(line before it, text) of each scrape in a file."""
    text = path.read_text(encoding="utf-8")
    starts = [0, *(match.end() for match in POLL.finditer(text))]
    ends = [*(match.start() for match in POLL.finditer(text)), len(text)]
    return [(text.count("\n", 0, start), text[start:end])
            for start, end in zip(starts, ends) if start != end]


def at_lines_of_the_file(problems, before: int):
    """Problems of a scrape, at the lines they have in the file."""
    return [re.sub(r"\Aline ([0-9]+)", lambda match: f"line {before + int(match[1])}", problem)
            for problem in problems]


def samples(text: str):
    return [line for line in text.splitlines() if not line.startswith("#")]


class GoldenTest(unittest.TestCase):
    def files(self, extension):
        files = sorted(cases.glob(f"*/*.{extension}"))
        self.assertTrue(files, f"no golden *.{extension} below {cases}")
        return files

    def assert_clean(self, files, check):
        for path in files:
            parts = scrapes(path)
            self.assertTrue(parts, f"{path} holds no scrape")
            for before, text in parts:
                with self.subTest(file=str(path.relative_to(cases)), line=before + 1):
                    self.assertEqual(at_lines_of_the_file(check(text), before), [])

    def test_each_case_has_a_golden_scrape_in_each_format(self):
        for case in sorted(path for path in cases.iterdir() if path.is_dir()):
            with self.subTest(case.name):
                self.assertTrue(list(case.glob("*.prom")))
                self.assertTrue(list(case.glob("*.om")))

    def test_both_formats_hold_the_same_samples_in_the_same_order(self):
        for path in self.files("om"):
            with self.subTest(str(path.relative_to(cases))):
                _, text = scrapes(path.with_suffix(".prom"))[-1]
                _, other = scrapes(path)[-1]
                self.assertEqual(samples(text), samples(other))
                self.assertTrue(samples(text))

    def test_text_scrapes_have_each_series_once_and_the_shape_of_the_text_format(self):
        self.assert_clean(self.files("prom"), exposition.check_text)

    def test_openmetrics_scrapes_follow_its_grammar(self):
        self.assert_clean(self.files("om"), exposition.check_openmetrics)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        cases = Path(sys.argv.pop(1))
    unittest.main(verbosity=2)
