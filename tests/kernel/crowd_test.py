"""Clients that hold every connection take neither health nor the scrapes of other hosts with them.

Answers are counted, whatever the time: how long they took is printed, for a quiet machine.
"""

import collections
import concurrent.futures
import contextlib
import http.client
import itertools
import json
import resource
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import harness
import web
import web_test

EVENTS = ["task-clock", "context-switches"]
CONFIG = harness.config_of(events=EVENTS, scope="cpu", interval="1s")
CROWD = 520  # more than the limit of connections
FEW_DESCRIPTORS = 140
PROBES = 25
PROBES_OF_SANITIZED = 10  # a scrape takes many times as long
SECOND = 1000             # ms: what makes no progress for so long gives way to others, a handshake too
SELECTING = 60  # connections that ask for different groups
MANNERS = ("hold", "drip", "reconnect")
HTTP_ERRORS = "perf_event_exporter_http_errors_total"
SCRAPER = web.OTHER_HOSTS[0]
PROBE = b"GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n"
HEALTH = PROBE.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
METRICS = HEALTH.replace(b"/-/healthy", b"/metrics")

# Each holds as many connections as its fourth argument says, and opens them again where they were
# closed. It prints one line once all were there, and goes on until its stdin ends.
FLOOD = """
import itertools, select, socket, sys, time
address, manner, most = (sys.argv[1], int(sys.argv[2])), sys.argv[3], int(sys.argv[4])
first = bytes.fromhex(sys.argv[5])
held, told, dripped = [], False, time.monotonic()
sources = itertools.cycle(f"127.{1 + n // 250}.{1 + n % 250}.1" for n in range(600))

def connected():
    client = socket.socket()
    try:
        if manner == "spread":
            client.bind((next(sources), 0))
        client.connect(address)
        client.sendall(first)
        client.setblocking(False)
        held.append(client)
    except OSError:
        client.close()

def was_closed(client):
    try:
        return client.recv(4096) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True

while not select.select([sys.stdin], [], [], 0)[0]:
    while len(held) < most:
        connected()
    if not told:
        print("all are there", flush=True)
        told = True
    if manner == "reconnect":
        for client in held[:50]:
            client.close()
        del held[:50]
        continue
    time.sleep(0.02)
    if manner in ("drip", "spread") and time.monotonic() - dripped > 0.5:
        dripped = time.monotonic()
        for client in held:
            try:
                client.send(first if manner == "spread" else b"G")
            except OSError:
                pass
    for client in [each for each in held if was_closed(each)]:
        client.close()
        held.remove(client)
"""


def probes():
    return PROBES_OF_SANITIZED if harness.is_instrumented() else PROBES


def few_descriptors():
    resource.setrlimit(resource.RLIMIT_NOFILE, (FEW_DESCRIPTORS, FEW_DESCRIPTORS))


def status_of(address, request, source=None, tls=None):
    """Of the answer to one request on a connection of its own; 0 when there is none."""
    host, port = web.split(address)
    try:
        with contextlib.ExitStack() as stack:
            bound = (source, 0) if source else None
            client = stack.enter_context(
                socket.create_connection((host, port), harness.PATIENCE, source_address=bound))
            if tls:
                client = stack.enter_context(tls.wrap_socket(client, server_hostname="localhost"))
            client.sendall(request)
            line = client.recv(4096).split(b"\r\n", 1)[0]
            return int(line.split(b" ")[1]) if line else 0
    except (ConnectionError, ssl.SSLError, TimeoutError):
        return 0


def client_hello():
    """The first message of a client of TLS, upon which a server signs."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname="localhost")
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def setUpModule():
    web.enter_network_of_hosts()


class CrowdTest(unittest.TestCase):
    def setUp(self):
        harness.require_events(*EVENTS)
        harness.require(resource.getrlimit(resource.RLIMIT_NOFILE)[1] > 2 * CROWD,
                        "too few descriptors for the clients")

    @contextlib.contextmanager
    def flooded(self, *args, manner="hold", first=b"G", most=CROWD, **options):
        """A daemon while one host does with it what FLOOD says."""
        with harness.Daemon(CONFIG, *args, **options) as daemon:
            with self.flood(daemon, manner, first, most):
                yield daemon

    @contextlib.contextmanager
    def flood(self, daemon, manner, first, most):
        host, port = web.split(daemon.address)
        command = [sys.executable, "-S", "-c", FLOOD, host, str(port), manner, str(most), first.hex()]
        with harness.Process(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as flood:
            self.assertEqual(flood.child.stdout.readline().strip(), "all are there")
            yield

    def scrape_of_another_host(self, daemon):
        with contextlib.closing(http.client.HTTPConnection(
                *web.split(daemon.address), harness.PATIENCE, (SCRAPER, 0))) as connection:
            answer = web.ask(connection)
        return harness.Scrape(answer.text) if answer.status == 200 else None

    def statuses(self, daemon, request, pause=0.0, **options):
        """Of PROBES requests, one after the other."""
        took, statuses = [], []

        def probe():
            begin = time.monotonic()
            status = status_of(daemon.address, request, **options)
            took.append((time.monotonic() - begin) * 1000)
            if status == 0 and "tls" in options and took[-1] > SECOND:
                raise harness.Disturbed(f"a handshake stood still: it was closed after {took[-1]:.0f} ms")
            return status

        for _ in range(probes()):
            statuses.append(harness.undisturbed(probe))
            time.sleep(pause)
        print(f"\n{self.id().rpartition('.')[2]}: {statuses.count(200)} of {probes()}, median "
              f"{sorted(took)[len(took) // 2]:.1f} ms, longest {max(took):.1f} ms", flush=True)
        return statuses

    def assert_answered(self, daemon, request, **options):
        self.assertEqual(collections.Counter(self.statuses(daemon, request, **options)),
                         {200: probes()})

    def test_health_is_answered_whatever_one_host_does(self):
        few = {"preexec_fn": few_descriptors}
        # What it does with its connections, and pauses between questions: after a second others give way.
        for manner, options, pauses in (
                ("hold", {}, (0, 0.1)), ("hold", {"most": FEW_DESCRIPTORS, **few}, (0, 0.1)),
                ("drip", {}, (0.1,)), ("drip", few, (0.1,)),
                ("reconnect", {}, (0.02,)), ("reconnect", few, (0.02,))):
            with self.subTest(manner, **options), self.flooded(manner=manner, **options) as daemon:
                for pause in pauses:
                    self.assert_answered(daemon, HEALTH, pause=pause)
                if "most" in options:
                    answer = harness.until("a scrape", lambda: self.scrape_of_another_host(daemon))
                    self.assertFalse(answer.has(HTTP_ERRORS, reason="accept_error"))

    def test_scrapes_of_another_host_are_answered_whatever_one_host_does(self):
        for manner in MANNERS:
            with self.subTest(manner), self.flooded(manner=manner) as daemon:
                self.assert_answered(daemon, METRICS, source=SCRAPER)

    def test_scrapes_of_another_host_are_answered_while_one_host_uses_all_its_loopback_addresses(self):
        with self.flooded(manner="spread", first=PROBE) as daemon:
            self.assert_answered(daemon, METRICS, source=SCRAPER)
            self.assert_answered(daemon, HEALTH)

    def test_scrapes_of_the_same_host_are_answered_once_the_others_stand_still(self):
        with self.flooded(most=512) as daemon:
            harness.until("a scrape", lambda: status_of(daemon.address, METRICS) == 200)

    def test_clients_beyond_the_limit_are_reported_in_one_line(self):
        def told():
            return [line for line in daemon.lines("warn") if "limit of connections" in line]

        begin = time.monotonic()
        with self.flooded() as daemon:
            harness.until("a line in the log", told)
            self.assert_answered(daemon, METRICS, source=SCRAPER)
            minutes = (time.monotonic() - begin) // 60  # it is told of again after one
            self.assertLessEqual(len(told()), 1 + minutes, daemon.stderr())
            self.assertIn("peer=loopback", told()[0])

    def test_health_and_other_hosts_are_answered_over_tls(self):
        authority = web.authority_of(self)
        tls = authority.context()
        for manner, first in itertools.product(MANNERS, (b"\x16", client_hello())):
            with self.subTest(manner, bytes=len(first)), self.flooded(
                    authority.option(), manner=manner, tls=tls, first=first) as daemon:
                # A handshake begun, and no more.
                self.assert_answered(daemon, METRICS, source=SCRAPER, tls=tls)
                if manner != "reconnect":  # whose handshakes stand before ours, as of one host
                    self.assert_answered(daemon, HEALTH, pause=0.1, tls=tls)

    def test_strangers_without_a_password_take_no_rate_from_users(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
            file.write(web_test.LoginTest.USERS)
            file.write(f"rate_limit: {{interval: 1h, burst: {probes() + 1}}}\n")
            file.flush()
            credentials = web_test.LOGIN["Authorization"].encode()
            login = METRICS.replace(b"\r\n\r\n", b"\r\nAuthorization: %b\r\n\r\n" % credentials)
            with harness.Daemon(CONFIG, f"--web.config.file={file.name}") as daemon:
                self.assertEqual(status_of(daemon.address, login), 200)
                with self.flood(daemon, "reconnect", METRICS, 100):
                    harness.until("the limit", lambda: status_of(daemon.address, METRICS) == 429)
                    self.assert_answered(daemon, login, source=SCRAPER)
                    self.assert_answered(daemon, login)  # behind the address of the strangers

    def test_prometheus_gets_whole_texts_while_many_ask_for_selections(self):
        groups = [f"group{number}" for number in range(7)]
        config = json.dumps({"collection": {"interval": "100ms"}, "groups": [
            {"name": group, "scope": "cpu", "events": [
                {"event": "task-clock", "name": f"clock_{group}_{number}"}
                for number in range(40)]} for group in groups]})
        chosen = [each for size in range(1, 7) for each in itertools.combinations(groups, size)]
        ended = threading.Event()

        def ask_on_and_on(first):
            for selection in itertools.cycle(chosen[first:] + chosen[:first]):
                if ended.is_set():
                    return
                query = "&".join(f"collect[]={group}" for group in selection)
                status_of(daemon.address, METRICS.replace(b"/metrics", f"/metrics?{query}".encode()))

        with harness.Daemon(config) as daemon, \
                concurrent.futures.ThreadPoolExecutor(SELECTING) as pool:
            try:
                for first in range(SELECTING):
                    pool.submit(ask_on_and_on, first)
                self.assert_answered(daemon, METRICS)
            finally:
                ended.set()


if __name__ == "__main__":
    harness.main()
