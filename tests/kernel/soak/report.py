"""The figures of a run of soak_test.py, as a table for docs/development/faults.md."""

import collections


def table(soak):
    rows = [("minutes", f"{soak.minutes:.1f}"), *disturbances(soak)]
    truth = soak.truth
    rows += [("comparisons with cpu.stat", f"{len(truth.texts)} in {soak.windows} windows, "
                                           f"{soak.left_out} without a value"),
             ("worst error of CPU time", f"{truth.worst[0]:.2%}"),
             ("perf's clock from cpu.stat, at most", f"{truth.clock[0]:.2%}"),
             ("published as not counted, at most (of one that may be idle)",
              f"{truth.unmeasured[0]:.2%}")]
    for scrapes in soak.scrapes:
        rows += [(f"{name}, by {scrapes.watched.source}", value) for name, value in seen(scrapes)]
    width = max(len(name) for name, _ in rows)
    lines = [f"| {name:{width}} | {value} |" for name, value in [("figure", "value"), *rows]]
    lines.insert(1, f"| {'-' * width} | --- |")
    return "\n".join(["", *lines, "", f"worst error: {truth.worst[1]}",
                      f"most not counted: {truth.unmeasured[1]}"])


def disturbances(soak):
    did = collections.defaultdict(collections.Counter)
    for each in soak.disturbances:
        did[each.name] += each.did
    return [(name, listed(counts)) for name, counts in did.items() if counts]


def listed(counts):
    return ", ".join(f"{what} {count}" for what, count in sorted(counts.items()))


def seen(scrapes):
    yield "scrapes judged, refused for want of a descriptor", (f"{scrapes.monotone.scrapes}, "
                                                               f"{scrapes.refused}")
    yield "counters that started again", listed(scrapes.monotone.restarts) or "0"
    yield "counters that fell", str(len(scrapes.monotone.problems))
    yield "overruns, late polls", (f"{total(scrapes.last, 'poll_overruns_total'):.0f}, "
                                   f"{scrapes.answers.late}")
    yield "probes, longest", f"{len(scrapes.answers.took)}, {scrapes.answers.longest():.2f} s"
    yield "changes of CPUs between records and descriptors", str(len(scrapes.cpus_by_records) - 1)
    yield "CPU time counted by descriptors", (
        f"{scrapes.by_source['descriptors'] / max(scrapes.by_source.total(), 1):.2%}")
    for name, scale, unit in (("counters", 1, ""), ("other files", 1, ""), ("watches", 1, ""),
                              ("threads", 1, ""), ("memory", 2**20, " MiB")):
        points = scrapes.flat.after_warm_up(name)
        if points:
            yield f"{name}, first, last, robust slope", (
                f"{points[0][1] / scale:.1f}, {points[-1][1] / scale:.1f}{unit}, "
                f"{scrapes.flat.slope(name) / scale:+.2f}{unit} an hour")
    yield "lines of the log", listed(scrapes.log.kinds)


def total(scrape, name):
    return sum(scrape.with_name(f"perf_event_exporter_{name}").values()) if scrape else 0
