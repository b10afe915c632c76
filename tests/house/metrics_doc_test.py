#!/usr/bin/env python3
"""Checks that docs/metrics.md and lib/exposition name the same metrics, and that each name in any other
document is one of them.

    metrics_doc_test.py SOURCE_DIR

Each name in the sources has a row in a table of the document, with its type, and each name anywhere
in the document is one of the sources. Prints each violation, and exits 1 when there is one. Metrics
of events have no fixed names, and are not looked at.
"""

import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True
from documents import all_documents  # noqa: E402

DOCUMENT = Path("docs/metrics.md")
SOURCES = Path("lib/exposition")

# Of everything but events, whose names begin perf_cpu_, perf_cgroup_ or like their PMU.
NAME = r"(?:perf_(?:group|event)|process)_[a-z0-9_]*[a-z0-9]"
LITERAL = re.compile(rf'"({NAME})"')
MENTION = re.compile(rf"(?<![A-Za-z0-9_]){NAME}(?![A-Za-z0-9_<])")
# In other documents, where the kernel's perf_event_open and such are no metrics.
OTHER_MENTION = re.compile(r"(?<![A-Za-z0-9_])perf_(?:group|event_exporter)_[a-z0-9_]*[a-z0-9](?![A-Za-z0-9_<*{:])")
ROW = re.compile(rf"^\| `({NAME})` \| (\w+) \|", re.MULTILINE)
PROGRAM = "perf_event_exporter"


def published(root: Path) -> set[str]:
    names: set[str] = set()
    for path in sorted((root / SOURCES).iterdir()):
        if path.suffix in {".cc", ".h"}:
            names.update(LITERAL.findall(path.read_text(encoding="utf-8")))
    return names


def type_of(name: str) -> str:
    """By the convention that promtool checks as well, and one of ours for distributions."""
    if name.endswith("_duration_seconds"):
        return "histogram"
    return "counter" if name.endswith("_total") else "gauge"


def violations(root: Path) -> list[str]:
    names = published(root)
    text = (root / DOCUMENT).read_text(encoding="utf-8")
    rows = dict(ROW.findall(text))
    found = [] if names else [f"{SOURCES}: names no metric"]
    found += [f"{DOCUMENT}: has no row for {name}" for name in sorted(names - rows.keys())]
    mentioned = set(MENTION.findall(text)) - {PROGRAM}
    found += [f"{DOCUMENT}: {name} is not published" for name in sorted(mentioned - names)]
    for page in all_documents(root):
        unknown = set(OTHER_MENTION.findall(page.read_text(encoding="utf-8"))) - names
        if page != root / DOCUMENT:
            found += [f"{page.relative_to(root)}: {name} is not published" for name in sorted(unknown)]
    found += [
        f"{DOCUMENT}: {name} is a {type_of(name)}, not a {kind}"
        for name, kind in sorted(rows.items())
        if kind != type_of(name)
    ]
    return found


def main() -> int:
    found = violations(Path(sys.argv[1]))
    for violation in found:
        print(violation)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
