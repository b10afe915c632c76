#!/usr/bin/env python3
"""Checks that tests/needs.txt has a row for each test that needs more than a compiler, and that
`./dev test --list` shows the table, and installs and compiles nothing.

    needs_test.py SOURCE_DIR BINARY_DIR

A test that may skip has a row of its own; only for those that cannot, the row of their subject is
enough. Prints each violation, and exits 1 when there is one.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ALIKE = {"real"}  # subjects whose tests may skip, all for the same reasons


def rows(source: Path) -> set[str]:
    lines = (source / "tests/needs.txt").read_text(encoding="utf-8").splitlines()
    return {line.split()[0] for line in lines if line.strip() and not line.startswith("#")}


def tests(binary: Path) -> dict[str, bool]:
    """Those that are called subject.part, and whether they may skip; the subject is a folder's name."""
    with tempfile.TemporaryDirectory() as here:  # ctest writes a log, and one may be running there
        Path(here, "CTestTestfile.cmake").write_text(f"subdirs({binary.resolve()})\n", encoding="utf-8")
        listed = subprocess.run(["ctest", "--test-dir", here, "--show-only=json-v1"],
                                check=True, capture_output=True, text=True).stdout
    return {test["name"]: any(each["name"] == "SKIP_RETURN_CODE" for each in test["properties"])
            for test in json.loads(listed[listed.index("{"):])["tests"] if not test["name"].startswith("build.")}


def has_row(name: str, may_skip: bool, have: set[str]) -> bool:
    subject = name.partition(".")[0]
    return name in have or (subject in have and (subject in ALIKE or not may_skip))


def violations_of_list(source: Path) -> list[str]:
    """Where there is no command to install, configure or compile with."""
    found = []
    with tempfile.TemporaryDirectory() as here:
        for command in ("bash", "dirname", "python3"):
            os.symlink(shutil.which(command) or command, Path(here, command))
        for args in (["--list", "--all"], ["--all", "--list"]):
            done = subprocess.run([source.resolve() / "dev", "test", *args], env={"PATH": here}, text=True,
                                  capture_output=True, check=False)
            shown = {word for line in done.stdout.splitlines() for word in line.split()[1:2]}
            if done.returncode != 0 or shown != rows(source):
                found.append(f"dev: test {' '.join(args)}: {done.stderr or 'not the rows of tests/needs.txt'}")
    return found


def violations(source: Path, binary: Path) -> list[str]:
    have, wanted = rows(source), tests(binary)
    subjects = {name.partition(".")[0] for name in wanted}
    found = [f"tests/needs.txt: has no row for {name}" for name, may_skip in sorted(wanted.items())
             if not has_row(name, may_skip, have)]
    found += [f"tests/needs.txt: there is no test {row}" for row in sorted(have)
              if row not in wanted and row not in subjects]
    return found + violations_of_list(source)


def main() -> int:
    found = violations(Path(sys.argv[1]), Path(sys.argv[2]))
    for violation in found:
        print(violation)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
