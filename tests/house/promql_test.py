#!/usr/bin/env python3
"""Checks that Prometheus takes every query that the documents show.

    promql_test.py SOURCE_DIR

Queries stand in blocks marked promql, with a blank line between one and the next. Each becomes the
expression of a rule, which `promtool check rules` parses. It also parses rule files, in blocks
marked yaml.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

sys.dont_write_bytecode = True
from documents import pages  # noqa: E402

BLOCK = re.compile(r"^( *)```promql\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
YAML = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RULES = re.compile(r"\Agroups:\n.*^    rules:$", re.MULTILINE | re.DOTALL)


def queries_of(text: str) -> list[str]:
    blocks = [block for _, block in BLOCK.findall(text)]
    return [query for block in blocks for query in re.split(r"\n\s*\n", block.strip())]


def rules_of(query: str) -> str:
    rule = f"- record: document:query\n  expr: |\n{textwrap.indent(query, '    ')}\n"
    return "groups:\n  - name: documents\n    rules:\n" + textwrap.indent(rule, "      ")


def rule_files_of(text: str) -> list[str]:
    return [block for block in YAML.findall(text) if RULES.search(block)]


def promtool_says(rules: str) -> str:
    """Empty when it takes the rule file."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(rules)
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
    for page in pages(root):
        text = page.read_text(encoding="utf-8")
        files = [*map(rules_of, queries_of(text)), *rule_files_of(text)]
        found += len(files)
        for rules in files:
            if says := promtool_says(rules):
                print(f"{page.relative_to(root)}: a query that Prometheus refuses:\n{rules}\n{says}")
                failed = True
    if found < 12:
        print(f"found only {found} queries: are they marked otherwise?")
        failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
