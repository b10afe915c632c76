#!/usr/bin/env python3
"""Whether a text is what we serve in the Prometheus text format 0.0.4.

    text_format.py FILE     prints what is wrong with it, a line each; exits with 1 if anything is

Source: https://prometheus.io/docs/instrumenting/exposition_formats/. That allows more than we send:
comments, blank lines, blanks between tokens, families without a type. Here they are mistakes.
"""

import re
import sys

from openmetrics import Broken, demand, parse_sample

METADATA = re.compile(r"# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)")
HELP = re.compile(r"(?:[^\\]|\\[n\\])*")
SUFFIXES = {"counter": ("",), "gauge": ("",), "untyped": ("",),
            "summary": ("", "_sum", "_count"), "histogram": ("_bucket", "_sum", "_count")}


class Exposition:
    def __init__(self):
        self.family = None
        self.families = {}  # name -> kinds of metadata seen
        self.type = None
        self.has_samples = False
        self.series = set()

    def take(self, line):
        demand(line, "blank line")
        if line.startswith("#"):
            self._take_metadata(line)
        else:
            self._take_sample(parse_sample(line))

    def _take_metadata(self, line):
        match = METADATA.fullmatch(line)
        demand(match, "neither HELP nor TYPE")
        kind, name, text = match.groups()
        if name != self.family:
            demand(name not in self.families, f"family '{name}' comes a second time")
            self.family, self.type, self.has_samples = name, None, False
        seen = self.families.setdefault(name, set())
        demand(not self.has_samples, f"{kind} of '{name}' after its samples")
        demand(kind not in seen, f"a second {kind} of '{name}'")
        seen.add(kind)
        if kind == "HELP":
            demand(HELP.fullmatch(text), f"HELP of '{name}' is not escaped as it must be")
        else:
            demand(text in SUFFIXES, f"'{text}' is no type")
            self.type = text

    def _take_sample(self, sample):
        demand(self.type, f"'{sample.name}' comes without a type")
        names = {self.family + suffix for suffix in SUFFIXES[self.type]}
        demand(sample.name in names, f"'{sample.name}' is no sample of '{self.family}'")
        self.has_samples = True
        series = (sample.name, sample.key())
        demand(series not in self.series, f"a second sample of '{sample.name}' with these labels")
        self.series.add(series)
        demand(sample.exemplar is None, "no exemplars in this format")
        demand(sample.timestamp is None or re.fullmatch("-?[0-9]+", sample.timestamp),
               "timestamps are whole milliseconds")
        demand(self.type != "counter" or sample.value >= 0,
               f"counter '{sample.name}' must not be negative or NaN")


def check(text):
    """What is wrong with an exposition: a list of "line N: ..."."""
    problems, exposition = [], Exposition()
    *lines, rest = text.split("\n")
    for number, line in enumerate(lines, 1):
        try:
            exposition.take(line)
        except Broken as broken:
            problems.append(f"line {number}: {broken}")
    if rest or not lines:
        problems.append(f"line {len(lines) + 1}: does not end with a line feed")
    return problems


def main():
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} FILE")
    with open(sys.argv[1], encoding="utf-8", newline="\n") as file:
        problems = check(file.read())
    print("".join(f"{sys.argv[1]}: {problem}\n" for problem in problems), end="")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
