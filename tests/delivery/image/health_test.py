"""`perf_event_exporter health`: what HEALTHCHECK and exec probes of containers run."""

import shutil
import signal
import subprocess
import tempfile
import unittest

import containers  # also finds the harness
import harness
import web

CONFIG = harness.config_of(events=["task-clock"], scope="cpu")
WEB_CONFIG = """\
tls_server_config: {cert_file: server.pem, key_file: server.key}
basic_auth_users: {somebody: $2b$04$abcdefghijklmnopqrstuu1yHHzeesYlaDAogf8rz2bpLgGRIp.lG}
"""
REQUIRED = """\
tls_server_config: {cert_file: server.pem, key_file: server.key,
  client_auth_type: RequireAndVerifyClientCert, client_ca_file: authority.pem}
"""


def health(*args, **options):
    return subprocess.run([harness.daemon_binary, "health", *args], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=harness.PATIENCE, check=False, **options)


class HealthTest(unittest.TestCase):
    def folder(self):
        path = tempfile.mkdtemp(prefix="pex_test_")
        self.addCleanup(shutil.rmtree, path)
        return path

    def assert_well(self, ended, answer):
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, answer, ""))

    def test_a_daemon_that_serves_is_well(self):
        with harness.Daemon(CONFIG) as daemon:
            where = f"--web.listen-address={daemon.address}"
            self.assert_well(health(where), "healthy\n")
            self.assert_well(health(where, "--ready"), "ready\n")

    def test_over_tls_and_without_the_password_of_scrapes(self):
        harness.require(shutil.which("openssl"), "openssl is not installed")
        folder = self.folder()
        authority = web.Authority(folder)
        authority.issue("server")
        containers.write(f"{folder}/web.yaml", WEB_CONFIG)
        file = f"--web.config.file={folder}/web.yaml"
        with harness.Daemon(CONFIG, file, tls=authority.context()) as daemon:
            self.assertEqual(daemon.get("/metrics")[0], 401)
            where = f"--web.listen-address={daemon.address}"
            self.assert_well(health(where, file), "healthy\n")

    def daemon_that_requires_certificates(self, *options, config=REQUIRED):
        """And the options for its address and its web configuration."""
        harness.require(shutil.which("openssl"), "openssl is not installed")
        folder = self.folder()
        authority = web.Authority(folder)
        authority.issue("server")
        containers.write(f"{folder}/web.yaml", config)
        file = f"--web.config.file={folder}/web.yaml"
        daemon = self.enterContext(harness.Daemon(
            CONFIG, file, *options, tls=authority.context(authority.issue("client"))))
        return daemon, [f"--web.listen-address={daemon.address}", file]

    def test_without_that_address_it_is_not_well_and_this_is_explained(self):
        for version in "TLS12", "TLS13":
            with self.subTest(version):
                _, where = self.daemon_that_requires_certificates(
                    config=REQUIRED.replace("}", f", max_version: {version}}}"))
                ended = health(*where)
                self.assertEqual((ended.returncode, ended.stdout), (1, ""))
                self.assertIn("the server requires client certificates. Remedy: ", ended.stderr)
                self.assertIn("--web.health-address", ended.stderr)

    def test_the_address_for_probes_has_nothing_else(self):
        port = harness.free_port()
        self.daemon_that_requires_certificates(f"--web.health-address=127.0.0.1:{port}")
        address = f"127.0.0.1:{port}"
        self.assertEqual({path: web.ask_once(address, path).status for path in (
            "/-/healthy", "/-/ready", "/metrics", "/", "/api/v1/status", "/page.js")},
            {"/-/healthy": 200, "/-/ready": 200, "/metrics": 404, "/": 404, "/api/v1/status": 404,
             "/page.js": 404})

    def test_a_daemon_that_hangs_is_not_well(self):
        with harness.Daemon(CONFIG) as daemon:
            daemon.send(signal.SIGSTOP)
            try:
                ended = health(f"--web.listen-address={daemon.address}")
            finally:
                daemon.send(signal.SIGCONT)
            self.assertEqual(ended.returncode, 1)
            self.assertIn("ETIMEDOUT", ended.stderr)

    def test_a_server_that_does_not_answer_is_not_well(self):
        ended = health(f"--web.listen-address=127.0.0.1:{harness.free_port()}")
        self.assertEqual(ended.returncode, 1)
        self.assertRegex(ended.stderr, r"\A[^\n]*ECONNREFUSED[^\n]* Remedy: [^\n]+\n\Z")


if __name__ == "__main__":
    harness.main()
