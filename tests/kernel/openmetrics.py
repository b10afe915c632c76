#!/usr/bin/env python3
"""Whether a text is an exposition in OpenMetrics 1.0, as its specification has it.

    openmetrics.py FILE     prints what is wrong with it, a line each; exits with 1 if anything is

Source: https://prometheus.io/docs/specs/om/open_metrics_spec/, the ABNF and the chapters "Text
format" and "Metric Types". What that says SHOULD be done is held as strictly as what MUST be done
wherever it is the exposer who should: we judge an exposer, and readers differ in what they forgive.
Three such rules are not held: that names are in snake_case, that all metrics of a family have the
same label names, and how numbers in `le` and `quantile` are written.
"""

import math
import re
import sys
from dataclasses import dataclass, field

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
LABEL_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
ESCAPED = re.compile(r'(?:[^"\\\n]|\\[^\n])*')
DEFINED_ESCAPES = re.compile(r'(?:[^\\]|\\[n"\\])*')
REAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
NUMBER = re.compile(REAL.pattern + r"|[+-]?inf(?:inity)?|nan", re.IGNORECASE)
UNIT = re.compile(r"[a-zA-Z0-9_:]*")
METADATA = re.compile(rf"# (TYPE|UNIT|HELP) ({NAME.pattern}) (.*)", re.DOTALL)

METADATA_ORDER = ("TYPE", "UNIT", "HELP")
MAX_EXEMPLAR_LABELS = 128  # code points, of names and values


class Broken(Exception):
    """A line is not what the grammar allows, or breaks a rule."""


def demand(condition, problem):
    if not condition:
        raise Broken(problem)


# --------------------------------------------------------------------------------------------------
# One sample line


class Cursor:
    """Reads a line from the left."""

    def __init__(self, line):
        self.line = line
        self.at = 0

    def ended(self):
        return self.at == len(self.line)

    def next_is(self, text):
        return self.line.startswith(text, self.at)

    def skip(self, text, what):
        demand(self.next_is(text), f"{what} expected at column {self.at + 1}")
        self.at += len(text)

    def take(self, pattern, what):
        match = pattern.match(self.line, self.at)
        demand(match, f"{what} expected at column {self.at + 1}")
        self.at = match.end()
        return match[0]


@dataclass
class Sample:
    name: str
    labels: list  # of (name, value as written)
    number: str
    timestamp: str = None
    exemplar: "Sample" = None  # nameless

    @property
    def value(self):
        return float(self.number)

    def label(self, name):
        return dict(self.labels).get(name)

    def key(self, *but_for):
        """What tells the metric from others: an empty label counts as none."""
        return tuple(sorted((name, value) for name, value in self.labels
                            if value and name not in but_for))


def parse_sample(line):
    """The sample of a line in either format; raises Broken."""
    cursor = Cursor(line)
    name = cursor.take(NAME, "name of a sample")
    labels = take_labels(cursor) if cursor.next_is("{") else []
    sample = Sample(name, labels, *take_number_and_timestamp(cursor))
    if cursor.next_is(" # "):
        cursor.skip(" # ", "exemplar")
        sample.exemplar = Sample("", take_labels(cursor), *take_number_and_timestamp(cursor))
    demand(cursor.ended(), f"unexpected at column {cursor.at + 1}: {line[cursor.at:]!r}")
    return sample


def take_number_and_timestamp(cursor):
    cursor.skip(" ", "a blank")
    number = cursor.take(NUMBER, "a number")
    demand(REAL.fullmatch(number) is None or math.isfinite(float(number)),
           f"{number} does not fit into 64-bit floating point")
    if not cursor.next_is(" ") or cursor.next_is(" # "):
        return number, None
    cursor.skip(" ", "a blank")
    return number, cursor.take(REAL, "a timestamp")


def take_labels(cursor):
    labels = []
    cursor.skip("{", "'{'")
    while not cursor.next_is("}"):
        if labels:
            cursor.skip(",", "',' or '}'")
        labels.append(take_label(cursor))
    cursor.skip("}", "'}'")
    names = [name for name, _ in labels]
    demand(len(set(names)) == len(names), "two labels of one name")
    return labels


def take_label(cursor):
    name = cursor.take(LABEL_NAME, "name of a label")
    demand(not name.startswith("_"), f"label '{name}': a leading '_' is reserved")
    cursor.skip('="', "'=\"'")
    value = cursor.take(ESCAPED, "value of a label")
    demand(DEFINED_ESCAPES.fullmatch(value), f"label '{name}': undefined escape sequence")
    cursor.skip('"', "'\"'")
    return name, value


# --------------------------------------------------------------------------------------------------
# Types: which samples a family has, and what they may be


def not_negative(sample):
    demand(sample.value >= 0, f"'{sample.name}' must not be negative or NaN")


def whole(sample):
    not_negative(sample)
    demand(sample.value.is_integer(), f"'{sample.name}' must be an integer")


def instant(sample):
    demand(math.isfinite(sample.value), f"'{sample.name}' must be a time")


def one(sample):
    demand(sample.value == 1, f"'{sample.name}' must be 1")


def boolean(sample):
    demand(sample.value in (0, 1), f"'{sample.name}' must be 0 or 1")


def anything(_):
    pass


def not_nan(sample):
    demand(not math.isnan(sample.value), f"'{sample.name}' must not be NaN")


def quantile(sample):
    label = sample.label("quantile")
    demand(label is not None and REAL.fullmatch(label) and 0 <= float(label) <= 1,
           f"'{sample.name}' needs a label 'quantile' between 0 and 1")
    demand(not sample.value < 0, f"'{sample.name}' must not be negative")


def bucket(sample):
    whole(sample)
    label = sample.label("le")
    demand(label is not None and (label == "+Inf" or REAL.fullmatch(label)),
           f"'{sample.name}' needs a label 'le' that is a number or +Inf")


def complete_counter(point):
    demand("_total" in point, "a counter without its '_total'")


def complete_histogram(point, total="_sum", count="_count"):
    buckets = point.get("_bucket", [])
    bounds = [float(sample.label("le")) for sample in buckets]
    counts = [sample.value for sample in buckets]
    demand(bounds == sorted(set(bounds)), "buckets must be in increasing order")
    demand(counts == sorted(counts), "buckets must be cumulative")
    demand(bounds and math.isinf(bounds[-1]), "the bucket +Inf is missing")
    demand((total in point) == (count in point), f"'{total}' and '{count}' come together")
    if count in point:
        demand(point[count][0].value == counts[-1], f"'{count}' differs from the bucket +Inf")
    if total in point and bounds[0] >= 0:
        demand(point[total][0].value >= 0, f"'{total}' must not be negative")
    demand(total == "_gsum" or total not in point or bounds[0] >= 0,
           "no '_sum' where bounds are negative")


def complete_gauge_histogram(point):
    complete_histogram(point, "_gsum", "_gcount")


@dataclass(frozen=True)
class Type:
    samples: dict  # suffix -> what its value must be
    complete: object = anything  # of what one metric has at one instant: suffix -> samples
    own_label: str = ""  # of a sample, not of the metric; "{}" stands for the family's name
    has_unit: bool = True
    exemplars: tuple = ()  # suffixes of samples that may have one


TYPES = {
    "unknown": Type({"": anything}),
    "gauge": Type({"": anything}),
    "counter": Type({"_total": not_negative, "_created": instant}, complete_counter,
                    exemplars=("_total",)),
    "info": Type({"_info": one}, has_unit=False),
    "stateset": Type({"": boolean}, own_label="{}", has_unit=False),
    "summary": Type({"": quantile, "_count": whole, "_sum": not_negative, "_created": instant},
                    own_label="quantile"),
    "histogram": Type({"_bucket": bucket, "_count": whole, "_sum": not_nan, "_created": instant},
                      complete_histogram, own_label="le", exemplars=("_bucket",)),
    "gaugehistogram": Type({"_bucket": bucket, "_gcount": whole, "_gsum": not_nan},
                           complete_gauge_histogram, own_label="le", exemplars=("_bucket",)),
}
SUFFIXES = {suffix for each in TYPES.values() for suffix in each.samples}


# --------------------------------------------------------------------------------------------------
# Families


@dataclass
class Family:
    name: str
    line: int
    type: str = "unknown"
    metadata: list = field(default_factory=list)  # kinds seen, in their order
    has_samples: bool = False
    metrics: set = field(default_factory=set)  # keys of those seen
    metric: tuple = None  # key of that under way
    timestamp: float = None
    times_of_metric: set = field(default_factory=set)  # whether its samples have timestamps
    point: dict = field(default_factory=dict)  # suffix -> valid samples, of the instant under way
    point_line: int = 0  # where it began
    series: set = field(default_factory=set)  # (name, key) of the instant under way

    @property
    def rules(self):
        return TYPES[self.type]

    def sample_names(self):
        return {self.name + suffix for suffix in self.rules.samples}


class Exposition:
    """Takes an exposition line by line and gathers what is wrong."""

    def __init__(self):
        self.problems = []
        self.family = None
        self.families = set()
        self.taken = {}  # name of a family or of a sample one could have -> name of the family

    def told(self, number, step, *args):
        """Whether one step finds nothing; what it finds is a problem of that line."""
        try:
            step(*args)
        except Broken as broken:
            self.problems.append(f"line {number}: {broken}")
            return False
        return True

    def take(self, number, line):
        self.told(number, self._take, number, line)

    def _take(self, number, line):
        demand(line, "blank line")
        demand(line != "# EOF", "'# EOF' before the end")
        if line.startswith("#"):
            self._take_metadata(number, line)
        else:
            self._take_sample(number, parse_sample(line))

    def end(self):
        if self.family:
            self._end_of_point()
            self.told(self.family.line, self._claim_names)
        self.family = None

    def _begin(self, number, name):
        self.end()
        self.family = Family(name, number)
        demand(name not in self.families,
               f"family '{name}' comes a second time, or is interleaved with others")
        self.families.add(name)
        demand(not name.startswith("_"), f"'{name}': a leading '_' is reserved")
        demand(":" not in name, f"'{name}': ':' is reserved")

    def _claim_names(self):
        name = self.family.name
        for each in sorted(self.family.sample_names() | {name}):
            owner = self.taken.setdefault(each, name)
            demand(owner == name, f"family '{name}' clashes with '{owner}': both may have '{each}'")

    def _take_metadata(self, number, line):
        match = METADATA.fullmatch(line)
        demand(match, "neither TYPE, UNIT, HELP nor EOF")
        kind, name, text = match.groups()
        if not self.family or name != self.family.name:
            self._begin(number, name)
        family = self.family
        demand(not family.has_samples, f"{kind} of '{name}' after its samples")
        demand(kind not in family.metadata, f"a second {kind} of '{name}'")
        family.metadata.append(kind)
        {"TYPE": self._take_type, "UNIT": self._take_unit, "HELP": self._take_help}[kind](text)
        demand(family.metadata == sorted(family.metadata, key=METADATA_ORDER.index),
               f"{kind} of '{name}' too late: the order is {', '.join(METADATA_ORDER)}")

    def _take_type(self, text):
        demand(text in TYPES, f"'{text}' is no type")
        self.family.type = text

    def _take_unit(self, text):
        demand(UNIT.fullmatch(text), f"'{text}' is no unit")
        demand(not text or self.family.name.endswith("_" + text),
               f"unit '{text}' is no suffix of '{self.family.name}'")
        demand(not text or self.family.rules.has_unit, f"type {self.family.type} has no unit")

    def _take_help(self, text):
        demand(ESCAPED.fullmatch(text) and DEFINED_ESCAPES.fullmatch(text),
               f"HELP of '{self.family.name}' is not escaped as it must be")
        demand(not text.endswith("\r"), "lines end with a line feed alone")

    def _take_sample(self, number, sample):
        self._find_family(number, sample.name)
        family = self.family
        family.has_samples = True
        suffix = sample.name[len(family.name):]
        self._place(number, sample)
        if self.told(number, family.rules.samples[suffix], sample):
            family.point.setdefault(suffix, []).append(sample)
        self._check_exemplar(sample, suffix)
        if family.type == "stateset":
            demand(sample.label(family.name) is not None,
                   f"a state of '{family.name}' needs a label of that name")

    def _find_family(self, number, name):
        """Makes `family` that of the sample."""
        family = self.family
        if family and name in family.sample_names():
            return
        demand(not family or name not in {family.name + suffix for suffix in SUFFIXES},
               f"a family '{family and family.name}' of type {family and family.type} has no "
               f"sample '{name}'")
        owner = self.taken.get(name)
        demand(owner is None, f"family '{owner}' is interleaved: '{name}' after another family")
        self._begin(number, name)

    def _place(self, number, sample):
        """Puts the sample into its metric and instant, none of which may come back."""
        family = self.family
        key = sample.key(family.rules.own_label.format(family.name))
        timestamp = None if sample.timestamp is None else float(sample.timestamp)
        if key != family.metric:
            self._end_of_point()
            demand(key not in family.metrics, f"metrics of '{family.name}' are interleaved")
            family.metrics.add(key)
            family.metric, family.timestamp, family.times_of_metric = key, timestamp, set()
        elif timestamp != family.timestamp:
            self._end_of_point()
        family.point_line = family.point_line or number
        self._keep_time(sample, timestamp)
        series = (sample.name, sample.key())
        demand(series not in family.series, f"a second sample of '{sample.name}' with these labels")
        family.series.add(series)

    def _keep_time(self, sample, timestamp):
        family = self.family
        family.times_of_metric.add(timestamp is not None)
        demand(len(family.times_of_metric) == 1,
               f"some samples of a metric of '{family.name}' have timestamps, some do not")
        last, family.timestamp = family.timestamp, timestamp
        demand(timestamp is None or last <= timestamp, f"time of '{sample.name}' goes backwards")

    def _end_of_point(self):
        family = self.family
        if family.point:
            self.told(family.point_line, family.rules.complete, family.point)
        family.point, family.point_line, family.series = {}, 0, set()

    def _check_exemplar(self, sample, suffix):
        if not sample.exemplar:
            return
        demand(suffix in self.family.rules.exemplars, f"'{sample.name}' cannot have an exemplar")
        length = sum(len(name) + len(unescaped(value)) for name, value in sample.exemplar.labels)
        demand(length <= MAX_EXEMPLAR_LABELS,
               f"labels of an exemplar have {length} characters of {MAX_EXEMPLAR_LABELS}")


def unescaped(text):
    return re.sub(r"\\(.)", lambda match: "\n" if match[1] == "n" else match[1], text)


def check(text):
    """What is wrong with an exposition, given as text or as bytes: a list of "line N: ..."."""
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            return [f"line {text.count(10, 0, error.start) + 1}: not UTF-8"]
    if text.startswith("\N{ZERO WIDTH NO-BREAK SPACE}"):
        return ["line 1: byte order mark"]
    lines = text.split("\n")
    exposition = Exposition()
    ends = lines[-2:] == ["# EOF", ""]
    body = lines[:-2] if ends else lines[:-1] if lines[-1] in ("", "# EOF") else lines
    for number, line in enumerate(body, 1):
        exposition.take(number, line)
    exposition.end()
    if not ends:
        exposition.problems.append(f"line {len(lines)}: does not end with '# EOF' and a line feed")
    return exposition.problems


def main():
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} FILE")
    with open(sys.argv[1], "rb") as file:
        problems = check(file.read())
    print("".join(f"{sys.argv[1]}: {problem}\n" for problem in problems), end="")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
