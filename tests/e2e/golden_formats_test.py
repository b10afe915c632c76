#!/usr/bin/env python3
"""The first golden scrape of each case has the shape of the text format, *.om that of OpenMetrics. (Of
later scrapes a file has what differs.)"""

import sys
import unittest
from pathlib import Path

HERE = Path(__file__).parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "kernel"))
import exposition  # noqa: E402


class GoldenTest(unittest.TestCase):
    def files(self, extension):
        files = sorted(HERE.glob(f"cases/*/*.{extension}"))
        self.assertTrue(files)
        for path in files:
            with self.subTest(str(path.relative_to(HERE))):
                yield path.read_text(encoding="utf-8")

    def test_text_scrapes_have_each_series_once_and_the_shape_of_the_text_format(self):
        for text in self.files("prom"):
            first = text.removeprefix("# poll 1\n").partition("# poll 2\n")[0]
            self.assertEqual(exposition.check_text(first), [])

    def test_openmetrics_scrapes_follow_its_grammar(self):
        for text in self.files("om"):
            self.assertEqual(exposition.check_openmetrics(text), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
