"""Files of cases for `promtool test rules`: rules/*.yaml and site/*.yaml, which have more to a line than
promtool reads, and the same once more for two clusters.

A series, or a label set, is one line, results are below their key. Lists in brackets stand for as many
lines, the first of which takes the first word of each list:

    - {series: 'perf_cpu_cycles_total{instance="m1", cpu="[0 1]"}', values: '0+[9000 3000]x20'}
"""

import re

import mixin

CLUSTERS = ("a", "b")
LIST = re.compile(r"\[([^][]+)\]")


def run(text, folder):
    """What promtool says of the cases, when they are in this folder."""
    with open(f"{folder}/cases.yaml", "w", encoding="utf-8") as file:
        file.write(text)
    return mixin.run("promtool", "test", "rules", file.name)


def in_full(text):
    return "".join(map(_each_of, text.splitlines(keepends=True)))


def _each_of(line):
    lists = [words.split() for words in LIST.findall(line)]
    if not lists or not re.match(r" +- \{(?:series|labels): ", line):
        return line
    return "".join(LIST.sub(lambda _, words=iter(words): next(words), line)
                   for words in zip(*lists, strict=True))


def in_two_clusters(text):
    """All of it twice: in clusters 'a' and 'b' of one Prometheus, with machines, pods and containers of
    the same names."""
    lines, twice = in_full(text).splitlines(keepends=True), []
    while lines:
        line = lines.pop(0)
        if re.match(r" +- \{series: ", line):
            twice.append(_in_each_cluster(line))
            continue
        twice.append(line.replace(" by (", " by (cluster, "))
        if key := re.match(r"( +)exp_(?:alerts|samples):$", line):
            results = ""
            while lines and re.match(rf"{key[1]}  ", lines[0]):
                results += lines.pop(0)
            twice.append(_in_each_cluster(results))
    return "".join(twice)


def _in_each_cluster(lines):
    lines = re.sub(r"((?:series|labels): '[^{'\n]*)'", r"\1{}'", lines)
    return "".join(
        re.sub(r"((?:series|labels): '[^{'\n]*\{)(\}?)",
               lambda set_of, cluster=cluster:
                   f'{set_of[1]}cluster="{cluster}"{set_of[2] or ", "}', lines)
        .replace("exp_labels: {", f"exp_labels: {{cluster: {cluster}, ")
        for cluster in CLUSTERS)
