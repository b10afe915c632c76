"""A limit of the process bounds what is counted; it breaks nothing."""

import functools
import json
import os
import re
import resource
import socket
import sys
import unittest

import harness

EVENTS = ["task-clock", "context-switches", "cpu-migrations", "page-faults", "minor-faults",
          "major-faults"]
CGROUPS = 100
LIMIT = 384
ROOM_FOR_ALL = 8192
FREE_AT_LEAST, FREE_AT_MOST = 96, 128  # descriptors kept for sockets and files


def descriptors_limited_to(soft, hard):
    return functools.partial(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))


def counted(scrape):
    return int(scrape.value("perf_event_exporter_cgroups", state="counted"))


def labels(scrape):
    return {dict(labels)["cgroup"]
            for _, labels in scrape.with_name("perf_cgroup_minor_faults_total")}


class LimitsTest(unittest.TestCase):
    def setUp(self):
        harness.require_events(*EVENTS)
        self.tree = self.enterContext(harness.CgroupTree("limits"))
        for number in range(CGROUPS):
            self.tree.make(f"{number:03}")
        self.per_cgroup = len(EVENTS) * len(harness.online_cpus()) + 1  # and its directory

    def start(self, soft, hard):
        harness.require(self.per_cgroup * 2 + FREE_AT_MOST < soft, "too many CPUs for the limit")
        text = harness.config_of(events=EVENTS, include=[self.tree.pattern], linger="0s")
        return self.enterContext(
            harness.Daemon(text, preexec_fn=descriptors_limited_to(soft, hard)))

    def assert_nothing_was_refused(self, daemon, scrape):
        self.assertEqual(scrape.with_name("perf_event_exporter_event_open_errors_total"), {})
        self.assertEqual(scrape.problems("read_error"), 0)
        self.assertEqual(daemon.lines("error"), [])

    def test_as_many_cgroups_are_counted_as_descriptors_allow(self):
        daemon = self.start(LIMIT, LIMIT)
        scrape = daemon.scrape_after_polls()

        self.assertEqual(len(labels(scrape)), counted(scrape))
        left_out = CGROUPS - counted(scrape)
        self.assertEqual(scrape.value("perf_event_exporter_cgroups", state="left_out"), left_out)
        self.assertEqual(
            scrape.value("perf_event_exporter_cgroups_left_out_total", reason="open_files"), left_out)
        self.assertEqual(scrape.with_name("perf_group_coverage_ratio"), {})
        self.assertGreaterEqual(LIMIT - daemon.open_fds(), FREE_AT_LEAST)
        self.assertLessEqual(LIMIT - daemon.open_fds(), FREE_AT_MOST + self.per_cgroup)
        self.assert_nothing_was_refused(daemon, scrape)
        (told,) = daemon.logged(" level=warn ", f" of {CGROUPS} matching cgroups")
        self.assertIn(f"and the limit is {LIMIT}", told)
        self.assertIn("LimitNOFILE", told)
        shown = daemon.status()["cgroups"]
        self.assertEqual((shown["left_out"], shown["left_out_setting"]), (left_out, "LimitNOFILE="))

    def test_those_that_are_counted_are_counted_in_full(self):
        daemon = self.start(LIMIT, LIMIT)
        cgroup = min(labels(daemon.scrape_after_polls()))
        with harness.Workload(self.tree, cgroup, 0, 50, 1000, 20) as workload:
            before, usage = daemon.scrape_after_polls(), workload.usage()
            workload.run()
            after, used = daemon.scrape_after_polls(), workload.usage()
        for metric in ("context_switches", "minor_faults"):
            name = f"perf_cgroup_{metric}_total"
            self.assertAlmostEqual(after.since(before, name, cgroup=cgroup),
                                   used[metric] - usage[metric], delta=1)

    def test_cgroups_left_out_take_the_place_of_those_that_go(self):
        daemon = self.start(LIMIT, LIMIT)
        first = labels(daemon.scrape_after_polls())
        for cgroup in first:
            self.tree.remove(cgroup)
        scrape = daemon.scrape_when("as many others", lambda scrape: (
            len(labels(scrape)) == len(first) and not labels(scrape) & first))
        self.assert_nothing_was_refused(daemon, scrape)

        *rest, last = {f"{self.tree.path}/{number:03}" for number in range(CGROUPS)} - first
        for cgroup in rest:
            self.tree.remove(cgroup)
        scrape = daemon.scrape_when("the one that is left", lambda scrape: labels(scrape) == {last})
        self.assertEqual(scrape.value("perf_event_exporter_cgroups", state="left_out"), 0)
        self.assert_nothing_was_refused(daemon, scrape)

    def test_soft_limit_is_raised_to_the_hard_one(self):
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        needed = (CGROUPS + 1) * self.per_cgroup + FREE_AT_MOST
        harness.require(needed <= ROOM_FOR_ALL <= most, f"the hard limit of {most} is too low")
        daemon = self.start(LIMIT, ROOM_FOR_ALL)
        scrape = daemon.scrape_after_polls()
        self.assertEqual(counted(scrape), CGROUPS)
        self.assertEqual(scrape.with_name("perf_event_exporter_cgroups_left_out_total"), {})
        self.assertEqual(scrape.value("process_max_fds"), ROOM_FOR_ALL)


class SizeTest(unittest.TestCase):
    """What `size` prints is what is open."""

    CGROUPS = 12

    def start(self, config):
        daemon = self.enterContext(harness.Daemon(config))
        daemon.scrape_when("all cgroups", lambda scrape: counted(scrape) == self.CGROUPS)
        return daemon

    def why_not_compared(self, source):
        """For a reason that lasts; None: it was."""
        harness.require_events(*EVENTS)
        tree = self.enterContext(harness.CgroupTree("size"))
        for number in range(self.CGROUPS):
            tree.make(f"{number:03}")
        daemon = self.start(
            f"groups: [{{name: a, events: [{', '.join(EVENTS)}], scope: [cpu, cgroup]}}]\n"
            f"cgroups: {{source: {source}, include: ['{tree.pattern}']}}\n")
        lasting = (None, "CPUs differ", "records were given up") if source == "records" else (None,)
        return harness.until("a comparison", lambda: [
            reason for reason in [daemon.check_size()] if reason in lasting])[0]

    def test_counters_are_those_that_are_open(self):
        self.assertIsNone(self.why_not_compared("descriptors"))

    def test_counters_are_those_that_are_open_by_records(self):
        reason = self.why_not_compared("records")
        harness.require(reason is None, "this machine does not write all records of switches: the size "
                                        f"by records was NOT compared ({reason})")

    def test_values_that_it_advises_can_be_configured(self):
        harness.require_events(*EVENTS)
        config = {"groups": [{"name": "a", "events": EVENTS, "scope": "cgroup"}]}
        for cpus, cgroups in ((2, 100), (256, 100_000)):
            limits = {"cgroups": {"max": 1}, "limits": {"max_open_events": 1, "max_series": 1}}
            advice = harness.run("size", f"--cpus={cpus}", f"--cgroups={cgroups}",
                                 config=json.dumps(config | limits)).stdout
            advised = re.findall(r"set (cgroups|limits)[.](\w+) to (\d+)", advice)
            self.assertTrue(advised, advice)
            for table, key, value in advised:
                limits[table][key] = int(value)
            checked = harness.run("--config.check", config=json.dumps(config | limits))
            self.assertEqual(checked.returncode, 0, checked.stderr)


class MemoryTest(unittest.TestCase):
    """What `size` says to request is enough, and prints both: docs/cost.md has them for more cgroups."""

    CGROUPS = int(os.environ.get("PEX_MEMORY_CGROUPS", "100"))

    def let_run(self, cgroups):
        """Each of them on each CPU, so that all that it may have is there."""
        for cpu in harness.online_cpus():
            for cgroup in cgroups:
                harness.in_a_process(lambda: (self.tree.join(cgroup), os.sched_setaffinity(0, {cpu})))

    def test_the_memory_to_request_is_enough(self):
        harness.require_events(*EVENTS)
        harness.require(not harness.is_instrumented(), "a sanitizer takes memory of its own")
        self.tree = self.enterContext(harness.CgroupTree("memory"))
        cgroups = [self.tree.make(f"{number:05}") for number in range(self.CGROUPS)]
        for source in "descriptors", "records":
            config = "\n".join([
                f"groups: [{{name: a, events: [{', '.join(EVENTS)}], scope: [cpu, cgroup]}}]",
                "limits: {max_open_events: 1000000, max_series: 1000000, opens_per_second: 1000000}",
                f"cgroups: {{source: {source}, max: {self.CGROUPS}, include: ['{self.tree.pattern}']}}",
                ""])
            with self.subTest(source), harness.Daemon(config) as daemon:
                self.let_run(cgroups)
                for _ in range(3):
                    daemon.scrape_after_polls()
                sizes = harness.printed_sizes(config, self.CGROUPS)
                request = int(sizes[f"by {source}"]["memory to request"].split()[0])
                resident = daemon.resident_bytes() / 2**20
                print(f"{self.CGROUPS} cgroups by {source}: {resident:.1f} MiB are resident, "
                      f"{request} MiB to request", file=sys.stderr, flush=True)
                self.assertLessEqual(resident, request)


class RestartTest(unittest.TestCase):
    def test_port_can_be_used_again_at_once_although_a_client_was_connected(self):
        config = harness.config_of(events=["task-clock"], scope="cpu")
        port = harness.free_port()
        with socket.socket() as client:
            with harness.Daemon(config, port=port):
                client.connect(("127.0.0.1", port))
                client.sendall(b"GET /-/healthy HTTP/1.1\r\nHost: here\r\n\r\n")
                self.assertIn(b"200 OK", client.recv(4096))
            with harness.Daemon(config, port=port) as again:  # our side is still open
                self.assertEqual(again.get("/-/healthy")[0], 200)


if __name__ == "__main__":
    harness.main()
