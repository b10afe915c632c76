"""The service under a systemd that runs: `nspawn_test.py BINARY_DIR`.

The machine is a container, so what counts in it is the kernel of this one.
"""

import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import debian
import harness
import nspawn
import program
import start_steps
from program import arguments, read_text

SERVICE = "perf_event_exporter.service"
SOCKET = "perf_event_exporter.socket"
CONFIG = "/etc/perf_event_exporter/perf_event_exporter.yaml"
DROP_IN = f"/etc/systemd/system/{SERVICE}.d/test.conf"
STATE = "/var/lib/private/perf_event_exporter"  # of a user that is there only while it runs
RELOADED = "configuration reloaded"
URL = "http://127.0.0.1:10173"
CAP_PERFMON = 1 << 38
DYNAMIC_USERS = range(61184, 65520)  # of systemd.exec(5)
WATCHDOG = 4  # seconds
STATUS = re.compile(r"counting \d+ events? on each of \d+ CPUs? and \d+ events? in each of \d+ cgroups?; "
                    r"\d+ counters, last poll .+")

WEB_GUIDE = f"{program.SOURCE}/docs/web-configuration.md"
# Of the password "x", with the least cost there is.
HASH = "$2y$04$41JCd/rWGr5mfKWCyJB4B.EXgWdPwlJL25wp6f1hTJgZaxxeWUKrG"

# Busy all the time, so that there is something to count in a cgroup that we know.
BUSY = "[Service]\nExecStart=/bin/sh -c 'while :; do :; done'\nNice=10\n"


base = None  # the root file system that all machines have in common


def setUpModule():
    global base
    nspawn.require_nspawn()
    program.require(shutil.which("curl"), "curl is not installed (packaging/dependencies/clients.txt)")
    packages = [*debian.packages_of("run"), *nspawn.PACKAGES]
    base = debian.root(f"{arguments[0]}/systemd/root", packages, "--variant=minbase")
    nspawn.enter_own_mounts()  # after which names of hosts may no longer be found


def install_program(machine):
    """As `cmake --install` does, and enabled."""
    debian.run("cmake", "--install", arguments[0], "--prefix", "/usr", "--component", "program",
               env=os.environ | {"DESTDIR": machine.root})
    debian.run("systemctl", f"--root={machine.root}", "enable", SERVICE)
    machine.write(CONFIG, config_of("task-clock", "context-switches"))
    machine.write("/etc/systemd/system/busy.service", BUSY)
    debian.run("systemctl", f"--root={machine.root}", "add-wants", "multi-user.target", "busy.service")


def config_of(*events):
    """Also with an event that hardly a machine has, and that is no mistake."""
    return ("collection: {interval: 200ms}\n"
            "groups:\n"
            f"  - {{name: software, events: [{', '.join(events)}], scope: [cpu, cgroup]}}\n"
            "  - {name: absent, events: [no_such_pmu/event=1/], scope: [cpu]}\n")


class ServiceTest(unittest.TestCase):
    """One machine for all; each test finds the service active and leaves it so."""

    @classmethod
    def setUpClass(cls):
        cls.machine = cls.enterClassContext(nspawn.Machine("service", base, install_program))
        cls.after_boot = cls.machine.properties(SERVICE, "UnitFileState", "ActiveState")

    def setUp(self):
        self.await_state("active")

    # What is asked of the machine

    def properties(self, *names, unit=SERVICE):
        return self.machine.properties(unit, *names)

    def property(self, name, unit=SERVICE):
        return self.properties(name, unit=unit)[name]

    def await_state(self, state, unit=SERVICE):
        harness.until(f"{unit} to be {state}",
                      lambda: self.property("ActiveState", unit) == state, nspawn.DEADLINE, 0.1)

    def await_text(self, what, name, text):
        harness.until(what, lambda: text in self.property(name), nspawn.DEADLINE, 0.1)

    def main_pid(self):
        """Here, not in the machine."""
        return self.machine.pid_outside(self.property("MainPID"))

    def status_of_process(self):
        """Of /proc/PID/status."""
        return dict(line.split(":\t", 1)
                    for line in read_text(f"/proc/{self.main_pid()}/status").splitlines())

    def scrape(self):
        status, text = self.machine.get(f"{URL}/metrics")
        self.assertEqual(status, 200, text)
        return harness.Scrape(text)

    def polls(self):
        return self.scrape().value("perf_event_exporter_polls_total")

    def entries(self, *matches):
        """What the service has written itself since it was started the last time."""
        invocation = self.property("InvocationID")
        return self.machine.journal(f"_SYSTEMD_INVOCATION_ID={invocation}", *matches)

    def messages(self, part):
        return [entry["MESSAGE"] for entry in self.entries() if part in entry["MESSAGE"]]

    def reload(self):
        """Until it has told that it is done."""
        told = len(self.messages(RELOADED))
        self.machine.systemctl("reload", SERVICE)
        harness.until("the reload", lambda: len(self.messages(RELOADED)) > told, nspawn.DEADLINE, 0.1)

    def with_drop_in(self, text):
        """Restarts the service with it, and once more without it at the end of the test."""
        self.machine.write(DROP_IN, text)
        self.addCleanup(self.restart)
        self.addCleanup(self.machine.run, "rm", DROP_IN)
        self.restart()

    def restart(self):
        self.machine.systemctl("daemon-reload")
        self.machine.systemctl("reset-failed")
        self.machine.systemctl("restart", SERVICE)

    def scrape_after_restart(self, name):
        """The series of this name, once there was a poll."""
        self.restart()
        harness.until("a poll", lambda: self.polls() > 1, nspawn.DEADLINE, 0.1)
        return self.scrape().with_name(name)

    def with_config(self, text):
        self.machine.write(CONFIG, text)
        self.addCleanup(self.machine.systemctl, "restart", SERVICE)
        self.addCleanup(self.machine.write, CONFIG, config_of("task-clock", "context-switches"))

    # Starting

    def test_it_is_active_after_the_boot(self):
        self.assertEqual(self.after_boot, {"UnitFileState": "enabled", "ActiveState": "active"})

    # Rights

    def test_it_runs_as_a_user_of_its_own_with_one_capability(self):
        status = self.status_of_process()

        for kind in ("CapPrm", "CapEff", "CapInh", "CapAmb", "CapBnd"):
            self.assertEqual(int(status[kind], 16), CAP_PERFMON, kind)
        self.assertIn(int(status["Uid"].split()[0]), DYNAMIC_USERS)
        self.assertEqual(status["NoNewPrivs"], "1")
        self.assertEqual(status["Seccomp"], "2")

    def test_it_comes_before_others_where_cpu_time_or_memory_is_short(self):
        self.assertEqual(self.properties("CPUWeight", "OOMScoreAdjust"),
                         {"CPUWeight": "1000", "OOMScoreAdjust": "-100"})

    def workers(self):
        """Name, such as cpu0 -> thread id."""
        task = f"/proc/{self.main_pid()}/task"
        names = {read_text(f"{task}/{thread}/comm").strip(): int(thread)
                 for thread in os.listdir(task)}
        return {name: thread for name, thread in names.items() if re.fullmatch(r"cpu\d+", name)}

    def test_its_threads_are_bound_to_the_cpus_that_they_count(self):
        expected = {f"cpu{cpu}": {cpu} for cpu in harness.online_cpus()}

        # One that a busy machine gave no time may run elsewhere for a minute.
        harness.until("all threads to be bound", lambda: expected == {
            name: os.sched_getaffinity(thread) for name, thread in self.workers().items()}, 150, 0.2)

    def test_it_has_no_network_but_its_socket(self):
        devices = read_text(f"/proc/{self.main_pid()}/net/dev").splitlines()[2:]

        self.assertEqual([line.split(":")[0].strip() for line in devices], ["lo"])
        self.assertEqual(self.machine.get(f"{URL}/-/healthy"), (200, "healthy\n"))

    # Counting

    def test_it_counts_the_services_of_the_machine(self):
        task_clock = "perf_cgroup_task_clock_seconds_total"
        service = {"cgroup": "/system.slice/busy.service"}
        # The exporter may just have been started, and have cgroups to open.
        before = harness.until("the service to be counted", lambda: (
            scrape if (scrape := self.scrape()).has(task_clock, **service) else None))

        harness.until("the service to have worked", lambda: (
            self.scrape().value(task_clock, **service) > before.value(task_clock, **service)))
        counted = {dict(labels)["cgroup"] for _, labels in
                   self.scrape().with_name(task_clock)}
        self.assertLessEqual({f"/system.slice/{unit}.service" for unit in
                              ("busy", "dbus", "systemd-journald", "perf_event_exporter")}, counted)

    # Reloading

    def test_a_reload_is_reported_and_takes_the_new_configuration(self):
        before = self.property("MainPID")
        self.with_config(config_of("task-clock", "page-faults"))

        self.reload()

        harness.until("the new event", lambda: self.scrape().with_name("perf_cpu_page_faults_total"))
        self.await_state("active")
        self.assertEqual(self.property("MainPID"), before)
        self.assertRegex(self.property("StatusText"), STATUS)

    def test_a_reload_that_fails_is_reported_and_changes_nothing(self):
        before = self.property("MainPID")
        self.with_config("groups: nonsense\n")

        reload = self.machine.run("systemctl", "reload", SERVICE, check=False)

        self.assertNotEqual(reload.returncode, 0)
        harness.until("the line in the journal", lambda: any(
            f"{CONFIG}:1:9: groups: " in entry["MESSAGE"] and entry["_PID"] != before
            for entry in self.machine.journal(f"_SYSTEMD_UNIT={SERVICE}")), nspawn.DEADLINE, 0.1)
        self.await_text("the status", "StatusText", "configuration not reloaded: see the log")
        self.await_state("active")
        self.assertEqual(self.property("MainPID"), before)
        self.assertTrue(self.entries("PRIORITY=3"))

    def check_as_root(self, *options):
        """What a check prints, and the command in it for one with the rights of the service."""
        printed = self.machine.run("perf_event_exporter", "--config.check", *options, check=False).stdout
        return printed, printed.partition("with those of the service: ")[2].splitlines()[0]

    def run_command(self, command):
        return self.machine.run("sh", "-c", command, check=False)

    def leave_configuration_to_root(self):
        self.machine.run("chmod", "600", CONFIG)
        self.addCleanup(self.machine.run, "chmod", "644", CONFIG)

    def test_a_check_as_root_says_how_to_ask_with_the_rights_of_the_service(self):
        """The shipped unit may read neither a file of root alone nor a tracepoint's number."""
        self.with_config(config_of("task-clock", "sched:sched_switch"))

        printed, command = self.check_as_root(f"--config.file={CONFIG}")
        counted = re.search(r"sched:sched_switch +cpu .* yes", self.run_command(command).stdout)

        self.assertRegex(printed, "with the rights of root")
        self.assertEqual(bool(counted),
                         bool(self.scrape_after_restart("perf_cpu_sched_sched_switch_total")))
        self.leave_configuration_to_root()
        self.assertIn("Permission denied", self.run_command(command).stderr)

    def test_a_check_as_root_asks_with_the_rights_that_drop_ins_give(self):
        """One lets the service read every file."""
        self.with_config(config_of("task-clock"))
        self.with_drop_in(read_text(f"{program.SOURCE}/systemd/examples/tracepoints.conf"))
        self.leave_configuration_to_root()

        _, command = self.check_as_root(f"--config.file={CONFIG}")

        self.assertIn(f"configuration: '{CONFIG}'", self.run_command(command).stdout)
        self.assertTrue(self.scrape_after_restart("perf_cpu_task_clock_seconds_total"))

    def test_a_check_as_root_without_a_file_asks_for_that_of_the_service(self):
        """As its environment files say: that of the unit, and that of a drop-in."""
        other, of_drop_in = (f"/etc/perf_event_exporter/{name}" for name in ("other.yaml", "environment"))
        self.machine.write(other, config_of("page-faults"))
        self.addCleanup(self.machine.run, "rm", other, "/etc/default/perf_event_exporter", of_drop_in)
        self.machine.write(of_drop_in, "")
        self.with_drop_in(f"[Service]\nEnvironmentFile={of_drop_in}\n")
        for file in ("/etc/default/perf_event_exporter", of_drop_in):
            self.machine.write("/etc/default/perf_event_exporter", "")
            self.machine.write(file, f"CONFIG={other}\n")

            _, command = self.check_as_root()

            self.assertIn(f"configuration: '{other}'", self.run_command(command).stdout, file)

    # After crashes

    def test_after_three_kills_in_any_step_of_the_start_it_counts_less_until_a_reset(self):
        """systemd starts it again each time."""
        self.with_config(start_steps.CONFIG)
        self.with_drop_in("[Unit]\nStartLimitIntervalSec=0\n[Service]\nRestartSec=0\n")
        killer = self.enterContext(start_steps.StepKiller(f"{self.machine.root}{STATE}"))
        for number, step in enumerate(start_steps.STEPS, 1):
            with self.subTest(number=number, step=step):
                killer.kill_in(number)
                self.machine.systemctl("restart", "--no-block", SERVICE)
                self.assertEqual(killer.await_kills(), [step] * start_steps.KILLS)
                harness.until("the fourth start to say so", lambda: self.messages(
                    "only software events are counted: the exporter crashed three times"), nspawn.DEADLINE, 0.1)
                self.await_state("active")

                start_steps.check(self, self.scrape(), is_reduced=True)
                self.assertEqual(self.machine.get(f"{URL}/-/ready")[0], 503)

                self.machine.run("perf_event_exporter", "reset")
                self.restart()

                start_steps.check(self, self.scrape(), is_reduced=False)
                self.assertEqual(self.machine.get(f"{URL}/-/ready")[0], 200)

    # The watchdog

    def watched(self):
        """The service with a quick watchdog; returns how often that has killed it before."""
        self.with_drop_in(f"[Service]\nWatchdogSec={WATCHDOG}\nRestartSec=0\n")
        self.watched_pid = self.property("MainPID")
        return self.kills()

    def kills(self):
        return len(self.machine.journal("UNIT_RESULT=watchdog", f"UNIT={SERVICE}"))

    def await_watchdog(self, kills):
        """That systemd has killed it for giving no sign of life, and has started it again, once."""
        harness.until("the watchdog", lambda: self.kills() > kills, nspawn.DEADLINE, 0.2)
        harness.until("another process", lambda: self.property("MainPID") not in (
            "0", self.watched_pid), nspawn.DEADLINE, 0.1)
        self.await_state("active")
        self.assertEqual(self.kills(), kills + 1)
        self.assertEqual(self.machine.get(f"{URL}/-/healthy")[0], 200)

    def test_a_process_that_stands_still_is_killed_and_restarted(self):
        kills = self.watched()

        os.kill(self.main_pid(), signal.SIGSTOP)

        self.await_watchdog(kills)

    def hold(self, worker):
        holder = self.enterContext(harness.Process(
            [sys.executable, f"{program.SOURCE}/tests/delivery/systemd/hold_thread.py", str(worker)],
            stdout=subprocess.PIPE))
        self.assertEqual(holder.child.stdout.readline(), "stopped\n")

    def test_one_of_which_a_single_worker_stands_still_goes_on_without_it(self):
        if len(harness.online_cpus()) < 2:
            self.skipTest("one CPU only, so there is no other worker to go on")
        kills = self.watched()

        self.hold(self.workers()[f"cpu{max(harness.online_cpus())}"])

        harness.until("it to say that a CPU is late", lambda: self.scrape().value(
            "perf_event_exporter_cpus", state="late") >= 1, nspawn.DEADLINE, 0.1)
        polls = self.polls()
        time.sleep(2 * WATCHDOG)  # a state that must not change has nothing to be awaited
        self.assertGreater(self.polls(), polls)
        self.assertEqual(self.machine.get(f"{URL}/-/healthy")[0], 200)
        self.assertEqual(self.kills(), kills)

    def test_one_of_which_all_workers_stand_still_is_killed_and_restarted(self):
        kills = self.watched()

        for worker in self.workers().values():
            self.hold(worker)

        harness.until("it to say that it is not well",
                      lambda: self.machine.get(f"{URL}/-/healthy")[0] == 503, nspawn.DEADLINE, 0.1)
        self.await_watchdog(kills)

    # The journal

    def test_its_entries_have_fields_of_their_own(self):
        started = next(entry for entry in self.entries() if entry["MESSAGE"].startswith("counting "))

        self.assertEqual(started["_TRANSPORT"], "journal")
        self.assertEqual(started["PRIORITY"], "6")
        self.assertEqual(started["SYSLOG_IDENTIFIER"], "perf_event_exporter")
        self.assertEqual(started["PERF_INTERVAL"], "200ms")
        self.assertNotIn("level=", started["MESSAGE"])
        self.assertNotIn("ts=", started["MESSAGE"])

    def test_entries_are_found_by_the_errno(self):
        absent = self.entries("ERRNO=2")

        self.assertEqual([entry["PRIORITY"] for entry in absent], ["4"])
        self.assertIn("no_such_pmu", absent[0]["MESSAGE"])

    def test_json_stays_text_and_stays_whole(self):
        self.with_drop_in("[Service]\nEnvironment=ARGS=--log.format=json\n")

        started = next(entry for entry in self.entries() if '"msg":"counting ' in entry["MESSAGE"])
        self.assertEqual(started["_TRANSPORT"], "stdout")

    # The socket, and the end

    def test_the_socket_is_opened_by_systemd(self):
        self.assertEqual(self.property("ActiveState", SOCKET), "active")
        self.assertEqual(self.property("Triggers", SOCKET), SERVICE)
        self.assertTrue(self.messages("systemd_socket=3"))

    def test_another_address_is_that_of_the_socket(self):
        self.machine.write(f"/etc/systemd/system/{SOCKET}.d/test.conf",
                           "[Socket]\nListenStream=\nListenStream=127.0.0.1:9999\n")
        self.addCleanup(self.restart)
        self.addCleanup(self.machine.run, "rm", f"/etc/systemd/system/{SOCKET}.d/test.conf")

        self.restart()

        self.assertEqual(self.machine.get("http://127.0.0.1:9999/-/ready")[0], 200)
        self.assertEqual(self.machine.get(f"{URL}/-/ready")[0], 0)

    # Who may come in

    def test_it_serves_tls_with_a_login_after_the_commands_of_the_guide(self):
        program.require(shutil.which("openssl"), "openssl is not installed")
        folder = self.enterContext(tempfile.TemporaryDirectory())
        guide = read_text(WEB_GUIDE)
        certificate, for_the_service, _ = re.findall(r"^```sh\n(.*?)^```$", guide, re.S | re.M)
        debian.run("sh", "-ec", certificate.partition("HASH=")[0], cwd=folder)
        for file in ("exporter.key", "exporter.crt"):
            self.machine.write(f"/root/{file}", read_text(f"{folder}/{file}"))
        self.machine.write("/root/web.yaml",
                           "tls_server_config: {cert_file: exporter.crt, key_file: exporter.key}\n"
                           f"basic_auth_users: {{prometheus: {HASH}}}\n")
        self.addCleanup(self.restart)
        self.addCleanup(self.machine.run, "rm", "-r", f"/etc/systemd/system/{SERVICE}.d",
                        "/etc/default/perf_event_exporter")

        commands = for_the_service.partition("curl ")[0]  # which asks for the password
        self.machine.run("sh", "-ec", f"cd /root\n{commands}")

        trusted = ("--cacert", f"{folder}/exporter.crt")
        url = "https://localhost:10173/metrics"
        self.assertEqual(self.machine.get(url, *trusted)[0], 401)
        status, text = self.machine.get(url, *trusted, "--user", "prometheus:x")
        self.assertEqual(status, 200)
        self.assertTrue(harness.Scrape(text).value("perf_event_exporter_polls_total"))
        self.assertEqual(self.messages("can be read by every user"), [])
        self.assertTrue(self.messages("scheme=https client_auth_type=NoClientCert login=required"))

    def test_it_stops_cleanly_and_is_not_started_by_the_next_scrape(self):
        invocation = self.property("InvocationID")
        self.addCleanup(self.machine.systemctl, "start", SERVICE)

        self.machine.systemctl("stop", SERVICE)

        self.assertEqual(self.machine.get(f"{URL}/metrics")[0], 0)
        self.assertEqual(self.properties("ActiveState", "Result", "ExecMainStatus"),
                         {"ActiveState": "inactive", "Result": "success", "ExecMainStatus": "0"})
        said = [entry["MESSAGE"] for entry in self.machine.journal(f"_SYSTEMD_INVOCATION_ID={invocation}")]
        self.assertIn("stopping signal=SIGTERM", said)


class PackageTest(unittest.TestCase):
    """The package of Debian, installed before the machine boots."""

    @classmethod
    def setUpClass(cls):
        cls.deb = next(iter(glob.glob(f"{arguments[0]}/packages/perf-event-exporter_*.deb")), None)
        program.require(cls.deb, "there is no package: packages.build has not made one, and says why")

    def install(self, machine):
        shutil.copy(self.deb, f"{machine.root}/tmp/exporter.deb")
        debian.run("chroot", machine.root, "dpkg", "--install", "/tmp/exporter.deb",
                   env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"})
        os.unlink(f"{machine.root}/tmp/exporter.deb")

    def test_it_is_enabled_and_serves_after_a_boot_and_a_purge_leaves_nothing(self):
        machine = self.enterContext(nspawn.Machine("package", base, self.install))
        named = r"find / -xdev ( -name *perf_event_exporter* -o -name *perf-event-exporter* )".split()

        self.assertEqual(machine.properties(SERVICE, "UnitFileState", "ActiveState"),
                         {"UnitFileState": "enabled", "ActiveState": "active"})
        self.assertEqual(machine.get(f"{URL}/-/ready")[0], 200)
        self.assertIn("/usr/bin/perf_event_exporter", machine.run(*named).stdout.splitlines())

        machine.run("dpkg", "--purge", "perf-event-exporter")

        for unit in (SERVICE, SOCKET):
            self.assertEqual(machine.properties(unit, "LoadState", "ActiveState"),
                             {"LoadState": "not-found", "ActiveState": "inactive"})
        self.assertEqual(machine.get(f"{URL}/-/ready")[0], 0)
        self.assertEqual(machine.run(*named).stdout, "")


if __name__ == "__main__":
    program.main("BINARY_DIR")
