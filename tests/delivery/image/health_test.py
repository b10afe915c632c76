"""`perf_event_exporter health`: what HEALTHCHECK and exec probes of containers run."""

import signal
import unittest

import containers  # noqa: F401 (also finds the harness)
import harness
import web

CONFIG = harness.config_of(events=["task-clock"], scope="cpu")
USERS = "basic_auth_users: {somebody: $2b$04$abcdefghijklmnopqrstuu1yHHzeesYlaDAogf8rz2bpLgGRIp.lG}\n"


def health(*args):
    return harness.run("health", *args)


class HealthTest(unittest.TestCase):
    def assert_well(self, ended, answer):
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, answer, ""))

    def test_a_daemon_that_serves_is_well(self):
        with harness.Daemon(CONFIG) as daemon:
            where = f"--web.listen-address={daemon.address}"
            self.assert_well(health(where), "healthy\n")
            self.assert_well(health(where, "--ready"), "ready\n")

    def test_over_tls_and_without_the_password_of_scrapes(self):
        authority = web.authority_of(self)
        file = authority.option(rest=USERS)
        with harness.Daemon(CONFIG, file, tls=authority.context()) as daemon:
            self.assertEqual(daemon.get("/metrics")[0], 401)
            self.assert_well(health(f"--web.listen-address={daemon.address}", file), "healthy\n")

    def test_without_an_address_for_probes_required_certificates_make_it_not_well_and_this_is_explained(self):
        authority = web.authority_of(self)
        client = authority.context(authority.issue("client"))
        for version in "TLS12", "TLS13":
            file = authority.option(f"{web.CLIENT_CERTIFICATES}, max_version: {version}")
            with self.subTest(version), harness.Daemon(CONFIG, file, tls=client) as daemon:
                ended = health(f"--web.listen-address={daemon.address}", file)
                self.assertEqual((ended.returncode, ended.stdout), (1, ""))
                self.assertIn("the server requires client certificates. Remedy: ", ended.stderr)
                self.assertIn("--web.health-address", ended.stderr)

    def test_the_address_for_probes_has_nothing_else(self):
        address = f"127.0.0.1:{harness.free_port()}"
        self.enterContext(harness.Daemon(CONFIG, f"--web.health-address={address}"))
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


if __name__ == "__main__":
    harness.main()
