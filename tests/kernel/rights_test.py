"""What root's rights are left to the program once it runs, and that they are enough."""

import os
import signal
import unittest

import harness
from events_test import probed_binary, require_pmu

EVENTS = ["task-clock", "context-switches"]
NUMBER_OF = {"dac_override": 1, "dac_read_search": 2, "net_bind_service": 10, "ipc_lock": 14,
             "sys_admin": 21, "perfmon": 38}  # capability.h
ALWAYS = ("perfmon", "dac_read_search", "net_bind_service")
SETS = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")



def bits(*names):
    return sum(1 << NUMBER_OF[name] for name in names)


def granted(name):
    """Whether the tests have the capability, and so the program they start; containers lack some."""
    permitted = int(next(statuses(os.getpid()))["CapPrm"], 16)
    return permitted & bits(name) != 0


def statuses(pid):
    """proc_pid_status(5) of each thread."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        lines = harness.read_text(f"/proc/{pid}/task/{thread}/status").splitlines()
        yield dict(line.split(":\t", 1) for line in lines if ":\t" in line)


class RightsTest(unittest.TestCase):
    def setUp(self):
        harness.require_events(*EVENTS)
        harness.require_perfmon_to_matter()
        self.tree = self.enterContext(harness.CgroupTree("rights"))
        self.cgroup = self.tree.make("one")

    def daemon(self, text, *args):
        return self.enterContext(harness.Daemon(text, *args))

    def counting(self, *events):
        return harness.config_of(events=[f"'{event}'" for event in events],
                                 include=[self.tree.pattern])

    def assert_kept(self, daemon, *more):
        """Beyond what it always keeps, and CAP_IPC_LOCK where that is granted."""
        lock = ["ipc_lock"] if granted("ipc_lock") else []
        self.assert_keeps_only(daemon, *ALWAYS, *lock, *more)

    def assert_keeps_only(self, daemon, *names):
        for status in statuses(daemon.pid):
            left = {each: int(status[each], 16) for each in SETS}
            self.assertEqual((left["CapPrm"], left["CapEff"]), (bits(*names),) * 2, status["Name"])
            for each in SETS:
                self.assertEqual(left[each] & ~bits(*names), 0, f"{each} of {status['Name']}")
            self.assertEqual(status["NoNewPrivs"], "1")

    def test_every_thread_of_root_keeps_what_counting_takes_and_counts(self):
        daemon = self.daemon(self.counting(*EVENTS))
        scrape = daemon.scrape_after_polls()
        for scope in ("cpu", "cgroup"):
            for event in EVENTS:
                self.assertFalse(scrape.is_refused(event, scope))
        self.assertTrue(scrape.has("perf_cgroup_context_switches_total", cgroup=self.cgroup))
        self.assert_kept(daemon)
        self.assertEqual(daemon.lines("warn"), [])

    def test_root_that_was_not_granted_the_right_to_lock_memory_counts_without_it(self):
        withheld = ("setpriv", "--inh-caps=-all", "--bounding-set=-ipc_lock")
        with harness.Daemon(self.counting(*EVENTS), wrapper=withheld) as daemon:
            scrape = daemon.scrape_after_polls()
            self.assertFalse(scrape.is_refused(EVENTS[0], "cgroup"))
            self.assert_keeps_only(daemon, *ALWAYS)

    def test_a_socket_file_takes_the_right_to_make_it_in_a_directory_of_another_user(self):
        daemon = self.daemon(self.counting(*EVENTS))
        path = f"{daemon.scratch}/other"
        os.mkdir(path, 0o700)
        os.chown(path, 65534, 65534)
        other = self.daemon(self.counting(*EVENTS), f"--web.listen-address=unix:{path}/socket")
        self.assertTrue(os.path.exists(f"{path}/socket"))
        self.assert_kept(other, "dac_override")
        other.terminate()
        self.assertFalse(os.path.exists(f"{path}/socket"))

    def test_a_uprobe_keeps_sys_admin_and_is_counted(self):
        require_pmu("uprobe")
        event = f"uprobe:{probed_binary()}:pex_probed_call"
        daemon = self.daemon(self.counting(event))
        self.assertFalse(daemon.scrape_after_polls().is_refused(event))
        self.assert_kept(daemon, "sys_admin")

    def test_a_uprobe_that_comes_with_a_reload_reports_what_to_do(self):
        require_pmu("uprobe")
        event = f"uprobe:{probed_binary()}:pex_probed_call"
        withheld = ("setpriv", "--inh-caps=-all", "--bounding-set=-sys_admin")
        with harness.Daemon(self.counting(event), wrapper=withheld) as without:
            refused = without.scrape_after_polls().is_refused(event)
        harness.require(refused, "this kernel lets CAP_PERFMON count uprobes")
        daemon = self.daemon(self.counting(*EVENTS))
        daemon.scrape_after_polls()
        daemon.write_config(self.counting(*EVENTS, event))
        daemon.send(signal.SIGHUP)
        scrape = daemon.scrape_when("the reload", lambda scrape: scrape.is_refused(event))
        self.assertFalse(scrape.is_refused(EVENTS[0]))
        daemon.logged(" level=warn ", "CAP_SYS_ADMIN", "restart the exporter")


if __name__ == "__main__":
    harness.main()
