"""The first example of each document does what the document says, on this machine."""

import glob
import os
import re
import subprocess
import tempfile
import unittest

import harness

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Lines that this test cannot run, and why.
UNRUN = {"journalctl": "the exporter of this test is not a service"}
# What another test runs, which has the engine, packages or machine that the example needs.
ELSEWHERE = {
    "ARCHITECTURE.md": "a drawing",
    "CHANGELOG.md": "no example",
    "CONTRIBUTING.md": "./dev check runs before each commit",
    "README.md": "./dev run compiles it all",
    "docs/comparison.md": "./dev bench",
    "docs/containers.md": "image.run",
    "docs/development/abi.md": "docs.abi",
    "docs/development/benchmarks.md": "./dev bench",
    "docs/development/decisions.md": "no example",
    "docs/development/faults.md": "./dev test",
    "docs/development/inputs.md": "docs.security",
    "docs/install.md": "packages.deb",
    "docs/library.md": "packages.consumer",
    "docs/permissions.md": "systemd.nspawn",
    "docs/web-configuration.md": "real.web has such a configuration; the example asks for a password",
}
# Configurations and rules: daemon's documents_test loads each of them.
CONFIGURATION = "yaml"


def documents():
    for pattern in ("*.md", "docs/*.md", "docs/development/*.md"):
        for path in sorted(glob.glob(pattern, root_dir=ROOT)):
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                yield path, re.search(r"^```(\w*)\n(.*?)^```", file.read(), re.DOTALL | re.MULTILINE)


def commands(example):
    """Those of a shell, without the prompt and without those that another program has to be there for."""
    lines = [line.removeprefix("$ ") for line in example.replace("\\\n", " ").splitlines()]
    return [line for line in lines if line.split(" ", 1)[0] not in UNRUN]


class DocumentsTest(unittest.TestCase):
    """Each command runs beside a daemon, in an empty directory with a configuration `recipe.yaml`."""

    def test_the_first_example_of_each_document_does_what_it_says(self):
        config = harness.config_of(events=["task-clock", "context-switches"], scope="cpu")
        with harness.Daemon(config) as daemon, tempfile.TemporaryDirectory() as directory:
            programs = os.path.join(directory, "bin")
            os.mkdir(programs)
            os.symlink(os.path.abspath(harness.daemon_binary), f"{programs}/perf_event_exporter")
            with open(f"{directory}/recipe.yaml", "w", encoding="utf-8") as file:
                file.write(config)
            for path, found in documents():
                with self.subTest(document=path):
                    if path in ELSEWHERE:
                        continue
                    self.assertTrue(found, "no example")
                    if found[1] == CONFIGURATION:
                        continue
                    for command in commands(found[2]):
                        self.run_as_written(command, daemon, directory)

    def run_as_written(self, command, daemon, directory):
        """With the port and the process of the daemon that is there."""
        here = command.replace("localhost:10173", daemon.address)
        here = here.replace("$(pidof perf_event_exporter)", str(daemon.pid))
        done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", here], cwd=directory,
                              env={**os.environ, "PATH": f"{directory}/bin:{os.environ['PATH']}"},
                              text=True, capture_output=True, check=False, timeout=120)
        self.assertEqual(done.returncode, 0, f"{here}\n{done.stderr}")
        self.assertTrue(done.stdout or done.stderr, f"{here} prints nothing")

    def test_what_is_tried_elsewhere_is_a_document(self):
        known = {path for path, _ in documents()}
        self.assertLessEqual(set(ELSEWHERE), known)


if __name__ == "__main__":
    harness.main()
