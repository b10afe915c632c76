"""What is done to the daemons in soak_test.py, all at once: each disturbance is a thread, which
counts what it did. Which step comes next, and when, follows from the seed."""

import collections
import contextlib
import gzip
import json
import os
import random
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

import exposition
import harness
import hotplug_test
import perf_events
import web
from soak import setting

_, CLIENT, CROWD = web.OTHER_HOSTS  # the first one scrapes


class Disturbance(harness.Repeated):
    """One step after the other, with `pauses` of seconds between them. `quiet` holds off the next
    step, so that what it does is whole at both ends of a comparison."""

    pauses = (1.0, 4.0)

    def __init__(self, seed):
        super().__init__()
        self.chance = random.Random(f"{seed} {self.name}")
        self.quiet = threading.Lock()
        self.did = collections.Counter()

    def pause(self):
        return self.chance.uniform(*self.pauses)

    def once(self):
        with self.quiet:
            if not self.ending.is_set():
                self.step()

    def step(self):
        raise NotImplementedError


class Churn:
    """cgroup_churn.py below soak/churn; quiet, it makes and removes nothing."""

    name = "Churn"

    def __init__(self, seed, place):
        program = os.path.join(os.path.dirname(__file__), "cgroup_churn.py")
        self.command = [sys.executable, program, place.directory("churn"),
                        str(random.Random(f"{seed} Churn").randrange(10**9))]
        self.did, self.problems = collections.Counter(), []
        self.process = None

    def __enter__(self):
        self.process = harness.Process(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._order("work")
        return self

    def __exit__(self, *_):
        with contextlib.suppress(BrokenPipeError):
            self._order("end")
            self.process.child.wait(timeout=harness.PATIENCE)
        self.process.__exit__()

    @property
    @contextlib.contextmanager
    def quiet(self):
        self._order("rest")
        yield
        self._order("work")

    def _order(self, word):
        self.process.child.stdin.write(word + "\n")
        self.process.child.stdin.flush()
        answer = self.process.child.stdout.readline()
        if not answer:
            self.problems.append("Churn: it has ended by itself")
            return
        self.did.update({key: value - self.did[key] for key, value in json.loads(answer).items()})


class Reloads(Disturbance):
    """Configurations that only publish in another way, and broken ones; the one of before comes
    back at the end of each step. `replace` and `change_source` are for the time between two
    comparisons."""

    KEPT = [
        {"evidence": {"cgroups": "none"}},
        {"evidence": {"cgroups": "sum", "variance": "true"}},
        {"openmetrics": {"created": "false"}},
        {"limits": {"max_series": "40000", "opens_per_second": "500"}},
        {"collection": {"interval": "150ms", "max_age": "1s"}},
        {"cgroups": {"linger": "8s", "max": "300", "close_after": "1h"}},
        {"cgroups": {"labels": "[{match: '/**', set: {team: x}}]",
                     "sums": "[{name: teams, by: [team], zero_for: 0s}]"}},
        {"cgroups": {"series": "none"}},
    ]
    BROKEN = ["groups: [{name: software, events: [task-clock", "collection: {interval: 5}\n",
              "groups: [{name: a, events: [task-clok], scope: cgroup}]\n", "",
              "groups: [{name: software, events: [task-clock], scope: cgroup}]\nno_such_key: 1\n"]

    DONE, REFUSED = "configuration reloaded", "configuration not reloaded"

    def __init__(self, seed, watched):
        super().__init__(f"{seed} {watched.source}")
        self.watched = watched

    def step(self):
        if self.chance.random() < 0.25:
            self.watched.configure(text=self.chance.choice(self.BROKEN))
            self.expect("refused", self.reload())
        else:
            self.watched.configure(self.chance.choice(self.KEPT))
            self.expect("kept", self.reload())
        time.sleep(self.chance.uniform(0.0, 2.0))
        self.watched.configure()
        self.expect("kept", self.reload())

    def expect(self, wanted, line):
        outcome = ("refused" if self.REFUSED in line else
                   "kept" if "groups_opened=0 groups_closed=0" in line else "changed")
        self.did[outcome] += 1
        if outcome != wanted:
            self.problems.append(f"Reloads: not {wanted}: {line}")

    def replace(self, other_events):
        """Another event in one group."""
        self.watched.other_events = other_events
        self.watched.configure()
        self.expect("changed", self.reload())

    def change_source(self):
        """Counts cgroups in the other way for a while, which keeps all totals."""
        (other,) = set(setting.SOURCES) - {self.watched.source}
        for changes in ({"cgroups": {"source": other}}, {}):
            self.watched.configure(changes)
            self.expect("kept", self.reload())
            self.watched.daemon.scrape_after_polls(3)
        self.did["source changed"] += 1

    def reload(self):
        """By a signal or by HTTP; returns the line of its end. For want of a descriptor the file
        cannot be read: then once more."""
        while True:
            lines = self.try_reload()
            if not any("(EMFILE)" in line for line in lines) or self.REFUSED not in lines[-1]:
                return lines[-1]
            self.did["without a descriptor"] += 1
            time.sleep(0.2)

    def try_reload(self):
        log, lines, answer = self.watched.log(), [], None
        if self.chance.random() < 0.5:
            self.watched.daemon.send(signal.SIGHUP)
        else:
            answer = post(self.watched.daemon, "/-/reload")

        def has_ended():
            lines.extend(log.new_lines())
            ends = [number for number, line in enumerate(lines)
                    if self.REFUSED in line or self.DONE in line]
            return ends and lines[:ends[0] + 1]
        lines = harness.until("the end of a reload", has_ended)
        if answer and answer.status != (500 if self.REFUSED in lines[-1] else 200):
            self.problems.append(f"Reloads: {answer.status} {answer.text}, and {lines[-1]}")
        return lines


def post(daemon, path):
    """While it has no descriptor for a client, or a crowd has all connections, it answers nothing but
    health."""
    def ask():
        with contextlib.suppress(ConnectionError):
            answer = web.ask_once(daemon.address, path, "POST")
            return answer if answer.status not in (429, 503) else None
        return None
    return harness.until(f"an answer to POST {path}", ask, pause=0.2)


class Pauses(Disturbance):
    """Groups that hold hardware counters are stopped for a while: by POST, and by SIGUSR1 until
    SIGUSR2. All that we compare is counted by software, and goes on."""

    pauses = (4.0, 12.0)

    def __init__(self, seed, watched):
        super().__init__(f"{seed} {watched.source}")
        self.watched = watched
        self.can_pause = self._post("1s").status not in (404, 405)
        if not self.can_pause:
            print(f"SKIPPED: soak: pauses: the daemon by {watched.source} has no /-/pause",
                  flush=True)

    def _post(self, length):
        return post(self.watched.daemon, f"/-/pause?for={length}")

    def step(self):
        if not self.can_pause:
            return
        if self.chance.random() < 0.5:
            answer = self._post("1s")
            if answer.status != 200:
                self.problems.append(f"Pauses: {answer.status}: {answer.text}")
            time.sleep(1.5)
        else:
            self.watched.daemon.send(signal.SIGUSR1)
            time.sleep(self.chance.uniform(0.1, 2.0))
            self.watched.daemon.send(signal.SIGUSR2)
        self.did["pauses"] += 1


class Exhaustion(Disturbance):
    """More cgroups than a daemon has descriptors for, for a while; and its soft limit of
    descriptors is below what it has open, until it raises that again at its next poll. (Its hard
    limit could be raised again only by those with another right.)"""

    pauses = (4.0, 12.0)
    CGROUPS = (40, 80)

    def __init__(self, seed, place, watched):
        super().__init__(seed)
        self.place, self.watched = place, watched
        self.left_out = {each.source: set() for each in watched}  # since the last comparison
        self.is_short = False

    def step(self):
        names = [f"many/more-{number}" for number in range(self.chance.randrange(*self.CGROUPS))]
        self.is_short = True
        try:
            for name in names:
                self.place.tree.make(name)
            for each in self.chance.sample(self.watched, self.chance.randrange(3)):
                self.lower_soft_limit(each.daemon.pid, each)
            self.watch(self.chance.uniform(0.5, 3.0))
        finally:
            for name in names:
                self.place.tree.remove(f"{self.place.tree.path}/{name}")
            harness.until("room for all cgroups", lambda: not self.watch(0.1))
            self.is_short = False
        self.did["more cgroups than descriptors"] += 1

    def lower_soft_limit(self, pid, watched):
        hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]
        open_now = watched.files().total()
        resource.prlimit(pid, resource.RLIMIT_NOFILE,
                         (max(64, open_now - self.chance.randrange(50)), hard))
        self.did["limit below what is open"] += 1

    def watch(self, seconds):
        """The cgroups that are left out in the end."""
        until, last = time.monotonic() + seconds, set()
        while time.monotonic() < until:
            last = set()
            for each in self.watched:
                paths = setting.left_out_paths(each.daemon)
                self.left_out[each.source] |= paths
                last |= paths
            time.sleep(0.05)
        return last

    def take_left_out(self, source):
        taken, self.left_out[source] = self.left_out[source], set()
        return taken


class Hotplug(Disturbance):
    """CPU 1 goes and comes back: not in each comparison, as what it costs makes that less exact."""

    pauses = (10.0, 50.0)

    def __init__(self, seed, stack):
        super().__init__(seed)
        stack.enter_context(hotplug_test.guard())  # brings it back, however we end
        stack.callback(hotplug_test.set_cpu1_online, True)

    @staticmethod
    def is_allowed():
        try:
            hotplug_test.set_cpu1_online(True)  # is so: only finds out whether we may
        except OSError as error:
            print(f"SKIPPED: soak: hotplug: CPU 1 cannot be taken offline: {error}", flush=True)
            return False
        return True

    def step(self):
        try:
            hotplug_test.set_cpu1_online(False)
        except OSError:
            self.did["refused by the kernel"] += 1
            return
        try:
            time.sleep(self.chance.choice([0.0, self.chance.uniform(0.1, 2.0)]))
        finally:
            hotplug_test.set_cpu1_online(True)
            self.did["CPU 1 gone and back"] += 1


class OtherPerfUsers(Disturbance):
    """Other programs open events of CPUs, of cgroups and of tasks, and close them."""

    pauses = (0.2, 2.0)

    def __init__(self, seed, place):
        super().__init__(seed)
        self.place = place
        self.held = []
        self.visits = [self.count_cpus, self.count_cgroup, self.count_task, self.cadvisor]
        if shutil.which("perf"):
            self.visits += [self.perf_stat, self.perf_record]
        else:
            print("SKIPPED: soak: perf is not installed: other users are those of the test alone")

    def step(self):
        if len(self.held) > 4 or (self.held and self.chance.random() < 0.3):
            self.held.pop(self.chance.randrange(len(self.held))).close()
            return
        visit = self.chance.choice(self.visits)
        try:
            visit()
        except (OSError, struct.error):  # a CPU is away, or goes before its events are read
            self.did["too late"] += 1
        else:
            self.did[visit.__name__.replace("_", " ")] += 1

    def directory(self):
        return self.place.directory(self.chance.choice(["steady-0", "steady-1", "churn", "nest-0"]))

    def count_cpus(self):
        self.held.append(perf_events.Counters(["context-switches", "page-faults"],
                                              harness.online_cpus()))

    def count_cgroup(self):
        self.held.append(perf_events.Counters(["task-clock", "minor-faults"],
                                              harness.online_cpus(), self.directory()))

    def count_task(self):
        fd = perf_events.open_event("task-clock", -1, pid=os.getpid())
        time.sleep(0.1)
        os.close(fd)

    def cadvisor(self):
        with perf_events.Cadvisor([["task-clock", "context-switches"]],
                                  harness.online_cpus()) as other:
            other.add(self.directory())
            time.sleep(0.5)
            other.read()

    def perf_stat(self):
        subprocess.run(["perf", "stat", "-a", "-e", "context-switches,cpu-clock", "--", "sleep",
                        "0.7"], capture_output=True, check=False)

    def perf_record(self):
        subprocess.run(["perf", "record", "-q", "-o", "/dev/null", "-a", "-e", "cpu-clock", "-F",
                        "99", "--", "sleep", "0.5"], capture_output=True, check=False)

    def __exit__(self, *args):
        super().__exit__(*args)
        while self.held:
            self.held.pop().close()


class Clients(Disturbance):
    """Scrapes in each format, slow ones, some that are killed halfway, and a crowd now and then."""

    pauses = (0.0, 0.6)
    CROWD = 150

    def __init__(self, seed, watched):
        super().__init__(f"{seed} {watched.source}")
        self.address = web.split(watched.daemon.address)
        self.manners = [self.scrape_text, self.scrape_openmetrics, self.read_slowly,
                        self.kill_halfway]

    def step(self):
        manner = self.crowd if self.chance.random() < 0.03 else self.chance.choice(self.manners)
        try:
            manner()
        except (ConnectionError, TimeoutError):  # we are many, and it may have no descriptor
            self.did["refused"] += 1
        else:
            self.did[manner.__name__.replace("_", " ")] += 1

    def connect(self, host=CLIENT):
        client = socket.create_connection(self.address, harness.PATIENCE, source_address=(host, 0))
        return contextlib.closing(client)

    def ask(self, client, *headers):
        client.sendall("\r\n".join(["GET /metrics HTTP/1.1", "Host: x", "Connection: close",
                                    *headers, "", ""]).encode())

    def text_of(self, client, pause=0.0):
        received = bytearray()
        while chunk := client.recv(4096 if pause else 1 << 20):
            received += chunk
            time.sleep(pause)
        head, _, body = bytes(received).partition(b"\r\n\r\n")
        if not head:
            raise ConnectionError("closed before an answer")
        status = int(head.split(b" ", 2)[1])
        if status != 200:
            self.did[f"status {status}"] += 1
            return None
        if b"content-length: %d" % len(body) not in head.lower():
            self.problems.append(f"Clients: the body is not whole: {len(body)} bytes, {head!r}")
            return None
        return (gzip.decompress(body) if b"gzip" in head.lower() else body).decode()

    def scrape_text(self):
        with self.connect() as client:
            self.ask(client, "Accept-Encoding: gzip")
            self.judge(exposition.check_text, self.text_of(client))

    def scrape_openmetrics(self):
        with self.connect() as client:
            self.ask(client, f"Accept: {web.OPENMETRICS}")
            self.judge(exposition.check_openmetrics, self.text_of(client))

    def judge(self, check, text):
        if text is not None and (problems := check(text)):
            self.problems.append(f"Clients: not a scrape: {problems[:3]}")

    def read_slowly(self):
        with self.connect() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            self.ask(client)
            self.judge(exposition.check_text, self.text_of(client, pause=0.01))

    def kill_halfway(self):
        with self.connect() as client:
            self.ask(client)
            client.recv(self.chance.choice([1, 1000]))
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # RST

    def crowd(self):
        with contextlib.ExitStack() as stack:
            for number in range(self.CROWD):
                client = stack.enter_context(self.connect(CROWD))
                if number % 2:
                    self.ask(client)
            time.sleep(self.chance.uniform(0.1, 2.0))
