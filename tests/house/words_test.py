#!/usr/bin/env python3
"""Checks that the source tree uses the field's terms, not private ones (ARCHITECTURE.md, "Words").

    words_test.py SOURCE_DIR

Prints each violation as file:line: reason, and exits 1 when there is one.
"""

import re
import sys
from pathlib import Path
from typing import Iterator

# A private word as a regular expression without regard to case, and the field's term.
WORDS = {
    r"(take|takes|taking|took) turns|in turn": "multiplexed, rotated, round-robin",
    r"witness(es)?": "auxiliary counter",
    r"patience": "timeout",
    r"lookout": "watcher",
    r"troubles?|befalls?": "error, happens",
    r"grain|lessons?": "prior, statistics",
    r"drafts?": "what it truly is",
    r"mistakes?|remarks?": "error, warning",
    r"tells?|told": "report, show, return",
    r"anew": "again, restarted",
    r"beside|in vain|unnoticed": "next to; without result; undetected",
    r"strangers|whoever": "other programs, clients; any client that",
    r"(gets?|got) on": "makes progress",
    r"(gives?|gave) way": "is displaced",
    r"books|booked": "accounts, accounted",
    r"k(Most|Longest|Least)[A-Z]?\w*": "kMax, kMin",
}
FOLDERS = ("lib", "daemon", "config", "docs", "packaging")
DOCUMENTS = ("README.md", "SECURITY.md", "ARCHITECTURE.md")
SOURCES = {".h", ".cc", ".in", ".js", ".css", ".html", ".txt", ".md", ".yaml", ".yml", ".scd",
           ".libsonnet", ".sh"}


def violations(root: Path) -> Iterator[str]:
    def pattern(word: str) -> re.Pattern[str]:
        return re.compile(rf"(?<![a-z])({word})(?![a-z])", re.IGNORECASE)

    terms = [(pattern(word), term) for word, term in WORDS.items()]
    any_term = pattern("|".join(WORDS))
    paths = {path for folder in FOLDERS for path in (root / folder).rglob("*")}
    paths |= {path for path in map(root.joinpath, DOCUMENTS) if path.exists()}
    for path in sorted(path for path in paths if path.suffix in SOURCES):
        text = path.read_text(encoding="utf-8")
        for number, line in enumerate(text.splitlines() if any_term.search(text) else [], start=1):
            for private, term in terms:
                for found in private.finditer(line):
                    yield f"{path.relative_to(root)}:{number}: '{found[0]}': write {term}"


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: words_test.py SOURCE_DIR", file=sys.stderr)
        return 2
    found = list(violations(Path(arguments[0]).resolve()))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
