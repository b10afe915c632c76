#!/usr/bin/env python3
"""The Helm chart: its objects are those of the kustomize overlays and components, and its values are
what its schema and its README say. Rendered by chart/render.go, as Debian has no Helm.

    chart_test.py WORK_DIRECTORY [TEST...]
"""

import copy
import json
import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))
import manifests  # noqa: E402
import rules  # noqa: E402
from manifests import SOURCE, the  # noqa: E402

CHART = SOURCE / "packaging/helm/perf-event-exporter"
LIBRARIES = Path("/usr/share/gocode")  # of Debian's packages of Go sources
OLD, NEW = "v1.30.0", "v1.31.0"  # without and with recursiveReadOnly
ON = {"enabled": True}
SECRET = {"existingSecret": "perf-event-exporter-web"}
SECCOMP = {"type": "Localhost", "localhostProfile": "profiles/perf_event_exporter.json"}

#    values of the chart                    Kubernetes  kustomization       components
SAME = [
    ({},                                      OLD, "overlays/default", []),
    ({},                                      NEW, "overlays/default", ["recursive-read-only"]),
    ({"recursiveReadOnly": "Disabled"},       NEW, "overlays/default", []),
    ({"preset": "minimal"},                   OLD, "overlays/minimal", []),
    ({"podNames": True},                      OLD, "overlays/pod-names", []),
    ({"webConfig": SECRET},                   OLD, "overlays/default", ["web-config"]),
    ({"webConfig": {**SECRET, "clientCertificates": True}}, OLD, "overlays/default",
     ["web-config", "client-certificates"]),
    ({"podSecurityContext": {"seccompProfile": SECCOMP}}, OLD, "base", ["seccomp-localhost"]),
    ({"prometheus": {"podMonitor": ON}},      OLD, "base", ["pod-monitor"]),
    ({"prometheus": {"podMonitor": ON, "rules": ON, "alerts": ON, "rbac": {"create": True}},
      "networkPolicy": ON, "grafana": {"dashboards": ON}}, NEW, "base",
     ["pod-monitor", "prometheus-rule", "kube-prometheus-rbac", "network-policy", "dashboards",
      "recursive-read-only"]),
    ({"prometheus": {"podMonitor": {**ON, "nodeMetadata": True}, "rbac": {"create": True}}}, OLD,
     "base", ["pod-monitor", "kube-prometheus-rbac", "node-metadata"]),
]

#    what the schema has to say                          of these values
WRONG = {
    "Additional property podMonitor is not allowed": {"podMonitor": ON},
    "image.repository: Invalid type": {"image": {"repository": 1}},
    "image.digest: Does not match pattern": {"image": {"digest": "sha256:12"}},
    "preset must be one of": {"preset": "maximal"},
    "service.port: Must be less than or equal to 65535": {"service": {"port": 101730}},
    "extraArgs.0: Does not match pattern": {"extraArgs": ["log.level=debug"]},
    "prometheus.podMonitor.interval: Does not match pattern":
        {"prometheus": {"podMonitor": {"interval": "15"}}},
    "recursiveReadOnly must be one of": {"recursiveReadOnly": True},
    "Additional property enable is not allowed": {"networkPolicy": {"enable": True}},
}

reader = None
kustomize = None
renderer = None


def prepare():
    global reader, kustomize, renderer
    work = os.path.abspath(sys.argv[1])
    reader, kustomize = manifests.Reader(), manifests.Kustomize(work)
    renderer = build_renderer(work)


def build_renderer(work):
    needed = ("Masterminds/sprig", "xeipuuv/gojsonschema")
    if not shutil.which("go") or not all((LIBRARIES / "src/github.com" / each).exists()
                                         for each in needed):
        raise manifests.Missing("there is no Go with Sprig and gojsonschema "
                                "(packaging/dependencies/kubernetes.txt)")
    program = f"{work}/render-chart"
    environment = {**os.environ, "GO111MODULE": "off", "GOPATH": str(LIBRARIES), "GOFLAGS": "",
                   "GOCACHE": f"{work}/go-cache"}
    subprocess.run(["go", "build", "-o", program, str(HERE / "chart/render.go")], check=True,
                   env=environment)
    return program


def run_renderer(values, version=OLD, release="perf-event-exporter", namespace="monitoring"):
    return subprocess.run([renderer, str(CHART)], text=True, capture_output=True, input=json.dumps(
        {"release": release, "namespace": namespace, "kubeVersion": version, "values": values}))


def render(values, *args, **options):
    done = run_renderer(values, *args, **options)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)["objects"]


# --------------------------------------------------------------------------------------------------
# What both have in common

OF_HELM = ("app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "helm.sh/chart")


def comparable(objects):
    """Without what only one of the two can have: labels of Helm, the hash in the name of a ConfigMap
    or its checksum, the Namespace. Sorted, with the configuration as an object."""
    objects = copy.deepcopy([each for each in objects if each["kind"] != "Namespace"])
    configuration = rules.mounted_config_maps(objects)[0]
    text, = configuration["data"].values()
    configuration.update(data=reader.objects(text)[0])
    configuration["metadata"].update(name="configuration", labels={})
    for volume in rules.pod(objects)["volumes"]:
        volume.get("configMap", {}).update({"name": "configuration"} if "configMap" in volume else {})
    rules.template(objects)["metadata"]["annotations"].pop("checksum/config", None)
    for key in ("volumes", "volumeMounts"):
        holder = rules.pod(objects) if key == "volumes" else rules.exporter(objects)
        holder[key].sort(key=lambda each: each["name"])
    for each in rules.dashboards(objects):
        each["metadata"]["labels"].pop("app.kubernetes.io/version", None)
        each["data"] = {name: text.strip() for name, text in each["data"].items()}
    for each in objects:
        drop_labels_of_helm(each)
    return {(each["kind"], each["metadata"]["name"]): each for each in objects}


def drop_labels_of_helm(value):
    if isinstance(value, dict):
        for label in OF_HELM:
            value.pop(label, None)
        for each in value.values():
            drop_labels_of_helm(each)
    elif isinstance(value, list):
        for each in value:
            drop_labels_of_helm(each)


class Chart(unittest.TestCase):
    maxDiff = None

    def test_objects_are_those_of_the_kustomizations(self):
        for values, version, resource, components in SAME:
            with self.subTest(values, version=version):
                wanted = reader.objects(kustomize.render(resource, components))
                namespace = the(wanted, "DaemonSet")["metadata"].get("namespace")

                found = render(values, version, namespace=namespace)

                self.assertEqual(comparable(found), comparable(wanted))

    def test_they_make_sense(self):
        for values, version, *_ in SAME:
            with self.subTest(values):
                objects = render(values, version)
                self.assertEqual([complaint for rule in rules.RULES for complaint in rule(objects)], [])

    def test_two_releases_do_not_share_objects_or_pods(self):
        everything = SAME[-2][0]
        one, other = (render(everything, release=name) for name in ("one", "other"))

        names = [{(each["kind"], each["metadata"]["name"]) for each in all} for all in (one, other)]

        self.assertEqual(names[0] & names[1], set())
        for selected, objects in ((one, other), (other, one)):
            labels = rules.template(objects)["metadata"]["labels"]
            selector = rules.daemon_set(selected)["selector"]["matchLabels"]
            self.assertFalse(selector.items() <= labels.items())

    def test_a_changed_configuration_is_rolled_out(self):
        checksums = {rules.template(render(values))["metadata"]["annotations"]["checksum/config"]
                     for values in ({}, {"preset": "minimal"}, {"podNames": True},
                                    {"config": {"groups": []}})}

        self.assertEqual(len(checksums), 4)

    def test_a_configuration_in_the_values_replaces_the_shipped_one(self):
        config = {"groups": [{"name": "g", "events": ["cycles"], "scope": "cpu"}]}

        plain, named = (manifests.configuration_of(render({"config": config, "podNames": names}))
                        for names in (False, True))

        self.assertEqual(reader.objects(plain), [config])
        self.assertEqual(reader.objects(named), [{**config, "kubernetes": {"metadata": "log_links"}}])

    def test_values_reach_the_objects(self):
        digest = "sha256:" + "a" * 64
        objects = render({
            "image": {"repository": "r.example/pex", "digest": digest, "pullPolicy": "Always"},
            "imagePullSecrets": [{"name": "s"}], "fullnameOverride": "pex",
            "commonLabels": {"team": "a"}, "podLabels": {"sidecar": "no"},
            "podAnnotations": {"note": "b"}, "extraArgs": ["--log.level=debug"],
            "serviceAccount": {"name": "own", "annotations": {"c": "d"}},
            "service": {"annotations": {"e": "f"}, "port": 80},
            "webConfig": {**SECRET, "tls": False},
            "prometheus": {
                "podMonitor": {**ON, "additionalLabels": {"release": "g"}, "scheme": "https",
                               "tlsConfig": {"serverName": "h"}, "interval": "30s",
                               "basicAuth": {"username": {"name": "i", "key": "u"}},
                               "relabelings": [{"targetLabel": "j", "replacement": "k"}],
                               "metricRelabelings": [{"action": "labeldrop", "regex": "l"}]},
                "rules": {**ON, "additionalLabels": {"release": "m"}}},
            "grafana": {"dashboards": {**ON, "namespace": "graphs", "labels": {"dash": "1"},
                                       "annotations": {"grafana_folder": "n"}}}})
        pod, exporter = rules.pod(objects), rules.exporter(objects)
        monitor, endpoint = the(objects, "PodMonitor"), rules.endpoints(objects)[0]

        self.assertEqual(exporter["image"], f"r.example/pex@{digest}")
        self.assertEqual((exporter["imagePullPolicy"], pod["imagePullSecrets"]),
                         ("Always", [{"name": "s"}]))
        self.assertIn("--log.level=debug", exporter["args"])
        self.assertEqual({exporter[each]["httpGet"].get("scheme") for each in rules.PROBES}, {None})
        self.assertEqual((pod["serviceAccountName"], the(objects, "ServiceAccount")["metadata"]["name"]),
                         ("own", "own"))
        self.assertEqual(the(objects, "Service")["spec"]["ports"][0]["port"], 80)
        self.assertEqual(rules.template(objects)["metadata"]["labels"]["sidecar"], "no")
        self.assertEqual(rules.template(objects)["metadata"]["annotations"]["note"], "b")
        self.assertEqual({each["metadata"]["labels"]["team"] for each in objects}, {"a"})
        self.assertEqual({each["metadata"]["name"].split("-")[0] for each in objects}, {"pex", "own"})
        self.assertEqual(monitor["metadata"]["labels"]["release"], "g")
        self.assertEqual((endpoint["scheme"], endpoint["interval"], endpoint["tlsConfig"]),
                         ("https", "30s", {"serverName": "h"}))
        self.assertEqual(endpoint["relabelings"][-1], {"targetLabel": "j", "replacement": "k"})
        self.assertEqual(endpoint["metricRelabelings"], [{"action": "labeldrop", "regex": "l"}])
        self.assertEqual(the(objects, "PrometheusRule")["metadata"]["labels"]["release"], "m")
        for each in rules.dashboards(objects):
            self.assertEqual((each["metadata"]["namespace"], each["metadata"]["labels"]["dash"],
                              each["metadata"]["annotations"]), ("graphs", "1", {"grafana_folder": "n"}))

    def test_parts_can_be_left_out(self):
        objects = render({"service": {"enabled": False}, "serviceAccount": {"create": False},
                          "priorityClassName": "", "affinity": None, "tolerations": []})

        self.assertEqual(sorted(each["kind"] for each in objects), ["ConfigMap", "DaemonSet"])
        self.assertEqual(rules.pod(objects)["serviceAccountName"], "default")
        self.assertFalse({"priorityClassName", "affinity", "tolerations"} & rules.pod(objects).keys())

    def test_wrong_values_are_refused(self):
        for complaint, values in WRONG.items():
            with self.subTest(complaint):
                self.assertIn(complaint, run_renderer(values).stderr)

    def test_notes_name_what_was_installed(self):
        notes = json.loads(run_renderer({}, release="one").stdout)["notes"]

        self.assertIn("-n monitoring exec daemonset/one-perf-event-exporter", notes)


# --------------------------------------------------------------------------------------------------
# Its description


def leaves(values, prefix=""):
    """Path -> value, of what is no table or an empty one."""
    found = {}
    for key, value in values.items():
        if isinstance(value, dict) and value:
            found.update(leaves(value, f"{prefix}{key}."))
        else:
            found[prefix + key] = value
    return found


class Description(unittest.TestCase):
    def setUp(self):
        self.values, = reader.objects((CHART / "values.yaml").read_text())
        self.chart, = reader.objects((CHART / "Chart.yaml").read_text())

    def test_versions_are_those_of_the_project(self):
        version = re.search(r"^ *VERSION (\S+)$", (SOURCE / "CMakeLists.txt").read_text(), re.M)[1]

        self.assertEqual((self.chart["version"], self.chart["appVersion"]), (version, version))

    def test_the_schema_has_each_value_and_no_other(self):
        schema = json.loads((CHART / "values.schema.json").read_text())
        missing, unknown = [], []

        def compare(properties, values, prefix):
            missing.extend(prefix + key for key in values.keys() - properties.keys())
            unknown.extend(prefix + key for key in properties.keys() - values.keys())
            for key in values.keys() & properties.keys():
                if "properties" in properties[key]:
                    compare(properties[key]["properties"], values[key], f"{prefix}{key}.")

        compare(schema["properties"], self.values, "")

        self.assertEqual(missing, [])
        # What Kubernetes knows of probes and resources, and Helm of charts in charts.
        self.assertEqual([each for each in unknown if "Probe." not in each],
                         ["global", "resources.claims"])

    def test_the_guide_names_values_that_exist(self):
        guide = (SOURCE / "docs/containers.md").read_text()
        section = re.search(r"^### Helm chart\n.*?(?=^###? )", guide, re.M | re.S)[0]
        table = re.findall(r"^\|[^|]*\| (.*) \|$", section.partition("| --- |")[2], re.M)
        named = {name for cell in table for name in re.findall(r"`([A-Za-z.]+)(?:: \w+)?`", cell)}
        named |= set(re.findall(r"--set ([A-Za-z.]+)=", section))

        self.assertGreater(len(named), 15)
        for path in named:
            with self.subTest(path):
                value = self.values
                for key in path.split("."):
                    self.assertIn(key, value)
                    value = value.get(key)

    def test_the_readme_has_each_value_with_its_default(self):
        rows = re.findall(r"^\| `([^`]+)` \| (?:`([^`]*)`|[^|]*) \|", (CHART / "README.md").read_text(),
                          re.M)
        documented = dict(rows)
        undocumented = [path for path in leaves(self.values) if not any(
            path == each or path.startswith(f"{each}.") for each in documented)]

        self.assertEqual(undocumented, [])
        for path, default in documented.items():
            with self.subTest(path):
                value = self.values
                for key in path.split("."):
                    value = value[key]
                if default:
                    self.assertEqual(reader.objects(default), [value])
                else:
                    self.assertIsInstance(value, (dict, list))


if __name__ == "__main__":
    manifests.run("chart", prepare, 1)
