#!/usr/bin/env python3
"""Shows that openmetrics.py and text_format.py accept what is right and refuse what is wrong, for
the right reason and at the right line; and that openmetrics.py forgives nothing that the reference
parser refuses."""

import random
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent))
import openmetrics  # noqa: E402
import reference_parsers  # noqa: E402
import text_format  # noqa: E402

END = "# EOF\n"

# Nearly all are examples of the specification; the last ones look like what we serve.
GOOD = {
    "nothing": "",
    "complete exposition": """\
# TYPE acme_http_router_request_seconds summary
# UNIT acme_http_router_request_seconds seconds
# HELP acme_http_router_request_seconds Latency though all of ACME's HTTP request router.
acme_http_router_request_seconds_sum{path="/api/v1",method="GET"} 9036.32
acme_http_router_request_seconds_count{path="/api/v1",method="GET"} 807283.0
acme_http_router_request_seconds_created{path="/api/v1",method="GET"} 1605281325.0
acme_http_router_request_seconds_sum{path="/api/v2",method="POST"} 479.3
acme_http_router_request_seconds_count{path="/api/v2",method="POST"} 34.0
acme_http_router_request_seconds_created{path="/api/v2",method="POST"} 1605281325.0
# TYPE go_goroutines gauge
# HELP go_goroutines Number of goroutines that currently exist.
go_goroutines 69
# TYPE process_cpu_seconds counter
# UNIT process_cpu_seconds seconds
# HELP process_cpu_seconds Total user and system CPU time spent in seconds.
process_cpu_seconds_total 4.20072246e+06
""",
    "metadata alone": "# TYPE foo_seconds counter\n# UNIT foo_seconds seconds\n",
    "a unit that is not told": "# TYPE foo_seconds counter\n",
    "empty unit and help": "# TYPE foo counter\n# UNIT foo \n# HELP foo \n",
    "escapes in help": """\
# TYPE foo_seconds counter
# UNIT foo_seconds seconds
# HELP foo_seconds Some text and \\n some \\" escaping
""",
    "no labels in braces": "bar_seconds_count{} 0\n",
    "escapes in labels": 'bar_seconds_count{a="x",b="escaping\\" example \\n \\\\ "} 0\n',
    "instants": """\
# TYPE foo_seconds summary
# UNIT foo_seconds seconds
foo_seconds_count{a="bb"} 0 123
foo_seconds_sum{a="bb"} 0 123
foo_seconds_count{a="bb"} 0 456
foo_seconds_sum{a="bb"} 0 456
foo_seconds_count{a="ccc"} 0 123
foo_seconds_sum{a="ccc"} 0 123
foo_seconds_count{a="ccc"} 0 456
foo_seconds_sum{a="ccc"} 0 456
""",
    "gauges": '# TYPE foo gauge\nfoo{a="bb"} 17.0\nfoo{a="ccc"} 17.0\n',
    "gauges with time": '# TYPE foo gauge\nfoo 17.0 123\nfoo 18.0 456\n',
    "special numbers": "# TYPE foo gauge\n"
                       + "".join(f'foo{{a="{each}"}} {each}\n' for each in
                                 ("NaN", "+Inf", "-inf", "Infinity", "-0", "1.", ".5", "042", "1E3")),
    "counter": "# TYPE foo counter\nfoo_total 17.0 1520879607.789\n",
    "counter that was made": "# TYPE foo counter\nfoo_total 17.0\nfoo_created 1520430000.123\n",
    "exemplars": """\
# TYPE foo counter
foo_total 17.0 # {trace_id="x"} 1 1520430000.123
# TYPE bar histogram
bar_bucket{le="0.01"} 0
bar_bucket{le="0.1"} 8 # {} 0.054
bar_bucket{le="+Inf"} 11 # {trace_id="KOO5S4vxi0o"} 0.67
""",
    "states": """\
# TYPE foo stateset
foo{entity="controller",foo="a"} 1.0
foo{entity="controller",foo="bb"} 0.0
foo{entity="replica",foo="a"} 1.0
foo{entity="replica",foo="bb"} 0.0
""",
    "info": """\
# TYPE foo info
foo_info{entity="controller",name="pretty name",version="8.2.7"} 1.0
foo_info{entity="replica",name="prettier name",version="8.1.9"} 1.0
""",
    "summary": '# TYPE foo summary\nfoo{quantile="0.95"} 123.7\nfoo{quantile="0.99"} NaN\n',
    "histogram": """\
# TYPE foo histogram
foo_bucket{le="0.0"} 0
foo_bucket{le="1e-05"} 0
foo_bucket{le="0.0001"} 5
foo_bucket{le="1.0"} 10
foo_bucket{le="10.0"} 11
foo_bucket{le="1.1e+23"} 17
foo_bucket{le="+Inf"} 17
foo_count 17
foo_sum 324789.3
foo_created 1520430000.123
""",
    "gauge histogram": """\
# TYPE foo gaugehistogram
foo_bucket{le="0.01"} 20.0
foo_bucket{le="1.0"} 34.0
foo_bucket{le="+Inf"} 42.0
foo_gcount 42.0
foo_gsum 3289.3
""",
    "unknown": "# TYPE foo unknown\nfoo 42.23\n",
    "no metadata": "foo 42.23\nbar 1\n",
    "bytes of UTF-8, and a null": '# TYPE foo gauge\nfoo{a="ä\0\N{PILE OF POO}\r"} 1\n',
    "ours": """\
# TYPE perf_cgroup_task_clock_seconds counter
# UNIT perf_cgroup_task_clock_seconds seconds
# HELP perf_cgroup_task_clock_seconds CPU time of the tasks of a cgroup.
perf_cgroup_task_clock_seconds_total{cgroup="/a/\\"b\\".service"} 0.1
perf_cgroup_task_clock_seconds_total{cgroup="/a/c.service"} 18446744073709551615
# TYPE perf_cgroup info
# HELP perf_cgroup Always 1.
perf_cgroup_info{cgroup="/a/c.service",unit="c.service"} 1
""",
}

# Made wrong, these are refused by the reference parser for being wrong where they are not: a brace
# within an exemplar's label, and a time after another that has a larger fraction.
MISJUDGED = {"exemplars", "instants", "gauges with time"}

# Which line is refused, with what; a text that the reference parser forgives is marked as LAX.
LAX = True
BAD = [
    # The shape of it all.
    (1, "does not end with '# EOF'", ""),
    (2, "does not end with '# EOF'", "# TYPE a gauge\n# EOF", LAX),
    (2, "does not end with '# EOF'", "a 1\n"),
    (1, "does not end with '# EOF'", "a 1"),
    (1, "'# EOF' before the end", "# EOF\na 1\n# EOF\n"),
    (2, "blank line", "a 1\n\n# EOF\n"),
    (1, "'# EOF' before the end", "# EOF\n\n"),
    (1, "byte order mark", "\N{ZERO WIDTH NO-BREAK SPACE}a 1\n# EOF\n"),
    (1, "not UTF-8", b'a{b="\xff"} 1\n# EOF\n'),
    (2, "not UTF-8", b'a{b="\n"}\xc0\x80 1\n# EOF\n'),
    # Metadata.
    (1, "neither TYPE", "# a comment\n# EOF\n"),
    (1, "neither TYPE", "#TYPE a gauge\n# EOF\n"),
    (1, "neither TYPE", "# TYPE  a gauge\n# EOF\n"),
    (1, "neither TYPE", "# TYPE\ta\tgauge\n# EOF\n"),
    (1, "neither TYPE", "# HELP a\n# EOF\n"),
    (1, "neither TYPE", "# type a gauge\n# EOF\n"),
    (1, "neither TYPE", "# TYPE 1a gauge\n# EOF\n"),
    (1, "'untyped' is no type", "# TYPE a untyped\n# EOF\n"),
    (1, "'gauge ' is no type", "# TYPE a gauge \n# EOF\n"),
    (1, "'Gauge' is no type", "# TYPE a Gauge\n# EOF\n"),
    (1, "'gauge\r' is no type", "# TYPE a gauge\r\n# EOF\n"),
    (2, "a second TYPE of 'a'", "# TYPE a gauge\n# TYPE a gauge\n# EOF\n"),
    (2, "a second HELP of 'a'", "# HELP a b\n# HELP a b\n# EOF\n"),
    (2, "a second UNIT of 'a_b'", "# UNIT a_b b\n# UNIT a_b b\n# EOF\n"),
    (3, "HELP of 'a' after its samples", "# TYPE a gauge\na 1\n# HELP a b\n# EOF\n"),
    (2, "TYPE of 'a' after its samples", "a 1\n# TYPE a gauge\n# EOF\n"),
    (2, "TYPE of 'a' too late", "# HELP a b\n# TYPE a gauge\n# EOF\n", LAX),
    (3, "UNIT of 'a_b' too late", "# TYPE a_b gauge\n# HELP a_b c\n# UNIT a_b b\n# EOF\n", LAX),
    (2, "unit 'seconds' is no suffix of 'foo'",
     "# TYPE foo counter\n# UNIT foo seconds\n# EOF\n"),
    (2, "unit 'seconds' is no suffix of 'foo_seconds_total'",
     "# TYPE foo_seconds_total gauge\n# UNIT foo_seconds_total seconds\n# EOF\n"),
    (2, "unit 'seconds' is no suffix", "# TYPE seconds gauge\n# UNIT seconds seconds\n# EOF\n"),
    (2, "'a b' is no unit", "# TYPE x_a gauge\n# UNIT x_a a b\n# EOF\n"),
    (2, "type info has no unit", "# TYPE a_b info\n# UNIT a_b b\n# EOF\n"),
    (2, "type stateset has no unit", "# TYPE a_b stateset\n# UNIT a_b b\n# EOF\n"),
    (1, "HELP of 'a' is not escaped", '# HELP a a "word"\n# EOF\n', LAX),
    (1, "HELP of 'a' is not escaped", "# HELP a \\d\n# EOF\n", LAX),
    (1, "HELP of 'a' is not escaped", "# HELP a \\\n# EOF\n", LAX),
    (1, "a line feed alone", "# HELP a b\r\n# EOF\n", LAX),
    # Families.
    (3, "family 'a' comes a second time",
     "# TYPE a gauge\n# TYPE b gauge\n# HELP a c\n# EOF\n"),
    (5, "family 'a' is interleaved",
     "# TYPE a counter\na_total 1\n# TYPE b gauge\nb 1\na_total{c=\"d\"} 1\n# EOF\n"),
    (3, "family 'a' is interleaved", "a 1\nb 1\na{b=\"c\"} 1\n# EOF\n"),
    (3, "family 'a_created' clashes with 'a'",
     "# TYPE a counter\na_total 1\n# TYPE a_created gauge\na_created 1\n# EOF\n"),
    (2, "family 'a' clashes with 'a_total'", "# TYPE a_total gauge\n# TYPE a counter\n# EOF\n"),
    (2, "family 'a_info' clashes with 'a'", "# TYPE a info\n# TYPE a_info gauge\n# EOF\n"),
    (1, "a leading '_' is reserved", "_a 1\n# EOF\n", LAX),
    (1, "':' is reserved", "# TYPE a:b gauge\n# EOF\n", LAX),
    # Which samples a type has.
    (2, "of type counter has no sample 'a'", "# TYPE a counter\na 1\n# EOF\n"),
    (2, "of type gauge has no sample 'a_created'",
     "# TYPE a gauge\na_created 1\n# EOF\n", LAX),
    (2, "family 'a_total' of type counter has no sample 'a_total'",
     "# TYPE a_total counter\na_total 1\n# EOF\n"),
    (2, "of type gauge has no sample 'a_total'", "# TYPE a gauge\na_total 1\n# EOF\n", LAX),
    (2, "of type info has no sample 'a'", "# TYPE a info\na 1\n# EOF\n"),
    (2, "of type summary has no sample 'a_total'", "# TYPE a summary\na_total 1\n# EOF\n", LAX),
    (2, "a counter without its '_total'", "# TYPE a counter\na_created 1\n# EOF\n", LAX),
    (2, "a counter without its '_total'",
     '# TYPE a counter\na_created{b="c"} 1\na_total{b="d"} 1\n# EOF\n', LAX),
    # Metrics.
    (4, "metrics of 'a' are interleaved",
     '# TYPE a counter\na_total{b="1"} 1\na_total{b="2"} 1\na_created{b="1"} 1\n# EOF\n'),
    (3, "a second sample of 'a'", "# TYPE a gauge\na 1\na 1\n# EOF\n", LAX),
    (3, "a second sample of 'a'",
     '# TYPE a gauge\na{b="1",c="2"} 1\na{c="2",b="1"} 2\n# EOF\n', LAX),
    (3, "a second sample of 'a'", '# TYPE a gauge\na 1\na{b=""} 1\n# EOF\n', LAX),
    (4, "a second sample of 'a_total'",
     "# TYPE a counter\na_total 1\na_created 1\na_total 1\n# EOF\n", LAX),
    (3, "goes backwards", "# TYPE a gauge\na 1 456\na 1 123\n# EOF\n"),
    (4, "goes backwards",
     "# TYPE a counter\na_total 1 123\na_total 1 456\na_created 1 123\n# EOF\n"),
    (3, "some samples of a metric of 'a' have timestamps", "# TYPE a gauge\na 1\na 1 2\n# EOF\n"),
    # Samples.
    (1, "name of a sample expected at column 1", "1a 1\n# EOF\n"),
    (1, "name of a sample expected at column 1", " a 1\n# EOF\n"),
    (1, "a blank expected at column 2", "a\t1\n# EOF\n"),
    (1, "a number expected at column 3", "a  1\n# EOF\n"),
    (1, "a number expected at column 3", "a \n# EOF\n"),
    (1, "a number expected at column 3", "a one\n# EOF\n"),
    (1, "unexpected at column 4: '_0'", "a 1_0\n# EOF\n"),
    (1, "unexpected at column 4: 'x10'", "a 0x10\n# EOF\n"),
    (1, "unexpected at column 4: '\\r'", "a 1\r\n# EOF\n"),
    (1, "a timestamp expected at column 5", "a 1 \n# EOF\n"),
    (1, "a timestamp expected at column 5", "a 1 NaN\n# EOF\n"),
    (1, "does not fit into 64-bit", "a 1e999\n# EOF\n", LAX),
    (1, "name of a label expected at column 3", 'a{1="b"} 1\n# EOF\n'),
    (1, "name of a label expected at column 9", 'a{b="c",} 1\n# EOF\n'),
    (1, "name of a label expected at column 9", 'a{b="c", d="e"} 1\n# EOF\n'),
    (1, "',' or '}' expected at column 8", 'a{b="c"d="e"} 1\n# EOF\n'),
    (1, "'=\"' expected at column 4", "a{b=c} 1\n# EOF\n"),
    (1, "'\"' expected at column 8", 'a{b="c}\n# EOF\n'),
    (1, "two labels of one name", 'a{b="c",b="d"} 1\n# EOF\n'),
    (1, "label '_b': a leading '_' is reserved", 'a{_b="c"} 1\n# EOF\n', LAX),
    (1, "'=\"' expected at column 4", 'a{b:c="d"} 1\n# EOF\n'),
    (1, "undefined escape sequence", 'a{b="\\d"} 1\n# EOF\n', LAX),
    # Values.
    (2, "'a_total' must not be negative", "# TYPE a counter\na_total -1\n# EOF\n"),
    (2, "'a_total' must not be negative or NaN", "# TYPE a counter\na_total NaN\n# EOF\n"),
    (3, "'a_created' must be a time", "# TYPE a counter\na_total 1\na_created NaN\n# EOF\n", LAX),
    (2, "'a_info' must be 1", '# TYPE a info\na_info{b="c"} 2\n# EOF\n'),
    (2, "'a' must be 0 or 1", '# TYPE a stateset\na{a="b"} 2\n# EOF\n'),
    (2, "a state of 'a' needs a label", "# TYPE a stateset\na 1\n# EOF\n"),
    (2, "needs a label 'quantile'", "# TYPE a summary\na 1\n# EOF\n"),
    (2, "needs a label 'quantile'", '# TYPE a summary\na{quantile="1.1"} 1\n# EOF\n'),
    (2, "must not be negative", '# TYPE a summary\na{quantile="0.5"} -1\n# EOF\n'),
    (2, "'a_count' must be an integer", "# TYPE a summary\na_count 1.5\n# EOF\n"),
    (2, "needs a label 'le'", "# TYPE a histogram\na_bucket 1\n# EOF\n"),
    (2, "the bucket +Inf is missing", '# TYPE a histogram\na_bucket{le="1.0"} 1\n# EOF\n'),
    (2, "buckets must be cumulative",
     '# TYPE a histogram\na_bucket{le="1.0"} 2\na_bucket{le="+Inf"} 1\n# EOF\n'),
    (2, "buckets must be in increasing order",
     '# TYPE a histogram\na_bucket{le="+Inf"} 1\na_bucket{le="1.0"} 1\n# EOF\n'),
    (2, "'_sum' and '_count' come together",
     '# TYPE a histogram\na_bucket{le="+Inf"} 1\na_sum 1\n# EOF\n'),
    (2, "'_count' differs from the bucket +Inf",
     '# TYPE a histogram\na_bucket{le="+Inf"} 1\na_count 2\na_sum 1\n# EOF\n'),
    (2, "no '_sum' where bounds are negative",
     '# TYPE a histogram\na_bucket{le="-1.0"} 1\na_bucket{le="+Inf"} 1\n'
     'a_count 1\na_sum 1\n# EOF\n'),
    # Exemplars.
    (2, "'a' cannot have an exemplar", "# TYPE a gauge\na 1 # {} 1\n# EOF\n"),
    (3, "'a_created' cannot have an exemplar",
     "# TYPE a counter\na_total 1\na_created 1 # {} 1\n# EOF\n"),
    (2, "'{' expected at column 13", "# TYPE a counter\na_total 1 # 1\n# EOF\n"),
    (2, "have 129 characters of 128",
     f'# TYPE a counter\na_total 1 # {{b="{"c" * 128}"}} 1\n# EOF\n'),
]


class OpenMetricsTest(unittest.TestCase):
    def test_what_the_specification_shows_is_right(self):
        for name, body in GOOD.items():
            with self.subTest(name):
                self.assertEqual(openmetrics.check(body + END), [])
                self.assertEqual(openmetrics.check((body + END).encode()), [])

    def test_what_is_wrong_is_refused_for_that_reason_alone(self):
        self.assertGreaterEqual(len(BAD), 30)
        for line, reason, text, *_ in BAD:
            with self.subTest(text):
                first = openmetrics.check(text)[0]
                self.assertEqual(first.partition(": ")[0], f"line {line}", first)
                self.assertIn(reason, first)

    def test_all_that_is_wrong_is_reported(self):
        text = "# TYPE a counter\na_total -1\n# TYPE b info\nb_info 2\nc one\n# EOF\n"
        self.assertEqual([each.partition(": ")[0] for each in openmetrics.check(text)],
                         ["line 2", "line 4", "line 5"])


@unittest.skipUnless(reference_parsers.installed, "python3-prometheus-client is not installed")
class ReferenceTest(unittest.TestCase):
    def refused(self, text):
        try:
            reference_parsers.openmetrics(text)
        except ValueError:
            return True
        except (AttributeError, TypeError):  # of two times, written in different ways
            pass
        return False

    def test_reference_takes_the_same_for_right(self):
        for name, body in GOOD.items():
            with self.subTest(name):
                self.assertFalse(self.refused(body + END))

    def test_reference_refuses_what_we_refuse_or_is_known_to_be_lax(self):
        for _, _, text, *lax in BAD:
            if isinstance(text, str):
                with self.subTest(text):
                    self.assertEqual(self.refused(text), not lax)

    def test_what_the_reference_refuses_of_right_texts_made_wrong_we_refuse(self):
        chance = random.Random(20260901)
        bodies = [body for name, body in GOOD.items() if name not in MISJUDGED]
        refused = 0
        for _ in range(20000):
            text = mutated(chance.choice(bodies) + END, chance)
            if self.refused(text):
                refused += 1
                self.assertNotEqual(openmetrics.check(text), [], text)
        self.assertGreater(refused, 5000)


def mutated(text, chance):
    """With a line lost, doubled or moved, or a character lost, doubled or replaced."""
    parts = text.splitlines(keepends=True) if chance.random() < 0.5 else list(text)
    at, other = chance.randrange(len(parts)), chance.randrange(len(parts))
    parts[at:at + 1] = chance.choice([
        [], [parts[at]] * 2, [parts[other]], [parts[at], parts[other]],
        [chance.choice('{}",=\\ #\n\r_-.e1aN')] if len(parts[at]) == 1 else []])
    return "".join(parts)


TEXT = """\
# HELP perf_cpu_cycles_total Cycles.\\nOf "all" kinds.
# TYPE perf_cpu_cycles_total counter
perf_cpu_cycles_total{cpu="0"} 1
perf_cpu_cycles_total{cpu="1"} 1e+06
# HELP perf_cgroup_info Always 1.
# TYPE perf_cgroup_info gauge
perf_cgroup_info{cgroup="/a \\" \\\\ \\n"} 1
# HELP d_seconds D.
# TYPE d_seconds histogram
d_seconds_bucket{le="+Inf"} 1
d_seconds_sum 1
d_seconds_count 1
"""

BAD_TEXTS = [
    (13, "does not end with a line feed", TEXT, TEXT + "a"),
    (2, "a second HELP", "# TYPE perf_cpu_cycles_total counter", "# HELP perf_cpu_cycles_total x"),
    (4, "a second sample of", 'cpu="1"', 'cpu="0"'),
    (4, "is no sample of 'perf_cpu_cycles_total'", "total{cpu=\"1\"}", "x{cpu=\"1\"}"),
    (3, "blank line", 'perf_cpu_cycles_total{cpu="0"} 1', ""),
    (3, "counter 'perf_cpu_cycles_total' must not be negative", '"0"} 1', '"0"} -1'),
    (1, "is not escaped", "\\n", "\\d"),
    (2, "'info' is no type", "counter", "info"),
    (8, "family 'perf_cpu_cycles_total' comes a second time", "# HELP d_seconds",
     "# HELP perf_cpu_cycles_total"),
    (1, "neither HELP nor TYPE", "# HELP", "#HELP"),
    (8, "neither HELP nor TYPE", "# HELP d_seconds D.", "# EOF"),
    (4, "TYPE of 'perf_cpu_cycles_total' after its samples", 'perf_cpu_cycles_total{cpu="1"} 1e+06',
     "# TYPE perf_cpu_cycles_total counter"),
    (3, "'perf_cpu_cycles_total' comes without a type",
     "# TYPE perf_cpu_cycles_total counter\n", "# HELP a b\n"),
    (4, "no exemplars in this format", "1e+06", "1e+06 # {} 1"),
    (4, "whole milliseconds", "1e+06", "1e+06 1.5"),
]


class TextFormatTest(unittest.TestCase):
    def test_what_we_serve_is_right(self):
        self.assertEqual(text_format.check(TEXT), [])

    def test_what_is_wrong_is_refused_for_that_reason(self):
        for line, reason, right, wrong in BAD_TEXTS:
            with self.subTest(wrong):
                self.assertIn(right, TEXT)
                first = text_format.check(TEXT.replace(right, wrong, 1))[0]
                self.assertEqual(first.partition(": ")[0], f"line {line}", first)
                self.assertIn(reason, first)


if __name__ == "__main__":
    unittest.main(verbosity=2)
