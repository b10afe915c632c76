"""Serving, as far as it takes a real process: formats, files that change, where it listens, and what
the packaged Prometheus makes of all that. What HTTP, TLS, logins and limits do is in unit/http and
unit/access."""

import concurrent.futures
import contextlib
import gzip
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import exposition
import harness
import prometheus_test
import reference_parsers
import web

EVENTS = ["task-clock", "context-switches", "minor-faults"]
CONFIG = f"""
collection: {{interval: 1s, max_age: 1s}}
groups:
  - {{name: software, events: [{EVENTS[0]}, {EVENTS[1]}], scope: cpu}}
  - {{name: faults, events: [{EVENTS[2]}], scope: cpu}}
"""
# What Prometheus 2.42 sends.
ACCEPT_OF_PROMETHEUS = {
    "Accept": "application/openmetrics-text;version=1.0.0,application/openmetrics-text;"
              "version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"}

USER = "prometheus"
PASSWORD, OTHER_PASSWORD = "first password", "second password"
# Of these, by crypt(3); few rounds, as how long a login takes is not what is tested here.
HASH = "$2b$04$abcdefghijklmnopqrstuu1yHHzeesYlaDAogf8rz2bpLgGRIp.lG"
OTHER_HASH = "$2y$05$zzcdefghijklmnopqrstuuQiQrd8xPMITy/wBwgXVKJ.Q6jgly8tu"
LOGIN, OTHER_LOGIN = web.basic(USER, PASSWORD), web.basic(USER, OTHER_PASSWORD)

reload_successful = "perf_event_exporter_web_config_last_reload_successful"


def replace(path, text):
    """As editors and certificate managers do it: nobody ever sees half a file."""
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        file.write(text)
    os.rename(f"{path}.new", path)


class WebTest(unittest.TestCase):
    """With a folder for files of its own, and daemons that count little."""

    @classmethod
    def setUpClass(cls):
        harness.require_events(*EVENTS)

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory(prefix="pex_test_"))

    def start(self, *args, config=CONFIG, **options):
        return self.enterContext(harness.Daemon(config, *args, **options))

    def start_with(self, web_config, *args, **options):
        """One behind the web configuration `web_config`, which is in a file `web.yml`."""
        self.web_config = f"{self.folder}/web.yml"
        replace(self.web_config, web_config)
        return self.start(f"--web.config.file={self.web_config}", *args, **options)

    def connect(self, daemon):
        connection = web.connection_to(daemon.address, daemon.tls)
        return self.enterContext(contextlib.closing(connection))


# --------------------------------------------------------------------------------------------------
# Formats


class FormatsTest(WebTest):
    def test_each_client_gets_the_format_that_it_asks_for(self):
        daemon = self.start(config=CONFIG + "openmetrics: {created: true}\n")
        for headers, kind, check, reference in (
                ({}, web.TEXT, exposition.check_text, reference_parsers.text),
                (ACCEPT_OF_PROMETHEUS, web.OPENMETRICS, exposition.check_openmetrics,
                 reference_parsers.openmetrics)):
            with self.subTest(kind):
                answer = web.ask_once(daemon.address, headers=headers)
                self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, kind))
                self.assertEqual(check(answer.text), [])
                compressed = web.ask_once(daemon.address, headers={**headers, "Accept-Encoding": "gzip"})
                self.assertEqual((compressed.headers["Content-Type"], compressed.headers["Content-Encoding"]),
                                 (kind, "gzip"))
                self.assertEqual(check(gzip.decompress(compressed.body).decode()), [])
                if reference_parsers.installed:
                    parsed = reference_parsers.samples(reference(answer.text))
                    self.assertEqual(parsed, dict(harness.Scrape(answer.text)))


class FreshnessTest(WebTest):
    SLOW = CONFIG.replace("interval: 1s, max_age: 1s", "interval: 1h")
    polls = "perf_event_exporter_polls_total"

    def test_scrapes_at_the_same_time_share_a_poll(self):
        daemon = self.start(config=self.SLOW)
        first = daemon.scrape()
        before = first.value(self.polls)
        polled_at = first.value("perf_event_exporter_last_poll_timestamp_seconds")
        harness.until("counts are older than max_age", lambda: time.time() > polled_at + 0.6)
        clients = 32
        with concurrent.futures.ThreadPoolExecutor(clients) as pool:
            list(pool.map(lambda _: daemon.scrape(), range(clients)))
        polled = daemon.scrape().value(self.polls) - before
        self.assertGreater(polled, 0)  # for counts that are old
        self.assertLess(polled, clients / 2)  # usually one or two


# --------------------------------------------------------------------------------------------------
# Who may come in


class LoginTest(WebTest):
    USERS = f'basic_auth_users: {{{USER}: "{HASH}"}}\n'

    def status(self, daemon, headers, path="/metrics"):
        return web.ask_once(daemon.address, path, headers=headers, tls=daemon.tls).status

    def test_health_needs_no_login_and_all_else_does(self):
        daemon = self.start_with(self.USERS)
        for path in ("/-/healthy", "/-/ready"):
            self.assertEqual(self.status(daemon, {}, path), 200, path)
        for path in ("/", "/metrics", "/api/v1/status"):
            self.assertEqual(self.status(daemon, {}, path), 401, path)

    def test_a_changed_password_holds_from_the_next_request_on(self):
        daemon = self.start_with(self.USERS)
        connection = self.connect(daemon)
        self.assertEqual(web.ask(connection, headers=LOGIN).status, 200)

        replace(self.web_config, self.USERS.replace(HASH, OTHER_HASH))

        harness.until("the old password refused",
                      lambda: web.ask(connection, headers=LOGIN).status == 401)
        self.assertEqual(web.ask(connection, headers=OTHER_LOGIN).status, 200)

    def test_a_broken_configuration_prevents_the_start(self):
        file = harness.write_text(f"{self.folder}/web.yml", "no_such_key: 1\n")
        ended = harness.run("--web.listen-address=127.0.0.1:0", f"--web.config.file={file}", config=CONFIG)
        self.assertEqual(ended.returncode, 1)
        self.assertIn("web.yml:1:1", ended.stderr)

    def test_hashes_that_everybody_can_read_are_a_warning_and_no_failure(self):
        os.chmod(self.folder, 0o755)
        web_config = f"{self.folder}/web.yml"
        replace(web_config, self.USERS)
        for mode, warnings in ((0o640, 0), (0o644, 1)):
            os.chmod(web_config, mode)
            checked = harness.run("--config.check", f"--web.config.file={web_config}")
            self.assertEqual(checked.returncode, 0, checked.stderr)
            self.assertEqual(checked.stderr.count(f"chmod o-r {web_config}"), warnings)
            daemon = self.start(f"--web.config.file={web_config}")
            if warnings:
                daemon.logged(" level=warn ")
            self.assertEqual(len(daemon.lines("warn")), warnings)


class CertificateTest(WebTest):
    """With an authority, and a certificate of it for the daemon."""

    def setUp(self):
        super().setUp()
        self.authority = web.authority_of(self)
        self.context = self.authority.context()

    def start_tls(self, rest="", **options):
        option = self.authority.option(rest=rest)
        self.web_config = option.partition("=")[2]
        return self.start(option, tls=self.context, **options)


class TlsTest(CertificateTest):
    def serial(self, daemon):
        """Of the certificate that a new connection gets."""
        with contextlib.closing(web.connection_to(daemon.address, self.context)) as connection:
            connection.connect()
            return connection.sock.getpeercert()["serialNumber"]

    def test_a_new_certificate_is_served_without_a_restart_and_old_connections_live_on(self):
        daemon = self.start_tls()
        connection = self.connect(daemon)
        self.assertEqual(web.ask(connection).status, 200)
        before = self.serial(daemon)
        connection.auto_open = False  # http.client would hide that it was dropped

        new = self.authority.issue("new")  # under other names, so that neither is seen half-written
        os.rename(new.key, self.authority.server.key)
        os.rename(new.certificate, self.authority.server.certificate)

        harness.until("the new certificate", lambda: self.serial(daemon) != before)
        self.assertEqual(web.ask(connection).status, 200)
        daemon.scrape_when("the good reload", lambda scrape: scrape.value(reload_successful) == 1)

    def test_a_broken_certificate_is_not_taken(self):
        daemon = self.start_tls()
        before = self.serial(daemon)
        replace(self.authority.server.certificate, "nothing\n")
        daemon.scrape_when("the failed reload", lambda scrape: scrape.value(reload_successful) == 0)
        self.assertEqual(self.serial(daemon), before)
        daemon.logged(" level=error ", "server.pem")


class StrangerTest(CertificateTest):
    """Who has no password and asks all the time, while somebody writes to the file."""

    WRITES = 300

    def setUp(self):
        super().setUp()
        self.daemon = self.start_tls(LoginTest.USERS, headers=LOGIN)
        self.asked = 0
        self.got_in = []

    def ask_as_stranger(self):
        """Over TLS and, in turn, without."""
        tls = self.context if self.asked % 2 else None
        self.asked += 1
        try:
            answer = web.ask_once(self.daemon.address, tls=tls)
        except (ConnectionError, ssl.SSLError):
            return  # not let in
        if answer.status == 200 or b"perf_event_exporter_build_info" in answer.body:
            self.got_in.append(answer.status)

    def assert_shut(self):
        print(f"{len(self.got_in)} of {self.asked} questions of a stranger were answered")
        self.assertGreaterEqual(self.asked, self.WRITES)
        self.assertEqual(self.got_in, [])
        self.assertEqual(web.ask_once(self.daemon.address, tls=self.context, headers=LOGIN).status,
                         200)

    def test_gets_nothing_while_the_same_file_is_copied_over_it(self):
        same = f"{self.folder}/same.yml"
        shutil.copy(self.web_config, same)
        for _ in range(self.WRITES):
            with subprocess.Popen(["cp", same, self.web_config]) as copy:
                self.ask_as_stranger()
                while copy.poll() is None:
                    self.ask_as_stranger()
            self.assertEqual(copy.returncode, 0)
        self.assert_shut()

    def test_gets_nothing_while_the_file_is_truncated_and_written_line_by_line(self):
        lines = harness.read_text(self.web_config).splitlines(keepends=True)
        for _ in range(self.WRITES):
            with open(self.web_config, "w", encoding="utf-8") as file:
                self.ask_as_stranger()
                for line in lines:
                    file.write(line)
                    file.flush()
                    self.ask_as_stranger()
        self.assert_shut()


class DowngradeTest(WebTest):
    USERS = LoginTest.USERS
    downgrades = "perf_event_exporter_web_config_downgrades_total"

    def test_an_emptied_file_opens_nothing_until_a_restart_and_is_reported_everywhere(self):
        daemon = self.start_with(self.USERS, headers=LOGIN)
        self.assertEqual(daemon.lines("warn"), [])
        self.assertEqual(
            daemon.scrape().value(self.downgrades, protection="users", outcome="refused"), 0)

        subprocess.run(["truncate", "--size=0", self.web_config], check=True)

        scrape = daemon.scrape_when("the refusal",
                                    lambda scrape: scrape.value(reload_successful) == 0)
        self.assertEqual(scrape.value(self.downgrades, protection="users", outcome="refused"), 1)
        self.assertEqual(web.ask_once(daemon.address).status, 401)
        (warning,) = harness.until("its line", lambda: daemon.lines("warn"))
        self.assertIn("basic_auth_users from 1 user to no user", warning)
        self.assertIn("Remedy: ", warning)
        status = daemon.status()["web_configuration"]
        self.assertFalse(status["last_load_successful"])
        self.assertIn({"protection": "users", "state": "1 user"}, status["protections"])
        self.assertIn("is not adopted", status["errors"][0])

        with harness.Daemon(CONFIG, f"--web.config.file={self.web_config}") as restarted:
            self.assertEqual(web.ask_once(restarted.address).status, 200)
            restarted.logged(" level=warn ", "anyone who can connect to this server")
            required = harness.run("--web.require=users", f"--web.config.file={self.web_config}",
                                   "--web.listen-address=127.0.0.1:0", config=CONFIG)
        self.assertEqual(required.returncode, 1)
        self.assertIn("does not meet --web.require=users. Remedy: restore", required.stderr)


class EmptiedTest(CertificateTest):
    def test_a_refused_file_does_not_make_a_health_check_fail(self):
        daemon = self.start_tls()
        subprocess.run(["truncate", "--size=0", self.web_config], check=True)

        daemon.scrape_when("the refusal", lambda scrape: scrape.value(reload_successful) == 0)

        health = harness.run("health", f"--web.listen-address={daemon.address}",
                             f"--web.config.file={self.web_config}")
        self.assertEqual((health.returncode, health.stdout), (0, "healthy\n"), health.stderr)


# --------------------------------------------------------------------------------------------------
# Reloads by clients


class LifecycleTest(WebTest):
    def reload(self, daemon):
        return web.ask_once(daemon.address, "/-/reload", "POST")

    def warnings(self, daemon):
        """All of its life, which ends."""
        daemon.terminate()
        return [line for line in daemon.lines("warn") if "enable-lifecycle" in line]

    def test_a_client_reloads_once_in_a_second_and_the_operator_as_often_as_he_likes(self):
        daemon = self.start("--web.enable-lifecycle")
        self.assertEqual(self.reload(daemon).status, 200)
        refused = harness.until("a refusal", lambda: next(
            (answer for answer in [self.reload(daemon)] if answer.status == 429), None))
        self.assertEqual(refused.headers["Retry-After"], "1")

        def reloads():
            return daemon.stderr().count('msg="configuration reloaded"')

        for _ in range(3):
            before = reloads()
            daemon.send(signal.SIGHUP)
            harness.until("a reload by signal", lambda: reloads() > before)

    def test_a_port_that_others_reach_is_warned_of(self):
        everywhere = "--web.listen-address=0.0.0.0:0"
        self.assertEqual(len(self.warnings(self.start("--web.enable-lifecycle", everywhere))), 1)
        for args in ([everywhere], ["--web.enable-lifecycle"],
                     ["--web.enable-lifecycle", f"--web.listen-address=unix:{self.folder}/socket"]):
            with self.subTest(args):
                self.assertEqual(self.warnings(self.start(*args)), [])
        daemon = self.start_with(LoginTest.USERS, "--web.enable-lifecycle", everywhere)
        self.assertEqual(self.warnings(daemon), [])


# --------------------------------------------------------------------------------------------------
# Where it listens


# Gives the sockets named by its first argument to the program of the others, as systemd does
# (sd_listen_fds(3)). Out of the way first: one may sit where another belongs.
HAND_OVER = """
import fcntl, os, sys
moved = [fcntl.fcntl(int(fd), fcntl.F_DUPFD, 100) for fd in sys.argv[1].split(",")]
for place, fd in enumerate(moved, 3):
    os.dup2(fd, place)
    os.close(fd)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(moved)))
os.execv(sys.argv[2], sys.argv[2:])
"""


class ListeningTest(WebTest):
    def assert_scraped(self, connection):
        with contextlib.closing(connection):
            answer = web.ask(connection)
            self.assertEqual((answer.status, exposition.check_text(answer.text)), (200, []))

    def test_unix_socket_next_to_a_port(self):
        path = f"{self.folder}/socket"
        with harness.Daemon(CONFIG, f"--web.listen-address=unix:{path}") as daemon:
            self.assert_scraped(web.UnixConnection(path))
            self.assert_scraped(web.connection_to(daemon.address))
        self.assertFalse(os.path.exists(path), "the socket outlived its daemon")

    def test_sockets_of_the_service_manager(self):
        path = f"{self.folder}/socket"
        with socket.create_server(("127.0.0.1", 0)) as port, \
                socket.socket(socket.AF_UNIX) as unix:
            unix.bind(path)
            unix.listen()
            fds = (port.fileno(), unix.fileno())
            wrapper = [sys.executable, "-S", "-c", HAND_OVER, ",".join(map(str, fds))]
            self.start("--web.systemd-socket", wrapper=wrapper, pass_fds=fds, listens=False,
                       port=port.getsockname()[1])
            self.assert_scraped(web.connection_to("{}:{}".format(*port.getsockname())))
            self.assert_scraped(web.UnixConnection(path))

    def test_without_a_socket_of_the_service_manager_there_is_no_start(self):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("LISTEN_")}
        ended = harness.run("--web.systemd-socket", config=CONFIG, env=environment)
        self.assertEqual(ended.returncode, 1, ended.stderr)
        self.assertIn("Remedy: ", ended.stderr)


# --------------------------------------------------------------------------------------------------
# promtool and Prometheus


class LintTest(WebTest):
    SHIPPED = Path(__file__).resolve().parents[2] / "config"

    def setUp(self):
        super().setUp()
        harness.require(shutil.which("promtool"), "promtool is not installed")

    def assert_nothing_to_complain_about(self, text):
        self.assertEqual(exposition.check_text(text), [])
        checked = subprocess.run(["promtool", "check", "metrics"], text=True, input=text,
                                 capture_output=True, check=False)
        self.assertEqual((checked.returncode, checked.stdout, checked.stderr), (0, "", ""))

    def test_promtool_finds_nothing_in_any_shipped_configuration(self):
        configurations = [path for path in sorted(self.SHIPPED.rglob("*.yaml"))
                          if re.search("^groups:", path.read_text(encoding="utf-8"), re.MULTILINE)]
        self.assertGreaterEqual(len(configurations), 2)

        def once(path):
            return harness.run("--once", f"--config.file={path}", timeout=6 * harness.PATIENCE)

        with concurrent.futures.ThreadPoolExecutor() as pool:  # each waits for its interval
            for path, scraped in zip(configurations, pool.map(once, configurations)):
                with self.subTest(path.name):
                    self.assertEqual(scraped.returncode, 0, scraped.stderr)
                    self.assert_nothing_to_complain_about(scraped.stdout)


class Jobs(prometheus_test.Prometheus):
    """A Prometheus that scrapes one target in each of several ways, every second."""

    def __init__(self, jobs):
        """Name of the job -> address, and settings as in a scrape configuration."""
        scrapes = [{"job_name": name, "static_configs": [{"targets": [address]}], **settings}
                   for name, (address, settings) in jobs.items()]
        super().__init__(json.dumps(  # which is YAML as well
            {"global": {"scrape_interval": "1s"}, "scrape_configs": scrapes}))

    def ask(self, path):
        """Data of an answer of its API; empty while it does not answer."""
        try:
            with urllib.request.urlopen(f"http://{self.address}/api/v1/{path}",
                                        timeout=harness.PATIENCE) as answer:
                return json.load(answer)["data"]
        except (urllib.error.URLError, ConnectionError):
            return {}

    def target(self, job):
        """Health and last error of a job's target."""
        targets = self.ask("targets")["activeTargets"]
        return next((each["health"], each["lastError"]) for each in targets
                    if each["labels"]["job"] == job)

    def metadata(self, job):
        """Name of the family, as the format has it -> type and unit."""
        query = urllib.parse.urlencode({"match_target": f'{{job="{job}"}}'})
        return {each["metric"]: (each["type"], each["unit"])
                for each in self.ask(f"targets/metadata?{query}")}


class PrometheusTest(unittest.TestCase):
    """One Prometheus, and one daemon for each way in."""

    SCRAPES = 5
    CLOCK = "perf_cpu_task_clock_seconds"

    @classmethod
    def setUpClass(cls):
        harness.require(shutil.which("prometheus"), "prometheus is not installed")
        harness.require_events(*EVENTS)
        cls.authority = web.authority_of(cls)
        cls.client = cls.authority.issue("client")
        cls.daemon = cls.start(cls.authority.option(rest=LoginTest.USERS), None, headers=LOGIN)
        cls.prometheus = cls.enterClassContext(Jobs(cls.jobs()))
        for job in ("tls", "client certificate"):
            cls.await_scrapes(job, cls.SCRAPES)

    @classmethod
    def start(cls, option, client, **options):
        return cls.enterClassContext(harness.Daemon(CONFIG, option, tls=cls.authority.context(client),
                                                    **options))

    @classmethod
    def jobs(cls):
        mutual = cls.start(cls.authority.option(web.CLIENT_CERTIFICATES, name="mutual"), cls.client)
        tls = {"ca_file": cls.authority.certificate}
        certificate = {"cert_file": cls.client.certificate, "key_file": cls.client.key}
        return {
            "tls": (cls.daemon.address, {
                "scheme": "https", "tls_config": tls,
                "basic_auth": {"username": USER, "password": PASSWORD}}),
            "client certificate": (mutual.address, {
                "scheme": "https", "tls_config": {**tls, **certificate}}),
        }

    @classmethod
    def await_scrapes(cls, job, number):
        harness.until(f"{number} scrapes of job {job}", lambda: cls.prometheus.scalar(
            f'sum_over_time(up{{job="{job}"}}[5m])') >= number, patience=60, pause=0.1)

    def await_success(self, job):
        """On a busy machine a scrape may fail."""
        harness.until(f"target {job} up", lambda: self.prometheus.target(job) == ("up", ""))

    def assert_scraped(self, job):
        self.await_success(job)
        increases = self.prometheus.query(f'increase({self.CLOCK}_total{{job="{job}"}}[1m])')
        self.assertEqual(sorted(increases), [(("cpu", str(cpu)),) for cpu in
                                             sorted(harness.online_cpus(), key=str)])
        for cpu, increase in increases.items():
            self.assertGreater(increase, 1, cpu)

    def test_series_arrive_over_tls_with_a_login(self):
        self.assert_scraped("tls")
        self.assertEqual(self.prometheus.metadata("tls")[self.CLOCK], ("counter", "seconds"))

    def test_series_arrive_with_a_client_certificate(self):
        self.assert_scraped("client certificate")


if __name__ == "__main__":
    harness.main()
