"""What recording rules and alerts say of made-up series: rules/*.yaml, for `promtool test rules`.

Each alert has a case in which it fires, with all its labels and texts, and one in which it does
not; each recording rule one with a value.
"""

import glob
import re
import shutil
import tempfile
import unittest

import mixin
from cases import in_full, run

CASES = sorted(glob.glob(f"{mixin.root}/tests/delivery/monitoring/rules/*.yaml"))


def outcomes(text):
    """(alert, whether it fires) of each case."""
    for case in re.split(r"\n(?= +- (?:alertname|\{alertname):? )", text):
        name = re.match(r" +- \{?alertname: (\w+)", case)
        if name:
            yield name[1], "exp_labels" in case.partition("promql_expr_test")[0]


def expanded(name):
    """Each name that braces stand for, as in a shell: a_{b,c}."""
    braces = re.fullmatch(r"(.*?)\{(.*?)\}(.*)", name)
    if not braces:
        return [name]
    return [each for part in braces[2].split(",")
            for each in expanded(braces[1] + part + braces[3])]


class RulesTest(unittest.TestCase):
    def setUp(self):
        if not shutil.which("promtool"):
            self.skipTest("promtool is not installed (packaging/dependencies/clients.txt)")

    def test_promtool_takes_the_rules(self):
        checked = mixin.run("promtool", "check", "rules", *mixin.RULE_FILES)
        self.assertEqual(checked.returncode, 0, checked.stdout)

    def test_cases_turn_out_as_described(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        for path in CASES:
            with self.subTest(case=path):
                text = in_full(mixin.read_text(path)).replace("../../../../", f"{mixin.root}/")

                tested = run(text, folder)

                self.assertEqual(tested.returncode, 0, tested.stdout)

    def test_promtool_takes_the_configuration_of_machines(self):
        self.check_config(mixin.read_text(f"{mixin.root}/packaging/prometheus/prometheus.yml"))

    def test_promtool_takes_the_configuration_of_kubernetes_but_for_the_discovery(self):
        # Which Debian's build does not know: what it discovers is left out, all else is checked.
        text = mixin.read_text(f"{mixin.root}/packaging/prometheus/kubernetes.yml")

        without, left_out = re.subn(r"(?m)^    kubernetes_sd_configs:\n(?:      .*\n)+", "", text)

        self.assertEqual(left_out, 1)
        self.check_config(without)

    def check_config(self, text):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        for name in ("rules.yaml", "alerts.yaml"):
            shutil.copy(f"{mixin.root}/packaging/prometheus/{name}", folder)
        with open(f"{folder}/prometheus.yml", "w", encoding="utf-8") as file:
            file.write(text)
        # Files of passwords and certificates are not here.
        checked = mixin.run("promtool", "check", "config", "--syntax-only",
                            f"{folder}/prometheus.yml")
        self.assertEqual(checked.returncode, 0, checked.stdout)
        self.assertIn("SUCCESS", checked.stdout)


class CasesTest(unittest.TestCase):
    def setUp(self):
        self.cases = [mixin.read_text(path) for path in CASES]

    def test_each_alert_has_a_case_in_which_it_fires_and_one_in_which_it_does_not(self):
        tried = {outcome for text in self.cases for outcome in outcomes(text)}

        self.assertEqual(sorted(tried), sorted((alert, fires) for alert in mixin.names_of("alert")
                                               for fires in (False, True)))

    def test_each_recording_rule_has_a_case_with_a_value(self):
        asked = "".join(re.findall(r"- expr: .+\n +eval_time: .+\n +exp_samples:\n(?: +- \{labels: .+\n)+",
                                   "".join(self.cases)))

        recorded = mixin.names_of("record")

        self.assertGreater(len(recorded), 30)
        for name in recorded:
            with self.subTest(record=name):
                self.assertRegex(asked, rf"(?<![\w:]){re.escape(name)}(?![\w:])")

    def test_each_alert_is_explained(self):
        manual = mixin.read_text(f"{mixin.root}/docs/monitoring.md")

        explained = re.findall(r"^#+ (Perf\w+)$", manual, re.M)

        self.assertEqual(explained, mixin.names_of("alert"))

    def test_the_manual_has_each_alert_with_its_severity_and_duration(self):
        manual = mixin.read_text(f"{mixin.root}/docs/monitoring.md")
        alerts = re.findall(r'- alert: "(\w+)"\n(?:.*\n)+?        for: (\w+)\n'
                            r'        labels:\n          severity: "(\w+)"',
                            mixin.read_text(mixin.RULE_FILES[1]))

        table = re.findall(r"^\| (Perf\w+) \| (\w+) \| (\w+) \|", manual, re.M)

        self.assertEqual([name for name, _, _ in alerts], mixin.names_of("alert"))
        self.assertEqual([(name, duration, severity) for name, severity, duration in table], alerts)

    def test_each_recording_rule_is_in_the_manual(self):
        manual = mixin.read_text(f"{mixin.root}/docs/monitoring.md")

        cells = re.findall(r"^\| (`[\w{,}]+:.*?`) \|", manual, re.M)
        names = [name for cell in cells for each in re.findall(r"`(.*?)`", cell)
                 for name in expanded(each)]

        self.assertEqual(sorted(names), sorted(mixin.names_of("record")))

    def test_each_alert_reports_how_bad_it_is_and_where_to_read_on(self):
        text = mixin.read_text(mixin.RULE_FILES[1])

        alerts = len(mixin.names_of("alert"))

        for what in (r'severity: "(?:info|warning)"', "summary: ", "description: ",
                     r'runbook_url: "docs/monitoring.md#perf\w+"'):
            self.assertEqual(len(re.findall(rf"^ +{what}", text, re.M)), alerts, what)


if __name__ == "__main__":
    mixin.main()
