#!/usr/bin/env python3
"""The manifests of packaging/kubernetes, rendered: sense, and that the daemon understands what they
tell it. No cluster is needed.

    manifests_test.py DAEMON WORK_DIRECTORY [TEST...]
"""

import json
import os
import re
import signal
import ssl
import sys
import tempfile
import textwrap
import unittest
import urllib.request
from pathlib import Path

HERE = Path(__file__).parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "kernel")]
import harness  # noqa: E402
import manifests  # noqa: E402
import rules  # noqa: E402
import web  # noqa: E402
from manifests import SOURCE, configuration_of, of_kind, the  # noqa: E402

#   what is rendered      with components; every part is in one of these
COMPOSITIONS = [
    ("base", ()),
    ("overlays/default", ()),
    ("overlays/minimal", ()),
    ("overlays/pod-names", ()),
    ("base", ("namespace", "pod-monitor", "node-metadata", "seccomp-localhost", "network-policy",
              "kube-prometheus-rbac", "prometheus-rule", "dashboards", "recursive-read-only",
              "pod-names")),
    ("overlays/pod-names", ("pod-monitor", "recursive-read-only")),
    ("overlays/minimal", ("seccomp-localhost",)),
    ("overlays/default", ("web-config",)),
    ("overlays/default", ("web-config", "client-certificates")),
]
ALL = "base + " + " + ".join(COMPOSITIONS[4][1])  # for each kind of object
GUIDE = SOURCE / "docs" / "containers.md"

reader = None
kustomize = None
rendered = {}  # of COMPOSITIONS -> YAML, objects


def prepare():
    global reader, kustomize
    harness.daemon_binary, work = map(os.path.abspath, sys.argv[1:3])
    reader, kustomize = manifests.Reader(), manifests.Kustomize(work)
    for resource, components in COMPOSITIONS:
        text = kustomize.render(resource, components)
        rendered[" + ".join([resource, *components])] = text, reader.objects(text)


class Manifests(unittest.TestCase):
    def test_every_part_is_rendered(self):
        parts = {str(each.parent.relative_to(manifests.KUBERNETES))
                 for each in manifests.KUBERNETES.rglob("kustomization.yaml")}
        used = {part for resource, components in COMPOSITIONS
                for part in [resource, *(f"components/{each}" for each in components)]}

        self.assertEqual(parts, used)

    def test_they_make_sense(self):
        for name, (_, objects) in rendered.items():
            for rule in rules.RULES:
                with self.subTest(name, rule=rule.__name__):
                    self.assertEqual(list(rule(objects)), [])

    def test_version_is_that_of_the_project(self):
        version = re.search(r"^ *VERSION (\S+)$", (SOURCE / "CMakeLists.txt").read_text(), re.M)[1]
        for name, (_, objects) in rendered.items():
            with self.subTest(name):
                self.assertEqual(versions_in(objects), {version})
                self.assertEqual(rules.exporter(objects)["image"], f"perf_event_exporter:{version}")

    def test_an_operator_can_name_image_and_namespace(self):
        objects = reader.objects(kustomize.render_own({
            "resources": ["overlays/default"], "namespace": "monitoring",
            "images": [{"name": "perf_event_exporter", "newName": "images.example/pex", "newTag": "2"}]}))

        self.assertEqual(rules.exporter(objects)["image"], "images.example/pex:2")
        self.assertEqual(the(objects, "Namespace")["metadata"]["name"], "monitoring")
        self.assertEqual(list(rules.all_are_in_the_same_namespace(objects)), [])

    def test_the_kustomization_of_the_guide_renders(self):
        shipped, own = kustomizations_in_guide()
        for kustomization in (shipped, own):
            objects = rendered_own(kustomization)
            image, = kustomization["images"]
            for rule in rules.RULES:
                with self.subTest(kustomization["resources"], rule=rule.__name__):
                    self.assertEqual(list(rule(objects)), [])
            self.assertEqual(rules.exporter(objects)["image"], f"{image['newName']}:{image['newTag']}")
        self.assertTrue(of_kind(rendered_own(shipped), "PodMonitor"))

    def test_the_configuration_of_the_guide_replaces_the_shipped_one_and_has_names_of_pods(self):
        _, own = kustomizations_in_guide()
        overlay = {**own, "resources": ["overlays/default"], "components": ["components/pod-names"],
                   "configMapGenerator": [{**each, "namespace": own["namespace"]}
                                          for each in own["configMapGenerator"]]}
        for kustomization in (own, overlay):
            with self.subTest(kustomization["resources"]):
                objects = rendered_own(kustomization)

                self.assertEqual(configuration_of(objects), configuration_in_guide())
                self.assertEqual(mistakes_in(configuration_in_guide()), [])
                self.assertEqual(source_of_names(objects), "/var/log/containers")
                self.assertTrue(the(objects, "Namespace"))

    def test_the_patch_of_the_guide_lets_prometheus_in_where_the_exporter_has_tls(self):
        patch, = (reader.objects(block)[0] for block in yaml_in_guide()
                  if block.startswith("patches:") and "PodMonitor" in block)

        objects = reader.objects(kustomize.render_own({
            "resources": ["base"], "namespace": "monitoring", **patch,
            "components": ["components/pod-monitor", "components/web-config"]}))
        endpoint, = rules.endpoints(objects)
        secret, = (each["secret"]["secretName"] for each in rules.pod(objects)["volumes"]
                   if "secret" in each)

        self.assertEqual(endpoint["scheme"], "https")
        self.assertEqual(endpoint["tlsConfig"]["ca"]["secret"]["name"], secret)
        self.assertIn(f"--from-file={endpoint['tlsConfig']['ca']['secret']['key']} ",
                      GUIDE.read_text())
        self.assertEqual(set(endpoint["basicAuth"]), {"username", "password"})

    def test_rules_and_alerts_are_those_of_prometheus(self):
        _, objects = rendered[ALL]
        for kind in ("rules", "alerts"):
            with self.subTest(kind):
                source = (SOURCE / f"packaging/prometheus/{kind}.yaml").read_text()
                rule, = (each for each in of_kind(objects, "PrometheusRule")
                         if each["metadata"]["name"].endswith(kind))
                self.assertEqual(rule["spec"], reader.objects(source)[0],
                                 "run packaging/kubernetes/generate.sh")

    def test_each_dashboard_has_a_config_map(self):
        _, objects = rendered[ALL]

        found = {name: text for each in rules.dashboards(objects)
                 for name, text in each["data"].items()}

        self.assertEqual(found, {each.name: each.read_text() for each in
                                 (SOURCE / "packaging/grafana").glob("*.json")},
                         "run packaging/kubernetes/generate.sh")
        self.assertEqual(len(rules.dashboards(objects)), len(found))

    def test_what_is_mounted_below_sysfs_is_read_only_where_that_is_asked_for(self):
        for name, (_, objects) in rendered.items():
            with self.subTest(name):
                sysfs, = (each for each in rules.exporter(objects)["volumeMounts"]
                          if each["mountPath"] == "/host/sys")
                self.assertEqual(sysfs.get("recursiveReadOnly"),
                                 "IfPossible" if "recursive" in name else None)

    def test_the_seccomp_profile_that_is_named_is_the_one_that_is_shipped(self):
        profile = json.loads((SOURCE / "packaging/container/seccomp.json").read_text())
        allowed = {name for each in profile["syscalls"] if each["action"] == "SCMP_ACT_ALLOW"
                   for name in each["names"]}
        _, objects = rendered["overlays/minimal + seccomp-localhost"]

        chosen = rules.pod(objects)["securityContext"]["seccompProfile"]

        self.assertIn("perf_event_open", allowed)
        self.assertEqual(chosen, {"type": "Localhost",
                                  "localhostProfile": "profiles/perf_event_exporter.json"})
        self.assertIn("/var/lib/kubelet/seccomp/" + chosen["localhostProfile"], GUIDE.read_text())

    def test_the_web_configuration_is_read_where_its_secret_is_mounted(self):
        _, objects = rendered["overlays/default + web-config"]
        exporter, pod = rules.exporter(objects), rules.pod(objects)
        option, path = next(each for each in exporter["args"] if "web.config" in each).split("=")

        mounts = {each["mountPath"]: each["name"] for each in exporter["volumeMounts"]}
        secrets = {each["name"]: each["secret"] for each in pod["volumes"] if "secret" in each}
        secret = secrets[mounts[os.path.dirname(path)]]

        self.assertEqual(option, "--web.config.file")
        self.assertIn(f"create secret generic {secret['secretName']} ", GUIDE.read_text())
        self.assertIn(f"--from-file={os.path.basename(path)} ", GUIDE.read_text())
        self.assertEqual((secret["defaultMode"], pod["securityContext"]["fsGroup"]), (0o440, 65534))
        for probe in rules.PROBES:
            self.assertEqual(exporter[probe]["httpGet"]["scheme"], "HTTPS")


def kustomizations_in_guide():
    """Both: one with a shipped configuration, one with a configuration of the operator's own."""
    found = [reader.objects(block)[0] for block in yaml_in_guide() if "\nresources:" in block]
    for kustomization in found:
        for key in ("resources", "components"):
            kustomization[key] = [each.removeprefix("perf_event_exporter/packaging/kubernetes/")
                                  for each in kustomization[key]]
    return found


def configuration_in_guide():
    text, = (block for block in yaml_in_guide() if block.startswith("groups:"))
    return text


def rendered_own(kustomization):
    return reader.objects(kustomize.render_own(
        kustomization, {"perf_event_exporter.yaml": configuration_in_guide()}))


def source_of_names(objects):
    """The directory of the node whose links name the pods, or None."""
    kubernetes = reader.objects(configuration_of(objects))[0].get("kubernetes", {})
    if kubernetes.get("metadata") != "log_links":
        return None
    mounts = {each["mountPath"]: each["name"] for each in rules.exporter(objects)["volumeMounts"]}
    volumes = {each["name"]: each for each in rules.pod(objects)["volumes"]}
    return volumes[mounts[kubernetes.get("log_links", default_of_log_links())]]["hostPath"]["path"]


def default_of_log_links():
    shipped = (SOURCE / "config/perf_event_exporter.yaml").read_text()
    return re.search(r"^  log_links: (\S+)$", shipped, re.M)[1]


def yaml_in_guide():
    return map(textwrap.dedent, re.findall(r"```yaml\n(.*?)```", GUIDE.read_text(), re.S))


def versions_in(objects):
    labels = [each["metadata"].get("labels", {}) for each in objects]
    labels.append(rules.template(objects)["metadata"]["labels"])
    return {each["app.kubernetes.io/version"] for each in labels
            if "app.kubernetes.io/version" in each}


def configurations():
    """Those that differ, by the last composition that has it."""
    names = {configuration_of(objects): name for name, (_, objects) in rendered.items()}
    return {name: config for config, name in names.items()}


class Configurations(unittest.TestCase):
    """What the daemon makes of its options and of the files in the ConfigMaps."""

    def parsed(self, name):
        """The configuration of one composition, as an object."""
        return reader.objects(configuration_of(rendered[name][1]))[0]

    def test_options_are_those_of_the_daemon(self):
        known = set(re.findall(r"^  +(--[a-z.-]+)", harness.run("--help").stdout, re.M))
        for name, (_, objects) in rendered.items():
            with self.subTest(name):
                given = {each.partition("=")[0] for each in rules.exporter(objects)["args"]}
                self.assertLessEqual(given, known)

    def test_the_port_is_the_daemons_default(self):
        default = int(re.search(r"--web.listen-address .*?\[:(\d+)\]", harness.run("--help").stdout,
                                re.S)[1])
        for name, (_, objects) in rendered.items():
            with self.subTest(name):
                ports = {"health": default + 1} if "client-certificates" in name else {}
                self.assertEqual(rules.named_ports(objects), {"metrics": default, **ports})

    def test_they_have_no_errors(self):
        for name, config in configurations().items():
            with self.subTest(name):
                self.assertEqual(mistakes_in(config), [])

    def test_probed_and_scraped_paths_are_served(self):
        _, objects = rendered[ALL]
        paths = [rules.exporter(objects)[probe]["httpGet"]["path"] for probe in rules.PROBES]
        paths += [endpoint["path"] for endpoint in rules.endpoints(objects)]

        with harness.Daemon(configuration_of(objects)) as daemon:
            answers = {path: daemon.get(path)[0] for path in paths}

        self.assertEqual(answers, dict.fromkeys(paths, 200))

    def test_probes_pass_where_the_web_configuration_requires_client_certificates(self):
        _, without = rendered["overlays/default + web-config"]
        _, objects = rendered["overlays/default + web-config + client-certificates"]
        option = next(each for each in rules.exporter(objects)["args"] if "health" in each)
        self.assertEqual(option, f"--web.health-address=:{rules.named_ports(objects)['health']}")
        ports = {"health": harness.free_port()}
        option = f"--web.health-address=127.0.0.1:{ports['health']}"

        authority = web.authority_of(self)
        with harness.Daemon("groups: [{name: s, events: [context-switches], scope: cpu}]\n", option,
                            authority.option(web.CLIENT_CERTIFICATES),
                            tls=authority.context(authority.issue("client"))) as daemon:
            self.assertEqual(failed_probes(without, daemon), list(rules.PROBES))
            self.assertEqual(failed_probes(objects, daemon, ports), [])
            daemon.send(signal.SIGSTOP)
            try:  # the kernel still accepts connections
                failed = failed_probes(objects, daemon, ports, patience=0.5)
            finally:
                daemon.send(signal.SIGCONT)
            self.assertEqual(failed, list(rules.PROBES))

    def test_names_of_pods_are_read_where_they_are_mounted(self):
        for name, (_, objects) in rendered.items():
            with self.subTest(name):
                self.assertEqual(source_of_names(objects), "/var/log/containers"
                                 if name.startswith("overlays/pod-names") else None)

    def test_pod_names_counts_what_the_default_counts(self):
        with_names = self.parsed("overlays/pod-names")

        del with_names["kubernetes"]

        self.assertEqual(with_names, self.parsed("overlays/default"))

    def test_minimal_counts_fewer_events(self):
        minimal, default = (
            {event for group in self.parsed(name)["groups"] for event in group["events"]}
            for name in ("overlays/minimal", "overlays/default"))

        self.assertLessEqual(2 * len(minimal), len(default))
        self.assertLess(minimal, default)

    def test_a_scrape_within_the_limit_of_series_is_within_that_of_samples(self):
        shipped = (SOURCE / "config/perf_event_exporter.yaml").read_text()
        default = int(re.search(r"^  max_series: (\d+)", shipped, re.M)[1])
        for name, (_, objects) in rendered.items():
            for monitor in of_kind(objects, "PodMonitor"):
                limits = self.parsed(name).get("limits", {})
                self.assertGreater(monitor["spec"]["sampleLimit"],
                                   limits.get("max_series", default) * 1.1)


def failed_probes(objects, daemon, ports=None, patience=10):
    """As a kubelet asks: without a certificate, a password or a look at the server's certificate.
    `ports` are those by name, but for that of the metrics."""
    ports = {"metrics": daemon.address.split(":")[1], **(ports or {})}
    return [name for name in rules.PROBES
            if not passes(rules.exporter(objects)[name]["httpGet"], ports, patience)]


def passes(probe, ports, patience):
    try:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        scheme = probe.get("scheme", "HTTP").lower()
        url = f"{scheme}://127.0.0.1:{ports[probe['port']]}{probe['path']}"
        with urllib.request.urlopen(url, context=context, timeout=patience) as answer:
            return answer.status == 200
    except OSError:
        return False


def mistakes_in(config):
    """What the daemon says against a file wherever it runs. Events and cgroups that this machine lacks
    are no mistakes."""
    told = harness.run("--config.check", config=config)
    text = told.stdout + told.stderr
    found = [line for line in text.splitlines() if re.match(r"/\S+\.yaml:", line)
             and "matched no cgroup when the configuration was loaded" not in line]
    return found if found or "\nvalid: " in text else [text]


ID = "0123456789abcdef" * 4
POD = "8d1c5a52_0a6a_4b0e_9a3e_7f1f5a1c2b3d"
NODE = {  # cgroup -> whether it is selected
    "/kubepods.slice": False,
    f"/kubepods.slice/kubepods-pod{POD}.slice": False,
    f"/kubepods.slice/kubepods-pod{POD}.slice/cri-containerd-{ID}.scope": True,
    f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{POD}.slice/crio-{ID}.scope": True,
    f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{POD}.slice/crio-conmon-{ID}.scope":
        False,
    f"/kubepods/besteffort/pod{POD.replace('_', '-')}/{ID}": True,
    f"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod{POD}.slice/cri-containerd-{ID}.scope":
        True,
    f"/system.slice/containerd.service/kubepods-burstable-pod{POD}.slice:cri-containerd:{ID}": True,
    "/system.slice/kubelet.service": True,
    "/user.slice/user-0.slice/session-1.scope": False,
}


class Selection(unittest.TestCase):
    def setUp(self):
        harness.require_events("task-clock")  # where nothing can be counted, nothing is selected

    def selected(self, config):
        with tempfile.TemporaryDirectory(prefix="pex_test_") as scratch:
            for path in NODE:
                os.makedirs(scratch + path, exist_ok=True)
            told = harness.run("cgroups", f"--path.cgroupfs={scratch}", config=config)
        return {line.split()[1] for line in told.stdout.splitlines() if line.startswith("counted ")}

    def test_containers_of_pods_are_selected_under_every_driver(self):
        containers = {path for path, wanted in NODE.items() if wanted and "kubepods" in path}
        for name, config in configurations().items():
            with self.subTest(name):
                self.assertLessEqual(containers, self.selected(config))

    def test_base_selects_services_of_the_node_as_well_and_nothing_else(self):
        _, objects = rendered["base"]

        self.assertEqual(self.selected(configuration_of(objects)),
                         {path for path, wanted in NODE.items() if wanted})


if __name__ == "__main__":
    manifests.run("manifests", prepare, 2)
