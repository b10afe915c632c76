"""What the tests of packages have in common: running programs, looking at trees, saying what is skipped.

Each test here is a program. What a machine cannot run is skipped with the reason; a program of which
nothing ran exits with 77, which CTest shows as skipped.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(f"{SOURCE}/tests/kernel")
import harness  # noqa: E402

LIST = "packaging/dependencies/packages.txt and package-tests.txt"

arguments = []


def main(*names):
    """Runs the tests of the calling program, which takes arguments of these names."""
    arguments[:] = harness.arguments(*names)
    harness.run_tests(len(names))


def needs(*programs):
    """Skips a test where one of these is not installed."""
    missing = [each for each in programs if not shutil.which(each)]
    return unittest.skipIf(missing, f"{', '.join(missing)} not installed ({LIST})")


def run(*command, **how):
    """Standard output of a program, which must succeed."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, **how)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))} ended with {done.returncode}:\n"
                             f"{done.stdout}")
    return done.stdout


def paths_below(root, files_only=False):
    """All paths below a directory, relative to it, directories with a '/' behind."""
    found = set()
    for directory, inside, files in os.walk(root):
        there = os.path.relpath(directory, root)
        links = [each for each in inside if os.path.islink(os.path.join(directory, each))]
        found |= {os.path.normpath(os.path.join(there, each)) for each in [*files, *links]}
        if not files_only and there != ".":
            found.add(there + "/")
    return found


def project_version():
    text = (SOURCE / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.search(r"^project\([^)]*\bVERSION ([0-9.]+)", text, re.MULTILINE)[1]


def packages_in(text):
    """Names in a list of dependencies of Debian, without versions and profiles."""
    return {re.match(r"[a-z0-9.+-]+", each.strip())[0] for each in text.split(",") if each.strip()}


def the_one(directory, pattern):
    """The only file there of this kind; the test is skipped when there is none."""
    found = sorted(pathlib.Path(directory).glob(pattern))
    if not found:
        raise unittest.SkipTest(f"no {pattern}: packages.build has not made one, and says why")
    if len(found) > 1:
        raise AssertionError(f"more than one {pattern}: {found}")
    return found[0]
