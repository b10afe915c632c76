#!/usr/bin/env python3
"""Shows that wrap_test.py can fail: a long line of text is found, and nothing that cannot be wrapped."""

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent))
import wrap_test  # noqa: E402

LONG = "word " * 21 + "word"
WORD = "w" * 101


class WrapTest(unittest.TestCase):
    def test_a_long_line_of_a_paragraph_or_a_list_is_found(self):
        self.assertEqual(list(wrap_test.long_lines(f"# Title\n\n{LONG}\n\n- {LONG}\n")), [3, 5])

    def test_a_line_of_100_columns_is_not(self):
        self.assertEqual(list(wrap_test.long_lines("x " + "w" * 98 + "\n")), [])

    def test_what_cannot_be_wrapped_is_left_alone(self):
        for text in (f"| {LONG} |\n", f"## {LONG}\n", f"```sh\n{LONG}\n```\n", f"  ```\n  {LONG}\n  ```\n",
                     f"{WORD}\n", f"- [{WORD}](a.md)\n"):
            with self.subTest(text):
                self.assertEqual(list(wrap_test.long_lines(text)), [])

    def test_what_is_generated_is_left_alone_and_what_follows_is_not(self):
        text = f"<!-- begin: keys -->\n{LONG}\n<!-- end: keys -->\n{LONG}\n"
        self.assertEqual(list(wrap_test.long_lines(text)), [4])

    def test_the_command_prints_what_it_found_and_fails(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as out:
            (Path(folder) / "README.md").write_text(LONG, encoding="utf-8")
            self.assertEqual(wrap_test.main([folder]), 1)
            (Path(folder) / "README.md").write_text("short\n", encoding="utf-8")
            self.assertEqual(wrap_test.main([folder]), 0)
        self.assertEqual(out.getvalue(), "README.md:1: is longer than 100 columns\n")


if __name__ == "__main__":
    unittest.main()
