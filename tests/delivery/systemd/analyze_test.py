"""What systemd itself says of the units, alone and with each example: `analyze_test.py`.

`systemd-analyze` needs no systemd that runs. It takes unknown keys for remarks and still ends with 0,
so anything it says is a failure.
"""

import glob
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import program

UNITS = os.path.join(program.SOURCE, "systemd")
SERVICE = "perf_event_exporter.service"
SOCKET = "perf_event_exporter.socket"
EXPOSURE = 1.5  # of 10, as `systemd-analyze security` counts


class Units:
    """A copy of the units in which the program is one that is there, with examples put in place."""

    def __init__(self, *examples):
        self.directory = tempfile.mkdtemp(prefix="pex_test_")
        for unit in (SERVICE, SOCKET):
            text = program.read_text(f"{UNITS}/{unit}")
            self.write(unit, text.replace("ExecStart=/usr/bin/perf_event_exporter", "ExecStart=/bin/true"))
        for example in examples:
            self.write(place_of(example), program.read_text(f"{UNITS}/examples/{example}"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.directory)

    def write(self, name, text):
        path = f"{self.directory}/{name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def analyze(self, verb, *args):
        """(status, all that it said) of `systemd-analyze VERB ARGS`, which finds these units first."""
        ended = subprocess.run(["systemd-analyze", "--no-pager", verb, *args], text=True,
                               env=os.environ | {"SYSTEMD_UNIT_PATH": f"{self.directory}:"},
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return ended.returncode, ended.stdout

    def verify(self):
        return self.analyze("verify", "--man=no", *(f"{self.directory}/{unit}" for unit in (SERVICE, SOCKET)))

    def exposure(self):
        """What the service is exposed to, from 0.0 to 10.0."""
        _, said = self.analyze("security", "--offline=true", f"{self.directory}/{SERVICE}")
        return float(re.search(r"Overall exposure level for \S+: ([0-9.]+)", said)[1])


def place_of(example):
    """Where its own head says that it belongs, below the directory of units."""
    text = program.read_text(f"{UNITS}/examples/{example}")
    return re.search(r"^#   /etc/systemd/system/(\S+)$", text, re.MULTILINE)[1]


def examples():
    return sorted(os.path.basename(path) for path in glob.glob(f"{UNITS}/examples/*.conf"))


class AnalyzeTest(unittest.TestCase):
    def setUp(self):
        program.require(shutil.which("systemd-analyze"), "systemd-analyze is not installed (systemd)")

    def units(self, *examples_in_place):
        return self.enterContext(Units(*examples_in_place))

    def test_the_units_are_without_fault(self):
        self.assertEqual(self.units().verify(), (0, ""))

    def test_the_units_are_without_fault_with_each_example(self):
        self.assertTrue(examples())
        for example in examples():
            with self.subTest(example):
                self.assertEqual(self.units(example).verify(), (0, ""))

    def test_the_service_is_exposed_to_little(self):
        self.assertLessEqual(self.units().exposure(), EXPOSURE)

    def test_so_it_is_with_each_example(self):
        plain = self.units().exposure()
        for example in examples():
            with self.subTest(example):
                exposure = self.units(example).exposure()
                self.assertLessEqual(exposure, EXPOSURE)
                if SERVICE in place_of(example):
                    self.assertNotEqual(exposure, plain, "it is not in its place")


if __name__ == "__main__":
    program.main()
