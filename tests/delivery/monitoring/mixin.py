"""What the tests of rules and dashboards share: where these are, and how a test program ends."""

import glob
import json
import os
import re
import subprocess
import sys
import unittest

SKIPPED = 77
root = os.path.abspath(f"{os.path.dirname(os.path.abspath(__file__))}/../../..")
RULE_FILES = [f"{root}/packaging/prometheus/rules.yaml", f"{root}/packaging/prometheus/alerts.yaml"]


def main():
    """Runs the tests of the calling program and exits with their verdict."""
    program = unittest.main(module="__main__", argv=sys.argv[:1], exit=False, verbosity=2)
    skipped = program.result.skipped
    for test, reason in skipped:
        print(f"SKIPPED: {test}: {reason}", flush=True)
    if not program.result.wasSuccessful():
        sys.exit(1)
    sys.exit(SKIPPED if skipped and len(skipped) >= program.result.testsRun else 0)


def read_text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def run(*command, **options):
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, **options)


def names_of(kind):
    """Of rules: `record` or `alert`, in their order, without those that repeat."""
    return list(dict.fromkeys(name for path in RULE_FILES for name in
                              re.findall(rf'^ +- {kind}: "(.+)"$', read_text(path), re.M)))


def dashboards():
    """File name -> dashboard."""
    return {os.path.basename(path): json.loads(read_text(path))
            for path in sorted(glob.glob(f"{root}/packaging/grafana/*.json"))}


def panels(dashboard):
    """Those that show something, also in rows that are closed."""
    return [panel for each in dashboard["panels"]
            for panel in (each["panels"] if each["type"] == "row" else [each])]
