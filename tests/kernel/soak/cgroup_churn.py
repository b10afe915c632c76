"""Cgroups that come, work and go, some of them nested. A program of its own: its work disturbs no
thread of the test.

    cgroup_churn.py DIRECTORY SEED

A line on stdin has it stop or start making and removing cgroups ("rest", "work"), or end ("end");
what it made so far is printed as JSON on the next line of stdout. """

import contextlib
import heapq
import json
import os
import random
import select
import signal
import sys
import time

EVERY = (0.03, 0.25)   # seconds from one cgroup to the next
BLOCKED = 0.005        # until its processes wait, as a rule
LIVES = (0.05, 10.0)   # from then to being removed
WORKS = (0.001, 0.12)  # CPU time of one process
POOL = 60              # names that are used again; others are new
NESTED = 0.3           # of them have a cgroup inside of them


def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


class Work:
    """A process that waits, works once it is moved to its cgroup, and ends or waits to be killed.
    What it does before is not of that cgroup, however it is counted: it is moved while it is
    blocked (by records, a task that is moved while it runs is counted there since its last
    switch)."""

    def __init__(self, seconds, ends):
        start, self.start = os.pipe()
        self.pid = os.fork()
        if self.pid:
            os.close(start)
            return
        try:
            os.read(start, 1)
            burn(seconds)
            if not ends:
                time.sleep(3600)
        finally:
            os._exit(0)

    def is_blocked(self):
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "RD"

    def begin(self, directory):
        with open(f"{directory}/cgroup.procs", "w", encoding="ascii") as procs:
            procs.write(str(self.pid))
        os.write(self.start, b"x")
        os.close(self.start)

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


class Job:
    def __init__(self, directory, chance):
        inner = f"{directory}/inner-{chance.randrange(3)}"
        self.directories = [directory, *([inner] if chance.random() < NESTED else [])]
        for each in self.directories:
            os.mkdir(each)
        self.works = [(each, Work(chance.uniform(*WORKS), chance.random() < 0.8))
                      for each in self.directories if chance.random() < 0.9]

    def is_blocked(self):
        return all(work.is_blocked() for _, work in self.works)

    def begin(self):
        for directory, work in self.works:
            work.begin(directory)

    def remove(self):
        """True once it is gone."""
        while self.works:
            self.works.pop()[1].kill()
        while self.directories:
            try:
                os.rmdir(self.directories[-1])
            except OSError:  # busy for a moment after the last process was reaped
                return False
            self.directories.pop()
        return True


class Churn:
    def __init__(self, directory, seed):
        self.directory = directory
        self.chance = random.Random(seed)
        self.agenda = []  # (when, number, what)
        self.alive = set()  # names
        self.made = self.processes = self.awaited = 0
        self.is_resting = True

    def make(self, _):
        self.plan(self.chance.uniform(*EVERY), self.make)
        reused = self.chance.random() < 0.7
        name = f"job-{self.chance.randrange(POOL) if reused else POOL + self.made}"
        if name in self.alive:
            return
        job = Job(f"{self.directory}/{name}", self.chance)
        self.made += len(job.directories)
        self.processes += len(job.works)
        self.alive.add(name)
        self.plan(BLOCKED, lambda _: self.begin(name, job))

    def begin(self, name, job):
        if not job.is_blocked():  # on a busy machine
            self.awaited += 1
            self.plan(BLOCKED, lambda _: self.begin(name, job))
            return
        job.begin()
        least, most = LIVES
        life = least * (most / least) ** self.chance.random()  # as many below 0.7 s as above
        self.plan(life, lambda _: self.remove(name, job))

    def remove(self, name, job):
        if job.remove():
            self.alive.discard(name)
        else:
            self.plan(0.01, lambda _: self.remove(name, job))

    def plan(self, seconds, what):
        heapq.heappush(self.agenda, (time.monotonic() + seconds, random.random(), what))

    def run(self):
        self.plan(0, self.make)
        while True:
            pause = max(0.0, self.agenda[0][0] - time.monotonic())
            ready = select.select([sys.stdin], [], [], None if self.is_resting else pause)[0]
            if ready and not self.obey(sys.stdin.readline().strip()):
                return
            while not self.is_resting and self.agenda[0][0] <= time.monotonic():
                _, number, what = heapq.heappop(self.agenda)
                what(number)
                if select.select([sys.stdin], [], [], 0)[0]:
                    break

    def obey(self, command):
        self.is_resting = command != "work"
        if command not in ("rest", "work"):
            self.end()
        print(json.dumps({"cgroups": self.made, "processes": self.processes,
                          "processes awaited": self.awaited}), flush=True)
        return command in ("rest", "work")

    def end(self):
        """Also where the other end of stdin is gone."""
        while self.alive:
            when, number, what = heapq.heappop(self.agenda)
            if what != self.make:
                what(number)


if __name__ == "__main__":
    Churn(sys.argv[1], int(sys.argv[2])).run()
