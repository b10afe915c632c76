#!/usr/bin/env python3
"""Shows that metrics_doc_test.py can fail: each violation, put in a small tree, is found."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent))
import metrics_doc_test  # noqa: E402

SOURCE = 'x("perf_group_turns_total", "perf_event_exporter_series", "perf_");\n'
DOCUMENT = """\
| name | type | meaning |
| --- | --- | --- |
| `perf_cpu_<event>_total` | counter | events |
| `perf_group_turns_total` | counter | turns |
| `perf_event_exporter_series` | gauge | series |

Ask perf_event_exporter: rate(perf_group_turns_total[5m]), rate(perf_cpu_cycles_total[5m]).
"""


class MetricsDocTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.put("lib/exposition/a.cc", SOURCE)
        self.put("docs/metrics.md", DOCUMENT)

    def put(self, path: str, text: str):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def assert_found(self, *expected: str):
        self.assertEqual(metrics_doc_test.violations(self.root), list(expected))

    def test_a_document_that_is_complete_is_clean(self):
        self.assert_found()

    def test_a_metric_without_a_row_is_found(self):
        self.put("lib/exposition/b.h", 'y("process_open_fds");\n')
        self.assert_found("docs/metrics.md: has no row for process_open_fds")

    def test_a_mention_is_no_row(self):
        self.put("docs/metrics.md", DOCUMENT.replace("| `perf_group_turns_total` |", "| turns |"))
        self.assert_found("docs/metrics.md: has no row for perf_group_turns_total")

    def test_a_name_that_is_gone_is_found_in_text_and_tables(self):
        self.put("docs/metrics.md", DOCUMENT + "| `perf_event_gone` | gauge | |\nprocess_gone\n")
        self.assert_found(
            "docs/metrics.md: perf_event_gone is not published",
            "docs/metrics.md: process_gone is not published",
        )

    def test_a_wrong_type_is_found(self):
        self.put("docs/metrics.md", DOCUMENT.replace("| gauge |", "| counter |"))
        self.assert_found("docs/metrics.md: perf_event_exporter_series is a gauge, not a counter")

    def test_sources_without_any_name_are_found(self):
        self.put("lib/exposition/a.cc", "\n")
        self.put("docs/metrics.md", "\n")
        self.assert_found("lib/exposition: names no metric")


if __name__ == "__main__":
    unittest.main()
