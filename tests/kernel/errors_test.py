"""What can go wrong, and how an operator is told: exit status, log line, metric, sd_notify."""

import contextlib
import functools
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

import yaml

import harness

EVENTS = ["task-clock", "context-switches", "minor-faults"]
EVERY_SOFTWARE_EVENT = [  # that all kernels have
    "task-clock", "cpu-clock", "context-switches", "cpu-migrations", "page-faults", "minor-faults",
    "major-faults", "alignment-faults", "emulation-faults", "dummy"]
CPU_ONLY = harness.config_of(events=EVENTS, scope="cpu")
BROKEN = "groups: [{name: core, events: [task-clock], scope: everywhere}]\n"
SOURCE = pathlib.Path(__file__).parents[2]
SHIPPED = SOURCE / "config/perf_event_exporter.yaml"
NOBODY = 65534
SOON = 8.0  # seconds in which the daemon can go on: before it gives up any client of ours

reload_successful = "perf_event_exporter_config_last_reload_successful"


class FileTest(unittest.TestCase):
    """With a folder for files of its own."""

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory(prefix="pex_test_"))
        os.chmod(self.folder, 0o755)

    def file(self, text):
        return harness.write_text(f"{self.folder}/config.yaml", text)


class StartUpFailureTest(FileTest):
    def assert_refused(self, *args, config=None, told=()):
        """Ends with 1 and one line on stderr that holds all of `told` and says what to do."""
        ended = harness.run("--web.listen-address=127.0.0.1:0", *args, config=config)
        self.assertEqual((ended.returncode, ended.stdout), (1, ""), ended.stderr)
        self.assertRegex(ended.stderr, r'\Ats=\S+ level=error msg="[^\n]+"(?: errno=\d+)?\n\Z')
        for fragment in (*told, "Remedy: "):
            self.assertIn(fragment, ended.stderr)

    def test_port_in_use(self):
        harness.require_events(*EVENTS)
        with socket.create_server(("127.0.0.1", 0)) as other:
            address = f"127.0.0.1:{other.getsockname()[1]}"
            self.assert_refused(f"--web.listen-address={address}", config=CPU_ONLY,
                                told=(address, "--web.listen-address", "EADDRINUSE"))

    def test_trees_of_the_kernel_that_are_not_there(self):
        harness.require_events(*EVENTS)
        config = harness.config_of(events=EVENTS, include=["/*"])
        for option in ("--path.sysfs", "--path.cgroupfs", "--path.procfs"):
            with self.subTest(option):
                self.assert_refused(f"{option}=/nonexistent", config=config,
                                    told=("/nonexistent", option, "ENOENT"))

    def test_a_configuration_that_cannot_be_used(self):
        missing = f"{self.folder}/none.yaml"
        for file, told in ((missing, (missing, "--config.file", "ENOENT")),
                           (self.folder, (self.folder, "EISDIR")),
                           (self.file(BROKEN), ("config.yaml:1:", "everywhere"))):
            with self.subTest(file):
                self.assert_refused(f"--config.file={file}", told=told)

    def test_each_of_several_errors_has_a_line(self):
        ended = harness.run(config="collection: {interval: 5}\n" + BROKEN)
        self.assertEqual(ended.returncode, 1)
        self.assertEqual([re.search(r"\.yaml:(\d):", line)[1] for line in ended.stderr.splitlines()],
                         ["1", "2"])

    def test_a_file_for_a_newer_version_is_read_by_a_service_and_refused_at_a_terminal(self):
        newer = "requires: '>=99'\nsince_99: {a: b}\n" + CPU_ONLY
        with harness.Daemon(newer) as daemon:  # as service managers and containers start it
            scrape = daemon.scrape_after_polls(2)
            self.assertEqual(scrape.value("perf_event_exporter_config_unknown_keys"), 1)
            daemon.logged("config.yaml:2:1: since_99: unknown key: ignored")
        controller, terminal = pty.openpty()
        with open(controller, "rb", buffering=0), open(terminal, "rb", buffering=0):
            ended = harness.run(config=newer, stdin=terminal)
        self.assertEqual(ended.returncode, 1)
        self.assertIn("since_99: unknown key. Remedy: ", ended.stderr)

    def test_command_line_that_is_not_understood(self):
        for args in (["--no-such-flag"], ["--log.level=loud"], ["--web.telemetry-path=metrics"],
                     ["nonsense"], ["--config.file"]):
            with self.subTest(args=args):
                ended = harness.run(*args)
                self.assertEqual((ended.returncode, ended.stdout), (2, ""))
                self.assertRegex(ended.stderr, r"\A[^\n]+\n\Z")
                self.assertIn("--help", ended.stderr)


class LittleToCountTest(FileTest):
    """The machine gives less than was asked for: that is served, and said once."""

    def test_unprivileged_user_serves_and_reports_what_to_grant(self):
        harness.require_root()
        paranoid = int(harness.read_text("/proc/sys/kernel/perf_event_paranoid"))
        harness.require(paranoid > 0, "kernel.perf_event_paranoid lets everybody count")
        binary = shutil.copy(harness.daemon_binary, self.folder)  # where nobody can reach it
        with harness.Daemon(CPU_ONLY, command=binary, cwd="/", user=NOBODY, group=NOBODY,
                            extra_groups=[]) as daemon:
            scrape = daemon.scrape_after_polls(3)
            self.assertEqual(daemon.get("/-/ready")[0], 200)
            self.assertEqual([scrape.is_refused(event) for event in EVENTS], [True] * 3)
            self.assertEqual(scrape.with_name("perf_cpu_"), {})
            self.assertEqual(scrape.with_name("perf_event_exporter_event_open_errors_total"), {})
            daemon.logged(" level=warn ")
            warnings = daemon.lines("warn")
            self.assertEqual(len(warnings), 1, warnings)
            for fragment in (*EVENTS, "EACCES", "CAP_PERFMON"):
                self.assertIn(fragment, warnings[0])
            self.assertEqual(daemon.lines("error"), [])

    def without_cgroup_mounts(self):
        points = [point for point, kind, _ in harness.mounts() if kind in ("cgroup", "cgroup2")]
        hidden = ["unshare", "--mount", "--propagation", "private", "sh", "-c",
                  f'umount -l {" ".join(reversed(points))} && exec "$@"', "sh"]
        tried = subprocess.run([*hidden, "true"], capture_output=True, text=True, check=False)
        harness.require(tried.returncode == 0, f"cannot hide the cgroups: {tried.stderr.strip()}")
        return hidden

    def test_without_a_cgroup_mount_a_check_counts_no_event_of_cgroups(self):
        for scope, status, events in (("cgroup", 1, 0), ("[cpu, cgroup]", 0, len(EVENTS))):
            ended = harness.run("--config.check", wrapper=self.without_cgroup_mounts(),
                                config=harness.config_of(events=EVENTS, scope=scope, include=["/*"]))
            self.assertRegex(ended.stdout, r"(?m) cgroup +\S+ +no \(no cgroup mount\)$")
            self.assertIn(f"valid: {events} of {len(EVENTS)} events", ended.stdout)
            self.assertEqual(ended.returncode, status, ended.stdout)

    def test_without_a_cgroup_mount_the_cpus_are_counted(self):
        harness.require_events(*EVENTS)
        hidden = self.without_cgroup_mounts()
        config = harness.config_of(events=EVENTS, include=["/*"])
        with harness.Daemon(config, wrapper=hidden) as daemon:
            scrape = daemon.scrape_after_polls(3)
            self.assertTrue(scrape.has("perf_cpu_task_clock_seconds_total", cpu="0"))
            self.assertEqual(scrape.with_name("perf_cgroup_"), {})
            daemon.logged("no cgroups are counted")
            warnings = daemon.lines("warn")
            self.assertEqual(len(warnings), 1, warnings)
            for fragment in ("no cgroups are counted", "cgroup2", "--path.cgroupfs"):
                self.assertIn(fragment, warnings[0])

    def test_cgroups_are_counted_once_their_hierarchy_is_mounted(self):
        harness.require_events(*EVENTS)
        hidden = self.without_cgroup_mounts()
        with harness.CgroupTree("mounted") as tree, tempfile.TemporaryDirectory() as directory:
            harness.require(tree.is_v2, "perf_event is on a version 1 hierarchy")
            cgroup = tree.make("a")
            config = harness.config_of(events=EVENTS, include=[tree.pattern])
            with harness.Daemon(config, wrapper=hidden) as daemon:
                before = daemon.scrape_after_polls(3)
                daemon.write_config(BROKEN)  # nobody asks to read it

                subprocess.run(["nsenter", "--mount", "--target", str(daemon.pid), "mount", "-t",
                                "cgroup2", "pex_test", directory], check=True)

                after = daemon.scrape_when("the cgroup to be counted", lambda scrape: scrape.has(
                    "perf_cgroup_task_clock_seconds_total", cgroup=cgroup))
                self.assertEqual(before.with_name("perf_cgroup_"), {})
                self.assertEqual(after.value(reload_successful), 1)
                daemon.logged("level=info", "cgroup hierarchy")


class SignalTest(unittest.TestCase):
    def setUp(self):
        harness.require_events(*EVENTS)

    def test_term_and_int_end_it_cleanly(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(signal=number), harness.Daemon(CPU_ONLY) as daemon:
                daemon.scrape_after_polls()
                daemon.terminate(number)
                self.assertIn(number.name, daemon.lines("info")[-1])

    def test_clients_that_do_not_leave_do_not_hold_up_the_end(self):
        with harness.Daemon(CPU_ONLY) as daemon, socket.socket() as idle, socket.socket() as slow:
            for client, request in ((idle, b"GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n"),
                                    (slow, b"GET /metrics HTTP/1.1\r\nHo")):
                host, port = daemon.address.split(":")
                client.connect((host, int(port)))
                client.sendall(request)
            self.assertIn(b"200 OK", idle.recv(4096))
            daemon.terminate(within=SOON)

    def test_end_asked_for_amid_many_scrapes_comes(self):
        # A poll falls due after the signal was noticed and before it is handled, because scrapes
        # are served in between: that poll must not be the start of new ones.
        with harness.CgroupTree("amid") as tree:
            for number in range(250):
                tree.make(str(number))
            config = harness.config_of(events=EVERY_SOFTWARE_EVENT, include=[tree.pattern])
            for _ in range(4):  # it takes luck to hit
                with harness.Daemon(config) as daemon:
                    self.end_amid_scrapes(daemon, interval=0.1, serving=0.02)

    def end_amid_scrapes(self, daemon, interval, serving):
        """Lets 60 scrapes and the signal arrive at once, `serving` seconds before a poll."""
        host, port = daemon.address.split(":")
        with contextlib.ExitStack() as clients:
            connections = [clients.enter_context(socket.create_connection((host, port)))
                           for _ in range(60)]
            poll = daemon.scrape_after_polls(1).value(
                "perf_event_exporter_last_poll_timestamp_seconds")
            daemon.send(signal.SIGSTOP)
            for connection in connections:
                connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            while poll - serving < time.time():
                poll += interval
            time.sleep(max(0.0, poll - serving - time.time()))
            daemon.send(signal.SIGTERM)
            daemon.send(signal.SIGCONT)
            self.assertEqual(daemon.wait(SOON), 0)

    def test_hangup_with_a_broken_configuration_changes_nothing(self):
        with harness.Daemon(CPU_ONLY) as daemon:
            before = daemon.scrape_after_polls()
            daemon.write_config(BROKEN)
            daemon.send(signal.SIGHUP)

            daemon.scrape_when("the failed reload",
                               lambda scrape: scrape.value(reload_successful) == 0)
            after = daemon.scrape_after_polls()
            series = {"name": "perf_cpu_task_clock_seconds_total", "cpu": "0"}
            self.assertGreater(after.value(**series), before.value(**series))
            daemon.logged(" level=error ", "config.yaml:1:")

            daemon.write_config(CPU_ONLY)  # and it recovers
            daemon.send(signal.SIGHUP)
            daemon.scrape_when("the good reload",
                               lambda scrape: scrape.value(reload_successful) == 1)

    NOT_ENDING = (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)

    def test_signals_that_arrive_during_the_start_do_not_end_it(self):
        daemon = harness.Daemon(CPU_ONLY)
        sender = threading.Thread(target=self.send_from_the_beginning, args=[daemon])
        sender.start()
        with daemon:
            sender.join()
            daemon.logged("configuration reloaded")

    def send_from_the_beginning(self, daemon):
        """From when its main() has begun, as SIGPIPE being ignored shows."""
        def has_begun():
            ignored = re.search(r"^SigIgn:\s*(\w+)", harness.read_text(f"/proc/{daemon.pid}/status"),
                                re.MULTILINE)
            return int(ignored[1], 16) & 1 << signal.SIGPIPE - 1

        harness.until("the program", lambda: daemon.child, pause=0)
        harness.until("its beginning", has_begun, pause=0)
        for _ in range(100):
            for number in self.NOT_ENDING:
                daemon.send(number)
            time.sleep(0.001)

    def test_signals_that_arrive_during_the_end_do_not_disturb_it(self):
        for _ in range(5):
            with harness.Daemon(CPU_ONLY) as daemon:
                daemon.send(signal.SIGTERM)
                while daemon.child.poll() is None:
                    for number in self.NOT_ENDING:
                        daemon.send(number)
                self.assertEqual(daemon.child.returncode, 0)

    def test_many_hangups_leave_no_descriptors_behind(self):
        with harness.Daemon(CPU_ONLY) as daemon:
            daemon.scrape_after_polls()
            fds = daemon.open_fds()
            for event in [*EVENTS, *EVENTS] * 3:  # each is another configuration
                daemon.write_config(harness.config_of(events=[event], scope="[cpu]"))
                daemon.send(signal.SIGHUP)
                daemon.scrape()
            daemon.write_config(CPU_ONLY)
            daemon.send(signal.SIGHUP)
            daemon.scrape_after_polls(3)
            harness.until("descriptors as before", lambda: daemon.open_fds() == fds)


class ServiceManagerTest(FileTest):
    """In the place of systemd: sd_notify(3) on a socket of ours."""

    def setUp(self):
        super().setUp()
        harness.require_events(*EVENTS)
        self.socket = self.enterContext(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        self.socket.bind(f"{self.folder}/notify")
        self.socket.settimeout(harness.PATIENCE)
        self.environment = {**os.environ, "NOTIFY_SOCKET": f"{self.folder}/notify"}
        self.environment.pop("WATCHDOG_PID", None)

    def message(self, *but_for):
        """The next one that is none of `but_for`, as its assignments."""
        while True:
            lines = self.socket.recv(4096).decode().splitlines()
            message = dict(line.split("=", 1) for line in lines)
            if not any(key in message for key in but_for):
                return message

    def test_is_informed_of_ready_reloading_and_stopping(self):
        with harness.Daemon(CPU_ONLY, env=self.environment) as daemon:
            self.assertIn("EXTEND_TIMEOUT_USEC", self.message())  # for the first poll
            ready = self.message("EXTEND_TIMEOUT_USEC")
            self.assertEqual(ready["READY"], "1")
            self.assertIn("counting 3 events", ready["STATUS"])

            earliest = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
            daemon.send(signal.SIGHUP)
            reloading = self.message()
            latest = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
            self.assertEqual(reloading["RELOADING"], "1")
            self.assertTrue(earliest <= int(reloading["MONOTONIC_USEC"]) <= latest)
            self.assertEqual(self.message()["READY"], "1")

            daemon.write_config(BROKEN)  # a failed reload is over as well
            daemon.send(signal.SIGHUP)
            self.assertEqual(self.message()["RELOADING"], "1")
            ready = self.message()
            self.assertEqual(ready["READY"], "1")
            self.assertIn("configuration not reloaded", ready["STATUS"])

            daemon.terminate()
            self.assertEqual(self.message(), {"STOPPING": "1"})

    def test_watchdog_is_fed_as_long_as_polls_end(self):
        period = 2  # seconds, in each of which it is fed four times
        environment = {**self.environment, "WATCHDOG_USEC": f"{period}000000"}
        with harness.Daemon(CPU_ONLY, env=environment) as daemon:
            self.message("READY")
            for _ in range(4):
                stopwatch = harness.Stopwatch(daemon.pid)
                self.assertEqual(self.message("READY", "EXTEND_TIMEOUT_USEC"), {"WATCHDOG": "1"})
                self.assertLess(stopwatch.seconds(), period)


class CommandTest(FileTest):
    def setUp(self):
        super().setUp()
        harness.require_events(*EVENTS)

    def test_once_prints_what_was_counted_in_one_interval(self):
        begin = time.monotonic()
        ended = harness.run("--once", config=CPU_ONLY)
        took = time.monotonic() - begin
        self.assertEqual(ended.returncode, 0, ended.stderr)
        scrape = harness.Scrape(ended.stdout)
        for cpu in harness.online_cpus():
            seconds = scrape.value("perf_cpu_task_clock_seconds_total", cpu=str(cpu))
            self.assertGreater(seconds, 0)  # the second poll is on the grid, however late the first
            self.assertLess(seconds, took)
        self.assertEqual(scrape.value("perf_event_exporter_polls_total"), 2)
        # A collector of text files has those of its own process, with other help.
        self.assertNotRegex(ended.stdout, r"(?m)^(# \w+ )?process_")

    def test_check_prints_a_row_for_each_event(self):
        file = self.file(CPU_ONLY)
        ended = harness.run("--config.check", f"--config.file={file}")
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        configuration, table, note, cost, verdict = ended.stdout.split("\n\n")
        note_for_root = "\nwith the rights of root" if os.geteuid() == 0 else ""
        self.assertTrue(configuration.startswith(f"configuration: '{file}'{note_for_root}"))
        metrics = {"task-clock": "task_clock_seconds", "context-switches": "context_switches",
                   "minor-faults": "minor_faults"}
        self.assertEqual([line.split() for line in table.splitlines()],
                         [["GROUP", "EVENT", "SCOPE", "METRIC", "HERE"],
                          *(["software", event, "cpu", f"perf_cpu_{metrics[event]}_total", "yes"]
                            for event in EVENTS)])
        self.assertRegex(note, r"\Anote: perf_cpu_task_clock_seconds_total is elapsed time")
        self.assertRegex(cost, r"\Acounters +\d+\nopen files +limit \d+; needs \d+\nseries +limit ")
        self.assertEqual(verdict,
                         f"valid: {len(EVENTS)} of {len(EVENTS)} events can be counted here\n")

    def test_the_manifests_for_kubernetes_are_valid_where_not_all_events_are(self):
        for name in ("base", "overlays/pod-names"):
            file = f"--config.file={SOURCE}/packaging/kubernetes/{name}/perf_event_exporter.yaml"
            ended = harness.run("--config.check", file)
            self.assertEqual((ended.returncode, ended.stderr), (0, ""), ended.stdout)
            found = [each for each in json.loads(harness.run("doctor", "--output=json", file).stdout)[
                "findings"] if each["subject"] == "configuration"]
            self.assertTrue(found)
            self.assertNotIn("bad", [each["state"] for each in found], found)

    def test_a_file_is_the_same_whatever_program_has_written_it(self):
        """But for the shipped file, of which no other text has its exceptions."""
        writers = {"json": json.dumps, "indented json": functools.partial(json.dumps, indent=1),
                   "pyyaml": yaml.safe_dump,
                   "pyyaml in one line": functools.partial(yaml.safe_dump, default_flow_style=True),
                   "pyyaml in quotes": functools.partial(yaml.safe_dump, default_style='"')}
        for path in sorted(SOURCE.glob("config/examples/*.yaml")):
            if path.name == "web.yaml":
                continue
            content = yaml.safe_load(path.read_text(encoding="utf-8"))
            original = self.checked(path)
            for name, write in writers.items():
                with self.subTest(file=path.name, writer=name):
                    self.assertEqual(self.checked(self.file(write(content))), original)

    def checked(self, path):
        """What a check prints of the events, and its errors and status; cgroups come and go."""
        ended = harness.run("--config.check", f"--config.file={path}")
        return ended.stdout.split("\n\n")[1:2], ended.stderr, ended.returncode

    def test_check_refuses_what_a_start_would_refuse(self):
        ended = harness.run("--config.check", config=BROKEN)
        self.assertEqual((ended.returncode, ended.stdout), (1, ""))
        self.assertRegex(ended.stderr, r"^\S*\.yaml:1:\d+: ")  # plain, for editors

    def test_check_refuses_what_is_no_regular_file_and_does_not_wait_for_it(self):
        fifo = f"{self.folder}/fifo"
        os.mkfifo(fifo)
        web = f"--web.config.file={fifo}"
        for args in ([f"--config.file={fifo}"], [f"--config.file={self.file(CPU_ONLY)}", web]):
            ended = harness.run("--config.check", *args)
            self.assertEqual((ended.returncode, ended.stdout), (1, ""), args)
            self.assertRegex(ended.stderr, r"/fifo', which is a FIFO or pipe: .* Remedy: .*")
        zero = harness.run("--config.check", "--config.file=/dev/zero")
        self.assertIn("a character device", zero.stderr)
        piped = subprocess.run([harness.daemon_binary, "--config.check", "--config.file=/dev/stdin"],
                               input=CPU_ONLY, capture_output=True, text=True, check=False)
        self.assertEqual(piped.returncode, 1)
        self.assertIn("a FIFO or pipe", piped.stderr)

    def test_embedded_configuration_counts_what_there_is(self):
        ended = harness.run("--config.check")
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertRegex(ended.stdout, r"(?m)^software +task-clock +cgroup +"
                         r"perf_cgroup_task_clock_seconds_total +yes$")
        # On a CPU it is elapsed time, which looks like a CPU that is always busy.
        self.assertNotIn("perf_cpu_task_clock_seconds_total", ended.stdout)
        self.assertRegex(ended.stdout, r"(?m)^software-cpu +context-switches +cpu +"
                         r"perf_cpu_context_switches_total +yes$")
        self.assertRegex(ended.stdout, r"(?m)^cgroups +\d+ cgroups? match(es)? now; room for \d+ ")

    def test_the_shipped_file_behaves_like_the_embedded_default(self):
        for _ in range(5):  # another test may make cgroups in between
            embedded = harness.run("--config.check")
            shipped = harness.run("--config.check", f"--config.file={SHIPPED}")
            if shipped.stdout.splitlines()[1:] == embedded.stdout.splitlines()[1:]:
                break
        self.assertEqual((shipped.returncode, shipped.stderr), (0, ""))
        self.assertEqual(shipped.stdout.splitlines()[1:], embedded.stdout.splitlines()[1:])
        self.assertEqual(harness.run("doctor", f"--config.file={SHIPPED}").returncode, harness.run("doctor").returncode)

    def test_list_prints_the_events_that_match(self):
        ended = harness.run("list", "*-faults")
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        heading, *rows = ended.stdout.splitlines()
        self.assertEqual(heading.split(), ["EVENT", "KIND", "PMU", "CPUS", "HERE", "DESCRIPTION"])
        here = {row.split()[0]: row.split()[4] for row in rows}
        self.assertEqual(set(here) & set(EVENTS), {"minor-faults"})
        self.assertEqual(here["minor-faults"], "yes")

    def test_a_reader_that_leaves_is_no_failure(self):
        ended = harness.run("list", wrapper=(
            "bash", "-c", 'set -o pipefail; for i in 1 2 3; do "$@" | head -1; done', "bash"))
        complaints = [line for line in ended.stderr.splitlines()
                      if "tracepoints are not listed: " not in line]  # tracefs is not mounted
        self.assertEqual((ended.returncode, complaints), (0, []))
        self.assertEqual(len(ended.stdout.splitlines()), 3)

    def test_list_as_json_names_the_metric_of_each_event(self):
        ended = harness.run("list", "--output", "json", "task-clock")
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        (event,) = json.loads(ended.stdout)
        self.assertEqual(event["metric"], "perf_cpu_task_clock_seconds_total")
        self.assertEqual((event["type"], event["config"]), (1, 1))


if __name__ == "__main__":
    harness.main()
