"""What judges the daemon while everything is done to it at once (soak_test.py). A judge is given
what was seen, knows neither the daemon nor the time, and has `problems` in the end:
soak_selftest.py shows that each of them finds what it is there for."""

import collections
import re
import statistics

MEBIBYTE = 2**20


def theil_sen(points, most=400):
    """The median slope of all pairs of (time, value): a third of the values may be anything."""
    points = points[::-(-len(points) // most) or 1]
    slopes = [(later[1] - sooner[1]) / (later[0] - sooner[0])
              for number, sooner in enumerate(points) for later in points[number + 1:]
              if later[0] > sooner[0]]
    return statistics.median(slopes) if slopes else 0.0


class Monotone:
    """No counter falls or starts again, unless the daemon says so: its `_created` is later than
    before, and there is a reason. Either a reload has replaced the counters, or the series belongs
    to something that ends by itself (`may_end`) and comes again under the same name."""

    def __init__(self, may_end=lambda labels: False, may_change=lambda name, labels: True):
        self.may_end = may_end
        self.may_change = may_change  # series of the group that reloads change
        # series -> (value, replacements until then), and (created or None, those of when it was seen)
        self.last = {}
        self.replacements = 0    # begun and ended; odd: one is under way
        self.restarts = collections.Counter()  # by reason
        self.problems = []
        self.scrapes = 0

    def counters_are_replaced(self):
        """Called before a reload that replaces them, and again once the new ones are served."""
        self.replacements += 1

    def look_at(self, scrape, replacements):
        """`replacements` of before the scrape was requested: it may have begun since then."""
        self.scrapes += 1
        since = self.replacements
        for (name, labels), value in scrape.items():
            if not name.endswith("_total"):
                continue
            created = scrape.get((name.removesuffix("_total") + "_created", labels))
            before = self.last.get((name, labels))
            if before:
                self._compare(name, labels, before, (value, created), since)
            seen = (created, replacements)
            self.last[name, labels] = ((value, replacements),
                                       before[1] if before and created is None else seen)

    def _compare(self, name, labels, before, now, replacements):
        (value, of_value), (created, of_created) = before
        fell = now[0] < value
        if now[1] is None or created is None:  # this scrape, or the one before, has none
            is_later, since = fell, of_value
        else:
            is_later, since = now[1] > created, of_created
        if fell or is_later:
            is_replaced = since != replacements or replacements % 2 == 1
            self._judge(f"{name}{dict(labels)}: {value} -> {now[0]}, created {created} -> {now[1]}",
                        name, labels, is_replaced, is_later)

    def _judge(self, what, name, labels, is_replaced, is_later):
        if not is_later:
            self.problems.append(f"fell without a later _created: {what}")
        elif is_replaced and self.may_change(name, dict(labels)):
            self.restarts["replaced by a reload"] += 1
        elif self.may_end(dict(labels)):
            self.restarts["ended and came again"] += 1
        else:
            self.problems.append(f"started again without a reason: {what}")


class Truth:
    """What was counted of CPU time is what the kernel charged (`usage_usec` of cpu.stat), within
    BOUND. Four things are known to lie between them:

    - What the daemon publishes as enabled and not running was not counted, or is estimated: the
      truth is between the counts without and with it.
    - The clock of perf is not the scheduler's account, which has the switches to a task as well, and
      lacks the time that interrupts and the hypervisor take. By how much it is less, or more, another
      counter of the same cgroup shows (`other`). Where there is none, up to STOLEN of it may be
      time that the hypervisor took (`stolen`, seconds of all CPUs).
    - What happens between two polls around a CPU that comes back is lost, as documented: `lost` of
      the time. In all of it, `away` seconds, each cgroup may have run, so it is not counted for any.
    - What a cgroup uses while its counters are closed, because it was idle, is published once they
      are open again: at either end of a comparison up to `pending` seconds are not."""

    BOUND = 0.01
    STOLEN = 0.03
    FEW = 0.2         # seconds of CPU time: less is not compared
    UNMEASURED = 0.1  # the greatest part that may be published as not counted

    def __init__(self):
        self.problems, self.texts = [], []
        self.worst = self.unmeasured = self.clock = (0.0, "nothing was compared")

    def compare(self, what, *, counted, enabled, running, true, other=None, stolen=0.0, unnamed=0.0,
                lost=0.0, unmeasured=UNMEASURED, pending=0.0, away=0.0):
        """Increments in seconds; `lost` and `unmeasured`, the most that may be, are relative.
        `unnamed` is, or will be, published as the time of cgroups whose names were never known."""
        if true < self.FEW:
            return
        least, most = min(counted, running), max(counted, enabled)
        clock = -min(stolen / true, self.STOLEN) if other is None else (true - other) / true
        error = max((least - true - pending) / true - max(-clock, 0.0),
                    (true - most - unnamed - pending) / true - max(clock, 0.0) - lost, 0.0)
        not_counted = max(enabled - running - away, 0.0) / true
        another = (f"no other counter, {stolen:.2f} s stolen" if other is None
                   else f"another counter {-clock:+.2%}")
        text = (f"{what}: {counted:.3f} s counted, {true:.3f} s in cpu.stat "
                f"({(counted - true) / true:+.2%}; {another}), {enabled:.3f} s "
                f"enabled, {running:.3f} s running, {lost:.2%} lost around CPUs that came back")
        self.texts.append(text)
        self.worst = max(self.worst, (error, text))
        self.unmeasured = max(self.unmeasured, (not_counted, text))
        if other is not None:
            self.clock = max(self.clock, (abs(clock), text))
        if error > self.BOUND:
            self.problems.append(text)
        elif not_counted > unmeasured:
            self.problems.append(f"more than {unmeasured:.0%} is not counted: {text}")


class Flat:
    """What the daemon holds does not grow with time: after `warm_up` seconds, the robust slope of
    each value times the time watched is less than `noise`, plus `per_hour` for each hour."""

    BOUNDS = {  # value -> (noise, per hour)
        "other files": (1, 1),  # than counters, sockets and directories of cgroups
        "sockets": (3, 1),
        "threads": (0.5, 0),
        "watches": (40, 10),  # as many directories as there happen to be
        "memory": (3 * MEBIBYTE, 2 * MEBIBYTE),
        "cgroups held by the kernel": (20, 5),
    }

    def __init__(self, warm_up):
        self.warm_up = warm_up
        self.points = collections.defaultdict(list)
        self.begun = None

    def add(self, now, values):
        self.begun = now if self.begun is None else self.begun
        for name, value in values.items():
            self.points[name].append((now, value))

    def after_warm_up(self, name):
        return [point for point in self.points[name] if point[0] - self.begun >= self.warm_up]

    def slope(self, name):
        """In an hour."""
        return 3600 * theil_sen(self.after_warm_up(name))

    @property
    def problems(self):
        found = []
        for name, (noise, per_hour) in self.BOUNDS.items():
            points = self.after_warm_up(name)
            if len(points) < 3:
                continue
            hours = (points[-1][0] - points[0][0]) / 3600
            grown = self.slope(name) * hours
            if grown > noise + per_hour * hours:
                found.append(f"{name}: {points[0][1]:.0f} -> {points[-1][1]:.0f} in "
                             f"{3600 * hours:.0f} s, by its slope {grown:+.1f}")
        return found


# Lines of the log that are no problem: level, text, and why they come.
EXPECTED = [(re.compile(rf'level={level} msg="(?:{pattern})'), why) for level, pattern, why in [
    ("info", "listening", "start"),
    ("info", "counting ", "start or reload"),
    ("info", "configuration reloaded", "reloaded"),
    ("info", "stopping", "end"),
    ("error", "configuration not reloaded: the previous one stays in force", "broken configuration"),
    ("error", r"\S+/config.yaml:", "broken configuration"),
    # The kernel no longer opens its events, and has not removed its files yet.
    ("warn", r"open event '[^']*' for cgroup '[^']*_soak/(?:churn|many)/[^']*' on CPU \d+: "
             r"the perf_event controller is not attached to this cgroup \(ENOENT\)", "a cgroup that goes"),
    ("error", r"[^\"]*\(EMFILE\)", "reload below the limit of descriptors"),
    ("warn", r"counting \d+ of \d+ matching cgroups: [^\"]*file descriptors", "too few descriptors"),
    ("warn", r"stopped counting \d+ cgroups? to make room", "too few descriptors"),
    ("warn", r"[^\"]*has no free descriptor", "lowered limit of descriptors"),
    ("warn", r"[^\"]*\(EMFILE\)", "lowered limit of descriptors"),
    ("warn", r"[^\"]*the limit of connections", "crowd of clients"),
    ("warn", r"the kernel wrote no record of \d+ of \d+ switches", "virtual machine without all records"),
    ("info", "cgroups are counted by records of switches again", "all records are written again"),
    ("warn", r"\d+ records of switches between cgroups were lost", "busy machine"),
    ("warn", "records of more than a tenth of the time were lost", "busy machine"),
    ("warn", r"\d+ cgroups? that ran [^\"]*had no name", "cgroups outside of ours"),
    ("warn", r"CPUs? [^:\"]* ha(s|ve) not responded for", "busy machine or CPU that goes"),
    ("warn", r"CPU \d+ was offline and is back", "CPU that comes back"),
    ("warn", r"lost the last counts of [^\"]*, which is offline", "CPU that goes"),
    ("warn", r"cgroups.linger is ", "client that scrapes seldom"),
    ("warn", r"zero_for of sum ", "client that scrapes seldom"),
    ("info", r"[^\"]*\bpaused?\b", "pause"),
]]


class Log:
    """Each line is one that is expected, for a reason."""

    def __init__(self):
        self.kinds = collections.Counter()
        self.problems = []

    def read(self, line):
        for pattern, why in EXPECTED:
            if pattern.search(line):
                self.kinds[why] += 1
                return
        self.problems.append(line)


class Answers:
    """Each request of health and readiness is answered with 200, in time; and where polls are late,
    the daemon says so (`poll_overruns_total`)."""

    LATEST = 10.0  # seconds in which the daemon and the client could run
    MISSING = 4    # polls that may be due between two scrapes, and not there yet
    BACK = 4       # scrapes: an overrun is counted while a poll runs that is published later

    def __init__(self):
        self.problems = []
        self.took = []
        self.seen = collections.deque(maxlen=self.BACK)  # (timestamp, polls, overruns, interval)
        self.replacements = None
        self.unreported = 0  # polls that are missing: an overrun may be counted after the poll too
        self.late = 0

    def answered(self, path, status, seconds):
        self.took.append(seconds)
        if status != 200 or seconds > self.LATEST:
            self.problems.append(f"{path}: {status} after {seconds:.3f} s")

    def polled(self, timestamp, polls, overruns, interval, replacements):
        """As one scrape after the other has them. While counters are replaced there is no poll."""
        if replacements != self.replacements:
            self.seen.clear()
            self.unreported = 0
        self.replacements = replacements
        if self.seen:
            before = self.seen[-1]
            if self.unreported > overruns - before[2]:
                self.problems.append(f"{self.unreported:.1f} polls are missing and no overruns, "
                                     f"until {before[0]:.3f}")
            missing = [self.missing(since, timestamp, polls, interval) for since in self.seen]
            self.late += missing[-1] > 0
            self.unreported = max(0, min(number - (overruns - since[2])
                                         for number, since in zip(missing, self.seen)))
        self.seen.append((timestamp, polls, overruns, interval))

    def missing(self, since, timestamp, polls, interval):
        """More polls than may be due; a reload may have changed the interval in between."""
        longest = max(interval, *(each[3] for each in self.seen))
        return (timestamp - since[0]) / longest - (polls - since[1]) - self.MISSING

    def longest(self):
        return max(self.took, default=0.0)
