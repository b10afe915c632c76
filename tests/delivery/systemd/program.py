"""What the test programs of this directory have in common."""

import os
import sys

SOURCE = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
sys.path.insert(0, f"{SOURCE}/tests/kernel")
import harness
from harness import read_text, require  # for those who import this

arguments = []


def main(*names):
    """Runs the tests of the calling program, which takes arguments of these names."""
    arguments[:] = harness.arguments(*names)
    harness.run_tests(len(names))
