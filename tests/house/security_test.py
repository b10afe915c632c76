#!/usr/bin/env python3
"""Checks that the files and tests that SECURITY.md names for each input are there, and that it names
each fuzzer, which has a corpus.

    security_test.py SOURCE_DIR
"""

import re
import sys
from pathlib import Path

SUITE = re.compile(r"^\s*(?:TEST|TEST_F|TEST_P|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\(\s*(\w+)", re.MULTILINE)
CLASS = re.compile(r"^class (\w+)\(", re.MULTILINE)
FILE = re.compile(r"`([\w./*-]+\.(?:cc|h|py))`")


def rows(text: str) -> list[tuple[str, str, str]]:
    """(source, check, test) of each row of the tables with those columns."""
    found = []
    for table in re.findall(r"^\| source \| sink \| check \| test \|\n\| [-| ]+\|\n((?:\|.*\n)+)", text,
                            re.MULTILINE):
        for line in table.splitlines():
            source, _, check, test = (cell.strip() for cell in line.strip("|").split(" | "))
            found.append((source, check, test))
    return found


def missing_files(root: Path, check: str) -> list[str]:
    """A name without a folder is in that of the one before it."""
    missing, folder = [], ""
    for name in FILE.findall(check):
        folder = name.rpartition("/")[0] or folder
        path = f"{folder}/{name.rpartition('/')[2]}"
        if not list(root.glob(path)):
            missing.append(path)
    return missing if folder else [f"no file in: {check}"]


def names_in(paths, pattern: re.Pattern) -> set[str]:
    return {name for path in paths for name in pattern.findall(path.read_text(encoding="utf-8"))}


MAX_CORPORA = 300 * 1024  # bytes of all of them


def fuzzers(root: Path) -> set[str]:
    return {path.name.removesuffix("_fuzzer.cc") for path in (root / "tests/fuzz").glob("*_fuzzer.cc")}


def faults_of_fuzzers(root: Path, named: set[str]) -> list[str]:
    """`named` are those of the table."""
    files = [path for path in (root / "tests/fuzz/corpus").rglob("*") if path.is_file()]
    with_corpus = {path.parent.name for path in files}
    found = [f"SECURITY.md names no input for the fuzzer {name}" for name in fuzzers(root) - named]
    found += [f"tests/fuzz/corpus/{name}: there are no inputs" for name in fuzzers(root) - with_corpus]
    found += [f"tests/fuzz/corpus/{name}: there is no fuzzer" for name in with_corpus - fuzzers(root)]
    size = sum(path.stat().st_size for path in files)
    found += [f"tests/fuzz/corpus: {size} bytes, more than {MAX_CORPORA}"] if size > MAX_CORPORA else []
    return sorted(found)


def missing_tests(root: Path, test: str) -> list[str]:
    """'room_test: Suite, Suite', 'fuzz: target', 'folder.subject: Class', 'e2e'."""
    missing = []
    for item in test.split("; "):
        program, _, names = item.partition(": ")
        tests = root / "tests"
        if program == "fuzz":
            there = fuzzers(root)
        elif program.endswith("_test"):
            there = names_in((tests / "unit" / program.removesuffix("_test")).glob("*_test.cc"), SUITE)
        else:
            folder, _, subject = program.partition(".")
            home = "kernel" if folder == "real" else f"delivery/{folder}"
            files = list((tests / home).glob(f"{subject}_test.*"))
            there = names_in(files, CLASS)
            missing += [] if files else [program]
        missing += [f"{program}: {name}" for name in filter(None, names.split(", ")) if name not in there]
        missing += [program] if not there else []
    return missing


def main() -> int:
    root = Path(sys.argv[1])
    table = rows((root / "SECURITY.md").read_text(encoding="utf-8"))
    if not table:
        print("SECURITY.md has no table of inputs")
        return 1
    missing = [f"{source}: there is no {name}" for source, check, test in table
               for name in missing_files(root, check) + missing_tests(root, test)]
    named = {name for _, _, test in table for item in test.split("; ") if item.startswith("fuzz: ")
             for name in item.removeprefix("fuzz: ").split(", ")}
    missing += faults_of_fuzzers(root, named)
    print("\n".join(missing) or f"{len(table)} inputs: their files and tests are there")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
