"""A file of cases for `promtool test rules`, with all of it twice: in clusters 'a' and 'b' of one
Prometheus, with machines, pods and containers of the same names. It changes the text, and relies on
how rules/*.yaml are written: a series, or a label set, on one line; results below their key.
"""

import re

CLUSTERS = ("a", "b")


def in_two_clusters(text):
    lines, twice = text.splitlines(keepends=True), []
    while lines:
        line = lines.pop(0)
        if re.match(r" +- \{series: ", line):
            twice.append(in_each_cluster(line))
            continue
        twice.append(line.replace(" by (", " by (cluster, "))
        if key := re.match(r"( +)exp_(?:alerts|samples):$", line):
            results = ""
            while lines and re.match(rf"{key[1]}  ", lines[0]):
                results += lines.pop(0)
            twice.append(in_each_cluster(results))
    return "".join(twice)


def in_each_cluster(lines):
    lines = re.sub(r"((?:series|labels): '[^{'\n]*)'", r"\1{}'", lines)
    return "".join(
        re.sub(r"((?:series|labels): '[^{'\n]*\{)(\}?)",
               lambda set_of, cluster=cluster:
                   f'{set_of[1]}cluster="{cluster}"{set_of[2] or ", "}', lines)
        .replace("exp_labels: {", f"exp_labels: {{cluster: {cluster}, ")
        for cluster in CLUSTERS)
