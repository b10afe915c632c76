#!/usr/bin/env python3
"""What docs/recipes.md and docs/containers.md say of other programs around Prometheus: joins have the
value that they should, over series as those programs have them; relabelling keeps series apart; scrape
configurations of other collectors (packaging/collectors) are ours.

    recipes_test.py WORK_DIRECTORY [TEST...]
"""

import json
import re
import sys
import textwrap
import unittest
from pathlib import Path

HERE = Path(__file__).parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))
import manifests  # noqa: E402
import prometheus  # noqa: E402
from manifests import SOURCE  # noqa: E402

RECIPES, GUIDE = SOURCE / "docs/recipes.md", SOURCE / "docs/containers.md"
COLLECTORS = SOURCE / "packaging/collectors"
ID = "0123456789abcdef" * 4
APP, PAUSE, SSH = (f"/kubepods.slice/{ID}", "/kubepods.slice/pause", "/system.slice/ssh.service")
OURS = 'job="perf-event-exporter", instance="n1", node="n1"'
CADVISOR = 'job="kubelet", instance="10.0.0.1:10250", node="n1"'
NAMES = 'namespace="shop", pod="web-0", container="app"'


def of_ours(metric, values):
    """Series of the exporter of two nodes; `values` are by cgroup, and those of the other node differ."""
    series = {f'{metric}{{{OURS}, cgroup="{cgroup}"{container_id(cgroup)}}}': each
              for cgroup, each in values.items()}
    other = OURS.replace("n1", "n2")
    return {**series, f'{metric}{{{other}, cgroup="{SSH}"}}': "0+7x20"}


def container_id(cgroup):
    return f', container_id="{ID}"' if cgroup == APP else ""


def of_cadvisor(metric, values, names={APP: NAMES}):
    return {f'{metric}{{{CADVISOR}, id="{cgroup}", {names.get(cgroup, "")}}}'.replace(", }", "}"): each
            for cgroup, each in values.items()}


SERIES = {
    **of_ours("perf_cgroup_cycles_total", {APP: "0+12000x20", PAUSE: "0+60x20", SSH: "0+600x20"}),
    **of_ours("perf_cgroup_instructions_total", {APP: "0+6000x20", PAUSE: "0+60x20", SSH: "0+300x20"}),
    **of_ours("perf_cgroup_task_clock_seconds_total", {APP: "0+30x20", SSH: "0+6x20"}),
    **of_ours("perf_cgroup_context_switches_total", {APP: "0+120x20", SSH: "0+60x20"}),
    f'perf_cgroup_info{{{OURS}, cgroup="{APP}", container_id="{ID}", {NAMES}}}': "1x20",
    f'perf_cgroup_info{{{OURS}, cgroup="{SSH}", unit="ssh.service"}}': "1x20",
    # The root, slices and services have no names.
    **of_cadvisor("container_memory_working_set_bytes",
                  {"/": "9x20", "/kubepods.slice": "8x20", APP: "4096x20", SSH: "7x20"}),
    **of_cadvisor("container_cpu_cfs_throttled_periods_total", {APP: "0+60x20", SSH: "0x20"}),
    **of_cadvisor("container_cpu_usage_seconds_total", {"/": "0+90x20", APP: "0+30x20", SSH: "0+12x20"}),
    f'kube_pod_container_info{{job="kube-state-metrics", instance="k", {NAMES}, '
    f'container_id="containerd://{ID}"}}': "1x20",
    f'scrape_samples_scraped{{{OURS}}}': "200x20",
    f'scrape_samples_post_metric_relabeling{{{OURS}}}': "50x20",
}
WITH_NAMES = f"{{{NAMES}}}"

#   document, chapter, number of the query, its samples
JOINS = [
    (RECIPES, "11", 0, [(WITH_NAMES, 100)]),
    (RECIPES, "11", 1, [(f'{{{OURS}, cgroup="{APP}", container_id="{ID}"}}', 2)]),
    (RECIPES, "11", 2, [(f'{{cgroup="{APP}", node="n1"}}', 1), (f'{{cgroup="{SSH}", node="n1"}}', 0.5)]),
    (RECIPES, "12", 1, [(f"{{{OURS}}}", 0.25)]),
    (RECIPES, "12", 2, [(f'{{{OURS}, cgroup="{APP}", container_id="{ID}"}}', 100)]),
    (GUIDE, "Kubernetes", 0, [(WITH_NAMES, 2)]),
    (GUIDE, "Kubernetes", 1, [(WITH_NAMES, 2)]),
]

reader = None


def prepare():
    global reader
    reader = manifests.Reader()
    prometheus.require_promtool()


def chapter(document, name):
    return re.search(rf"^## {name}\b.*?(?=^## |\Z)", document.read_text(), re.M | re.S)[0]


def blocks(document, name, language):
    found = re.findall(rf"^( *)```{language}\n(.*?)^\1```$", chapter(document, name), re.M | re.S)
    return [textwrap.dedent(block) for _, block in found]


def queries(document, name):
    return [query for block in blocks(document, name, "promql")
            for query in re.split(r"\n\s*\n", block.strip())]


def ours():
    """The one scrape configuration of packaging/prometheus/kubernetes.yml."""
    file, = reader.objects((SOURCE / "packaging/prometheus/kubernetes.yml").read_text())
    scrape, = file["scrape_configs"]
    return scrape


class Joins(unittest.TestCase):
    def test_they_find_what_belongs_together(self):
        for document, name, number, samples in JOINS:
            with self.subTest(document=document.name, chapter=name, query=number):
                query = queries(document, name)[number]
                self.assertEqual(prometheus.complaints_of(query, SERIES, samples), "")


class Relabelling(unittest.TestCase):
    def relabelled(self, rules, series):
        return prometheus.relabelled({"job_name": "j", "relabel_configs": rules}, series)

    def test_the_label_of_cadvisor_becomes_ours(self):
        block, = (each for each in blocks(RECIPES, "11", "yaml") if "metric_relabel" in each)
        rules = reader.objects(block)[0]["metric_relabel_configs"]

        found = self.relabelled(rules, [{"id": APP}, {"other": "x"}])

        self.assertEqual([each.get("cgroup") for each in found], [APP, None])

    def test_what_is_left_is_without_evidence_of_cgroups_and_every_series_its_own(self):
        block, = (each for each in blocks(RECIPES, "12", "yaml") if "metric_relabel" in each)
        rules = reader.objects(block)[0]["metric_relabel_configs"]
        scraped = [labels for case in ("cgroups_have_names", "hybrid_cores") for labels in golden(case)]

        found = self.relabelled(rules, scraped)

        kept = [visible(labels) for labels in found if labels]
        self.assertEqual(len({tuple(sorted(each.items())) for each in kept}), len(kept))
        for before, after in zip(scraped, found):
            name = before["__name__"]
            if "cgroup" in before and name.startswith(("perf_group_", "perf_event_")):
                self.assertEqual(after, {})
            elif "cgroup" in before and name != "perf_cgroup_info":
                self.assertFalse({"container_id", "pod_uid"} & set(after), name)
            else:
                self.assertEqual(visible(after), {**visible(before), "case": before["case"]})
        self.assertTrue(any("container_id" in each for each in scraped))
        self.assertLess(len(kept), len(scraped))


def visible(labels):
    """Of a series: what promtool adds to a target is left out."""
    added = {"instance", "job", "__address__", "__scheme__", "__metrics_path__", "__scrape_interval__",
             "__scrape_timeout__"}
    return {name: value for name, value in labels.items() if name not in added}


def golden(case):
    """Labels of the series of the last scrape of a golden case, each once."""
    text = (SOURCE / f"tests/e2e/cases/{case}/metrics.prom").read_text()
    series = dict.fromkeys(re.findall(r"^(perf_\w+)(?:\{(.*)\})? \S+$", text, re.M))
    return [{"__name__": name, "case": case,
             **{key: re.sub(r"\\(.)", r"\1", value)
                for key, value in re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels)}}
            for name, labels in series]


class Collectors(unittest.TestCase):
    def test_the_opentelemetry_collector_scrapes_as_prometheus_does(self):
        collector, = reader.objects((COLLECTORS / "opentelemetry-collector.yaml").read_text())
        scrape, = collector["receivers"]["prometheus"]["config"]["scrape_configs"]

        self.assertEqual(scrape, {**ours(), "scrape_interval": "15s"})

    def test_the_pipeline_of_the_opentelemetry_collector_uses_each_part(self):
        collector, = reader.objects((COLLECTORS / "opentelemetry-collector.yaml").read_text())
        pipeline = collector["service"]["pipelines"]["metrics"]

        for kind in ("receivers", "processors", "exporters"):
            self.assertEqual(pipeline[kind], list(collector[kind]))
        self.assertEqual(collector["processors"]["groupbyattrs"]["keys"], ["container.id"])

    def test_alloy_discovers_and_relabels_as_prometheus_does(self):
        alloy = (COLLECTORS / "grafana-alloy.alloy").read_text()

        rules = [arguments(rule) for rule in re.findall(r"^  rule \{\n(.*?)^  \}", alloy, re.M | re.S)]

        self.assertEqual(rules, ours()["relabel_configs"])
        discovery, = ours()["kubernetes_sd_configs"]
        selectors, = re.findall(r"^  selectors \{\n(.*?)^  \}", alloy, re.M | re.S)
        self.assertEqual([arguments(selectors)], discovery["selectors"])
        self.assertEqual(re.search(r'job_name += "(.*)"', alloy)[1], ours()["job_name"])
        self.assertEqual(re.search(r"honor_labels += (.*)", alloy)[1], "true")


def arguments(block):
    """NAME = VALUE of a block of Alloy, of which values are texts and lists of texts."""
    return {name: json.loads(value) for name, value in re.findall(r"^ *(\w+) += (.*)$", block, re.M)}


if __name__ == "__main__":
    manifests.run("recipes", prepare, 1)
