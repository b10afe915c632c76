"""The tests about cgroups once more, on a machine whose perf_event is on version 1.

perf_event is an implicit controller: a version 1 mount takes it away from version 2 even when that
has cgroups, and the end of the last mount brings it back, provided the version 1 hierarchy is empty
by then (kernel/cgroup/cgroup.c, rebind_subsystems(); cgroup_kill_sb()). So each program runs in a
mount namespace with such a mount of its own, and after each of them version 2 must be able to count
again. Meanwhile nobody can open events of version 2 cgroups; those that were open went on counting
on Linux 6.18.

    v1_test.py DAEMON WORKLOAD [V1Test.test_PROGRAM...]

What brings the machine back is not the test, which may be killed, but a keeper that outlives it:
the same file, called with --keep, inside of the namespace.
"""

import contextlib
import glob
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import harness

# Program -> those of its tests that meet the other interface of the kernel; none means all.
PROGRAMS = {"churn": (), "limits": (), "truth": (),
            "cgroups": ("ShortLifeTest", "FairnessTest", "ListTest", "NamesTest")}
BY_RECORDS = ("churn", "truth")  # once more, with cgroups counted by records of switches
LONGEST = 900.0  # seconds for one program
TO_END = 60.0    # seconds for it to clean up once it is told to end
PAGES = 500      # that are touched to see whether faults are counted
REMEDY = "`mount -t cgroup -o perf_event none DIRECTORY`, remove the cgroups in it, unmount it"
NAMESPACE = ("unshare", "--mount", "--propagation", "private")

# --------------------------------------------------------------------------------------------------
# The keeper. Says one line on stdout: "ended STATUS" or "unmountable REASON".


def keep(*command):
    """Mounts, runs the command, and leaves an empty hierarchy; also when our caller, who holds our
    stdin open, is gone before that. The mount would go with the namespace, which goes with us."""
    directory = tempfile.mkdtemp(prefix="pex_test_v1_")
    mounted = subprocess.run(["mount", "-t", "cgroup", "-o", "perf_event", "pex_test", directory],
                             stderr=subprocess.PIPE, text=True, check=False)
    if mounted.returncode == 0:
        said = f"ended {status_over(directory, command)}"
        subprocess.run(["umount", directory], check=True)
    else:
        said = f"unmountable {mounted.stderr.strip()}"
    os.rmdir(directory)
    with contextlib.suppress(BrokenPipeError):
        os.write(sys.stdout.fileno(), said.encode())


def status_over(directory, command):
    program = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sys.stderr,
                               start_new_session=True)
    await_end(program)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(program.pid, signal.SIGKILL)  # what it left, say a daemon
    status = program.wait()
    leave_nothing_of(program.pid, directory)
    return status


def await_end(program):
    """It is not reaped yet: so its number still means it and its session."""
    ended = os.pidfd_open(program.pid)
    select.select([ended, sys.stdin], [], [], LONGEST)
    if not select.select([ended], [], [], 0)[0]:
        signal.pidfd_send_signal(ended, signal.SIGTERM)
        select.select([ended], [], [], TO_END)
    os.close(ended)


def leave_nothing_of(pid, directory):
    """A cgroup that is removed keeps the hierarchy alive for as long as something holds it."""
    for tree in glob.glob(f"{directory}/{harness.name_of_trees(pid)}*"):
        harness.remove_tree(tree)
    harness.until("the end of all cgroups but the root",
                  lambda: harness.v1_controllers()["perf_event"][1] == 1)


# --------------------------------------------------------------------------------------------------
# The tests


def on_v1(program, source):
    """What the keeper says of a test program that counts cgroups by `source`."""
    path = f"{os.path.dirname(os.path.abspath(__file__))}/{program}_test.py"
    keeper = subprocess.Popen(
        ["setsid", "--fork", *NAMESPACE, sys.executable, os.path.abspath(__file__), "--keep",
         sys.executable, path, harness.daemon_binary, harness.workload_binary,
         *PROGRAMS[program]],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PEX_TEST_CGROUP_SOURCE": source})
    try:
        return keeper.stdout.read()
    finally:
        keeper.stdin.close()
        keeper.stdout.read()  # until it has ended
        keeper.stdout.close()
        keeper.wait()


def state():
    """What must be afterwards as it was before: mounts, and the hierarchy of each controller."""
    hierarchies = {name: number for name, (number, _) in harness.v1_controllers().items()}
    return harness.read_text("/proc/self/mountinfo"), hierarchies


def require_that_it_can_be_tried():
    harness.require_root()
    for program in ("mount", "setsid", "unshare"):
        harness.require(shutil.which(program), f"{program} is not installed")
    harness.require("nodev\tcgroup\n" in harness.read_text("/proc/filesystems"),
                    "the kernel has no cgroups of version 1")
    harness.require("perf_event" in harness.v1_controllers(),
                    "the kernel has no perf_event cgroups")
    harness.require(harness.hierarchy()[1], "perf_event is on version 1 here: the programs as they "
                                            "are test that")
    harness.require(harness.v1_controllers()["perf_event"][0] == 0,
                    "perf_event is on a version 1 hierarchy that is not mounted here: is another "
                    f"such test under way? If not, {REMEDY}")
    tried = subprocess.run([*NAMESPACE, "true"], stderr=subprocess.PIPE, text=True, check=False)
    harness.require(tried.returncode == 0, f"no mount namespaces: {tried.stderr.strip()}")


class V1Test(unittest.TestCase):
    def setUp(self):
        require_that_it_can_be_tried()
        harness.require_events("minor-faults")
        harness.require_cpus(0)
        self.tree = self.enterContext(harness.CgroupTree("v1"))
        self.cgroups = [self.tree.make("from-before")]
        self.before = state()
        self.addCleanup(self.assert_machine_is_as_before)

    def assert_machine_is_as_before(self):
        harness.until(f"return of perf_event to version 2; by hand: {REMEDY}",
                      lambda: state() == self.before)
        self.cgroups.append(self.tree.make("from-after"))
        config = harness.config_of(events=["minor-faults"], include=[self.tree.pattern])
        with harness.Daemon(config) as daemon:
            before = daemon.scrape_after_polls()
            for cgroup in self.cgroups:
                with harness.Workload(self.tree, cgroup, 0, 0, PAGES, 0) as workload:
                    workload.run()
            after = daemon.scrape_after_polls()
        for cgroup in self.cgroups:
            counted = after.since(before, "perf_cgroup_minor_faults_total", cgroup=cgroup)
            self.assertGreaterEqual(counted, PAGES, cgroup)

    def assert_passes(self, program, source):
        said, _, rest = on_v1(program, source).strip().partition(" ")
        harness.require(said != "unmountable", f"perf_event cannot be mounted as version 1: {rest}")
        self.assertEqual(said, "ended", "the keeper ended without a word")
        harness.require(int(rest) != harness.SKIPPED, f"all of {program}_test.py was skipped")
        self.assertEqual(int(rest), 0, f"status of {program}_test.py")


def test_of(program, source):
    return lambda self: self.assert_passes(program, source)


for each in PROGRAMS:
    setattr(V1Test, f"test_{each}", test_of(each, "descriptors"))
for each in BY_RECORDS:
    setattr(V1Test, f"test_{each}_by_records", test_of(each, "records"))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--keep"]:
        keep(*sys.argv[2:])
    else:
        harness.main()
