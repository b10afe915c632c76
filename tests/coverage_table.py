#!/usr/bin/env python3
"""Prints which part of the lines of each room has run, from what gcov counted.

    coverage_table.py SOURCE_DIR BINARY_DIR

A line counts once, in however many objects it is, and has run if it has in one of them. Then follow
the files below the aim, with the lines that have not run. Exits 1 if a room of lib is below its aim.
"""

import concurrent.futures
import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

AIM = 95.0  # % of the lines of a room of lib
# Rooms that cannot reach it, with what they can reach and why.
LOWER_AIMS: dict[str, tuple[float, str]] = {}

Lines = dict[str, dict[int, bool]]  # file -> line -> whether it has run


def parse(report: str, source: Path) -> Lines:
    """Of one object; only files of lib and daemon."""
    lines: Lines = defaultdict(dict)
    for document in report.splitlines():
        parsed = json.loads(document)
        for entry in parsed["files"]:
            path = os.path.normpath(os.path.join(parsed["current_working_directory"], entry["file"]))
            name = os.path.relpath(path, source)
            if not name.startswith(("lib/", "daemon/")):
                continue
            for line in entry["lines"]:
                number = line["line_number"]
                lines[name][number] = lines[name].get(number, False) or line["count"] > 0
    return lines


def read_object(counts: Path, source: Path) -> Lines:
    report = subprocess.run(["gcov", "--json-format", "--stdout", counts], check=True,
                            capture_output=True, text=True, cwd=counts.parent).stdout
    return parse(report, source)


def read_all(source: Path, binary: Path) -> Lines:
    merged: Lines = defaultdict(dict)
    objects = sorted(binary.rglob("*.gcno"))  # without counts if nothing of it has run
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for lines in pool.map(lambda each: read_object(each, source), objects):
            for name, has_run in lines.items():
                for number, ran in has_run.items():
                    merged[name][number] = merged[name].get(number, False) or ran
    return merged


def room_of(name: str) -> str:
    """lib/perf/record/sample.cc -> lib/perf"""
    return "/".join(name.split("/")[:2]) if name.count("/") > 1 else "daemon"


def ranges(numbers: list[int]) -> str:
    """[1, 2, 3, 7] -> 1-3 7"""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return " ".join(f"{first}-{last}" if first < last else f"{first}" for first, last in spans)


def percent(has_run: list[bool]) -> float:
    return 100.0 * sum(has_run) / len(has_run)


def print_rooms(lines: Lines) -> list[str]:
    """Returns the rooms of lib that are below their aim."""
    rooms: dict[str, list[bool]] = defaultdict(list)
    for name, has_run in lines.items():
        rooms[room_of(name)] += has_run.values()
        rooms[name.split("/")[0] + " (all)"] += has_run.values()
    below = []
    print(f"{'room':<20} {'lines':>6} {'run':>6} {'%':>6}")
    for room in sorted(rooms, key=lambda each: (each.startswith("daemon"), each)):
        aim, reason = LOWER_AIMS.get(room, (AIM, ""))
        reached = percent(rooms[room])
        is_below = room.startswith("lib/") and reached < aim
        below += [room] if is_below else []
        note = f"  below {aim} %" if is_below else f"  {reason}" if reached < AIM and reason else ""
        print(f"{room:<20} {len(rooms[room]):>6} {sum(rooms[room]):>6} {reached:>6.1f}{note}")
    return below


def print_files(lines: Lines) -> None:
    print(f"\nfiles below {AIM} %, and the lines that have not run")
    for name, has_run in sorted(lines.items()):
        if (reached := percent(list(has_run.values()))) < AIM:
            missed = [number for number, ran in has_run.items() if not ran]
            print(f"{reached:>6.1f}  {name}: {ranges(missed)}")


def main() -> int:
    lines = read_all(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
    if not lines:
        print("no line was compiled for gcov")
        return 1
    below = print_rooms(lines)
    print_files(lines)
    return 1 if below else 0


if __name__ == "__main__":
    sys.exit(main())
