"""Serving, as clients see it: formats, who may come in, where it listens, what is refused, and what
the packaged Prometheus makes of all that."""

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
COUNTED = "/metrics?collect[]=software&collect[]=faults"  # without what tells of the daemon itself
ACCEPT_OPENMETRICS = {"Accept": "application/openmetrics-text;version=1.0.0"}
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

    def connect(self, daemon, tls=None):
        connection = web.connection_to(daemon.address, tls or daemon.tls)
        return self.enterContext(contextlib.closing(connection))


# --------------------------------------------------------------------------------------------------
# Formats


def samples(text):
    """What stands before a sample's value -> its value, as written."""
    return dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))


class FormatsTest(WebTest):
    def in_one_snapshot(self, daemon, *requests):
        """A scrape of what is counted, in the text format, and the answers to `requests` between it
        and an equal one: all are of one poll."""
        def asked():
            with contextlib.closing(web.connection_to(daemon.address)) as connection:
                first = web.ask(connection, COUNTED)
                answers = [web.ask(connection, **{"path": COUNTED, **request})
                           for request in requests]
                same = web.ask(connection, COUNTED).body == first.body
                return [first, *answers] if same else None
        return harness.until("answers of one snapshot", asked)

    def test_who_asks_for_openmetrics_gets_it_and_it_follows_the_grammar(self):
        daemon = self.start()
        for headers in (ACCEPT_OPENMETRICS, ACCEPT_OF_PROMETHEUS):
            answer = web.ask_once(daemon.address, headers=headers)
            self.assertEqual((answer.status, answer.headers["Content-Type"]),
                             (200, web.OPENMETRICS))
            self.assertEqual(exposition.check_openmetrics(answer.body), [])
            if reference_parsers.installed:
                parsed = reference_parsers.samples(reference_parsers.openmetrics(answer.text))
                self.assertEqual(parsed, dict(harness.Scrape(answer.text)))

    def test_everybody_else_gets_the_text_format(self):
        daemon = self.start()
        for accept in (None, "*/*", "text/plain", "text/html", "application/json",
                       "application/openmetrics-text;q=0.1,text/plain", "application/openmetrics-"
                       "text;version=9.0.0", ",;=", "application/openmetrics-text;q=0"):
            with self.subTest(accept=accept):
                headers = {"Accept": accept} if accept else {}
                answer = web.ask_once(daemon.address, headers=headers)
                self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, web.TEXT))
                self.assertEqual(exposition.check_text(answer.text), [])
                if reference_parsers.installed:
                    parsed = reference_parsers.samples(reference_parsers.text(answer.text))
                    self.assertEqual(parsed, dict(harness.Scrape(answer.text)))

    def test_both_formats_have_the_same_values(self):
        text, other = self.in_one_snapshot(self.start(), {"headers": ACCEPT_OPENMETRICS})
        self.assertEqual(samples(text.text), samples(other.text))
        self.assertGreaterEqual(len(samples(text.text)),
                                len(EVENTS) * len(harness.online_cpus()))

    def test_both_formats_have_the_same_of_the_daemon_itself(self):
        # What it uses at this moment is asked for whenever a text is made.
        momentary = re.compile("process_|perf_event_exporter_http_(connections|responses)")
        whole = {"path": "/metrics"}
        _, text, other = self.in_one_snapshot(self.start(), whole,
                                              {**whole, "headers": ACCEPT_OPENMETRICS})
        text, other = samples(text.text), samples(other.text)
        self.assertEqual(list(text), list(other))
        lasting = {name for name in text if not momentary.match(name)}
        self.assertEqual({name: text[name] for name in lasting},
                         {name: other[name] for name in lasting})
        self.assertGreater(len(lasting), 20)

    def test_gzip_is_the_same_compressed(self):
        daemon = self.start()
        for accept in ({}, ACCEPT_OPENMETRICS):
            zipped = {"headers": {**accept, "Accept-Encoding": "gzip"}}
            _, plain, compressed = self.in_one_snapshot(daemon, {"headers": accept}, zipped)
            self.assertEqual(compressed.headers["Content-Encoding"], "gzip")
            self.assertEqual(gzip.decompress(compressed.body), plain.body)
            self.assertLess(len(compressed.body), len(plain.body))
            self.assertIsNone(plain.headers["Content-Encoding"])

    def test_gzip_is_for_those_only_who_ask_for_it(self):
        daemon = self.start()
        for encoding in ("identity", "br", "gzip;q=0", "deflate, zstd"):
            with self.subTest(encoding):
                answer = web.ask_once(daemon.address, headers={"Accept-Encoding": encoding})
                self.assertIsNone(answer.headers["Content-Encoding"])
                self.assertEqual(exposition.check_text(answer.text), [])

    def test_head_reports_the_length_that_get_has(self):
        daemon = self.start()
        for headers in ({}, ACCEPT_OPENMETRICS, {"Accept-Encoding": "gzip"}):
            with self.subTest(headers):
                _, get, head = self.in_one_snapshot(daemon, {"headers": headers},
                                                    {"headers": headers, "method": "HEAD"})
                self.assertEqual((head.status, head.body), (200, b""))
                self.assertEqual(head.headers["Content-Length"], str(len(get.body)))
                for name in ("Content-Type", "Content-Encoding"):
                    self.assertEqual(head.headers[name], get.headers[name])

    def test_created_times_are_reported_when_configured_and_in_openmetrics_alone(self):
        daemon = self.start(config=CONFIG + "openmetrics: {created: true}\n")
        text, other = self.in_one_snapshot(daemon, {"headers": ACCEPT_OPENMETRICS})
        self.assertEqual(exposition.check_openmetrics(other.body), [])
        told = samples(other.text)
        created = {name for name in told if re.match("[a-z_]*_created([{]|$)", name)}
        self.assertEqual({name: told[name] for name in set(told) - created}, samples(text.text))
        for name in (f"perf_cpu_{event.replace('-', '_')}" for event in EVENTS[1:]):
            self.assertIn(f'{name}_created{{cpu="0"}}', created)


class SelectionTest(WebTest):
    CLOCK, FAULTS = "perf_cpu_task_clock_seconds_total", "perf_cpu_minor_faults_total"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon = cls.enterClassContext(harness.Daemon(CONFIG))

    def names(self, query):
        answer = web.ask_once(self.daemon.address, f"/metrics?{query}")
        self.assertEqual(answer.status, 200, answer.text)
        return {name for name, _ in harness.Scrape(answer.text)}

    def test_groups_that_are_asked_for_are_served(self):
        self.assertNotIn(self.FAULTS, self.names("collect[]=software"))
        self.assertIn(self.CLOCK, self.names("collect[]=software"))
        self.assertLessEqual({self.CLOCK, self.FAULTS},
                             self.names("collect%5B%5D=software&collect%5B%5D=faults"))

    def test_groups_that_are_excluded_are_not_served(self):
        self.assertIn(self.CLOCK, self.names("exclude[]=faults"))
        self.assertNotIn(self.FAULTS, self.names("exclude[]=faults"))

    def test_a_selection_that_means_nothing_is_refused(self):
        for query in ("collect[]=software&exclude[]=faults", "collect[]=nonsense",
                      "exclude[]=nonsense", "collect[]="):
            with self.subTest(query):
                answer = web.ask_once(self.daemon.address, f"/metrics?{query}")
                self.assertEqual(answer.status, 400)
                self.assertTrue(answer.text.strip())

    def test_nothing_of_a_request_is_repeated_in_an_answer(self):
        probe = "%3Cscript%3Eprobe%00%1B%5B2J"
        for target in (f"/metrics?collect[]={probe}", f"/metrics?exclude[]={probe}",
                       f"/metrics?{probe}={probe}", f"/{probe}", f"/?{probe}",
                       f"/api/v1/status?{probe}"):
            for headers in ({}, {"Accept": "probe/probe", "User-Agent": "probe", "X-Probe": "probe",
                                 "Origin": "http://probe", "Referer": "http://probe/"}):
                with self.subTest(target):
                    answer = web.ask_once(self.daemon.address, target, headers=headers)
                    self.assertNotIn(b"probe", answer.body)
                    self.assertNotIn("probe", str(answer.headers))
                    self.assertEqual(answer.headers.get_all("X-Content-Type-Options"), ["nosniff"])


class FreshnessTest(WebTest):
    SLOW = CONFIG.replace("interval: 1s, max_age: 1s", "interval: 1h")
    polls = "perf_event_exporter_polls_total"

    def test_a_scrape_of_old_counts_polls_first(self):
        daemon = self.start(config=self.SLOW)
        first = daemon.scrape()
        newer = daemon.scrape_when(
            "a poll for the scrape",
            lambda scrape: scrape.value(self.polls) > first.value(self.polls))
        clock = {"name": "perf_cpu_task_clock_seconds_total", "cpu": "0"}
        self.assertGreater(newer.value(**clock), first.value(**clock))

    def test_scrapes_at_the_same_time_share_a_poll(self):
        daemon = self.start(config=self.SLOW)
        before = daemon.scrape().value(self.polls)
        clients = 32
        with concurrent.futures.ThreadPoolExecutor(clients) as pool:
            list(pool.map(lambda _: daemon.scrape(), range(clients)))
        polled = daemon.scrape().value(self.polls) - before
        self.assertLess(polled, clients / 2)  # usually one or two


# --------------------------------------------------------------------------------------------------
# Who may come in


class LoginTest(WebTest):
    USERS = f'basic_auth_users: {{{USER}: "{HASH}"}}\n'

    def status(self, daemon, headers, path="/metrics"):
        return web.ask_once(daemon.address, path, headers=headers, tls=daemon.tls).status

    def test_only_the_right_password_opens(self):
        daemon = self.start_with(self.USERS)
        self.assertEqual(self.status(daemon, LOGIN), 200)
        self.assertEqual(self.status(daemon, LOGIN), 200)
        for wrong in ({}, OTHER_LOGIN, web.basic("somebody", PASSWORD), web.basic(USER, ""),
                      {"Authorization": "Basic ???"}, {"Authorization": "Bearer " + PASSWORD}):
            with self.subTest(wrong):
                answer = web.ask_once(daemon.address, headers=wrong)
                self.assertEqual(answer.status, 401)
                self.assertTrue(answer.headers["WWW-Authenticate"].startswith("Basic"))
                self.assertNotIn(b"perf_", answer.body)

    def test_health_needs_no_login_and_all_else_does(self):
        daemon = self.start_with(self.USERS)
        for path in ("/-/healthy", "/-/ready"):
            self.assertEqual(self.status(daemon, {}, path), 200, path)
        for path in ("/", "/metrics", "/api/v1/status"):
            self.assertEqual(self.status(daemon, {}, path), 401, path)

    def test_the_log_reports_at_the_start_that_a_login_is_required(self):
        listening = self.start_with(self.USERS).logged(" level=info ", "listening")
        self.assertEqual(len(listening), 1)
        self.assertTrue(listening[0].endswith(" scheme=http login=required"), listening[0])

    def test_a_changed_password_holds_from_the_next_request_on(self):
        daemon = self.start_with(self.USERS)
        connection = self.connect(daemon)
        self.assertEqual(web.ask(connection, headers=LOGIN).status, 200)

        replace(self.web_config, self.USERS.replace(HASH, OTHER_HASH))

        harness.until("the old password refused",
                      lambda: web.ask(connection, headers=LOGIN).status == 401)
        self.assertEqual(web.ask(connection, headers=OTHER_LOGIN).status, 200)

    def test_a_broken_change_leaves_all_as_it_was_and_is_reported(self):
        daemon = self.start_with(self.USERS, headers=LOGIN)
        self.assertEqual(daemon.scrape().value(reload_successful), 1)

        replace(self.web_config, self.USERS + "no_such_key: 1\n")
        daemon.scrape_when("the failed reload", lambda scrape: scrape.value(reload_successful) == 0)
        self.assertEqual(self.status(daemon, OTHER_LOGIN), 401)
        told = daemon.logged(" level=error ", "web.yml:2:1")
        self.assertEqual(len(told), 1, daemon.stderr())
        self.assertIn("unknown key", told[0])  # which may be a password in the wrong place

        replace(self.web_config, self.USERS)
        daemon.scrape_when("the good reload", lambda scrape: scrape.value(reload_successful) == 1)

    def test_a_broken_configuration_prevents_the_start(self):
        replace(f"{self.folder}/web.yml", "no_such_key: 1\n")
        config = f"{self.folder}/config.yaml"
        replace(config, CONFIG)
        ended = subprocess.run([harness.daemon_binary, f"--config.file={config}",
                                "--web.listen-address=127.0.0.1:0",
                                f"--web.config.file={self.folder}/web.yml"], capture_output=True,
                               text=True, timeout=harness.PATIENCE, check=False)
        self.assertEqual(ended.returncode, 1)
        self.assertIn("web.yml:1:1", ended.stderr)

    def test_hashes_that_everybody_can_read_are_a_warning_and_no_failure(self):
        os.chmod(self.folder, 0o755)
        web_config = f"{self.folder}/web.yml"
        replace(web_config, self.USERS)
        for mode, warnings in ((0o640, 0), (0o644, 1)):
            os.chmod(web_config, mode)
            checked = subprocess.run([harness.daemon_binary, "--config.check",
                                      f"--web.config.file={web_config}"], capture_output=True,
                                     text=True, timeout=harness.PATIENCE, check=False)
            self.assertEqual(checked.returncode, 0, checked.stderr)
            self.assertEqual(checked.stderr.count(f"chmod o-r {web_config}"), warnings)
            daemon = self.start(f"--web.config.file={web_config}")
            if warnings:
                daemon.logged(" level=warn ")
            self.assertEqual(len(daemon.lines("warn")), warnings)

    def test_more_requests_than_the_rate_allows_are_refused(self):
        daemon = self.start_with("{}\n")
        connection = self.connect(daemon)
        self.assertEqual(web.ask(connection).status, 200)
        burst = 5
        replace(self.web_config, f"rate_limit: {{interval: 1h, burst: {burst}}}\n")
        answers = []

        def limited():
            answers.append(web.ask(connection))
            return answers[-1].status == 429

        harness.until("a request too many", limited)
        self.assertTrue(answers[-1].text.strip())
        self.assertEqual({answer.status for answer in answers[:-1]}, {200})
        self.assertGreaterEqual(len(answers), burst + 1)
        self.assertEqual(web.ask(connection).status, 429)

        replace(self.web_config, "{}\n")
        harness.until("no limit any more", lambda: web.ask(connection).status == 200)

    def test_headers_are_in_every_answer(self):
        headers = {"X-Frame-Options": "deny", "X-Content-Type-Options": "nosniff",
                   "Strict-Transport-Security": "max-age=31536000"}
        lines = "".join(f"    {name}: {value}\n" for name, value in headers.items())
        daemon = self.start_with(f"http_server_config:\n  headers:\n{lines}" + self.USERS)
        for path, login, status in (("/metrics", LOGIN, 200), ("/metrics", {}, 401),
                                    ("/nowhere", LOGIN, 404), ("/-/healthy", {}, 200)):
            answer = web.ask_once(daemon.address, path, headers=login)
            self.assertEqual(answer.status, status)
            for name, value in headers.items():
                self.assertEqual(answer.headers[name], value, f"{name} of {path}")


class CertificateTest(WebTest):
    """With an authority, and a certificate of it for the daemon."""

    def setUp(self):
        super().setUp()
        harness.require(shutil.which("openssl"), "openssl is not installed")
        self.authority = web.Authority(self.folder)
        self.server = self.authority.issue("server")
        self.context = self.authority.context()

    def settings(self, *further):
        return "\n".join(["tls_server_config:", "  cert_file: server.pem", "  key_file: server.key",
                          *(f"  {line}" for line in further), ""])


class TlsTest(CertificateTest):
    def start_tls(self, *further, tls=None):
        return self.start_with(self.settings(*further), tls=tls or self.context)

    def assert_refused(self, daemon, context):
        with self.assertRaises((ssl.SSLError, ConnectionError)) as refused:
            web.ask_once(daemon.address, tls=context)
        return str(refused.exception)

    def test_scrapes_go_over_tls(self):
        daemon = self.start_tls()
        connection = self.connect(daemon)
        self.assertEqual(exposition.check_text(web.ask(connection).text), [])
        self.assertIn(connection.sock.version(), ("TLSv1.2", "TLSv1.3"))
        self.assertIn("CERTIFICATE_VERIFY_FAILED",
                      self.assert_refused(daemon, ssl.create_default_context()))

    def test_the_log_reports_at_the_start_that_tls_is_in_force(self):
        listening = self.start_tls().logged(" level=info ", "listening")
        self.assertEqual(len(listening), 1)
        self.assertTrue(
            listening[0].endswith(" scheme=https client_auth_type=NoClientCert login=none"),
            listening[0])

    def test_plain_http_is_not_served_over_tls(self):
        daemon = self.start_tls()
        received = web.converse(daemon.address, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        head, _, body = received.partition(b"\r\n\r\n")
        self.assertRegex(head, rb"\AHTTP/1\.[01] 400 ")
        self.assertIn(b"HTTPS", body)

    def test_tls_1_1_is_refused(self):
        # Our client does speak it, when the server does.
        old = web.speaking_only_tls_1_1(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
        old.load_cert_chain(self.server.certificate, self.server.key)
        client = web.speaking_only_tls_1_1(self.authority.context())
        with web.Server(lambda *_: (200, {}, b"old"), tls=old) as control:
            with contextlib.closing(web.connection_to(control.address, client)) as connection:
                connection.connect()
                self.assertEqual(connection.sock.version(), "TLSv1.1")
                self.assertEqual(web.ask(connection).body, b"old")
        daemon = self.start_tls()
        self.assertIn("PROTOCOL_VERSION", self.assert_refused(daemon, client))
        self.assertEqual(web.ask_once(daemon.address, tls=self.context).status, 200)

    def test_an_expired_certificate_is_for_the_client_to_refuse(self):
        self.authority.issue("server", days=0)
        unverified = ssl.create_default_context()
        unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
        daemon = self.start_tls(tls=unverified)
        self.assertIn("expired", self.assert_refused(daemon, self.context))

    def test_a_client_needs_a_certificate_of_the_authority_where_that_is_required(self):
        ours = self.authority.context(self.authority.issue("client"))
        stranger = web.Authority(self.folder, "stranger").issue("client_of_stranger")
        strangers = self.authority.context(stranger)
        daemon = self.start_tls("client_auth_type: RequireAndVerifyClientCert",
                                "client_ca_file: authority.pem", tls=ours)
        self.assertEqual(web.ask_once(daemon.address, tls=ours).status, 200)
        self.assert_refused(daemon, self.context)
        self.assert_refused(daemon, strangers)

    def test_a_client_needs_one_of_the_allowed_names(self):
        right = self.authority.context(self.authority.issue("right", alternative="DNS:scraper"))
        wrong = self.authority.context(self.authority.issue("wrong", alternative="DNS:other"))
        daemon = self.start_tls("client_auth_type: RequireAndVerifyClientCert",
                                "client_ca_file: authority.pem",
                                "client_allowed_sans: [scraper]", tls=right)
        self.assertEqual(web.ask_once(daemon.address, tls=right).status, 200)
        self.assert_refused(daemon, wrong)

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
        os.rename(new.key, self.server.key)
        os.rename(new.certificate, self.server.certificate)

        harness.until("the new certificate", lambda: self.serial(daemon) != before)
        self.assertEqual(web.ask(connection).status, 200)
        daemon.scrape_when("the good reload", lambda scrape: scrape.value(reload_successful) == 1)

    def test_a_certificate_and_key_that_are_copied_one_after_the_other_are_taken(self):
        daemon = self.start_tls()
        before = self.serial(daemon)
        new = self.authority.issue("new")

        for old, renewed in ((self.server.certificate, new.certificate),
                             (self.server.key, new.key)):
            subprocess.run(["cp", renewed, old], check=True)
            self.serial(daemon)

        harness.until("the new certificate", lambda: self.serial(daemon) != before)
        daemon.scrape_when("the good reload", lambda scrape: scrape.value(reload_successful) == 1)

    def test_a_broken_certificate_is_not_taken(self):
        daemon = self.start_tls()
        before = self.serial(daemon)
        replace(self.server.certificate, "nothing\n")
        daemon.scrape_when("the failed reload", lambda scrape: scrape.value(reload_successful) == 0)
        self.assertEqual(self.serial(daemon), before)
        daemon.logged(" level=error ", "server.pem")


class StrangerTest(CertificateTest):
    """Who has no password and asks all the time, while somebody writes to the file."""

    WRITES = 300
    USERS = LoginTest.USERS

    def setUp(self):
        super().setUp()
        self.daemon = self.start_with(self.settings() + self.USERS, tls=self.context, headers=LOGIN)
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
        status = json.loads(daemon.get("/api/v1/status")[1])["web_configuration"]
        self.assertFalse(status["last_load_successful"])
        self.assertIn({"protection": "users", "state": "1 user"}, status["protections"])
        self.assertIn("is not adopted", status["errors"][0])

        with harness.Daemon(CONFIG, f"--web.config.file={self.web_config}") as restarted:
            self.assertEqual(web.ask_once(restarted.address).status, 200)
            restarted.logged(" level=warn ", "anyone who can connect to this server")

    def test_a_file_that_allows_it_opens_at_once_and_is_reported(self):
        daemon = self.start_with(self.USERS)
        replace(self.web_config, "allow_downgrade: true\n")

        harness.until("everybody let in", lambda: web.ask_once(daemon.address).status == 200)

        self.assertEqual(
            daemon.scrape().value(self.downgrades, protection="users", outcome="adopted"), 1)
        self.assertEqual(len(daemon.logged(" level=warn ", "protects less")), 1)
        status = json.loads(daemon.get("/api/v1/status")[1])["web_configuration"]
        self.assertIn("protects less", status["downgrades"][0])

    def test_a_refused_file_does_not_make_a_health_check_fail(self):
        harness.require(shutil.which("openssl"), "openssl is not installed")
        authority = web.Authority(self.folder)
        authority.issue("server")
        daemon = self.start_with(
            "tls_server_config: {cert_file: server.pem, key_file: server.key}\n",
            tls=authority.context())
        subprocess.run(["truncate", "--size=0", self.web_config], check=True)

        daemon.scrape_when("the refusal", lambda scrape: scrape.value(reload_successful) == 0)

        health = subprocess.run([harness.daemon_binary, "health",
                                 f"--web.listen-address={daemon.address}",
                                 f"--web.config.file={self.web_config}"], capture_output=True,
                                text=True, timeout=harness.PATIENCE, check=False)
        self.assertEqual((health.returncode, health.stdout), (0, "healthy\n"), health.stderr)

    def test_a_fifo_in_the_place_of_the_file_stops_nothing(self):
        daemon = self.start_with(self.USERS, headers=LOGIN)
        os.mkfifo(f"{self.folder}/fifo")
        os.rename(f"{self.folder}/fifo", self.web_config)

        daemon.scrape_when("the refusal", lambda scrape: scrape.value(reload_successful) == 0)

        self.assertEqual(web.ask_once(daemon.address).status, 401)
        harness.until("the error line", lambda: any("FIFO" in line for line in daemon.lines("error")))


# --------------------------------------------------------------------------------------------------
# Reloads by clients


class LifecycleTest(WebTest):
    FROM_ELSEWHERE = {"Origin": "http://evil.example"}

    def reload(self, daemon, headers=None):
        return web.ask_once(daemon.address, "/-/reload", "POST", headers)

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

    def test_pages_of_other_sites_do_not_reload(self):
        daemon = self.start("--web.enable-lifecycle")
        for headers in (self.FROM_ELSEWHERE, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}):
            answer = self.reload(daemon, headers)
            self.assertEqual(answer.status, 403)
            self.assertIn("Origin", answer.text)
        self.assertNotIn("configuration reloaded", daemon.stderr())
        self.assertEqual(self.reload(daemon, {"Origin": f"http://{daemon.address}"}).status, 200)

    def test_a_port_that_others_reach_is_warned_of(self):
        everywhere = "--web.listen-address=0.0.0.0:0"
        self.assertEqual(len(self.warnings(self.start("--web.enable-lifecycle", everywhere))), 1)
        for args in ([everywhere], ["--web.enable-lifecycle"],
                     ["--web.enable-lifecycle", f"--web.listen-address=unix:{self.folder}/socket"]):
            with self.subTest(args):
                self.assertEqual(self.warnings(self.start(*args)), [])
        daemon = self.start_with(LoginTest.USERS, "--web.enable-lifecycle", everywhere)
        self.assertEqual(self.warnings(daemon), [])

    def test_a_path_that_is_not_ascii_is_served_as_clients_ask_for_it(self):
        daemon = self.start("--web.telemetry-path=/m\u00e9triques")
        answer = web.ask_once(daemon.address, urllib.parse.quote("/m\u00e9triques"))
        self.assertEqual((answer.status, exposition.check_text(answer.text)), (200, []))
        self.assertIn(b'"/m%C3%A9triques"', web.ask_once(daemon.address, "/api/v1/status").body)


# --------------------------------------------------------------------------------------------------
# Where it listens


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
        return True
    except OSError:
        return False


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

    def test_socket_file_of_a_daemon_that_was_killed_is_replaced(self):
        path = f"{self.folder}/socket"
        with socket.socket(socket.AF_UNIX) as left_behind:
            left_behind.bind(path)
        self.start(f"--web.listen-address=unix:{path}")
        self.assert_scraped(web.UnixConnection(path))

    def test_ipv6_loopback(self):
        harness.require(has_ipv6(), "this machine has no IPv6")
        address = f"[::1]:{harness.free_port()}"
        self.start(f"--web.listen-address={address}")
        self.assert_scraped(web.connection_to(address))

    def test_port_alone_is_both_ipv4_and_ipv6(self):
        port = harness.free_port()
        self.start(f"--web.listen-address=:{port}", port=port, listens=False)
        self.assert_scraped(web.connection_to(f"127.0.0.1:{port}"))
        harness.require(has_ipv6(), "this machine has no IPv6")
        self.assert_scraped(web.connection_to(f"[::1]:{port}"))

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

    def test_activated_by_the_first_client(self):
        harness.require(shutil.which("systemd-socket-activate"),
                        "systemd-socket-activate is not installed")
        port = harness.free_port()
        wrapper = ["systemd-socket-activate", f"--listen=127.0.0.1:{port}"]
        daemon = self.start("--web.systemd-socket", wrapper=wrapper, listens=False, port=port)
        self.assert_scraped(web.connection_to(daemon.address))

    def test_without_a_socket_of_the_service_manager_there_is_no_start(self):
        config = f"{self.folder}/config.yaml"
        replace(config, CONFIG)
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("LISTEN_")}
        ended = subprocess.run([harness.daemon_binary, f"--config.file={config}",
                                "--web.systemd-socket"], capture_output=True, text=True,
                               env=environment, timeout=harness.PATIENCE, check=False)
        self.assertEqual(ended.returncode, 1, ended.stderr)
        self.assertIn("Remedy: ", ended.stderr)


# --------------------------------------------------------------------------------------------------
# What is refused


class RefusalTest(WebTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon = cls.enterClassContext(harness.Daemon(CONFIG))

    # Each would be read by one server as one request and by another as two, or be passed on by a
    # proxy as something else. What hides in them asks for /-/healthy.
    HIDDEN = b"GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n"
    SHAPES = {
        "two lengths": b"Content-Length: 0\r\nContent-Length: 38\r\n",
        "two equal lengths": b"Content-Length: 0\r\nContent-Length: 0\r\n",
        "a list of lengths": b"Content-Length: 0, 38\r\n",
        "a signed length": b"Content-Length: +38\r\n",
        "a length in hexadecimal": b"Content-Length: 0x26\r\n",
        "length and chunks": b"Content-Length: 38\r\nTransfer-Encoding: chunked\r\n",
        "chunks": b"Transfer-Encoding: chunked\r\n",
        "an unknown coding": b"Transfer-Encoding: xchunked\r\n",
        "a folded line": b"X-One: a\r\n Content-Length: 38\r\n",
        "a folded length": b"Content-Length:\r\n 38\r\n",
        "a blank before the colon": b"Content-Length : 38\r\n",
        "a name with a null": b"Content\0-Length: 38\r\n",
        "a value with a null": b"X-One: a\0b\r\n",
        "a bare carriage return": b"X-One: a\rContent-Length: 38\r\n",
        "no name": b": 38\r\n",
        "no colon": b"Content-Length 38\r\n",
        "two hosts": b"Host: y\r\n",
    }
    FIRST_LINES = {
        "absolute form": b"GET http://x/metrics HTTP/1.1\r\nHost: x\r\n\r\n",
        "absolute form of another host": b"GET http://y/metrics HTTP/1.1\r\nHost: x\r\n\r\n",
        "authority form": b"CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n",
        "no host": b"GET /metrics HTTP/1.1\r\n\r\n",
        "a blank too many": b"GET  /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
        "version 2": b"GET /metrics HTTP/2.0\r\nHost: x\r\n\r\n",
        "no version": b"GET /metrics\r\n\r\n",
        "a null in the path": b"GET /met\0rics HTTP/1.1\r\nHost: x\r\n\r\n",
    }

    def assert_refused(self, sent, statuses):
        """One answer of `statuses` with a word of explanation, then the end."""
        received = web.converse(self.daemon.address, sent)
        self.assertRegex(received, rb"\AHTTP/1\.[01] (%s) " % statuses)
        self.assertEqual(len(re.findall(rb"HTTP/1\.[01] [0-9]{3} ", received)), 1, received)
        head, _, body = received.partition(b"\r\n\r\n")
        self.assertIn(b"connection: close", head.lower())
        self.assertTrue(body.strip(), received)
        self.assertNotIn(b"perf_cpu", body)

    def test_shapes_that_smuggle_requests(self):
        for name, header in self.SHAPES.items():
            with self.subTest(name):
                self.assert_refused(b"GET /metrics HTTP/1.1\r\nHost: x\r\n" + header + b"\r\n"
                                    + self.HIDDEN, b"400|413|501")

    def test_request_lines_that_mean_something_to_proxies_or_no_one(self):
        for name, request in self.FIRST_LINES.items():
            with self.subTest(name):
                self.assert_refused(request + self.HIDDEN, b"400|405|505")

    def test_the_same_without_anything_odd_is_answered_twice(self):
        received = web.converse(self.daemon.address, self.HIDDEN + self.HIDDEN.replace(
            b"Host: x", b"Host: x\r\nConnection: close"))
        self.assertEqual(received.count(b"HTTP/1.1 200 "), 2, received)

    def test_what_is_too_large_or_not_there(self):
        def request(line, headers=b""):
            return line + b" HTTP/1.1\r\nHost: x\r\n" + headers + b"\r\n"

        self.assert_refused(request(b"GET /metrics", b"X: " + b"a" * 9000 + b"\r\n"), b"431")
        self.assert_refused(request(b"GET /" + b"a" * 9000), b"431|414")
        self.assert_refused(request(b"POST /metrics", b"Content-Length: 5\r\n") + b"hello",
                            b"413|405")
        self.assertEqual(web.ask_once(self.daemon.address, "/nowhere").status, 404)

    def test_methods_that_change_things_are_refused_and_the_right_ones_named(self):
        for method in ("POST", "PUT", "DELETE", "PATCH", "TRACE"):
            with self.subTest(method):
                answer = web.ask_once(self.daemon.address, method=method)
                self.assertEqual(answer.status, 405)
                self.assertEqual(set(answer.headers["Allow"].split(", ")), {"GET", "HEAD"})

    def test_http_1_0_is_answered_and_closed(self):
        received = web.converse(self.daemon.address, b"GET /metrics HTTP/1.0\r\n\r\n")
        head, _, body = received.partition(b"\r\n\r\n")
        self.assertRegex(head, rb"\AHTTP/1\.[01] 200 ")
        self.assertNotIn(b"chunked", head.lower())
        self.assertEqual(exposition.check_text(body.decode()), [])


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

    def test_promtool_finds_nothing_in_what_a_daemon_behind_a_web_configuration_serves(self):
        daemon = self.start_with(LoginTest.USERS, headers=LOGIN)
        self.assert_nothing_to_complain_about(daemon.scrape().text)

    def test_promtool_finds_nothing_in_any_shipped_configuration(self):
        configurations = [path for path in sorted(self.SHIPPED.rglob("*.yaml"))
                          if re.search("^groups:", path.read_text(encoding="utf-8"), re.MULTILINE)]
        self.assertGreaterEqual(len(configurations), 2)
        with concurrent.futures.ThreadPoolExecutor() as pool:  # each waits for its interval
            for path, scraped in zip(configurations, pool.map(self.once, configurations)):
                with self.subTest(path.name):
                    self.assertEqual(scraped.returncode, 0, scraped.stderr)
                    self.assert_nothing_to_complain_about(scraped.stdout)

    def once(self, path):
        return subprocess.run([harness.daemon_binary, "--once", f"--config.file={path}"], text=True,
                              capture_output=True, timeout=6 * harness.PATIENCE, check=False)


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
        harness.require(shutil.which("openssl"), "openssl is not installed")
        harness.require_events(*EVENTS)
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="pex_test_"))
        cls.authority = web.Authority(cls.folder)
        cls.server = cls.authority.issue("server")
        cls.client = cls.authority.issue("client")
        cls.daemon = cls.start("daemon", cls.server, LoginTest.USERS, headers=LOGIN)
        cls.prometheus = cls.enterClassContext(Jobs(cls.jobs()))
        for job in ("tls", "text", "openmetrics", "client certificate", "tls 1.1 control"):
            cls.await_scrapes(job, cls.SCRAPES)
        harness.until("an attempt at each target", lambda: all(
            cls.prometheus.target(job)[0] != "unknown" for job in cls.jobs_known))

    @classmethod
    def start(cls, name, certificate, *lines, **options):
        """A daemon over TLS, with further lines of its web configuration."""
        path = f"{cls.folder}/{name}.yml"
        replace(path, "\n".join(["tls_server_config:", f"  cert_file: {certificate.certificate}",
                                 f"  key_file: {certificate.key}", *lines, ""]))
        context = options.pop("tls", None) or cls.authority.context()
        return cls.enterClassContext(harness.Daemon(CONFIG, f"--web.config.file={path}",
                                                    tls=context, **options))

    @classmethod
    def jobs(cls):
        unverified = ssl.create_default_context()
        unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
        expired = cls.start("expired", cls.authority.issue("expired", days=0), tls=unverified)
        mutual = cls.start("mutual", cls.server, "  client_auth_type: RequireAndVerifyClientCert",
                           f"  client_ca_file: {cls.authority.certificate}",
                           tls=cls.authority.context(cls.client))
        old = web.speaking_only_tls_1_1(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
        old.load_cert_chain(cls.server.certificate, cls.server.key)
        old_server = cls.enterClassContext(web.Server(
            lambda *_: (200, {"Content-Type": web.TEXT}, b"# TYPE a gauge\na 1\n"), tls=old))
        # It takes OpenMetrics always, and does not tell what it got.
        cls.text = cls.enterClassContext(web.Relay(cls.daemon, accept="text/plain;version=0.0.4"))
        cls.openmetrics = cls.enterClassContext(web.Relay(cls.daemon))

        right = {"username": USER, "password": PASSWORD}
        wrong = {"username": USER, "password": OTHER_PASSWORD}
        tls = {"ca_file": cls.authority.certificate}
        certificate = {"cert_file": cls.client.certificate, "key_file": cls.client.key}
        tls_1_1 = {"min_version": "TLS11", "max_version": "TLS11"}

        def over_tls(daemon, login=None, **further):
            settings = {"scheme": "https", "tls_config": {**tls, **further}}
            return daemon.address, {**settings, **({"basic_auth": login} if login else {})}

        jobs = {
            "tls": over_tls(cls.daemon, right),
            "text": (cls.text.address, {}),
            "openmetrics": (cls.openmetrics.address, {}),
            "wrong password": over_tls(cls.daemon, wrong),
            "no password": over_tls(cls.daemon),
            "unknown authority": (cls.daemon.address, {"scheme": "https", "basic_auth": right}),
            "expired": over_tls(expired),
            "client certificate": over_tls(mutual, **certificate),
            "no client certificate": over_tls(mutual),
            "tls 1.1": over_tls(cls.daemon, right, **tls_1_1),
            "tls 1.1 control": over_tls(old_server, **tls_1_1),
        }
        cls.jobs_known = list(jobs)
        return jobs

    @classmethod
    def await_scrapes(cls, job, number):
        harness.until(f"{number} scrapes of job {job}", lambda: cls.prometheus.scalar(
            f'sum_over_time(up{{job="{job}"}}[5m])') >= number, patience=60, pause=0.1)

    def assert_down(self, job, reason):
        def is_down():  # the last attempt may have failed because the machine is busy
            health, error = self.prometheus.target(job)
            return health == "down" and re.search(reason, error)

        harness.until(f"target {job} down: {reason}", is_down)
        self.assertEqual(self.prometheus.scalar(f'max_over_time(up{{job="{job}"}}[5m])'), 0)

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

    def test_openmetrics_arrives_compressed(self):
        self.assert_scraped("openmetrics")
        self.assertGreaterEqual(len(self.openmetrics.passed), self.SCRAPES)
        for passed in self.openmetrics.passed:
            self.assertEqual(passed, {"Content-Type": web.OPENMETRICS, "Content-Encoding": "gzip"})
        self.assertEqual(self.prometheus.metadata("openmetrics")[self.CLOCK],
                         ("counter", "seconds"))

    def test_text_arrives_compressed(self):
        self.assert_scraped("text")
        self.assertGreaterEqual(len(self.text.passed), self.SCRAPES)
        for passed in self.text.passed:
            self.assertEqual(passed, {"Content-Type": web.TEXT, "Content-Encoding": "gzip"})
        self.assertEqual(self.prometheus.metadata("text")[f"{self.CLOCK}_total"], ("counter", ""))

    def test_both_formats_become_the_same_series(self):
        # The interval is there only while scrapes come evenly.
        others = "up|scrape_.*|perf_event_exporter_scrape_interval_seconds"

        def series(job):
            return set(self.prometheus.query(f'{{job="{job}",__name__!~"{others}"}}'))
        # Between two scrapes a CPU may be late for the first time, which is a new series.
        harness.until("the same series", lambda: series("text") == series("openmetrics"))
        self.assertGreater(len(series("text")), 10)

    def test_no_way_in_without_the_right_password(self):
        for job in ("wrong password", "no password"):
            self.assert_down(job, "401 Unauthorized")

    def test_a_server_certificate_that_expired_or_no_one_knows_is_not_trusted(self):
        self.assert_down("expired", "certificate has expired")
        self.assert_down("unknown authority", "signed by unknown authority")

    def test_tls_1_1_is_no_way_in(self):
        self.await_success("tls 1.1 control")
        self.assert_down("tls 1.1", "protocol version")

    def test_no_way_in_without_the_certificate_that_is_required(self):
        self.assert_down("no client certificate", "certificate required|bad certificate|handshake")


if __name__ == "__main__":
    harness.main()
