#!/usr/bin/env python3
"""Checks that the files and tests that docs/development/inputs.md names for each input are there, and
that it names each fuzzer, which has a corpus.

    security_test.py SOURCE_DIR
"""

import re
import sys
from pathlib import Path

SUITE = re.compile(r"^\s*(?:TEST|TEST_F|TEST_P|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\(\s*(\w+)", re.MULTILINE)
CLASS = re.compile(r"^class (\w+)\(", re.MULTILINE)
DOCUMENT = "docs/development/inputs.md"
TABLE = re.compile(r"^\| input: target \| check \| files \| tests \|\n\| [-| ]+\|\n((?:\|.*\n)+)", re.MULTILINE)


def rows(text: str) -> list[tuple[str, str, str]]:
    """(input, files, tests) of each row of the tables with those columns."""
    found = []
    for table in TABLE.findall(text):
        for line in table.splitlines():
            source, _, files, tests = (cell.strip() for cell in line.strip("|").split(" | "))
            found.append((source, files, tests))
    return found


def missing_files(root: Path, files: str) -> list[str]:
    """Below lib/ or daemon/, `.cc` unless it says otherwise. A name without a folder is in the folder of
    the name before it."""
    missing, folder = [], ""
    for name in filter(None, files.split(", ")):
        folder = name.rpartition("/")[0] or folder
        base = name.rpartition("/")[2]
        path = Path(folder, base if "." in base else f"{base}.cc")
        home = root if folder.startswith("daemon") else root / "lib"
        if not (home / path).is_file():
            missing.append(str(path))
    return missing if folder else [f"file in: {files}"]


def names_in(paths, pattern: re.Pattern) -> set[str]:
    return {name for path in paths for name in pattern.findall(path.read_text(encoding="utf-8"))}


MAX_CORPORA = 300 * 1024  # bytes of all of them


def fuzzers(root: Path) -> set[str]:
    return {path.name.removesuffix("_fuzzer.cc") for path in (root / "tests/fuzz").glob("*_fuzzer.cc")}


def faults_of_fuzzers(root: Path, named: set[str]) -> list[str]:
    """`named` are those of the table."""
    files = [path for path in (root / "tests/fuzz/corpus").rglob("*") if path.is_file()]
    with_corpus = {path.parent.name for path in files}
    found = [f"{DOCUMENT} names no input for the fuzzer {name}" for name in fuzzers(root) - named]
    found += [f"tests/fuzz/corpus/{name}: there are no inputs" for name in fuzzers(root) - with_corpus]
    found += [f"tests/fuzz/corpus/{name}: there is no fuzzer" for name in with_corpus - fuzzers(root)]
    size = sum(path.stat().st_size for path in files)
    found += [f"tests/fuzz/corpus: {size} bytes, more than {MAX_CORPORA}"] if size > MAX_CORPORA else []
    return sorted(found)


def missing_tests(root: Path, test: str) -> list[str]:
    """'room: Suite, Suite', 'fuzz: target', 'folder.subject: Class'. Suites and classes with or without
    'Test' at their end."""
    missing = []
    for item in test.split("; "):
        program, _, names = item.partition(": ")
        tests = root / "tests"
        if program == "fuzz":
            there = fuzzers(root)
        elif "." not in program:
            there = names_in((tests / "unit" / program).glob("*_test.cc"), SUITE)
        else:
            folder, _, subject = program.partition(".")
            home = "kernel" if folder == "real" else f"delivery/{folder}"
            files = list((tests / home).glob(f"{subject}_test.*"))
            there = names_in(files, CLASS)
            missing += [] if files else [program]
        missing += [f"{program}: {name}" for name in filter(None, names.split(", "))
                    if not there & {name, f"{name}Test"}]
        missing += [program] if not there else []
    return missing


def main() -> int:
    root = Path(sys.argv[1])
    table = rows((root / DOCUMENT).read_text(encoding="utf-8"))
    if not table:
        print(f"{DOCUMENT} has no table of inputs")
        return 1
    missing = [f"{source}: there is no {name}" for source, files, tests in table
               for name in missing_files(root, files) + missing_tests(root, tests)]
    named = {name for _, _, test in table for item in test.split("; ") if item.startswith("fuzz: ")
             for name in item.removeprefix("fuzz: ").split(", ")}
    missing += faults_of_fuzzers(root, named)
    print("\n".join(missing) or f"{len(table)} inputs: their files and tests are there")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
