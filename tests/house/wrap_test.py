#!/usr/bin/env python3
"""Checks that Markdown is wrapped at 100 columns.

    wrap_test.py SOURCE_DIR

Not checked are what cannot be wrapped (tables, code, headings, one long word or link) and what the
code generates, between the marks `<!-- begin` and `<!-- end`. Prints each violation as file:line,
and exits 1 when there is one.
"""

import re
import sys
from pathlib import Path
from typing import Iterator

sys.dont_write_bytecode = True
from documents import all_documents  # noqa: E402

WIDTH = 100
FENCE = re.compile(r"\s*```")
BEGIN, END = "<!-- begin", "<!-- end"
NOT_WRAPPED = re.compile(r"\||#+ |<!--")
# Indentation, quote and list marks, behind which a line of text begins.
MARKS = re.compile(r"\s*(?:>\s*)?(?:(?:[-*+]|\d+\.)\s+)?")


def can_be_wrapped(line: str) -> bool:
    return " " in line[MARKS.match(line).end():].strip()


def long_lines(text: str) -> Iterator[int]:
    in_code = is_generated = False
    for number, line in enumerate(text.splitlines(), start=1):
        if FENCE.match(line):
            in_code = not in_code
        elif not in_code and line.startswith((BEGIN, END)):
            is_generated = line.startswith(BEGIN)
        elif len(line) > WIDTH and not in_code and not is_generated:
            if not NOT_WRAPPED.match(line) and can_be_wrapped(line):
                yield number


def violations(root: Path) -> Iterator[str]:
    for page in all_documents(root):
        for number in long_lines(page.read_text(encoding="utf-8")):
            yield f"{page.relative_to(root)}:{number}: is longer than {WIDTH} columns"


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: wrap_test.py SOURCE_DIR", file=sys.stderr)
        return 2
    root = Path(arguments[0]).resolve()
    if not all_documents(root):
        print(f"{root}: has no documents")
        return 1
    found = list(violations(root))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
