"""CPU time that the crash guard and the truth check cost: exporters with and without them, next to each other.

    guard_cost.py DAEMON [MINUTES]     8 by default

With the shipped configuration, two of each kind, so that the difference between equal ones shows what a
difference is worth. Each says itself what it has used. Ends with 1 above 0.01 % of a CPU, with the check
that is repeated once an hour.
"""

import contextlib
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import harness

SHIPPED = Path(__file__).resolve().parents[2] / "config/perf_event_exporter.yaml"
KINDS = [True, False, False, True]  # with guard and check, or without
CPU_TIME = "process_cpu_seconds_total"
MOST = 0.01  # % of a CPU that they may cost


def exporter(guarded, stack):
    config = SHIPPED.read_text(encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if name != "STATE_DIRECTORY"}
    if guarded:
        environment["STATE_DIRECTORY"] = stack.enter_context(tempfile.TemporaryDirectory(prefix="pex_test_"))
    else:
        assert "\ntruth_check: on\n" in config
        config = config.replace("\ntruth_check: on\n", "\ntruth_check: off\n")
    return stack.enter_context(harness.Daemon(config, env=environment))


def main():
    harness.daemon_binary = os.path.abspath(sys.argv[1])
    minutes = float(sys.argv[2]) if len(sys.argv) > 2 else 8
    with contextlib.ExitStack() as stack:
        exporters = [exporter(guarded, stack) for guarded in KINDS]
        first = [each.scrape() for each in exporters]
        begin = time.monotonic()
        time.sleep(60 * minutes)
        last = [each.scrape() for each in exporters]
        seconds = time.monotonic() - begin
    starts = [1000 * scrape.value(CPU_TIME) for scrape in first]
    rates = [100 * after.since(before, CPU_TIME) / seconds for before, after in zip(first, last)]
    at_start = compare("start", starts, "ms")
    total = compare(f"{seconds:.0f} s after it", rates, "% of a CPU") + at_start / 3600e3 * 100
    print(f"with a check of that length each hour: {total:+.4f} % of a CPU")
    sys.exit(total > MOST)


def compare(name, values, unit):
    """Prints them, and returns what those with guard and check have more."""
    guarded, bare = ([value for value, kind in zip(values, KINDS) if kind is which] for which in (True, False))
    difference = statistics.mean(guarded) - statistics.mean(bare)
    equal = max(abs(pair[0] - pair[1]) for pair in (guarded, bare))
    print(f"{name}: with {guarded[0]:.4f} and {guarded[1]:.4f} {unit}, without {bare[0]:.4f} and {bare[1]:.4f}, "
          f"difference {difference:+.4f}, of equal ones {equal:.4f}")
    return difference


if __name__ == "__main__":
    main()
