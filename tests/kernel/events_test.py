"""Events of every kind that this kernel has are really counted, and exactly as often as they
happened; what it lacks costs nothing else."""

import itertools
import os
import platform
import shutil
import subprocess
import tempfile
import threading
import time
import unittest

import harness
import perf_events

TIMES = 2_000
TRACEFS = "/sys/kernel/tracing"
SOURCES = "/sys/bus/event_source/devices"

# tracefs is mounted for the daemon alone, in a mount namespace of its own, where it is not already.
WITH_TRACEFS = ("unshare", "-m", "sh", "-c",
                f"mountpoint -q {TRACEFS} || mount -t tracefs tracefs {TRACEFS} && exec \"$@\"", "sh")


def require_pmu(name):
    harness.require(os.path.isdir(f"{SOURCES}/{name}"), f"this kernel has no PMU {name}")


def require_tracefs():
    harness.require_root()
    probe = subprocess.run([*WITH_TRACEFS, "test", "-r", f"{TRACEFS}/events/sched/sched_switch/id"],
                           capture_output=True, check=False, text=True)
    harness.require(probe.returncode == 0, f"no tracefs with sched_switch: {probe.stderr.strip()}")


def group(name, events, scope):
    return f"  - {{name: {name}, events: {events}, scope: {scope}}}"


def config_of(*groups, include=()):
    patterns = ", ".join(f'"{pattern}"' for pattern in include)
    return "\n".join(["collection: {interval: 100ms}", "groups:", *groups,
                      f"cgroups: {{include: [{patterns}]}}", ""])


class Probed(harness.Process):
    """probed.cc, which see: blocked in `cgroup`, until it is let go."""

    def __init__(self, tree, cgroup, times=TIMES, binary=None):
        super().__init__([binary or probed_binary(), tree.mount + cgroup, "1", str(times)],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        key, _, self.address = self.child.stdout.readline().strip().partition("=")
        if key != "address":
            self.__exit__()
            raise AssertionError("the probed program did not start")
        self.await_state("S")

    def run(self):
        self.child.stdin.write("\n")
        self.child.stdin.flush()
        if not self.child.stdout.readline().startswith("times="):
            raise AssertionError("the probed program ended halfway")
        self.await_state("S")


def probed_binary():
    return os.path.join(os.path.dirname(harness.workload_binary), "probed")


class Increments:
    """What a run of something added to the series of a scrape."""

    def __init__(self, daemon, run):
        self.before = daemon.scrape_after_polls()
        run()
        self.after = daemon.scrape_after_polls()

    def of(self, name, **labels):
        return self.after.since(self.before, name, **labels)

    def over_cpus(self, name):
        return sum(value - self.before[series]
                   for series, value in self.after.with_name(name).items())


class ProbesTest(unittest.TestCase):
    """A function called and a variable written N times are N events, not one more or less."""

    def setUp(self):
        harness.require_root()
        harness.require_cpus(0, 1)
        self.tree = self.enterContext(harness.CgroupTree("probes"))
        self.busy, self.idle = self.tree.make("busy"), self.tree.make("idle")
        self.probed = self.enterContext(Probed(self.tree, self.busy))

    def counted(self, event, metric):
        event = f"[{{event: '{event}', name: {metric}}}]"
        config = config_of(group("probe", event, "[cpu, cgroup]"), include=[self.tree.pattern])
        daemon = self.enterContext(harness.Daemon(config))
        return Increments(daemon, self.probed.run)

    def assert_counted_once_and_here(self, increments, metric):
        cgroup, cpu = f"perf_cgroup_{metric}_total", f"perf_cpu_{metric}_total"
        self.assertEqual(increments.of(cgroup, cgroup=self.busy), TIMES)
        self.assertEqual(increments.of(cgroup, cgroup=self.idle), 0)
        self.assertEqual(increments.of(cpu, cpu="1"), TIMES)
        self.assertEqual(increments.of(cpu, cpu="0"), 0)

    def test_uprobe_by_symbol_counts_every_call(self):
        require_pmu("uprobe")
        self.assert_counted_once_and_here(
            self.counted(f"uprobe:{probed_binary()}:pex_probed_call", "calls"), "calls")

    def test_uretprobe_counts_every_return(self):
        require_pmu("uprobe")
        self.assert_counted_once_and_here(
            self.counted(f"uretprobe:{probed_binary()}:pex_probed_call", "returns"), "returns")

    def test_breakpoint_counts_every_write(self):
        require_pmu("breakpoint")
        perf_events.require()
        harness.require(perf_events.breakpoints_fire(), "breakpoints do not fire on this machine")
        self.assert_counted_once_and_here(
            self.counted(f"mem:{self.probed.address}/8:w", "writes"), "writes")

    def test_kprobe_counts_every_call_in_the_kernel(self):
        require_pmu("kprobe")  # needs CONFIG_KPROBE_EVENTS
        events = "[{event: 'kprobe:do_nanosleep', name: naps}]"
        config = config_of(group("probe", events, "cgroup"), include=[self.tree.pattern])
        daemon = self.enterContext(harness.Daemon(config))
        workload = self.enterContext(harness.Workload(self.tree, self.busy, 1, TIMES, 0, 0))
        increments = Increments(daemon, workload.run)
        # It gives up the CPU by sleeping, and a sleep may end before it has begun.
        self.assertGreaterEqual(increments.of("perf_cgroup_naps_total", cgroup=self.busy), TIMES)
        self.assertEqual(increments.of("perf_cgroup_naps_total", cgroup=self.idle), 0)


class SwappedFileTest(unittest.TestCase):
    """A tenant puts another program in the place of his own, again and again, while an exporter starts
    that probes it. No byte of the other one changes, and his own is counted as long as he leaves it."""

    STARTS = 12

    def setUp(self):
        require_pmu("uprobe")
        harness.require_cpus(1)
        self.tree = self.enterContext(harness.CgroupTree("swapped"))
        self.cgroup = self.tree.make("busy")
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        os.chmod(self.folder, 0o777)
        self.own = shutil.copy(probed_binary(), f"{self.folder}/own")
        self.program = f"{self.folder}/program"
        os.link(self.own, self.program)

    def start(self, place):
        events = f"[{{event: 'uprobe:{self.program}:{place}', name: calls}}, context-switches]"
        config = config_of(group("probe", events, "[cpu, cgroup]"), include=[self.tree.pattern])
        return harness.Daemon(config, cwd="/")  # `size` would look at another file

    def swap(self, other, ended):
        for file in itertools.cycle((other, self.own)):
            if ended.is_set():
                return
            os.symlink(file, f"{self.folder}/next")
            os.rename(f"{self.folder}/next", self.program)
            time.sleep(0.001)

    def test_no_byte_of_another_program_changes(self):
        with harness.Workload(self.tree, self.cgroup) as victim:
            other = os.readlink(f"/proc/{victim.pid}/exe")
            code = [self.code_of(victim.pid)]
            ended = threading.Event()
            swapper = threading.Thread(target=self.swap, args=(other, ended))
            swapper.start()
            try:
                for start in range(self.STARTS):
                    place = "pex_probed_call" if start % 2 else "0x1234"
                    with self.start(place):
                        code.append(self.code_of(victim.pid))
                    stat = [harness.daemon_binary, "stat", "-e", f"uprobe:{self.program}:{place}",
                            "--", "true"]
                    subprocess.run(stat, capture_output=True, cwd="/", check=False)
                    code.append(self.code_of(victim.pid))
            finally:
                ended.set()
                swapper.join()
        self.assertEqual(len(set(code)), 1, "the code of another program was changed")

    def test_its_own_is_counted_while_another_one_is_in_its_place(self):
        probed = self.enterContext(Probed(self.tree, self.cgroup, binary=self.program))
        daemon = self.enterContext(self.start("pex_probed_call"))
        os.remove(self.program)
        os.symlink(harness.workload_binary, self.program)
        increments = Increments(daemon, probed.run)
        self.assertEqual(increments.of("perf_cgroup_calls_total", cgroup=self.cgroup), TIMES)

    def test_an_offset_in_it_at_which_no_function_begins_is_refused_with_a_remedy(self):
        daemon = self.enterContext(self.start("0x1234"))
        (line,) = daemon.logged(" level=warn ", "no function begins there")
        self.assertIn("Remedy: name a function", line)
        daemon.scrape_when("the other event", lambda scrape: scrape.with_name(
            "perf_cgroup_context_switches_total"))

    @staticmethod
    def code_of(pid):
        """What a process executes of its program."""
        program = os.readlink(f"/proc/{pid}/exe")
        with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
            (line,) = [line for line in maps if line.endswith(f" {program}\n") and " r-xp " in line]
            first, end = (int(address, 16) for address in line.split()[0].split("-"))
            memory.seek(first)
            return memory.read(end - first)


class TracepointTest(unittest.TestCase):
    def setUp(self):
        require_tracefs()
        harness.require_events("context-switches")
        harness.require_cpus(0, 1)
        self.tree = self.enterContext(harness.CgroupTree("tracepoints"))
        self.busy, self.idle = self.tree.make("busy"), self.tree.make("idle")

    def daemon(self, *groups):
        config = config_of(*groups, include=[self.tree.pattern])
        return self.enterContext(harness.Daemon(config, wrapper=WITH_TRACEFS))

    def test_sched_switch_is_what_the_kernel_calls_a_context_switch(self):
        # Both in one group, so that they count over the same time: for the cgroup and for each CPU.
        daemon = self.daemon(
            group("switches", '["sched:sched_switch", context-switches]', "[cpu, cgroup]"))
        self.enterContext(harness.Workload(self.tree, self.idle))
        workload = self.enterContext(harness.Workload(self.tree, self.busy, 1, TIMES, 0, 0))
        increments = Increments(daemon, workload.run)

        def counted(scope, event, **labels):
            return increments.of(f"perf_{scope}_{event}_total", **labels)

        # The tracepoint comes before the switch, the event after it; a reading lies between two
        # switches, or in that of the reader itself.
        in_cgroup = counted("cgroup", "sched_sched_switch", cgroup=self.busy)
        self.assertAlmostEqual(
            in_cgroup, counted("cgroup", "context_switches", cgroup=self.busy), delta=2)
        # Some virtual machines lose what happens on an idle CPU, for any reader of perf events, so
        # there are only bounds for the CPU: all of the cgroup ran there, and others did.
        on_cpu = counted("cpu", "sched_sched_switch", cpu="1")
        self.assertGreaterEqual(on_cpu, in_cgroup)
        self.assertLessEqual(on_cpu, counted("cpu", "context_switches", cpu="1") + 2)
        self.assertGreaterEqual(
            increments.of("perf_cgroup_sched_sched_switch_total", cgroup=self.busy), TIMES)
        self.assertEqual(
            increments.of("perf_cgroup_sched_sched_switch_total", cgroup=self.idle), 0)

    def test_filter_counts_only_what_passes_it(self):
        workload = self.enterContext(harness.Workload(self.tree, self.busy, 1, TIMES, 0, 0))
        filtered = f"{{event: 'sched:sched_switch', name: own, filter: 'prev_pid == {workload.pid}'}}"
        nobody = "{event: 'sched:sched_switch', name: nobody, filter: 'prev_pid == -1'}"
        daemon = self.daemon(group("filtered", f"[{filtered}, {nobody}]", "cpu"))
        before = workload.usage()["context_switches"]
        increments = Increments(daemon, workload.run)
        switched = workload.usage()["context_switches"] - before

        self.assertAlmostEqual(increments.over_cpus("perf_cpu_own_total"), switched, delta=1)
        self.assertEqual(increments.over_cpus("perf_cpu_nobody_total"), 0)

    def test_filter_without_its_other_parenthesis_or_quote_is_reported_as_one(self):
        # The kernel returns -1, -2 and -3 for these, which are other errnos.
        filters = {"closed": "prev_pid == 0)", "open": "(prev_pid == 0", "quote": 'prev_comm == "a'}
        events = [f"{{event: 'sched:sched_switch', name: {name}, filter: '{text}'}}"
                  for name, text in filters.items()]
        daemon = self.daemon(group("counted", "[task-clock]", "cpu"),
                             *(group(name, f"[{event}]", "cpu")
                               for name, event in zip(filters, events)))

        refused = daemon.logged("cannot parse the filter (EINVAL)")
        self.assertNotIn("seccomp", "".join(daemon.lines("warn")))
        self.assertEqual(len(refused), 1)  # one line for each cause
        self.assertEqual(len(daemon.scrape().with_name("perf_event_exporter_event_refusal_info")), 1)


class MsrTest(unittest.TestCase):
    def test_time_stamp_counter_runs_as_fast_on_every_cpu(self):
        require_pmu("msr")
        harness.require(os.path.exists(f"{SOURCES}/msr/events/tsc"), "the PMU msr has no event tsc")
        harness.require(platform.machine() == "x86_64", "only x86 has a time stamp counter")
        daemon = self.enterContext(
            harness.Daemon(config_of(group("msr", '["msr/tsc/", cpu-clock]', "cpu"))))
        increments = Increments(daemon, lambda: daemon.scrape_after_polls(5))

        megahertz = [increments.of("perf_cpu_msr_tsc_total", cpu=cpu)
                     / increments.of("perf_cpu_cpu_clock_seconds_total", cpu=cpu) / 1e6
                     for cpu in ("0", "1")]
        # Both members of a group run over the same time, so their ratio is the frequency. Nominal
        # frequencies are between these on every machine of the last twenty years.
        self.assertAlmostEqual(megahertz[0], megahertz[1], delta=megahertz[0] / 1000)
        self.assertTrue(500 < megahertz[0] < 7_000, megahertz)


class ImpossibleEventTest(unittest.TestCase):
    """One event that no machine like this has, among nine others."""

    POSSIBLE = ["task-clock", "cpu-clock", "page-faults", "context-switches", "cpu-migrations",
                "minor-faults", "major-faults", "cgroup-switches", "dummy"]
    IMPOSSIBLE = "uncore_imc_77/cas_count_read/"

    @classmethod
    def setUpClass(cls):
        harness.require_events(*cls.POSSIBLE)
        events = ", ".join([*cls.POSSIBLE, f'"{cls.IMPOSSIBLE}"'])
        cls.daemon = cls.enterClassContext(
            harness.Daemon(config_of(group("ten", f"[{events}]", "cpu"))))
        cls.scrape = cls.daemon.scrape_after_polls()

    def test_nine_are_served(self):
        served = {name for name, _ in self.scrape.with_name("perf_cpu_") if "_observed_" not in name}
        self.assertEqual(len(served), len(self.POSSIBLE))

    def test_the_tenth_is_named_on_stderr_with_its_remedy_once(self):
        lines = self.daemon.logged(" level=warn ", self.IMPOSSIBLE)
        self.assertEqual(len(lines), 1)
        self.assertIn("Remedy: ", lines[0])

    def test_the_tenth_is_named_in_the_status_with_its_remedy(self):
        (reason,) = self.daemon.status()["not_counted"]
        self.assertEqual(reason["events"], [self.IMPOSSIBLE])
        self.assertRegex(reason["remedy"], "load its driver|modprobe")

    def test_the_tenth_alone_is_refused_in_the_metrics(self):
        refused = self.scrape.with_name("perf_event_exporter_event_refusal_info")
        self.assertEqual([dict(labels)["event"] for _, labels in refused], [self.IMPOSSIBLE])

    def test_check_of_the_configuration_fails(self):
        ended = harness.run("--config.check", f"--config.file={self.daemon.config_path}")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("9 of 10 events can be counted here", ended.stdout)


if __name__ == "__main__":
    harness.main()
