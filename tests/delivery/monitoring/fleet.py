"""A fleet of scripted exporters behind a real Prometheus, with the shipped rules and alerts: who is in
trouble is found, and nobody else is bothered.

    fleet.py [MINUTES]     30 by default; fewer are too few for the alerts

Six CPU models. Half of the machines have no energy events, which the shipped configuration allows; one in
ten may not open any event. On some, a service is held up by another one from a third of the time on.
"""

import collections
import json
import random
import sys
import time
import urllib.request

import mixin

sys.path.insert(0, f"{mixin.root}/tests/kernel")
import harness
import web
from prometheus_test import Prometheus

MACHINES, CPUS, CGROUPS = 200, 8, 40
SCRAPE_INTERVAL = 15  # seconds
LONGEST_RULE = 2.0    # seconds
SICK = (12, 58, 131)  # numbers of machines
MODELS = [  # vendor, family, model, stepping, name, cycles for each instruction of the service
    ("GenuineIntel", "6", "85", "7", "Intel(R) Xeon(R) Gold 6248R CPU @ 3.00GHz", 0.9),
    ("GenuineIntel", "6", "106", "6", "Intel(R) Xeon(R) Platinum 8358 CPU @ 2.60GHz", 0.8),
    ("GenuineIntel", "6", "143", "8", "Intel(R) Xeon(R) Platinum 8480+", 0.7),
    ("AuthenticAMD", "23", "49", "0", "AMD EPYC 7742 64-Core Processor", 0.85),
    ("AuthenticAMD", "25", "17", "1", "AMD EPYC 9654 96-Core Processor", 0.6),
    ("ARM", "8", "0xd0c", "1", "Neoverse-N1", 1.1),
]
HARDWARE = {"core": ["cycles", "instructions", "branches", "branch_misses"],
            "cache": ["cache_references", "cache_misses"]}
SOFTWARE = ["task_clock_seconds", "context_switches", "cpu_migrations", "minor_faults",
            "major_faults"]
ENERGY = ["power/energy-pkg/", "power/energy-ram/"]
HERTZ = 2.5e9


class Machine:
    """What its exporter publishes at a time: counters that grow steadily."""

    def __init__(self, number, sick_from):
        self.number = number
        self.model = MODELS[number % len(MODELS)]
        self.has_energy = number % 2 == 0
        self.may_count = number % 10 != 7
        self.sick_from = sick_from if number in SICK else None
        self.random = random.Random(number)
        self.lines = []     # "name{labels} ", and of which (rate, rate while sick)
        self.rates = []
        self.constants = []
        self._describe()
        if self.may_count:
            for cpu in range(CPUS):
                self._add_cpu(cpu)
            for cgroup in range(CGROUPS):
                self._add_cgroup(cgroup)

    def text(self, seconds):
        """The scrape, so many seconds after the start."""
        healthy = seconds if self.sick_from is None else min(seconds, self.sick_from)
        sick = seconds - healthy
        counters = [f"{line}{rate * healthy + when_sick * sick + 1000:.9g}\n"
                    for line, (rate, when_sick) in zip(self.lines, self.rates)]
        return "".join(self.constants) + "".join(counters)

    def _constant(self, name, value, **labels):
        self.constants.append(f"{self._series(name, labels)} {value}\n")

    def _counter(self, name, rate, when_sick=None, **labels):
        self.lines.append(f"{self._series(name, labels)} ")
        self.rates.append((rate, rate if when_sick is None else when_sick))

    @staticmethod
    def _series(name, labels):
        text = ",".join(f'{key}="{value}"' for key, value in labels.items())
        return f"{name}{{{text}}}" if text else name

    def _describe(self):
        vendor, family, model, stepping, name, _ = self.model
        exporter = "perf_event_exporter_"
        self._constant("perf_machine_info", 1, vendor=vendor, family=family, model=model,
                       stepping=stepping, model_name=name, microcode="0x1", hypervisor="",
                       pmu="cpu", kernel="6.12.0")
        self._constant(exporter + "build_info", 1, version="0.1.0", compiler="g++ 12.2.0")
        self._constant(exporter + "counting", int(self.may_count))
        opened = CPUS * (10 + (CGROUPS * 14)) if self.may_count else CPUS
        self._constant(exporter + "open_events", opened)
        for state, cpus in (("counted", CPUS), ("late", 0), ("left_out", 0)):
            self._constant(exporter + "cpus", cpus, state=state)
        for state in ("counted", "idle", "waiting", "lingering", "left_out", "unreadable"):
            self._constant(exporter + "cgroups",
                           CGROUPS if state == "counted" and self.may_count else 0, state=state)
        self._constant(exporter + "series", 28 * CGROUPS)
        self._constant(exporter + "series_limit", 50000)
        self._constant(exporter + "poll_interval_seconds", 1)
        self._constant(exporter + "cgroup_linger_seconds", 60)
        self._constant(exporter + "scrape_interval_seconds", SCRAPE_INTERVAL)
        self._constant(exporter + "config_last_reload_successful", 1)
        self._constant("process_open_fds", 60)
        self._constant("process_max_fds", 524288)
        self._counter(exporter + "polls_total", 1)
        for name in ("poll_overruns_total", "cgroups_missed_total"):
            self._counter(exporter + name, 0)
        for errno in ("EACCES", "EMFILE", "ENOENT"):
            self._counter(exporter + "event_open_errors_total", 0, errno=errno)
        self._counter("process_cpu_seconds_total", 0.005)
        if self.may_count:
            return
        for scope in ("cpu", "cgroup"):
            for event in (each for events in HARDWARE.values() for each in events):
                self._refused(event.replace("_", "-"), scope)
            for event in SOFTWARE:
                if scope == "cgroup" or event != "task_clock_seconds":
                    self._refused(event.replace("_seconds", "").replace("_", "-"), scope)
        if self.has_energy:
            for event in ENERGY:
                self._refused(event, "cpu")

    def _refused(self, event, scope):
        self._constant("perf_event_exporter_event_refusal_info", 1, event=event, scope=scope,
                       errno="EACCES", remedy="yes")

    def _add_cpu(self, cpu):
        busy = 0.3 + 0.2 * self.random.random()
        self._add_events("perf_cpu_", busy, self.model[5], {"cpu": cpu})
        for event in SOFTWARE[1:]:
            self._counter(f"perf_cpu_{event}_total", 100, cpu=cpu)
        self._add_times("software-cpu", 1, False, {"cpu": cpu})

    def _add_cgroup(self, number):
        """The first is the service that all machines have, the second the one that holds it up."""
        name = {0: "web@1.service", 1: "batch.service"}.get(number, f"job{number}.service")
        labels = {"cgroup": f"/system.slice/{name}"}
        self._constant("perf_cgroup_info", 1, **labels, unit=name, slice="system.slice")
        cpus = 1.0 if number == 0 else 0.1 if number == 1 else 0.05
        cpi = self.model[5] * (1 + 0.03 * self.random.gauss(0, 1))
        self._add_events("perf_cgroup_", cpus, cpi, labels,
                         cpus_when_sick=3.0 if number == 1 else cpus,
                         cpi_when_sick=2 * cpi if number == 0 else cpi,
                         misses_when_sick=40 if number == 1 else 1)
        self._counter("perf_cgroup_task_clock_seconds_total", cpus, 3.0 if number == 1 else cpus,
                      **labels)
        for event in SOFTWARE[1:]:
            self._counter(f"perf_cgroup_{event}_total", 50 * cpus, **labels)
        self._add_times("software", cpus, False, labels)

    def _add_events(self, prefix, cpus, cpi, labels, *, cpus_when_sick=None, cpi_when_sick=None,
                    misses_when_sick=1):
        cycles = cpus * HERTZ
        later = (cpus if cpus_when_sick is None else cpus_when_sick) * HERTZ
        instructions = cycles / cpi
        later_instructions = later / (cpi_when_sick or cpi)
        rates = {"cycles": (cycles, later), "instructions": (instructions, later_instructions),
                 "branches": (instructions / 5, later_instructions / 5),
                 "branch_misses": (instructions / 500, later_instructions / 500),
                 "cache_references": (instructions / 50, later_instructions / 50),
                 "cache_misses": (instructions / 500,
                                  misses_when_sick * later_instructions / 500)}
        for group, events in HARDWARE.items():
            for event in events:
                for part in ("", "_observed"):
                    self._counter(f"{prefix}{event}{part}_total", *rates[event], **labels)
            self._add_times(group, cpus, True, labels)

    def _add_times(self, group, cpus, shares_pmu, labels):
        for time_of in ("enabled", "running"):
            self._counter(f"perf_group_{time_of}_seconds_total", cpus, group=group, **labels)
        for time_of in ("imputed", "unmeasured") if shares_pmu else ():
            self._counter(f"perf_group_{time_of}_seconds_total", 0, group=group, **labels)


class Fleet(web.Server):
    def __init__(self, minutes):
        self.machines = [Machine(number, minutes * 60 / 3) for number in range(MACHINES)]
        self.start = time.monotonic()
        super().__init__(self._answer)

    def _answer(self, path, *_):
        text = self.machines[int(path.rsplit("/", 1)[1])].text(time.monotonic() - self.start)
        return 200, {"Content-Type": web.TEXT}, text.encode()

    def configuration(self):
        targets = "".join(
            f'      - {{targets: ["{self.address}"], labels: {{instance: "m{machine.number}", '
            f'__metrics_path__: "/m/{machine.number}"}}}}\n' for machine in self.machines)
        files = "".join(f"  - {path}\n" for path in mixin.RULE_FILES)
        return (f"global: {{scrape_interval: {SCRAPE_INTERVAL}s}}\nrule_files:\n{files}"
                f"scrape_configs:\n  - job_name: perf_event_exporter\n    static_configs:\n{targets}")


def get(prometheus, path):
    with urllib.request.urlopen(f"http://{prometheus.address}/api/v1/{path}", timeout=60) as answer:
        return json.load(answer)["data"]


def watch(prometheus, minutes, start):
    """(alert, instance) -> description of all that fired; name -> longest evaluation of each rule."""
    fired, rules = {}, collections.Counter()
    while time.monotonic() < start + 60 * minutes:
        time.sleep(20)
        for alert in get(prometheus, "alerts")["alerts"]:
            if alert["state"] == "firing":
                key = alert["labels"]["alertname"], alert["labels"].get("instance")
                fired[key] = alert["annotations"]["description"]
        for group in get(prometheus, "rules")["groups"]:
            for rule in group["rules"]:
                rules[rule["name"]] = max(rules[rule["name"]], rule["evaluationTime"])
    return fired, rules


def faults_of(fleet, fired, rules):
    """What is not as it should be, in words."""
    expected = {("PerfEventExporterCountsNothing", f"m{machine.number}")
                for machine in fleet.machines if not machine.may_count}
    expected |= {("PerfServiceCPIOutlier", f"m{number}") for number in SICK}
    faults = [f"{alert} of {machine} did not fire" for alert, machine in expected - set(fired)]
    faults += [f"{alert} of {machine} fired: {fired[alert, machine]}"
               for alert, machine in set(fired) - expected]
    for number in SICK:
        description = fired.get(("PerfServiceCPIOutlier", f"m{number}"), "")
        if "Suspect: /system.slice/batch.service" not in description:
            faults.append(f"no suspect on m{number}: {description}")
    faults += [f"rule {name} took {took:.2f} s" for name, took in rules.items() if took > LONGEST_RULE]
    return faults


def main():
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 30
    with Fleet(minutes) as fleet:
        fleet.start = start = time.monotonic()
        with Prometheus(fleet.configuration()) as prometheus:
            fired, rules = watch(prometheus, minutes, start)
            series = prometheus.scalar('count({job="perf_event_exporter", instance="m0"})')
            head = get(prometheus, "status/tsdb")["headStats"]["numSeries"]
    print(f"{MACHINES} machines with {CGROUPS} cgroups for {minutes:g} minutes: {head} series, "
          f"{series:.0f} of one machine with its rules")
    for (alert, machine), description in sorted(fired.items()):
        print(f"{alert} {machine}: {description}")
    for name, took in sorted(rules.items(), key=lambda rule: -rule[1])[:10]:
        print(f"{took:.3f} s at most: {name}")
    faults = faults_of(fleet, fired, rules)
    print("\n".join(faults) or "as it should be")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
