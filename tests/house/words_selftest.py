#!/usr/bin/env python3
"""Shows that words_test.py can fail: a private word is found where it is, and no part of a word."""

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent))
import words_test  # noqa: E402


class WordsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve()

    def put(self, path: str, text: str):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def found(self) -> list[str]:
        return list(words_test.violations(self.root))

    def test_the_fields_terms_are_clean(self):
        self.put("lib/collect/poll.cc", "// Restarts multiplexed groups: a program can be stranger.\n")
        self.assertEqual(self.found(), [])

    def test_a_private_word_is_found_in_a_comment_a_name_and_a_text(self):
        self.put("lib/a.h", "// one\n// Opened anew.\nint kMostEvents;\n")
        self.put("daemon/b.cc", 'puts("Told so");\nint patience_ = 0;\n')
        self.assertEqual(self.found(), [
            "daemon/b.cc:1: 'Told': write report, show, return",
            "daemon/b.cc:2: 'patience': write timeout",
            "lib/a.h:2: 'anew': write again, restarted",
            "lib/a.h:3: 'kMostEvents': write kMax, kMin",
        ])

    def test_a_private_word_is_found_in_a_document_of_the_root(self):
        self.put("README.md", "One line.\nWhoever reads.\n")
        self.assertEqual(self.found(),
                         ["README.md:2: 'Whoever': write other programs, clients; any client that"])

    def test_other_folders_and_kinds_of_files_are_left_alone(self):
        self.put("tests/unit/a.cc", "// told\n")
        self.put("CHANGELOG.md", "told\n")
        self.put("lib/a.png", "told")
        self.assertEqual(self.found(), [])

    def test_the_command_prints_what_it_found_and_fails(self):
        self.put("lib/a.h", "// beside\n")
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.assertEqual(words_test.main([str(self.root)]), 1)
        self.assertIn("lib/a.h:1: 'beside'", out.getvalue())


if __name__ == "__main__":
    unittest.main()
