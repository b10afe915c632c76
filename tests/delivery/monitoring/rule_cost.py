"""What the shipped rules and alerts cost a real Prometheus, one by one.

    rule_cost.py [CONTAINERS [EVALUATIONS]]     200000 and 5 by default

Machines of six CPU models with 40 containers each, ten of each workload on each CPU model, as exporters
with {evidence: {cgroups: sum}, cgroups: {sums: [{name: all, by: []}]}} and kube-state-metrics describe
them, and a day of what the rules recorded before. All samples are written
before the rules are loaded, those of the next minutes too, so that nothing else runs meanwhile. All rules
are in one group, one after the other. A rule fails if the median of its evaluations takes more than
LONGEST_RULE seconds; the time includes what Prometheus does to store the result.
"""

import argparse
import bisect
import contextlib
import dataclasses
import datetime
import functools
import hashlib
import os
import queue
import re
import signal
import statistics
import struct
import sys
import threading
import time
import urllib.request

import mixin

sys.path.insert(0, f"{mixin.root}/tests/kernel")
import harness
import fleet
from prometheus_test import Prometheus

CONTAINERS_OF_MACHINE = 40
CPUS_IN_USE = 15       # of a machine, by its containers
PARTS = 2              # of a machine that are counted, such as its packages (`aggregate: package`)
TASKS = 10             # containers of a workload on a CPU model
SERVICES = ["kubelet", "containerd", "sshd", "cron", "dbus"]  # the first two use a CPU
SICK = 500             # one container in so many takes twice the cycles
LARGE = 20             # one in so many is large enough to be a suspect
HISTORY = 6            # hours of what mean and deviation are made of
INTERVAL = 60          # seconds between samples
WINDOW = 360           # seconds of samples that rates need
SAMPLES = 2400         # seconds of samples
EVALUATE = 60          # seconds between evaluations
LONGEST_RULE = 2.0     # seconds
BATCH = 2 << 20        # bytes of one request
LOADED_PER_SECOND = 400   # containers; samples begin when they are expected to be written


# --------------------------------------------------------------------------------------------------
# Remote write: protobuf in Snappy, of which one literal is a valid form.


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number, content):
    return bytes([number << 3 | 2]) + varint(len(content)) + content


@functools.cache
def label(name, value):
    return field(1, field(1, name.encode()) + field(2, value.encode()))


def sample(milliseconds, value):
    return field(2, struct.pack("<Bd", 0x09, value) + b"\x10" + varint(milliseconds))


def new_label(name, value):
    """Of values that few series have: not kept."""
    return label.__wrapped__(name, value)


class Writer:
    """Sends series to Prometheus, many at once."""

    def __init__(self, prometheus):
        self.url = f"http://{prometheus.address}/api/v1/write"
        self.parts, self.size = [], 0
        self.requests = queue.Queue(maxsize=4)
        self.failure = None
        threading.Thread(target=self._send, daemon=True).start()

    def add(self, labels, samples):
        """Encoded ones, sorted by their names."""
        part = field(1, b"".join(labels) + samples)
        self.parts.append(part)
        self.size += len(part)
        if self.size > BATCH:
            self._pass_on()

    def flush(self):
        self._pass_on()
        self.requests.join()
        if self.failure:
            raise self.failure

    def _pass_on(self):
        if self.failure:
            raise self.failure
        body = b"".join(self.parts)
        self.parts, self.size = [], 0
        literal = b"\xfc" + struct.pack("<I", len(body) - 1) + body
        self.requests.put(urllib.request.Request(self.url, varint(len(body)) + literal, {
            "Content-Encoding": "snappy", "Content-Type": "application/x-protobuf",
            "X-Prometheus-Remote-Write-Version": "0.1.0"}))

    def _send(self):
        while True:
            request = self.requests.get()
            try:
                urllib.request.urlopen(request, timeout=600).close()
            except OSError as error:
                self.failure = error
            self.requests.task_done()


# --------------------------------------------------------------------------------------------------
# The fleet


class Node(fleet.Machine):
    """A machine with its series as (name, labels, rate); what does not grow has a value instead."""

    def __init__(self, number):
        self.series = []
        super().__init__(number, None)
        self.may_count = True
        for group, shares_pmu in (("core", True), ("software", False)):
            self._add_times(group, CPUS_IN_USE, shares_pmu, {"sum": "all"})

    def _constant(self, name, value, **labels):
        self.series.append((name, labels, float(value), 0.0))

    def _counter(self, name, rate, when_sick=None, **labels):
        self.series.append((name, labels, 1000.0, rate))

    def _add_cpu(self, cpu):
        if cpu < PARTS:
            super()._add_cpu(cpu)

    def _add_cgroup(self, number):
        pass  # containers follow


class Containers:
    """Which there are, and what of."""

    def __init__(self, containers):
        self.number = containers
        self.machines = max(1, containers // CONTAINERS_OF_MACHINE)
        self.workloads = max(1, containers // TASKS // len(fleet.MODELS))

    def of(self, machine):
        for place in range(CONTAINERS_OF_MACHINE):
            number = machine * CONTAINERS_OF_MACHINE + place
            workload = (machine // len(fleet.MODELS) * CONTAINERS_OF_MACHINE + place) % self.workloads
            yield number, workload


def hexadecimal(number, digits):
    """Evenly spread, as real identifiers are."""
    return hashlib.sha256(str(number).encode()).hexdigest()[:digits]


def names_of(number, workload):
    namespace, name = f"team-{workload % 100}", f"service-{workload}"
    return {"namespace": namespace, "workload": name, "container": "app",
            "replicaset": f"{name}-6d4cf56db6", "pod": f"{name}-6d4cf56db6-{hexadecimal(number, 5)}",
            "uid": hexadecimal(number, 32), "container_id": hexadecimal(number, 64)}


class Present:
    """Writes all series with samples from the start on."""

    def __init__(self, writer, start):
        self.writer = writer
        self.times = [int(1000 * (start + at)) for at in range(0, SAMPLES, INTERVAL)]

    @functools.cache
    def samples(self, value, rate):
        first = self.times[0]
        return b"".join(sample(at, value + rate * (at - first) / 1000) for at in self.times)

    def write(self, containers):
        for number in range(containers.machines):
            self._machine(number, containers)
        for workload in range(containers.workloads):
            names = names_of(0, workload)
            self._kube("kube_replicaset_owner", namespace=names["namespace"], owner_is_controller="true",
                       owner_kind="Deployment", owner_name=names["workload"],
                       replicaset=names["replicaset"])
        self.writer.flush()

    def _add(self, name, value, rate, labels):
        encoded = [label("__name__", name)]
        encoded += [new_label(key, str(value)) for key, value in sorted(labels.items())]
        self.writer.add(encoded, self.samples(value, rate))

    def _machine(self, number, containers):
        target = {"instance": f"node{number:05}", "job": "perf_event_exporter"}
        node = Node(number)
        for name, labels, value, rate in node.series:
            self._add(name, value, rate, labels | target)
        self._add("up", 1.0, 0.0, target)
        for service in SERVICES:
            unit = f"{service}.service"
            labels = target | {"cgroup": f"/system.slice/{unit}"}
            self._add("perf_cgroup_info", 1.0, 0.0, labels | {"unit": unit, "slice": "system.slice"})
            self._events(labels, 0.5 if service in SERVICES[:2] else 0.01, node.model[5], number)
        for container, workload in containers.of(number):
            self._container(target, node.model[5], container, workload)

    def _events(self, labels, cpus, cpi, number):
        spread = 1 + 0.02 * (hash(number * 7919 % 101) % 11 - 5) / 5
        instructions = round(cpus * fleet.HERTZ / cpi)
        self._add("perf_cgroup_task_clock_seconds_total", 1000.0, cpus, labels)
        self._add("perf_cgroup_cycles_total", 1000.0, round(instructions * cpi * spread), labels)
        self._add("perf_cgroup_instructions_total", 1000.0, instructions, labels)
        self._add("perf_cgroup_cache_misses_total", 1000.0, instructions / 500, labels)

    def _container(self, target, cpi, number, workload):
        names = names_of(number, workload)
        uid = names["uid"]
        pod = "-".join((uid[:8], uid[8:12], uid[12:16], uid[16:20], uid[20:]))
        slice_ = f"kubepods-burstable-pod{pod.replace('-', '_')}.slice"
        scope = f"cri-containerd-{names['container_id']}.scope"
        labels = target | {"cgroup": f"/kubepods.slice/kubepods-burstable.slice/{slice_}/{scope}",
                           "container_id": names["container_id"], "pod_uid": pod}
        self._add("perf_cgroup_info", 1.0, 0.0, labels | {
            "qos_class": "burstable", "runtime": "containerd", "unit": scope, "slice": slice_})
        cpi *= 1 + 0.1 * (workload % 7)
        self._events(labels, 2.0 if number % LARGE == 0 else 0.3,
                     2 * cpi if number % SICK == 1 else cpi, number)
        of_pod = {"namespace": names["namespace"], "pod": names["pod"], "uid": pod}
        self._kube("kube_pod_container_info", **of_pod, container=names["container"],
                   container_id=f"containerd://{names['container_id']}",
                   image=f"registry.example.com/{names['workload']}:v1",
                   image_id=f"registry.example.com/{names['workload']}@sha256:{'0' * 64}",
                   image_spec=f"registry.example.com/{names['workload']}:v1")
        self._kube("kube_pod_owner", **of_pod, owner_is_controller="true", owner_kind="ReplicaSet",
                   owner_name=names["replicaset"])

    def _kube(self, name, **labels):
        self._add(name, 1.0, 0.0, labels | {"instance": "ksm:8080", "job": "kube-state-metrics"})


def write_history(writer, start, containers):
    """Hours of the sums that mean and deviation are made of, hour by hour: Prometheus takes no older ones."""
    rules = [("samples", TASKS), ("sum", TASKS * 1.0), ("sumsq", TASKS * 1.02)]
    for hour in range(HISTORY):
        times = [int(1000 * (start - 3600 * (HISTORY - hour) + at))
                 for at in range(0, 3600, 300)]
        for what, value in rules:
            samples = [b"".join(sample(at, value * (1 + 0.1 * step)) for at in times)
                       for step in range(7)]
            for workload in range(containers.workloads):
                names = names_of(0, workload)
                for model in fleet.MODELS:
                    writer.add([label("__name__", f"namespace_workload_container:perf_cgroup_cycles_per_instruction:{what}"),
                                label("container", names["container"]), label("cpu_model", model[4]),
                                label("namespace", names["namespace"]),
                                label("workload", names["workload"])], samples[workload % 7])
        writer.flush()


# --------------------------------------------------------------------------------------------------
# Prometheus


class Evaluating(Prometheus):
    """It takes what is written to it, and loads its rules when told to."""

    ARGUMENTS = ["--web.enable-remote-write-receiver"]

    def load_rules(self, path):
        with open(f"{self.scratch}/prometheus.yml", "w", encoding="utf-8") as file:
            file.write(f"global: {{evaluation_interval: {EVALUATE}s}}\nrule_files: [{path}]\n")
        self.process.send_signal(signal.SIGHUP)

    def cpu_seconds(self):
        """User and system time so far."""
        fields = harness.read_text(f"/proc/{self.process.pid}/stat").rpartition(")")[2].split()
        return sum(int(each) for each in fields[11:13]) / os.sysconf("SC_CLK_TCK")

    def series(self):
        return fleet.get(self, "status/tsdb")["headStats"]["numSeries"]

    def memory(self):
        status = harness.read_text(f"/proc/{self.process.pid}/status")
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 2**20


@dataclasses.dataclass
class Rule:
    name: str
    evaluations: list = dataclasses.field(default_factory=list)  # (seconds, CPU seconds of Prometheus)
    error: str = ""
    last: float = 0.0

    def median(self, which=0):
        return statistics.median(each[which] for each in self.evaluations)


class CpuTime(threading.Thread):
    """How much CPU time Prometheus had used when."""

    def __init__(self, prometheus):
        super().__init__(daemon=True)
        self.prometheus, self.times, self.seconds = prometheus, [], []
        self.start()

    def run(self):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            while True:
                self.times.append(time.time())
                self.seconds.append(self.prometheus.cpu_seconds())
                time.sleep(0.02)

    def at(self, moment):
        index = min(max(bisect.bisect(self.times, moment), 1), len(self.seconds) - 1)
        before, after = self.times[index - 1], self.times[index]
        part = min(max((moment - before) / (after - before), 0), 1)
        return self.seconds[index - 1] * (1 - part) + self.seconds[index] * part


def one_group(paths, folder, interval=EVALUATE):
    """A file with all rules in one group, so that none is evaluated while another one is."""
    text = ""
    for path in paths:
        text += re.sub(r"(?m)^(#.*|groups:|  - name: .*|    interval: .*|    rules:)\n", "",
                       mixin.read_text(path))
    with open(f"{folder}/rules.yml", "w", encoding="utf-8") as file:
        file.write(f"groups:\n  - name: all\n    interval: {interval}s\n    rules:\n{text}")
    return f"{folder}/rules.yml"


def evaluate(prometheus, path, evaluations):
    """Each rule, after so many evaluations; the first is not one of them: its series are new."""
    prometheus.load_rules(path)
    cpu = CpuTime(prometheus)
    rules = None
    while rules is None or min(len(rule.evaluations) for rule in rules) < evaluations + 1:
        time.sleep(1)
        groups = fleet.get(prometheus, "rules")["groups"]
        seen = groups[0]["rules"] if groups and groups[0]["file"] == path else []
        if rules is None:
            rules = [Rule(each["name"]) for each in seen] or None
        for rule, each in zip(rules or (), seen):
            moment = moment_of(each["lastEvaluation"])
            if moment > max(rule.last, 0):
                rule.last, took = moment, each["evaluationTime"]
                rule.evaluations.append((took, cpu.at(moment + took) - cpu.at(moment)))
                rule.error = each.get("lastError", "")
    for rule in rules:
        del rule.evaluations[0]
    return rules


def moment_of(text):
    """Of RFC 3339 with nanoseconds, in seconds; before the first evaluation that is before 1970."""
    moment = re.sub(r"\.(\d{6})\d*", r".\1", text)
    return datetime.datetime.fromisoformat(moment).timestamp()


def report(rules):
    print(f"{'wall s':>7} {'most':>6} {'CPU s':>6}  rule")
    for rule in sorted(rules, key=lambda each: -each.median()):
        if rule.median() >= 0.05 or rule.error:
            print(f"{rule.median():7.2f} {max(each[0] for each in rule.evaluations):6.2f} "
                  f"{rule.median(1):6.2f}  {rule.name} {rule.error}")
    print(f"{sum(rule.median() for rule in rules):7.2f} {'':6} "
          f"{sum(rule.median(1) for rule in rules):6.2f}  all {len(rules)} rules")


def fill(prometheus, containers):
    """Returns when rates have what they need."""
    harness.until("Prometheus to answer", lambda: prometheus.query("vector(1)"))
    start = time.time()
    first = start + containers.number / LOADED_PER_SECOND - WINDOW
    writer = Writer(prometheus)
    write_history(writer, first, containers)
    Present(writer, first).write(containers)
    print(f"{containers.number} containers on {containers.machines} machines, "
          f"{containers.workloads * len(fleet.MODELS)} combinations of workload and CPU model: "
          f"{prometheus.series()} series in {time.time() - start:.0f} s, "
          f"{prometheus.cpu_seconds():.0f} s of CPU time", flush=True)
    time.sleep(max(0, first + WINDOW - time.time()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("containers", nargs="?", type=int, default=200_000)
    parser.add_argument("evaluations", nargs="?", type=int, default=5)
    parser.add_argument("--rules", action="append", nargs="+", help="files of other rules, to compare")
    options = parser.parse_args()
    with Evaluating("global: {}\n") as prometheus:
        fill(prometheus, Containers(options.containers))
        slow = []
        for number, paths in enumerate([mixin.RULE_FILES] + (options.rules or [])):
            folder = f"{prometheus.scratch}/{number}"
            os.mkdir(folder)
            rules = evaluate(prometheus, one_group(paths, folder), options.evaluations)
            print(f"load average {os.getloadavg()[0]:.1f}, memory {prometheus.memory():.1f} GiB, {paths[0]}:")
            report(rules)
            sys.stdout.flush()
            slow += [rule for rule in rules if number == 0 and
                     (rule.median() > LONGEST_RULE or rule.error)]
        sys.exit(bool(slow))


if __name__ == "__main__":
    main()
