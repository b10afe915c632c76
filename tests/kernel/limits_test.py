"""A limit of the process bounds what is counted; it breaks nothing."""

import functools
import re
import resource
import socket
import subprocess
import tempfile
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
        self.assertEqual(set(scrape.with_name("perf_event_exporter_event_open_errors_total").values()), {0})
        self.assertEqual(set(scrape.with_name("perf_group_read_errors_total").values()), {0})
        self.assertEqual(daemon.lines("error"), [])

    def test_as_many_cgroups_are_counted_as_descriptors_allow(self):
        daemon = self.start(LIMIT, LIMIT)
        scrape = daemon.scrape_after_polls()

        fitting = counted(scrape)
        self.assertEqual(len(labels(scrape)), fitting)
        self.assertEqual(scrape.value("perf_event_exporter_cgroups", state="left_out"),
                         CGROUPS - fitting)
        self.assertEqual(
            scrape.value("perf_event_exporter_cgroups_left_out_total", reason="open_files"),
            CGROUPS - fitting)
        self.assertGreaterEqual(LIMIT - daemon.open_fds(), FREE_AT_LEAST)
        self.assertLessEqual(LIMIT - daemon.open_fds(), FREE_AT_MOST + self.per_cgroup)
        self.assert_nothing_was_refused(daemon, scrape)

    def test_those_that_are_counted_are_counted_in_full(self):
        daemon = self.start(LIMIT, LIMIT)
        cgroup = min(labels(daemon.scrape_after_polls()))
        with harness.Workload(self.tree, cgroup, 0, 50, 1000, 20) as workload:
            before, usage = daemon.scrape_after_polls(), workload.usage()
            workload.run()
            after, used = daemon.scrape_after_polls(), workload.usage()
        for metric in ("context_switches", "minor_faults"):
            name = f"perf_cgroup_{metric}_total"
            self.assertAlmostEqual(after.value(name, cgroup=cgroup)
                                   - before.value(name, cgroup=cgroup),
                                   used[metric] - usage[metric], delta=1)

    def test_cgroups_left_out_take_the_place_of_those_that_go(self):
        daemon = self.start(LIMIT, LIMIT)
        first = labels(daemon.scrape_after_polls())
        for cgroup in first:
            self.tree.remove(cgroup)
        second = labels(daemon.scrape_after_polls(3))
        self.assertEqual(len(second), len(first))
        self.assertEqual(first & second, set())
        self.assert_nothing_was_refused(daemon, daemon.scrape())

    def test_soft_limit_is_raised_to_the_hard_one(self):
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        needed = (CGROUPS + 1) * self.per_cgroup + FREE_AT_MOST
        harness.require(needed <= ROOM_FOR_ALL <= most, f"the hard limit of {most} is too low")
        daemon = self.start(LIMIT, ROOM_FOR_ALL)
        scrape = daemon.scrape_after_polls()
        self.assertEqual(counted(scrape), CGROUPS)
        self.assertEqual(set(scrape.with_name("perf_event_exporter_cgroups_left_out_total").values()),
                         {0})
        self.assertEqual(scrape.value("process_max_fds"), ROOM_FOR_ALL)


class SizeTest(unittest.TestCase):
    """What `size` prints is what is open."""

    CGROUPS = 12

    def sizes(self, config, cgroups):
        """Way of counting -> counters."""
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(config)
            file.flush()
            printed = subprocess.run([harness.daemon_binary, "size", f"--config.file={file.name}",
                                      f"--cgroups={cgroups}"], capture_output=True, text=True,
                                     check=True).stdout
        ways, counters = (re.split(r"  +", line.strip())
                          for line in printed.splitlines() if re.match(r" +by|counters", line))
        return dict(zip(ways, map(int, counters[1:])))

    def open_events(self, config, source):
        daemon = self.enterContext(harness.Daemon(config.replace("SOURCE", source)))
        scrape = daemon.scrape_when("all cgroups", lambda scrape: counted(scrape) == self.CGROUPS)
        return scrape.value("perf_event_exporter_open_events"), scrape

    def test_counters_are_those_that_are_open(self):
        harness.require_events(*EVENTS)
        tree = self.enterContext(harness.CgroupTree("size"))
        for number in range(self.CGROUPS):
            tree.make(f"{number:03}")
        config = (f"groups: [{{name: a, events: [{', '.join(EVENTS)}], scope: [cpu, cgroup]}}]\n"
                  f"cgroups: {{source: SOURCE, include: ['{tree.pattern}']}}\n")
        sizes = self.sizes(config.replace("SOURCE", "auto"), self.CGROUPS)

        by_descriptors, _ = self.open_events(config, "descriptors")
        self.assertEqual(by_descriptors, sizes["by descriptors"])
        by_records, scrape = self.open_events(config, "records")
        if scrape.value("perf_event_exporter_cgroup_source_cpus", source="descriptors") == 0:
            # Less those of a comparison, for some ms a minute, and a group of the CPUs that is the same
            # as that of the cgroups.
            self.assertLessEqual(by_records, sizes["by records"])
            self.assertGreater(by_records, sizes["by records"] / 4)


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
