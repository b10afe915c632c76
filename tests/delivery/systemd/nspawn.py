"""A machine with systemd as its first process: systemd-nspawn over a root file system of which all
changes are forgotten at the end.

The calling process gets mounts of its own before, which end with it: whatever the machine has, there
is one hierarchy of cgroups of version 2 then, and an empty /run. Machines share the kernel with us, but no
network, and nothing of theirs is registered anywhere.
"""

import contextlib
import ctypes
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import debian
import harness
from program import read_text, require

CLONE_NEWNS = 0x00020000

# What the daemon's libraries need not, and a machine does.
PACKAGES = ("systemd", "systemd-sysv", "dbus", "procps", "init-system-helpers")
# Slow, or of no use to anybody here.
MASKED = ("systemd-firstboot.service", "systemd-resolved.service", "systemd-networkd.service",
          "systemd-timesyncd.service", "console-getty.service", "apt-daily.timer",
          "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "fstrim.timer", "e2scrub_all.timer")
# By default a container may not count.
RIGHTS = ("--capability=CAP_PERFMON", "--system-call-filter=perf_event_open")
DEADLINE = 60.0  # seconds, to be up or down


def require_nspawn():
    harness.require_root()
    require(shutil.which("systemd-nspawn"),
            "systemd-nspawn is not installed (packaging/dependencies/systemd.txt)")
    require(harness.v1_mount("perf_event") is None,
            "the controller perf_event is in a hierarchy of version 1 here; machines have version 2")
    harness.require_perfmon_to_matter()


def enter_own_mounts():
    """Once in a process, and before any other thread of it."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) != 0:
        raise unittest.SkipTest(f"no mounts of our own: {os.strerror(ctypes.get_errno())}")
    debian.run("mount", "--make-rprivate", "/")
    debian.run("mount", "-t", "tmpfs", "-o", "mode=755", "run", "/run")
    if not os.path.exists("/sys/fs/cgroup/cgroup.procs"):
        debian.run("umount", "-l", "/sys/fs/cgroup")
        debian.run("mount", "-t", "cgroup2", "cgroup2", "/sys/fs/cgroup")


class Cgroup:
    """One of ours, in which a machine runs; removed at the end, with all that nspawn made in it."""

    def __init__(self, name):
        self.directory = f"/sys/fs/cgroup/{harness.name_of_trees(os.getpid())}{name}"

    def __enter__(self):
        os.mkdir(self.directory)
        return self

    def __exit__(self, *_):
        harness.remove_tree(self.directory)

    def join(self):
        with open(f"{self.directory}/cgroup.procs", "wb", buffering=0) as procs:
            procs.write(b"0")


class Machine:
    """Booted from `base`, after `prepare(root)` has changed what it likes below `root`."""

    def __init__(self, name, base, prepare):
        self.name = name
        self.base = base
        self.prepare = prepare
        self.left = contextlib.ExitStack()
        self.nspawn = self.leader = None

    def __enter__(self):
        with self.left:
            self._set_up()
            self._boot()
            self.left = self.left.pop_all()
        return self

    def __exit__(self, *_):
        self.left.close()

    def _set_up(self):
        # Layers of an overlay may not be overlays themselves, so what changes is in memory.
        top = tempfile.mkdtemp(prefix="machine-", dir="/run")
        self.left.callback(shutil.rmtree, top)
        debian.run("mount", "-t", "tmpfs", "-o", "mode=755", "changes", top)
        self.left.callback(debian.run, "umount", "-l", top)
        for each in ("upper", "work", "root"):
            os.mkdir(f"{top}/{each}")
        self.root = f"{top}/root"
        debian.run("mount", "-t", "overlay", "overlay", "-o",
                   f"lowerdir={self.base},upperdir={top}/upper,workdir={top}/work", self.root)
        self.left.callback(debian.run, "umount", "-l", self.root)
        self.write("/etc/machine-id", "0123456789abcdef0123456789abcdef\n")
        self.write("/etc/hostname", f"{self.name}\n")
        for unit in MASKED:
            os.symlink("/dev/null", f"{self.root}/etc/systemd/system/{unit}")
        self.prepare(self)

    def _boot(self):
        cgroup = self.left.enter_context(Cgroup(self.name))
        self.console = self.left.enter_context(
            tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace"))
        self.nspawn = subprocess.Popen(
            ["systemd-nspawn", f"--directory={self.root}", f"--machine={self.name}", "--boot",
             "--register=no", "--keep-unit", "--console=pipe", "--private-network", "--link-journal=no", *RIGHTS],
            stdin=subprocess.DEVNULL, stdout=self.console, stderr=subprocess.STDOUT,
            preexec_fn=cgroup.join, env=os.environ | {"SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"})
        self.left.callback(self._end)
        self.leader = harness.until("the first process of the machine", self._find_leader, DEADLINE)
        try:
            harness.until("the machine to be up", self._is_up, DEADLINE)
        except AssertionError as late:
            jobs = self.run("systemctl", "list-jobs", check=False)
            raise AssertionError(f"{late}:\n{jobs.stdout}{jobs.stderr}{self._console()}") from late

    def _find_leader(self):
        if self.nspawn.poll() is not None:
            raise AssertionError(f"systemd-nspawn ended with {self.nspawn.returncode}:\n"
                                 + self._console())
        with contextlib.suppress(FileNotFoundError):
            for child in children(self.nspawn.pid):
                if pid_inside(child) == 1:
                    return child
        return None

    def _console(self):
        self.console.seek(0)
        return self.console.read()

    def _is_up(self):
        state = self.run("systemctl", "is-system-running", check=False).stdout.strip()
        return state in ("running", "degraded")

    def _end(self):
        if self.leader and self.nspawn.poll() is None:
            self.run("systemctl", "poweroff", "--no-block", check=False)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.nspawn.wait(DEADLINE)
        self.nspawn.kill()
        self.nspawn.wait()

    def write(self, path, text):
        """Into a file of the machine, running or not."""
        if self.leader:
            self.run("mkdir", "-p", os.path.dirname(path))
            self.run("tee", path, stdin_text=text)
            return
        os.makedirs(os.path.dirname(self.root + path), exist_ok=True)
        with open(self.root + path, "w", encoding="utf-8") as file:
            file.write(text)

    def run(self, *command, check=True, stdin_text=""):
        """CompletedProcess of a command in the machine."""
        inside = ["nsenter", f"--target={self.leader}", "--mount", "--root", "--wd", "--uts", "--ipc",
                  "--net", "--pid"]
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}
        ended = subprocess.run([*inside, *command], input=stdin_text, text=True, check=False,
                               capture_output=True, env=environment)
        if check and ended.returncode != 0:
            raise AssertionError(f"{' '.join(command)} ended with {ended.returncode}:\n"
                                 f"{ended.stdout}{ended.stderr}")
        return ended

    def systemctl(self, *args):
        return self.run("systemctl", "--no-pager", *args).stdout

    def properties(self, unit, *names):
        """name -> text of these properties of a unit."""
        said = self.systemctl("show", f"--property={','.join(names)}", unit)
        return dict(line.split("=", 1) for line in said.splitlines())

    def journal(self, *matches):
        """The entries that match, each as name -> text."""
        said = self.run("journalctl", "--no-pager", "--output=json", *matches).stdout
        return [json.loads(line) for line in said.splitlines()]

    def get(self, url, *options):
        """(status, text) of a GET from inside its network, with the client of this machine."""
        ended = subprocess.run(["nsenter", f"--target={self.leader}", "--net", "curl", "--silent",
                                "--max-time", "20", "--write-out", r"\n%{http_code}", *options, url],
                               text=True, capture_output=True, check=False)
        text, _, status = ended.stdout.rpartition("\n")
        return int(status or 0), text

    def pid_outside(self, pid):
        """The number here of a process of the machine."""
        found = [outside for outside in map(int, filter(str.isdigit, os.listdir("/proc")))
                 if is_in(outside, self.leader) and pid_inside(outside) == int(pid)]
        if len(found) != 1:
            raise AssertionError(f"process {pid} of the machine is {found} here")
        return found[0]


def children(pid):
    return [int(child) for child in read_text(f"/proc/{pid}/task/{pid}/children").split()]


def pid_inside(pid):
    """The number that a process has in the innermost of its namespaces."""
    return int(re.search(r"^NSpid:.*\t(\d+)$", read_text(f"/proc/{pid}/status"), re.MULTILINE)[1])


def is_in(pid, leader):
    """Whether a process is in the same machine as `leader`."""
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/{pid}/ns/pid") == os.readlink(f"/proc/{leader}/ns/pid")
    return False
