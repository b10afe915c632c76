"""The dashboards: what types do not tell of Grafana's model, and that each query has data.

A Prometheus with the rules scrapes, once a second,
  live      the daemon on this kernel, with the shipped configuration and a busy cgroup
  emulated  what it counted on the PMU of an emulated arm64 machine (emulated.xz, made by record.py)
  scripted  what it publishes over the scripted kernel of end-to-end tests, for what neither can
            count: numbers that are made up, under names and labels that are not
  invented  what it would publish on machines of which one has a noisy neighbour
and a made-up kube-state-metrics, which knows the containers of the last two. panels.txt has each
panel, and with which of these its queries have data. The test compares, and prints what it saw.
"""

import collections
import json
import math
import re
import shutil
import sys
import tempfile
import unittest
import urllib.parse
import urllib.request

import mixin
import replay
from replay import harness

sys.path.insert(0, f"{mixin.root}/tests/kernel")
from prometheus_test import Prometheus

EVENTS = ["task-clock", "context-switches", "cpu-migrations", "minor-faults", "major-faults"]
SCRAPES = 8
# In their order: where one has data, those behind it are not needed.
SOURCES = ["live", "emulated", "scripted", "invented"]
CASES = {"scripted": "every_kind_of_event_of_a_server",
         "scripted_2": "multiplexed_with_a_reference",
         "scripted_3": "event_missing_and_open_refused"}
MACHINES = [f"machine_{number}" for number in range(5)]
INSTANCES = {"live": "live", "emulated": "emulated", "scripted": "|".join(CASES),
             "invented": "|".join(MACHINES)}
QUIET = 20  # seconds before the neighbour starts
FLEET = "perf-event-exporter-fleet"  # the dashboard of all machines, without the variable instance
VARIABLES = {"datasource": "prometheus", "__rate_interval": "4s", "__range": "6s", "cluster": ".*",
             "job": ".*", "cgroup": ".*", "top": "10", "peak": "100", "sum": "workload",
             "by": "namespace, container"}
VARIABLE = re.compile(r"\$(?:\{([a-z_]\w*)\}|([a-z_]\w*))")  # "$1" is not one
SELECTING = "core/perf_event_exporter"  # a second job, which scrapes one group of the live exporter
PARAMETERS = {SELECTING: {"collect[]": ["software-cpu"]}}


def substituted(expression, **more):
    values = {**VARIABLES, **more}
    return VARIABLE.sub(lambda name: values[name[1] or name[2]], expression)


def kube_state_metrics(*recordings):
    """Made up: each container of the recordings is in a pod of its own, of one Deployment."""
    ids = sorted({dict(labels)["container_id"] for recording in recordings
                  for _, labels in recording.scrapes[0] if "container_id" in dict(labels)})
    lines = ['kube_replicaset_owner{namespace="shop",replicaset="web-5d",owner_kind="Deployment",'
             'owner_name="web",owner_is_controller="true"} 1']
    for number, container in enumerate(ids):
        pod = f'namespace="shop",pod="web-{number}"'
        lines += [f'kube_pod_container_info{{{pod},container="app",'
                  f'container_id="containerd://{container}"}} 1',
                  f'kube_pod_owner{{{pod},owner_kind="ReplicaSet",owner_name="web-5d"}} 1']
    return "\n".join(lines) + "\n"


def with_neighbour(machine):
    """Made up: an instance of a service and a container of a workload on each machine. On the first
    one, another container starts after some seconds, and both take twice the cycles from then on."""
    def counters(seconds, slow_seconds):
        slow = slow_seconds if machine == MACHINES[0] else 0
        web = f'cgroup="/web.slice/web@{machine}.service"'
        pod = f'cgroup="/kubepods/{machine}",container_id="{machine}",pod_uid="{machine}"'
        batch = 'cgroup="/kubepods/batch",container_id="ba7c4",pod_uid="u"'
        workload = 'namespace="shop",container="app"'
        return harness.Scrape(f"""\
perf_event_exporter_build_info{{version="0.1.0",compiler="none"}} 1
perf_machine_info{{vendor="none",model_name="Invented CPU"}} 1
perf_event_exporter_counting 0
perf_event_exporter_event_refusal_info{{event="cycles",scope="cpu",errno="EACCES",remedy="yes"}} 1
perf_event_exporter_cpus{{state="counted"}} 4
perf_event_exporter_http_errors_total{{reason="rate_limit"}} {seconds}
perf_event_exporter_cgroups_left_out_total{{reason="max"}} {seconds}
perf_cpu_cache_misses_total{{cpu="0"}} {1e6 * seconds + 1e6 * slow}
perf_uncore_imc_cas_count_read_bytes_total{{package="0"}} {1e8 * seconds}
perf_uncore_imc_cas_count_write_bytes_total{{package="0"}} {1e8 * seconds}
perf_cgroup_info{{{web},unit="web@{machine}.service"}} 1
perf_cgroup_cycles_total{{{web}}} {1e9 * seconds + 1e9 * slow}
perf_cgroup_instructions_total{{{web}}} {1e9 * seconds}
perf_cgroup_task_clock_seconds_total{{{web}}} {seconds}
perf_cgroup_cycles_total{{{pod}}} {1e9 * seconds + 1e9 * slow}
perf_cgroup_instructions_total{{{pod}}} {1e9 * seconds}
perf_cgroup_task_clock_seconds_total{{{pod}}} {seconds}
perf_cgroup_cache_misses_total{{{pod}}} {1e4 * seconds}
perf_cgroup_cycles_total{{{batch}}} {1e9 * slow}
perf_cgroup_instructions_total{{{batch}}} {1e9 * slow}
perf_cgroup_task_clock_seconds_total{{{batch}}} {2 * slow}
perf_cgroup_cache_misses_total{{{batch}}} {1e6 * slow}
perf_event_exporter_sums{{sum="workload"}} 1
perf_workload_cycles_total{{{workload}}} {1e9 * seconds}
perf_workload_instructions_total{{{workload}}} {1e9 * seconds}
perf_workload_cache_misses_total{{{workload}}} {1e4 * seconds}
""")
    return replay.Recording([0.0, QUIET, 3600.0],
                            [counters(0, 0), counters(QUIET, 0), counters(3600, 3600 - QUIET)])


class Scraping(Prometheus):
    """A Prometheus that evaluates the rules of packaging/prometheus each second."""

    def __init__(self, targets, rules):
        super().__init__(json.dumps({  # which is YAML
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": rules,
            "scrape_configs": [
                {"job_name": job, "params": PARAMETERS.get(job, {}), "static_configs": [
                    {"targets": [address], "labels": {"instance": instance, "cluster": "test"}}
                    for instance, address in instances.items()]}
                for job, instances in targets.items()]}))

    def api(self, path, **parameters):
        url = f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=harness.PATIENCE) as answer:
            return json.load(answer)["data"]

    def has_data(self, expression):
        return any(math.isfinite(value) for value in self.query(expression).values())


def rules_that_do_not_wait(folder):
    """Copies of the rules, all evaluated equally often, over seconds in place of minutes."""
    for path in mixin.RULE_FILES:
        copy = f"{folder}/{path.rpartition('/')[2]}"
        with open(copy, "w", encoding="utf-8") as file:
            text = re.sub(r"(?m)^    interval: .*\n", "", mixin.read_text(path))
            file.write(text.replace("[5m]", "[6s]"))
        yield copy


def shipped_configuration(pattern):
    """With `pattern` among the cgroups that are counted, by records also where they are few, and a sum of
    all of them."""
    text = mixin.read_text(f"{mixin.root}/config/perf_event_exporter.yaml")
    changes = {"\n  include:\n": f'\n  include:\n    - "{pattern}"\n',
               "\n  source: auto\n": "\n  source: records\n",
               "\n  sums: []\n": "\n  sums: [{name: workload, by: [], zero_for: 0s}]\n"}
    for shipped, ours in changes.items():
        assert shipped in text, shipped
        text = text.replace(shipped, ours)
    return text


def sources_of_panels():
    """Dashboard's title -> [(panel's title, sources)] in panels.txt."""
    found = {}
    for line in mixin.read_text(f"{mixin.root}/tests/delivery/monitoring/panels.txt").splitlines():
        if line.startswith("  "):
            panel, _, sources = line.strip().rpartition(": ")
            found[title].append((panel, sources.split(", ")))
        elif line and not line.startswith("#"):
            title = line
            found[title] = []
    return found


def is_row(panel):
    return panel["type"] == "row"


def used_variables(expression):
    return {name[1] or name[2] for name in VARIABLE.finditer(expression)}


class ModelTest(unittest.TestCase):
    def setUp(self):
        self.dashboards = mixin.dashboards()

    def test_there_are_five_that_can_be_distinguished_for_good(self):
        titles = {each["uid"]: each["title"] for each in self.dashboards.values()}
        self.assertEqual(titles, {
            "perf-event-exporter-fleet": "perf_event_exporter / Fleet",
            "perf-event-exporter-node": "perf_event_exporter / Node",
            "perf-event-exporter-cgroups": "perf_event_exporter / Services and containers",
            "perf-event-exporter-memory": "perf_event_exporter / Memory and energy",
            "perf-event-exporter-health": "perf_event_exporter / Exporter health"})

    def test_each_leads_to_the_others(self):
        for dashboard in self.dashboards.values():
            links = [link for link in dashboard["links"] if link["type"] == "dashboards"]
            self.assertEqual([link["tags"] for link in links], [dashboard["tags"]])
            self.assertTrue(links[0]["keepTime"] and links[0]["includeVars"])

    def test_panels_have_ids_titles_descriptions_and_units(self):
        for file, dashboard in self.dashboards.items():
            ids = [panel["id"] for panel in [*mixin.panels(dashboard),
                                             *filter(is_row, dashboard["panels"])]]
            self.assertEqual(len(ids), len(set(ids)), file)
            titles = [panel["title"] for panel in mixin.panels(dashboard)]
            self.assertTrue(all(titles))
            for panel in mixin.panels(dashboard):
                with self.subTest(dashboard=file, panel=panel["title"]):
                    self.assertRegex(panel["description"], r"\.$")
                    self.assertTrue(panel["fieldConfig"]["defaults"]["unit"])
                    self.assertRegex(panel["fieldConfig"]["defaults"]["noValue"],
                                     "^(Needs .+: see .+|None: .+)$")
                    self.assertLess(len(panel["fieldConfig"]["defaults"]["noValue"]), 110)
                    self.assertTrue(panel["targets"])

    def test_panels_do_not_overlap_and_fit(self):
        for file, dashboard in self.dashboards.items():
            closed = [row["panels"] for row in dashboard["panels"] if is_row(row)]
            for panels in [dashboard["panels"], *closed]:
                taken = collections.Counter(
                    (x, y) for panel in panels for place in [panel["gridPos"]]
                    for x in range(place["x"], place["x"] + place["w"])
                    for y in range(place["y"], place["y"] + place["h"]))
                self.assertEqual({place for place, times in taken.items() if times > 1}, set(),
                                 file)
                self.assertLess(max((x for x, _ in taken), default=0), 24, file)

    def test_a_dashboard_queries_little_when_it_is_opened(self):
        for file, dashboard in self.dashboards.items():
            open_panels = [panel for panel in dashboard["panels"] if not is_row(panel)]
            self.assertGreater(len(open_panels), 0, file)
            self.assertLessEqual(len(open_panels), 9, file)
            instance = [each for each in dashboard["templating"]["list"]
                        if each["name"] == "instance"]
            self.assertEqual([(each["includeAll"], "current" in each) for each in instance],
                             [] if dashboard["uid"] == FLEET else [(False, False)], file)

    def test_series_of_machines_lead_to_the_dashboards_of_the_machine(self):
        uids = {each["uid"] for each in self.dashboards.values()}
        for file, dashboard in self.dashboards.items():
            for panel in mixin.panels(dashboard):
                legends = "".join(target["legendFormat"] for target in panel["targets"])
                links = [link["url"] for link in panel["fieldConfig"]["defaults"].get("links", [])]
                with self.subTest(dashboard=file, panel=panel["title"]):
                    self.assertEqual(len(links), 2 if panel["type"] == "timeseries"
                                     and "{{instance}}" in legends else 0)
                    for url in links:
                        self.assertIn(re.match(r"/d/([\w-]+)\?", url)[1], uids)
                        self.assertIn("var-instance=${__field.labels.instance}", url)

    def test_alerts_and_restarts_are_annotations(self):
        for file, dashboard in self.dashboards.items():
            queries = {each["name"]: each["expr"] for each in dashboard["annotations"]["list"]
                       if "expr" in each}
            self.assertEqual(list(queries), ["Alerts", "Exporter started", "Configuration loaded"])
            names = {each["name"] for each in dashboard["templating"]["list"]}
            for query in queries.values():
                self.assertLessEqual({"cluster", "job"} | ({"instance"} & names),
                                     used_variables(query), file)

    def test_the_source_of_data_is_chosen_by_the_viewer(self):
        chosen = {"type": "prometheus", "uid": "${datasource}"}
        for dashboard in self.dashboards.values():
            variables = {each["name"]: each for each in dashboard["templating"]["list"]}
            self.assertEqual((variables["datasource"]["type"], variables["datasource"]["query"]),
                             ("datasource", "prometheus"))
            for each in [*mixin.panels(dashboard), *(target for panel in mixin.panels(dashboard)
                                                     for target in panel["targets"]),
                         *(each for each in variables.values() if each["type"] == "query")]:
                self.assertEqual(each["datasource"], chosen)

    def test_queries_use_variables_that_there_are_and_the_selection(self):
        for file, dashboard in self.dashboards.items():
            names = {each["name"] for each in dashboard["templating"]["list"]}
            for panel in mixin.panels(dashboard):
                for target in panel["targets"]:
                    with self.subTest(dashboard=file, panel=panel["title"], query=target["expr"]):
                        used = used_variables(target["expr"])
                        self.assertLessEqual(used, names | {"__rate_interval", "__range"})
                        # What is recorded of machines and workloads has no job.
                        recorded = re.search(r"[a-z]:perf_(machine|cgroup|cpu)_", target["expr"])
                        self.assertLessEqual(
                            {"cluster"} | ({"job"} if not recorded else set())
                            | ({"instance"} & names), used)
                        self.assertNotRegex(target["expr"], r"\[\d+[smhd]\]")

    def test_each_panel_has_its_sources_in_its_order(self):
        self.assertEqual(
            {title: [panel for panel, _ in rows] for title, rows in sources_of_panels().items()},
            {dashboard["title"]: [panel["title"] for panel in mixin.panels(dashboard)]
             for dashboard in self.dashboards.values()})

    def test_the_manual_has_each_dashboard(self):
        manual = mixin.read_text(f"{mixin.root}/docs/monitoring.md").partition("## Dashboards\n")[2]

        self.assertEqual({f"perf_event_exporter / {name}"
                          for name in re.findall(r"^\| (?!dashboard|---)(.+?) \|", manual, re.M)},
                         {dashboard["title"] for dashboard in self.dashboards.values()})


class QueriesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        harness.require(shutil.which("prometheus"), "prometheus is not installed")
        harness.require_events(*EVENTS)
        harness.require_cpus(0)
        tree = cls.enterClassContext(harness.CgroupTree("monitoring"))
        busy = tree.make("busy")
        daemon = cls.enterClassContext(harness.Daemon(shipped_configuration(tree.pattern)))
        cls.enterClassContext(harness.busy_loop(tree, busy, cpu=0))
        recordings = {"emulated": replay.emulated(),
                      **{instance: replay.scripted(case) for instance, case in CASES.items()},
                      **{machine: with_neighbour(machine) for machine in MACHINES}}
        servers = {name: cls.enterClassContext(replay.Replay(recording))
                   for name, recording in recordings.items()}
        names = cls.enterClassContext(
            replay.Replay(replay.fixed(kube_state_metrics(*recordings.values()))))
        rules = list(rules_that_do_not_wait(cls.enterClassContext(tempfile.TemporaryDirectory())))
        cls.alone = cls.enterClassContext(Scraping(
            {"perf_event_exporter": {"live": daemon.address}}, rules))
        cls.prometheus = cls.enterClassContext(Scraping({
            "perf_event_exporter": {"live": daemon.address,
                                    **{name: server.address for name, server in servers.items()}},
            SELECTING: {"live": daemon.address},
            "kube-state-metrics": {"kube-state-metrics": names.address},
        }, rules))
        harness.until(f"{SCRAPES} scrapes of everything", lambda: cls.prometheus.scalar(
            "min(sum_over_time(up[5m]))") >= SCRAPES, patience=60, pause=0.2)

    def test_each_panel_has_data_of_its_sources(self):
        listed = sources_of_panels()
        for dashboard in mixin.dashboards().values():
            print(f"\n{dashboard['title']}")
            for panel, (title, sources) in zip(mixin.panels(dashboard), listed[dashboard["title"]]):
                with self.subTest(dashboard=dashboard["title"], panel=title):
                    self.assertLessEqual(set(sources), set(SOURCES))
                    needed = [self.first_with_data(target["expr"], sources)
                              for target in panel["targets"]]
                    print(f"  {panel['title']:<50} {', '.join(needed)}")
                    self.assertEqual(set(needed), set(sources), "no query needs one of these")

    def test_node_opens_with_data_of_every_machine(self):
        panels = mixin.dashboards()["node.json"]["panels"]
        second = next(i for i, panel in enumerate(panels) if i > 0 and is_row(panel))
        self.assertGreater(second, 4)
        for panel in panels[1:second]:
            for query in self.queries_of_live(panel):
                harness.until(f"{panel['title']}: {query}",
                              lambda q=query: self.alone.has_data(q), patience=60, pause=0.5)

    def test_a_panel_without_data_has_its_reason(self):
        """It names something that this machine does not have."""
        harness.until("scrapes by the second Prometheus", lambda: self.alone.scalar(
            "min(sum_over_time(up[5m]))") >= SCRAPES, patience=60, pause=0.2)
        refused = {dict(labels)["event"] for labels in self.alone.query(
            "perf_event_exporter_event_refusal_info")}
        counted = set(re.findall(r"[\w-]+", mixin.read_text(
            f"{mixin.root}/config/perf_event_exporter.yaml"))) - refused
        self.assertLessEqual(set(EVENTS), counted)
        there = counted | {"a scraped exporter", "a counted group"}
        listed = sources_of_panels()
        for dashboard in mixin.dashboards().values():
            for panel, (title, sources) in zip(mixin.panels(dashboard), listed[dashboard["title"]]):
                if "live" in sources or any(map(self.alone.has_data, self.queries_of_live(panel))):
                    continue
                with self.subTest(dashboard=dashboard["title"], panel=title):
                    reason = panel["fieldConfig"]["defaults"]["noValue"]
                    needed = re.sub(r"^Needs |: see .*| of a cgroup| \([^)]+\)", "", reason)
                    self.assertGreater(set(needed.split(", ")) - there, set())

    def queries_of_live(self, panel):
        return [substituted(target["expr"], instance="live") for target in panel["targets"]]

    def first_with_data(self, expression, sources):
        """Rules and topk may be a second behind: what is not there yet is awaited."""
        def has_data(source):
            return self.prometheus.has_data(substituted(expression, instance=INSTANCES[source]))

        def found():
            return next(filter(has_data, (each for each in SOURCES if each in sources)), None)

        return harness.until(f"data of {sources} for\n{expression}", found, patience=QUIET + 20, pause=0.5)

    def test_each_variable_has_values(self):
        for dashboard in mixin.dashboards().values():
            for variable in dashboard["templating"]["list"]:
                if variable["type"] != "query":
                    continue
                with self.subTest(dashboard=dashboard["title"], variable=variable["name"]):
                    self.assertGreater(len(self.values_of(variable["query"]["query"])), 0)

    def values_of(self, query, **variables):
        series, label = re.fullmatch(r"label_values\((.+), (\w+)\)", query).groups()
        found = self.prometheus.api(
            "series", **{"match[]": substituted(series, **{"instance": ".*", **variables})})
        return {each[label] for each in found if label in each}

    def test_a_job_that_scrapes_some_groups_only_can_be_selected(self):
        for dashboard in mixin.dashboards().values():
            variables = {each["name"]: each["query"]["query"]
                         for each in dashboard["templating"]["list"] if each["type"] == "query"}
            with self.subTest(dashboard=dashboard["title"]):
                jobs = self.values_of(variables["job"])
                self.assertEqual(jobs, {"perf_event_exporter", SELECTING})
                if "instance" in variables:
                    self.assertEqual(self.values_of(variables["instance"], job=SELECTING), {"live"})

    def test_sums_without_labels_are_shown(self):
        panels = [panel for dashboard in mixin.dashboards().values()
                  for panel in mixin.panels(dashboard) if panel["title"].endswith(", by sum")]
        self.assertEqual(len(panels), 2 * 5)
        for panel in panels:
            query = substituted(panel["targets"][0]["expr"], instance=".*", by="")
            with self.subTest(panel=panel["title"]):
                self.assertTrue(self.prometheus.has_data(query), query)

    def test_the_busiest_cgroups_are_found_without_their_cpu_time(self):
        """The exporter counts no task-clock, but instructions."""
        panel = next(panel for panel in mixin.panels(mixin.dashboards()["services-containers.json"])
                     if panel["title"] == "Cache misses per 1000 instructions")
        query = substituted(panel["targets"][0]["expr"], instance="scripted_2")

        self.assertFalse(self.prometheus.has_data(
            'perf_cgroup_task_clock_seconds_total{instance="scripted_2"}'))
        self.assertTrue(self.prometheus.has_data(query), query)

    def test_each_annotation_has_data(self):
        for dashboard in mixin.dashboards().values():
            for each in dashboard["annotations"]["list"]:
                if "expr" not in each or each["name"] == "Alerts":
                    continue
                with self.subTest(dashboard=dashboard["title"], annotation=each["name"]):
                    self.assertTrue(self.prometheus.has_data(
                        substituted(each["expr"], instance=".*")))

    def test_each_recording_rule_has_data(self):
        for name in mixin.names_of("record"):
            with self.subTest(record=name):
                harness.until(f"a value of {name}", lambda n=name: self.prometheus.has_data(n),
                              patience=QUIET + 20)

    def test_no_rule_fails(self):
        def evaluated():
            rules = [rule for group in self.prometheus.api("rules")["groups"]
                     for rule in group["rules"]]
            return rules if all(rule["health"] != "unknown" for rule in rules) else None

        rules = harness.until("all rules to be evaluated", evaluated)

        self.assertEqual({rule["name"] for rule in rules},
                         set(mixin.names_of("record") + mixin.names_of("alert")))
        self.assertEqual([rule for rule in rules if rule["health"] != "ok"], [])


if __name__ == "__main__":
    harness.main()
