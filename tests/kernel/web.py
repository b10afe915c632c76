"""What the tests of serving need around the daemon: certificates, clients, servers in its place."""

import base64
import contextlib
import ctypes
import dataclasses
import fcntl
import http.client
import http.server
import shutil
import socket
import ssl
import struct
import subprocess
import tempfile
import threading

import harness

OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
TEXT = "text/plain; version=0.0.4; charset=utf-8"


# --------------------------------------------------------------------------------------------------
# Hosts

# As far as the daemon can tell, where there are HOSTS; of loopback addresses it knows that they are
# all of one.
OTHER_HOSTS = ("192.0.2.2", "192.0.2.3", "192.0.2.4")
HOSTS = "192.0.2.1"  # with its network, 192.0.2.0/24
NEW_NETWORK = 0x40000000  # CLONE_NEWNET; linux/sched.h
SET_FLAGS, SET_ADDRESS = 0x8914, 0x8916  # SIOCSIFFLAGS, SIOCSIFADDR; netdevice(7)
UP = 1  # IFF_UP


def enter_network_of_hosts():
    """Moves this program, and what it starts from now on, into a network of its own: a loopback
    interface that has OTHER_HOSTS as well. To be called before there are threads."""
    harness.require_root()
    harness.require(ctypes.CDLL(None).unshare(NEW_NETWORK) == 0, "needs a network namespace")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, SET_FLAGS, struct.pack("16sh", b"lo", UP))
        fcntl.ioctl(control, SET_ADDRESS, struct.pack("16sHH4s", b"lo:1", socket.AF_INET, 0,
                                                      socket.inet_aton(HOSTS)))


# --------------------------------------------------------------------------------------------------
# Certificates


@dataclasses.dataclass(frozen=True)
class Certificate:
    certificate: str  # paths
    key: str


class Authority:
    """Signs certificates with the `openssl` command; all files are in `folder`."""

    NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]

    def __init__(self, folder, name="authority"):
        self.stem = f"{folder}/{name}"
        self.folder = folder
        self.certificate = f"{self.stem}.pem"
        openssl("req", "-x509", *self.NEW_KEY, "-keyout", f"{self.stem}.key",
                "-out", self.certificate, "-days", "2", "-subj", f"/CN={name}",
                "-addext", "basicConstraints=critical,CA:TRUE",
                "-addext", "keyUsage=keyCertSign")

    def issue(self, name):
        stem = f"{self.folder}/{name}"
        openssl("req", "-new", *self.NEW_KEY, "-keyout", f"{stem}.key", "-out", f"{stem}.csr",
                "-subj", f"/CN={name}", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1")
        openssl("x509", "-req", "-in", f"{stem}.csr", "-CA", self.certificate,
                "-CAkey", f"{self.stem}.key", "-days", "2", "-copy_extensions", "copy",
                "-out", f"{stem}.pem")
        return Certificate(f"{stem}.pem", f"{stem}.key")

    def option(self, more="", rest="", name="web"):
        """For a web configuration with the certificate of "server", further keys of TLS and other lines."""
        return "--web.config.file=" + harness.write_text(
            f"{self.folder}/{name}.yml",
            f"tls_server_config: {{cert_file: server.pem, key_file: server.key{more}}}\n{rest}")

    def context(self, client=None):
        """That of a client which trusts this authority, and may have a certificate of its own."""
        context = ssl.create_default_context(cafile=self.certificate)
        if client:
            context.load_cert_chain(client.certificate, client.key)
        return context


# Further keys of TLS.
CLIENT_CERTIFICATES = ", client_auth_type: RequireAndVerifyClientCert, client_ca_file: authority.pem"


def authority_of(test):
    """An authority with a certificate "server", for as long as the test, or its class, runs."""
    harness.require(shutil.which("openssl"), "openssl is not installed")
    enter = test.enterClassContext if isinstance(test, type) else test.enterContext
    authority = Authority(enter(tempfile.TemporaryDirectory(prefix="pex_test_")))
    authority.server = authority.issue("server")
    return authority


def openssl(*args):
    done = subprocess.run(["openssl", *args], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"openssl {' '.join(args)}: {done.stderr}")


# --------------------------------------------------------------------------------------------------
# Clients


@dataclasses.dataclass(frozen=True)
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def text(self):
        return self.body.decode()


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=harness.PATIENCE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def split(address):
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


def connection_to(address, tls=None):
    """A connection to "host:port"; use it with contextlib.closing."""
    host, port = split(address)
    if tls:
        return http.client.HTTPSConnection(host, port, timeout=harness.PATIENCE, context=tls)
    return http.client.HTTPConnection(host, port, timeout=harness.PATIENCE)


def ask(connection, path="/metrics", method="GET", headers=None):
    connection.request(method, path, headers=headers or {})
    answer = connection.getresponse()
    return Answer(answer.status, answer.headers, answer.read())


def ask_once(address, *args, tls=None, **kwargs):
    with contextlib.closing(connection_to(address, tls)) as connection:
        return ask(connection, *args, **kwargs)


def basic(user, password):
    credentials = f"{user}:{password}".encode()
    return {"Authorization": "Basic " + base64.b64encode(credentials).decode()}


# --------------------------------------------------------------------------------------------------
# Servers


class Server:
    """An HTTP server of ours on a loopback port, for as long as it is entered."""

    def __init__(self, answer):
        """`answer` takes the request's path and headers, and returns status, headers and body."""
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                status, headers, body = answer(self.path, self.headers)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # clients that do not get in are what we test
        self.address = f"127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
