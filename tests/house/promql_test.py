#!/usr/bin/env python3
"""Checks that Prometheus takes every query that the documents show.

    promql_test.py SOURCE_DIR

Queries stand in blocks marked promql, with a blank line between one and the next. Each becomes the
expression of a rule, which `promtool check rules` parses.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"^( *)```promql\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


def queries_of(text: str) -> list[str]:
    blocks = [block for _, block in BLOCK.findall(text)]
    return [query for block in blocks for query in re.split(r"\n\s*\n", block.strip())]


def rules_file(queries: list[str]) -> str:
    rules = ["groups:", "  - name: documents", "    rules:"]
    for number, query in enumerate(queries):
        rules += [f"      - record: document:query_{number}", "        expr: |"]
        rules += [f"          {line}" for line in query.splitlines()]
    return "\n".join(rules) + "\n"


def promtool_says(queries: list[str]) -> str:
    """Empty when it takes all of them."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(rules_file(queries))
        file.flush()
        done = subprocess.run(
            ["promtool", "check", "rules", file.name], capture_output=True, text=True, check=False
        )
    return "" if done.returncode == 0 else done.stdout + done.stderr


def main() -> int:
    if shutil.which("promtool") is None:
        print("SKIPPED: queries in documents: there is no promtool; it is in Debian's prometheus")
        return 77
    root = Path(sys.argv[1])
    found = 0
    failed = False
    for page in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
        queries = queries_of(page.read_text(encoding="utf-8"))
        found += len(queries)
        for query in queries:
            if says := promtool_says([query]):
                print(f"{page.relative_to(root)}: a query that Prometheus refuses:\n{query}\n{says}")
                failed = True
    if found < 12:
        print(f"found only {found} queries: are they marked otherwise?")
        failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
