#!/usr/bin/env python3
"""Says which tests there are, by the tables next to this file.

    which_tests.py --list [--all]    each test of the gate, or of both rings, and whether it can run here
    which_tests.py --changed BASE    a regular expression for the tests that the changes since BASE touch
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def rows(table: str) -> list[list[str]]:
    lines = (HERE / table).read_text(encoding="utf-8").splitlines()
    return [line.split() for line in lines if line.strip() and not line.startswith("#")]


def is_here(need: str) -> bool:
    """root, a command, or kubectl-VERSION: one of that version or later."""
    if need == "root":
        return os.geteuid() == 0
    name, _, least = need.partition("-") if need.startswith("kubectl-") else (need, "", "")
    path = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    if not path or not least:
        return bool(path)
    said = subprocess.run([path, "version", "--client", "-o", "yaml"], capture_output=True, text=True, check=False)
    version = re.search(r"gitVersion: v(\d+)\.(\d+)", said.stdout)
    return bool(version) and [int(part) for part in version.groups()] >= [int(part) for part in least.split(".")]


def list_tests(rings: set[str]) -> None:
    for name, ring, *needs in rows("needs.txt"):
        missing = [need for need in needs if not is_here(need)]
        if ring in rings:
            print(f"{'skips' if missing else 'runs':7} {name:24}"
                  + (f" not here: {' '.join(missing)}" if missing else ""))


def without_groups(pattern: str) -> set[str]:
    """The alternatives of a regular expression: CMake's have at most 31 groups."""
    group = re.search(r"\(([^()]*)\)", pattern)
    if not group:
        return {pattern}
    return {each for option in group[1].split("|")
            for each in without_groups(pattern[:group.start()] + option + pattern[group.end():])}


def tests_of_change(base: str) -> str:
    changed = subprocess.run(["git", "-C", HERE, "diff", "--name-only", base], check=True,
                             capture_output=True, text=True).stdout.split()
    table = rows("changed.txt")
    found = {next((tests for prefix, tests in table if path.startswith(prefix)), ".") for path in changed}
    return "|".join(sorted(set().union(*map(without_groups, found)))) or "^$"


if __name__ == "__main__":
    if sys.argv[1] == "--list":
        list_tests({"gate", "second"} if "--all" in sys.argv else {"gate"})
    else:
        print(tests_of_change(sys.argv[2]))
