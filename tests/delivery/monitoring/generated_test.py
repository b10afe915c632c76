"""The committed rules and dashboards are what their source says, byte for byte."""

import glob
import json
import os
import re
import shutil
import tempfile
import unittest

import mixin
from cases import in_full, in_two_clusters, run

GENERATE = f"{mixin.root}/packaging/mixin/generate.sh"
ANOTHER = """(import 'mixin.libsonnet') + {
  _config+:: {
    clusterLabels: ['cluster'],
    minRunningRatio: 0.1,
    cpi+: { platformLabels: ['cpu_model', 'rack'] },
    cgroupRules: true,
    cpuRules: true,
    runbookURLPattern: 'https://wiki.invalid/perf#%s',
  },
}
"""


def generate(out, *arguments):
    done = mixin.run(GENERATE, out, *arguments)
    if (done.returncode, done.stdout) != (0, ""):
        raise AssertionError(done.stdout)


class GeneratedTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("jsonnet"):
            raise unittest.SkipTest("jsonnet is not installed (packaging/dependencies/monitoring.txt)")
        cls.out = cls.enterClassContext(tempfile.TemporaryDirectory())
        generate(cls.out)

    def test_committed_files_are_what_the_source_has(self):
        generated = sorted(os.path.relpath(path, self.out)
                           for path in glob.glob(f"{self.out}/*/*"))

        self.assertEqual(len(generated), 2 + 5)
        for name in generated:
            with self.subTest(file=name):
                self.assertEqual(mixin.read_text(f"{self.out}/{name}"),
                                 mixin.read_text(f"{mixin.root}/packaging/{name}"),
                                 "run packaging/mixin/generate.sh, and read its diff like code")

    def test_no_committed_dashboard_is_without_a_source(self):
        self.assertEqual(sorted(os.listdir(f"{self.out}/grafana")), sorted(mixin.dashboards()))

    def test_source_is_formatted(self):
        sources = glob.glob(f"{mixin.root}/packaging/mixin/**/*.libsonnet", recursive=True)

        done = mixin.run("jsonnetfmt", "-n", "2", "--string-style", "s", "--test", *sources)

        self.assertGreater(len(sources), 10)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_mixin_can_be_imported_from_a_folder_of_jsonnet_bundler(self):
        vendor = self.enterContext(tempfile.TemporaryDirectory())
        shutil.copytree(f"{mixin.root}/packaging/mixin", f"{vendor}/mixin")

        keys = mixin.run("jsonnet", "-J", vendor, "-e",
                         "std.objectFieldsAll(import 'mixin/mixin.libsonnet')")

        self.assertEqual(json.loads(keys.stdout),
                         ["_config", "grafanaDashboards", "prometheusAlerts", "prometheusRules"])
        file = json.loads(mixin.read_text(f"{vendor}/mixin/jsonnetfile.json"))
        self.assertEqual((file["version"], file["dependencies"]), (1, []))

    def test_configuration_of_a_site_makes_rules_that_promtool_takes(self):
        out = self.site()

        rules = [f"{out}/prometheus/{name}.yaml" for name in ("rules", "alerts")]
        checked = mixin.run("promtool", "check", "rules", *rules)
        self.assertEqual(checked.returncode, 0, checked.stdout)
        text = "".join(map(mixin.read_text, rules))
        self.assertIn("share_of_pmu:ratio_rate5m < 0.1\n", text)  # minRunningRatio
        self.assertIn('runbook_url: "https://wiki.invalid/perf#perfgroupmultiplexed"', text)
        self.assertIn("sum by (cluster, job, instance)", text)
        lists = re.findall(r"(?:by|on) \(([^()]*)\b(?:instance|pod|namespace)\b", text)
        self.assertGreater(len(lists), 100)
        self.assertEqual([labels for labels in lists if "cluster" not in labels], [])
        self.assertIn("sum by (cluster, job, instance, rack, namespace, workload, pod, container)", text)

    def test_ratios_of_each_cgroup_are_recorded_only_on_request(self):
        out = self.site()
        recorded = set(re.findall(r'- record: "(cgroup:.*ratio_.*)"',
                                  mixin.read_text(f"{out}/prometheus/rules.yaml")))
        asked = in_full(mixin.read_text(f"{mixin.root}/tests/delivery/monitoring/site/cgroups.yaml"))

        tested = run(asked, out)

        self.assertEqual(tested.returncode, 0, tested.stdout)
        self.assertGreater(len(recorded), 10)
        self.assertEqual(recorded & set(mixin.names_of("record")), set())
        self.assertEqual([name for name in recorded
                          if f'rule="{name}"' not in asked and f"round({name}," not in asked], [])

    def test_machines_and_pods_of_the_same_names_in_two_clusters_stay_apart(self):
        out = self.site("(import 'mixin.libsonnet') + {_config+:: {clusterLabels: ['cluster']}}")
        for path in glob.glob(f"{mixin.root}/tests/delivery/monitoring/rules/*.yaml"):
            if path.endswith("/references.yaml"):  # the rules of neighbours.yaml, over days
                continue
            with self.subTest(cases=os.path.basename(path)):
                text = in_two_clusters(mixin.read_text(path)).replace("../../../../packaging/", "")
                self.assertIn("rule_files: [prometheus/rules.yaml, prometheus/alerts.yaml]", text)
                self.assertEqual(text.count('cluster="a"'), text.count('cluster="b"'))

                tested = run(text, out)

                self.assertEqual(tested.returncode, 0, tested.stdout)

    def site(self, configuration=ANOTHER):
        """The folder with the rules of a site that has a configuration of its own."""
        if not shutil.which("promtool"):
            self.skipTest("promtool is not installed (packaging/dependencies/clients.txt)")
        out = self.enterContext(tempfile.TemporaryDirectory())
        with open(f"{out}/site.jsonnet", "w", encoding="utf-8") as file:
            file.write(configuration)
        generate(out, f"{out}/site.jsonnet")
        return out


if __name__ == "__main__":
    mixin.main()
