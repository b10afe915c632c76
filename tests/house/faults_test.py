#!/usr/bin/env python3
"""Checks that the tests that docs/development/faults.md names for each fault are there.

    faults_test.py SOURCE_DIR
"""

import fnmatch
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent))
from security_test import CLASS, names_in  # noqa: E402

UNIT = re.compile(r"^\s*(?:TEST|TEST_F|TEST_P|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\(\s*(\w+),\s*(\w+)", re.MULTILINE)


def rows(text: str) -> list[tuple[str, str]]:
    """(fault, tests) of each row of the tables."""
    found = []
    for table in re.findall(r"^\| fault \|.*\| test \|\n\| [-| ]+\|\n((?:\|.*\n)+)", text, re.MULTILINE):
        for line in table.splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            found.append((cells[0], cells[-1]))
    return found


def missing_tests(root: Path, tests: str, unit: set[str]) -> list[str]:
    """Of 'unit: Suite.Name, Suite.FirstWords*', 'real.subject: Class, Class' and 'vm.pmu'."""
    missing = []
    for item in tests.split("; "):
        program, _, names = item.partition(": ")
        kind, _, subject = program.partition(".")
        if kind == "unit":
            there = unit
        else:
            home = {"real": "tests/kernel", "vm": "tests/kernel/vm"}.get(kind, "")
            file = root / home / f"{subject}_test.py"
            if not home or not file.exists():
                missing.append(program)
                continue
            there = names_in([file], CLASS)
        missing += [f"{program}: {name}" for name in filter(None, names.split(", "))
                    if not fnmatch.filter(there, name)]
    return missing if tests else ["test"]


def main() -> int:
    root = Path(sys.argv[1])
    table = rows((root / "docs/development/faults.md").read_text(encoding="utf-8"))
    unit = {f"{suite}.{name}" for path in (root / "tests/unit").glob("*/*_test.cc")
            for suite, name in UNIT.findall(path.read_text(encoding="utf-8"))}
    missing = [f"{fault}: there is no {name}" for fault, tests in table
               for name in missing_tests(root, tests, unit)]
    if not table:
        missing = ["docs/development/faults.md has no table of faults"]
    print("\n".join(missing) or f"{len(table)} faults: their tests are there")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
