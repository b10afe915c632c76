"""What the test programs of this directory have in common."""

import os
import signal
import sys
import unittest

SOURCE = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
sys.path.insert(0, f"{SOURCE}/tests/kernel")
import harness
from harness import read_text, require  # for those who import this

arguments = []


def main(*names):
    """Runs the tests of the calling program, which takes arguments of these names."""
    if len(sys.argv) <= len(names) or sys.argv[1].startswith("-"):
        sys.exit(f"usage: {sys.argv[0]} {' '.join(names)} [TEST...]")
    arguments[:] = [os.path.abspath(each) for each in sys.argv[1:len(names) + 1]]
    for number in harness.ENDINGS:
        signal.signal(number, harness.interrupt)
    runner = unittest.TextTestRunner(verbosity=2, resultclass=harness.Result)
    result = unittest.main(module="__main__", argv=[sys.argv[0], *sys.argv[len(names) + 1:]],
                           exit=False, testRunner=runner).result
    for test, reason in result.skipped:
        print(f"SKIPPED: {test}: {reason}", flush=True)
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(harness.SKIPPED if result.skipped and len(result.skipped) >= result.testsRun else 0)
