"""Whether a text is an exposition as we serve it: in the Prometheus text format 0.0.4, or in
OpenMetrics 1.0.

What is checked here is what the parsers of Prometheus' client forgive: the form of each line, the
order of a family's metadata, families in one piece, each series once, the samples that a type has.
Those parsers have the last word where they are installed.
"""

import re

import reference_parsers

NAME = "[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[n"\\])*"'
NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?|Inf)|NaN"
SAMPLE = re.compile(rf"({NAME})(?:{{({LABEL}(?:,{LABEL})*)?}})? ({NUMBER})")
METADATA = re.compile(rf"# ([A-Z]+) ({NAME}) (.*)")
HISTOGRAM = ("_bucket", "_sum", "_count")


class Format:
    def __init__(self, metadata, suffixes, help_text, end, reference):
        self.metadata = metadata  # in their order
        self.suffixes = suffixes  # type -> of its samples
        self.help = re.compile(help_text)
        self.end = end
        self.reference = reference


OPENMETRICS = Format(
    ("TYPE", "UNIT", "HELP"),
    {"counter": ("_total", "_created"), "gauge": ("",), "info": ("_info",),
     "histogram": (*HISTOGRAM, "_created")},
    r'(?:[^\\"]|\\[n"\\])*', "# EOF\n", reference_parsers.openmetrics)
TEXT = Format(("HELP", "TYPE"), {"counter": ("",), "gauge": ("",), "histogram": HISTOGRAM},
              r"(?:[^\\]|\\[n\\])*", "", reference_parsers.text)


class Broken(Exception):
    """A line is not what the format allows."""


def demand(condition, problem):
    if not condition:
        raise Broken(problem)


class Families:
    """Takes an exposition line by line."""

    def __init__(self, form):
        self.form = form
        self.names = set()
        self.family, self.type, self.metadata, self.has_samples = None, None, [], False
        self.series = set()

    def take(self, line):
        if line.startswith("#"):
            self._take_metadata(line)
        else:
            self._take_sample(line)

    def _take_metadata(self, line):
        match = METADATA.fullmatch(line)
        demand(match, "neither metadata nor a sample")
        kind, name, text = match.groups()
        demand(kind in self.form.metadata, f"no {kind} in this format")
        if name != self.family:
            demand(name not in self.names, f"family '{name}' comes a second time")
            self.names.add(name)
            self.family, self.type, self.metadata, self.has_samples = name, None, [], False
        demand(not self.has_samples, f"{kind} of '{name}' after its samples")
        self.metadata.append(kind)
        demand(self.metadata == [each for each in self.form.metadata if each in self.metadata],
               f"{kind} of '{name}' twice or too late: the order is {self.form.metadata}")
        if kind == "TYPE":
            demand(text in self.form.suffixes, f"'{text}' is no type of ours")
            self.type = text
        elif kind == "UNIT":
            demand(name.endswith("_" + text), f"unit '{text}' is no suffix of '{name}'")
        else:
            demand(self.form.help.fullmatch(text), f"HELP of '{name}' is not escaped as it must be")

    def _take_sample(self, line):
        match = SAMPLE.fullmatch(line)
        demand(match, f"not a sample: {line!r}")
        name, labels, value = match.groups()
        demand(self.type, f"'{name}' comes without a type")
        demand(name in {self.family + suffix for suffix in self.form.suffixes[self.type]},
               f"'{name}' is no sample of the {self.type} '{self.family}'")
        self.has_samples = True
        labels = re.findall(LABEL, labels or "")
        names = [label.partition("=")[0] for label in labels]
        demand(len(set(names)) == len(names), "two labels of one name")
        series = (name, frozenset(label for label in labels if not label.endswith('=""')))
        demand(series not in self.series, f"a second sample of '{name}' with these labels")
        self.series.add(series)
        demand(self.type == "gauge" or float(value) >= 0, f"'{name}' must not be negative or NaN")


def problems_of(text, form):
    if not text.endswith("\n" + form.end) or not text.strip():
        return [f"does not end with a line feed, {form.end!r}"]
    problems, families = [], Families(form)
    for number, line in enumerate(text.removesuffix(form.end).split("\n")[:-1], 1):
        try:
            families.take(line)
        except Broken as broken:
            problems.append(f"line {number}: {broken}")
    if reference_parsers.installed:
        try:
            form.reference(text)
        except (IndexError, ValueError) as error:
            problems.append(f"the reference parser: {error}")
    return problems


def check_text(text):
    """What is wrong with an exposition in the text format, a problem each."""
    return problems_of(text, TEXT)


def check_openmetrics(text):
    return problems_of(text, OPENMETRICS)
