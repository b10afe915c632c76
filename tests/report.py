#!/usr/bin/env python3
"""Prints what tests did: the time of each, the slowest, why some were skipped, and how those that failed
ended.

    report.py JUNIT_FILE...    of ctest --output-junit; a file is called after its build
"""

import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

SLOWEST, LAST_LINES = 10, 40


def main() -> int:
    tests = [(Path(path).stem, test) for path in sys.argv[1:]
             for test in ElementTree.parse(path).getroot().iter("testcase")]
    of = {state: [(build, test) for build, test in tests if test.get("status") in names]
          for state, names in {"passed": {"run"}, "failed": {"fail"},
                               "skipped": {"notrun", "disabled"}}.items()}
    line = "{:8.1f} s  {:8} {}"
    by_time = sorted(tests, key=lambda each: -float(each[1].get("time")))
    for build, test in sorted(tests, key=lambda each: (each[0], each[1].get("name"))):
        print(line.format(float(test.get("time")), build, test.get("name")))
    print(f"\nThe {SLOWEST} slowest:")
    for build, test in by_time[:SLOWEST]:
        print(line.format(float(test.get("time")), build, test.get("name")))
    print()
    for build, test in tests:
        for reason in re.findall(r"^SKIPPED: (.*)", test.findtext("system-out") or "", re.MULTILINE):
            print(f"SKIPPED: {build}: {reason}")
    for build, test in of["failed"]:
        print(f"\nFAILED: {build}: {test.get('name')}")
        print("\n".join((test.findtext("system-out") or "").splitlines()[-LAST_LINES:]))
    print(", ".join(f"{len(some)} {state}" for state, some in of.items()))
    return 0 if of["passed"] and not of["failed"] else 1


if __name__ == "__main__":
    sys.exit(main())
