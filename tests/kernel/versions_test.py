"""This version and an earlier one, with each other's files: PEX_EARLIER=DIRECTORY has the source of that one, and
its build in build/release.

    versions_test.py DAEMON WORKLOAD
"""

import os
import re
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import harness

EARLIER = os.environ.get("PEX_EARLIER", "")
SOURCE = Path(__file__).resolve().parents[2]
EVENTS = ["task-clock", "context-switches", "minor-faults"]


def files_of(source):
    """Shipped configurations of what is counted."""
    return [path for path in sorted(Path(source, "config").rglob("*.yaml"))
            if re.search("^groups:", path.read_text(encoding="utf-8"), re.MULTILINE)]


class VersionsTest(unittest.TestCase):
    def setUp(self):
        harness.require(EARLIER, "PEX_EARLIER names no earlier version")
        harness.require_events(*EVENTS)
        self.earlier = f"{EARLIER}/build/release/daemon/perf_event_exporter"
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="pex_test_"))
        self.environment = os.environ | {"STATE_DIRECTORY": folder}

    def check(self, program, file):
        ended = subprocess.run([program, "--config.check", f"--config.file={file}"], capture_output=True,
                               text=True, check=False)
        return ended.stderr

    def test_each_starts_with_the_files_of_the_other(self):
        before_requires = "requires" in self.check(self.earlier, SOURCE / "config/perf_event_exporter.yaml")
        for program, source in ((self.earlier, SOURCE), (harness.daemon_binary, EARLIER)):
            for file in files_of(source):
                with self.subTest(program=program, file=file.name):
                    errors = self.check(program, file)
                    if program == self.earlier and before_requires and "unknown key" in errors:
                        self.skipTest(f"this version is older than `requires`: {errors}")
                    with harness.Daemon(None, command=program, config_path=file, env=self.environment) as daemon:
                        daemon.scrape_after_polls(1)

    def test_counters_fall_to_0_only(self):
        """By the clock of each CPU, which is among them."""
        config = harness.config_of(events=EVENTS, scope="cpu")
        port = harness.free_port()
        for program in (self.earlier, None, self.earlier, None):
            begin, falls = time.clock_gettime(time.CLOCK_BOOTTIME), harness.Falls()
            with harness.Daemon(config, command=program, port=port, env=self.environment) as daemon:
                for _ in range(3):
                    falls.look_at(scrape := daemon.scrape_after_polls())
                passed = time.clock_gettime(time.CLOCK_BOOTTIME) - begin
                for cpu in map(str, harness.online_cpus()):
                    self.assertLess(scrape.value("perf_cpu_task_clock_seconds_total", cpu=cpu), passed)
                self.assertEqual(falls.found + daemon.lines("warn") + daemon.lines("error"), [])


if __name__ == "__main__":
    harness.main()
