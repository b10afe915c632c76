"""What happens to the daemon from outside while it counts: it is killed, it is stopped for a while, its
log has no room. docs/faults.md has all faults.
"""

import os
import signal
import time
import unittest

import harness

EVENTS = ["context-switches", "minor-faults"]
METRICS = ["perf_cgroup_context_switches_total", "perf_cgroup_minor_faults_total"]
CGROUPS = 1000


class KilledTest(unittest.TestCase):
    def test_it_serves_and_counts_all_again_after_a_restart(self):
        harness.require_root()
        harness.require_events(*EVENTS)
        tree = self.enterContext(harness.CgroupTree("killed"))
        for number in range(CGROUPS):
            tree.make(f"{number:04}")
        config = (f"groups: [{{name: software, events: [{', '.join(EVENTS)}], scope: cgroup}}]\n"
                  f"cgroups: {{include: ['{tree.pattern}'], max: {CGROUPS}}}\n"
                  "limits: {max_open_events: 1000000, opens_per_second: 1000000}\n")

        def counts_all(scrape):
            return scrape.value("perf_event_exporter_cgroups", state="counted") == CGROUPS

        port = harness.free_port()
        first = self.enterContext(harness.Daemon(config, port=port))
        first.scrape_when("all cgroups", counts_all)
        os.kill(first.pid, signal.SIGKILL)
        begin = time.monotonic()
        first.child.wait()
        again = self.enterContext(harness.Daemon(config, port=port))
        served = time.monotonic() - begin
        again.scrape_when("all cgroups", counts_all)
        print(f"\nready after {served:.2f} s, {CGROUPS} cgroups counted after "
              f"{time.monotonic() - begin:.2f} s")


class StoppedTest(unittest.TestCase):
    """As when the machine is suspended, or a debugger holds it."""

    def test_counters_go_on_with_all_that_was_counted_meanwhile(self):
        harness.require_events(*EVENTS)
        tree = self.enterContext(harness.CgroupTree("stopped"))
        cgroup = tree.make("work")
        work = self.enterContext(harness.touches_pages(tree, cgroup))
        work.stop()
        config = harness.config_of(events=EVENTS, include=[tree.pattern])
        daemons = [self.enterContext(harness.Daemon(config)) for _ in range(2)]
        before = [daemon.scrape_after_polls() for daemon in daemons]
        overruns = "perf_event_exporter_poll_overruns_total"

        work.go_on()
        daemons[0].send(signal.SIGSTOP)
        time.sleep(3)
        daemons[0].send(signal.SIGCONT)
        work.stop()
        after = [daemon.scrape_after_polls() for daemon in daemons]

        for metric in METRICS:
            grown = [end.value(metric, cgroup=cgroup) - start.value(metric, cgroup=cgroup)
                     for start, end in zip(before, after)]
            self.assertGreater(grown[1], 100)
            self.assertEqual(grown[0], grown[1], metric)
        self.assertGreater(after[0].value(overruns), before[0].value(overruns))


class FullDiskTest(unittest.TestCase):
    def test_a_log_without_room_stops_nothing_and_is_counted(self):
        harness.require_events(*EVENTS)
        full = ["sh", "-c", 'exec "$@" 2>/dev/full', "sh"]
        config = harness.config_of(events=EVENTS, scope="cpu")
        with harness.Daemon(config, "--log.level=debug", wrapper=full) as daemon:
            scrape = daemon.scrape_after_polls(3)
            self.assertGreater(scrape.value("perf_event_exporter_log_messages_dropped_total"), 3)
            daemon.terminate()


if __name__ == "__main__":
    harness.main()
