#!/usr/bin/env python3
"""Which pods Prometheus scrapes, and with which labels: its own relabelling, by promtool, over pods as
the API describes them. With packaging/prometheus/kubernetes.yml, and with the PodMonitor.

    discovery_test.py WORK_DIRECTORY [TEST...]
"""

import os
import re
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))
import manifests  # noqa: E402
import prometheus  # noqa: E402
from manifests import SOURCE, the  # noqa: E402

#       phase        container port    is scraped
PODS = [
    ("Running",   "metrics", True),
    ("Pending",   "metrics", True),   # not ready yet, or never: `up` shows that
    ("Unknown",   "metrics", True),   # the node does not answer
    ("Succeeded", "metrics", False),
    ("Failed",    "metrics", False),  # evicted, or of a node that was shut down
    ("Running",   "debug",   False),
]
NAMES = {"job": "perf-event-exporter"}
OF_NODE = {"instance_type": "m7i.metal", "zone": "z1", "arch": "amd64"}

reader = None
kustomize = None


def prepare():
    global reader, kustomize
    reader, kustomize = manifests.Reader(), manifests.Kustomize(os.path.abspath(sys.argv[1]))
    prometheus.require_promtool()


def pod(number, phase, port):
    """As Prometheus' discovery of pods describes one, as far as it is used."""
    return {
        "__meta_kubernetes_pod_phase": phase,
        "__meta_kubernetes_pod_container_port_name": port,
        "__meta_kubernetes_pod_node_name": f"node-{number}",
        "__meta_kubernetes_namespace": "perf-event-exporter",
        "__meta_kubernetes_pod_name": f"perf-event-exporter-{number}",
        "__meta_kubernetes_pod_container_name": "perf-event-exporter",
        "__meta_kubernetes_pod_label_app_kubernetes_io_name": "perf-event-exporter",
        "__meta_kubernetes_node_label_node_kubernetes_io_instance_type": "m7i.metal",
        "__meta_kubernetes_node_label_topology_kubernetes_io_zone": "z1",
        "__meta_kubernetes_node_label_kubernetes_io_arch": "amd64",
    }


def discovered(scrape):
    """Labels of each of PODS after the relabelling of `scrape`; empty for one that is dropped."""
    found = prometheus.relabelled(
        scrape, [pod(number, phase, port) for number, (phase, port, _) in enumerate(PODS)])
    return [{name: value for name, value in labels.items() if not name.startswith("__")}
            for labels in found]


def of_operator(monitor):
    """The scrape configuration that the Prometheus Operator makes of a PodMonitor, as far as it is
    relabelling."""
    endpoint, = monitor["spec"]["podMetricsEndpoints"]
    job = re.sub(r"[^A-Za-z0-9_]", "_", monitor["spec"]["jobLabel"])
    own = [
        {"source_labels": ["__meta_kubernetes_pod_phase"], "regex": "(Failed|Succeeded)",
         "action": "drop"},
        {"source_labels": ["__meta_kubernetes_pod_container_port_name"], "regex": endpoint["port"],
         "action": "keep"},
        {"source_labels": ["__meta_kubernetes_namespace"], "target_label": "namespace"},
        {"source_labels": ["__meta_kubernetes_pod_container_name"], "target_label": "container"},
        {"source_labels": ["__meta_kubernetes_pod_name"], "target_label": "pod"},
        {"source_labels": [f"__meta_kubernetes_pod_label_{job}"], "target_label": "job",
         "regex": "(.+)"},
    ]
    return {"job_name": "podMonitor/perf-event-exporter",
            "relabel_configs": own + [snake_case(rule) for rule in endpoint["relabelings"]]}


def snake_case(rule):
    return {re.sub("[A-Z]", lambda each: "_" + each[0].lower(), key): value
            for key, value in rule.items()}


class Discovery(unittest.TestCase):
    def assert_scraped(self, found, labels):
        wanted = [{**labels, "instance": f"node-{number}", "node": f"node-{number}"} if scraped else {}
                  for number, (*_, scraped) in enumerate(PODS)]
        self.assertEqual(found, wanted)

    def test_without_the_operator_pods_that_run_are_scraped(self):
        file, = reader.objects((SOURCE / "packaging/prometheus/kubernetes.yml").read_text())
        scrape, = file["scrape_configs"]
        role, = scrape.pop("kubernetes_sd_configs")  # of which Debian's build knows nothing

        self.assertEqual(role["selectors"][0]["label"], "app.kubernetes.io/name=perf-event-exporter")
        self.assertTrue(scrape["honor_labels"])
        self.assert_scraped(discovered(scrape), NAMES)

    def test_with_the_operator_pods_that_run_are_scraped(self):
        self.assert_scraped(discovered(of_operator(self.monitor("pod-monitor"))), NAMES)

    def test_with_the_operator_labels_of_nodes_are_added_where_that_is_asked_for(self):
        monitor = self.monitor("pod-monitor", "node-metadata")

        self.assert_scraped(discovered(of_operator(monitor)), {**NAMES, **OF_NODE})

    def monitor(self, *components):
        return the(reader.objects(kustomize.render("base", components)), "PodMonitor")


if __name__ == "__main__":
    manifests.run("discovery", prepare, 1)
