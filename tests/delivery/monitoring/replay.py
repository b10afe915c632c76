"""Scrapes of another time, served once more: a recording's counters go on as they did then."""

import bisect
import lzma
import re
import sys
import time

import mixin

sys.path.insert(0, f"{mixin.root}/tests/kernel")
import harness
import web


GONE = re.compile("^# gone (.*)", re.M)


class Recording:
    """Scrapes and when each was made, in seconds since the first; the first and the last are one
    round, after which the counters go on from where they are with the next."""

    def __init__(self, times, scrapes):
        self.times = times
        self.scrapes = scrapes

    def at(self, seconds):
        """Series -> value. Between two scrapes counters grow steadily, and the rest stays."""
        rounds, within = divmod(seconds, self.times[-1])
        index = min(bisect.bisect_right(self.times, within), len(self.times) - 1) - 1
        before, after = self.scrapes[index], self.scrapes[index + 1]
        part = (within - self.times[index]) / (self.times[index + 1] - self.times[index])
        return {series: value if not series[0].endswith("_total") else
                value + part * (after.get(series, value) - value) + rounds * self._grown(series)
                for series, value in before.items()}

    def _grown(self, series):
        first, last = self.scrapes[0].get(series), self.scrapes[-1].get(series)
        return 0 if first is None or last is None else last - first


def emulated():
    """What the daemon counted on the PMU of an emulated machine (record.py)."""
    with lzma.open(f"{mixin.root}/tests/delivery/monitoring/emulated.xz", "rt", encoding="utf-8") as file:
        parts = re.split(r"^# SCRAPE (\S+)\n", file.read(), flags=re.M)[1:]
    return Recording([float(at) for at in parts[::2]],
                     [harness.Scrape(text) for text in parts[1::2]])


def scripted(case):
    """What it publishes over the scripted kernel of an end-to-end test: made-up counts, a poll each
    second, under names and labels that are real. Of each poll the file has what has changed."""
    text = mixin.read_text(f"{mixin.root}/tests/e2e/cases/{case}/metrics.prom")
    values, scrapes = {}, []
    for part in re.split(r"^# poll \d+\n", text, flags=re.M)[1:]:
        gone = harness.Scrape("".join(f"{series} 0\n" for series in GONE.findall(part)))
        values = {**values, **harness.Scrape(part)}
        values = {series: value for series, value in values.items() if series not in gone}
        scrapes.append(values)
    return Recording([float(second) for second in range(len(scrapes))], scrapes)


def fixed(text):
    """The same at all times."""
    return Recording([0.0, 1.0], [harness.Scrape(text)] * 2)


class Replay(web.Server):
    def __init__(self, recording):
        super().__init__(self._answer)
        self.recording = recording
        self.start = time.monotonic()

    def _answer(self, *_):
        values = self.recording.at(time.monotonic() - self.start)
        text = "".join(f"{name}{{{labels}}} {value!r}\n" for (name, labels), value in
                       ((self._written(series), value) for series, value in values.items()))
        return 200, {"Content-Type": web.TEXT}, text.encode()

    @staticmethod
    def _written(series):
        name, labels = series  # values of labels are as they were, escapes included
        return name, ",".join(f'{key}="{value}"' for key, value in labels)
