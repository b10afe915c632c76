"""Images and containers without an engine: buildah, podman and runc over a storage of their own.

    storage = containers.storage_in(binary_dir)   # below the CMake binary directory
    storage.require_image()                       # skips where `image.build` did not get to build it
    with storage:                                 # what ran is gone at the end, and its cgroups
        storage.podman("run", "--rm", *containers.STRICT, containers.IMAGE, "--version")

Everything these programs keep (images, layers, locks, state) is below `storage.directory`; nothing
of the machine's own containers is seen or touched. By hand, the same with:

    export CONTAINERS_CONF=DIRECTORY/containers.conf CONTAINERS_STORAGE_CONF=DIRECTORY/storage.conf
"""

import contextlib
import json
import os
import resource
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../kernel"))
import harness  # require(), until()

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../systemd"))
import debian

SOURCE = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
IMAGE = "localhost/perf_event_exporter:test"
BASE = f"docker.io/library/debian:{debian.codename()}-slim"  # made here, in place of the Dockerfile's
SECCOMP = f"{SOURCE}/packaging/container/seccomp.json"
PROGRAMS = ("buildah", "podman", "runc", "conmon")
# Where root's podman remembers blobs, whatever it is told.
BLOB_CACHE = "/var/lib/containers/cache"

# How docs/containers.md runs the image, but for the network: the host's own, as a network of
# containers needs further programs.
STRICT = ("--network=host", "--cap-drop=ALL", "--cap-add=PERFMON", "--read-only",
          "--security-opt=no-new-privileges", f"--security-opt=seccomp={SECCOMP}")


def storage_in(binary_dir):
    """The storage that the tests of one build share; made where it is not there yet."""
    return Storage(os.path.join(os.path.realpath(binary_dir), "image"))


class Storage:
    """Programs that keep everything below one directory. As a context, ends what they left."""

    def __init__(self, directory):
        self.directory = directory
        self.environment = os.environ | {
            "CONTAINERS_CONF": f"{directory}/containers.conf",
            "CONTAINERS_STORAGE_CONF": f"{directory}/storage.conf",
            "TMPDIR": f"{directory}/tmp",  # where layers are unpacked
            "DISABLE_HC_SYSTEMD": "true",  # podman lets timers of systemd ask for health
        }
        os.makedirs(f"{directory}/tmp", exist_ok=True)
        write(f"{directory}/containers.conf", self._containers_conf())
        write(f"{directory}/storage.conf", self._storage_conf())
        self.absent_before = [path for path in (BLOB_CACHE, os.path.dirname(BLOB_CACHE))
                              if not os.path.exists(path)]

    def _containers_conf(self):
        # The ulimits that podman asks for may be above what this machine allows. crun refuses
        # machines that have cgroups of both versions; runc does not.
        files, processes = (min(hard_limit(kind), 20_000)
                            for kind in (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC))
        return f"""\
[containers]
default_ulimits = ["nofile={files}:{files}", "nproc={processes}:{processes}"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
lock_type = "file"
tmp_dir = "{self.directory}/run/libpod"
static_dir = "{self.directory}/root/libpod"
volume_path = "{self.directory}/root/volumes"
[network]
network_config_dir = "{self.directory}/root/networks"
"""

    def _storage_conf(self):
        return f"""\
[storage]
driver = "{self._driver()}"
graphroot = "{self.directory}/root"
runroot = "{self.directory}/run"
"""

    def _driver(self):
        """Layers over each other where the file system lets us, else a copy for each."""
        folders = {name: f"{self.directory}/overlay/{name}" for name in ("lower", "upper", "work")}
        for folder in folders.values():
            os.makedirs(folder, exist_ok=True)
        options = ",".join(f"{name}dir={folder}" for name, folder in folders.items())
        return "overlay" if harness.may_mount("overlay", folders["lower"], "-o", options) else "vfs"

    def run(self, *command, check=True, **options):
        """CompletedProcess of `command` with its output; fails, telling both, unless it ends well."""
        ended = subprocess.run(command, env=self.environment, stdin=subprocess.DEVNULL, text=True,
                               capture_output=True, check=False, **options)
        if check and ended.returncode != 0:
            raise AssertionError(f"{' '.join(command)} ended with {ended.returncode}:\n"
                                 f"{ended.stdout}{ended.stderr}")
        return ended

    def podman(self, *args, **options):
        return self.run("podman", *args, **options)

    def buildah(self, *args, **options):
        return self.run("buildah", *args, **options)

    def has_image(self, name=IMAGE):
        return self.podman("image", "exists", name, check=False).returncode == 0

    def require_image(self):
        require_engine()
        harness.require(self.has_image(), "there is no image: see why image.build skipped or failed")

    def inspect(self, kind, name):
        """What podman knows of an image or a container."""
        return json.loads(self.podman(kind, "inspect", name).stdout)[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.podman("pod", "rm", "--all", "--force", "--time=0", check=False)
        self.podman("rm", "--all", "--force", "--time=0", check=False)
        self.buildah("rm", "--all", check=False)
        for directory in leftover_cgroups():
            remove_once_empty(directory)
        self._forget_blobs()

    def _forget_blobs(self):
        """Others may have begun to keep containers there in the meantime: only what is ours goes."""
        if BLOB_CACHE in self.absent_before:
            shutil.rmtree(BLOB_CACHE, ignore_errors=True)
        if os.path.dirname(BLOB_CACHE) in self.absent_before:
            with contextlib.suppress(OSError):  # it is not empty
                os.rmdir(os.path.dirname(BLOB_CACHE))


def require_engine(*further):
    harness.require_root()
    missing = [program for program in (*PROGRAMS, *further) if not shutil.which(program)]
    harness.require(not missing,
                    f"{', '.join(missing)} not installed (packaging/dependencies/image.txt)")
    harness.require_mounts()


def leftover_cgroups():
    """What these programs leave behind at the top of each hierarchy: empty, or with a process that
    is about to end. There may be containers of others in them."""
    for point, kind, _ in harness.mounts():
        if kind in ("cgroup", "cgroup2"):
            with contextlib.suppress(OSError):
                yield from (f"{point}/{name}" for name in os.listdir(point)
                            if name.startswith(("libpod_parent", "buildah-", "conmon")))


def remove_once_empty(directory):
    """Removes a cgroup and those below it, unless somebody stays in them."""
    def removed():
        for each, _, _ in os.walk(directory, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(each)
        return not os.path.exists(directory)

    with contextlib.suppress(AssertionError):
        harness.until(f"the end of what is in {directory}", removed, patience=2)


def status_of(pid):
    """proc_pid_status(5): name of a field -> its text."""
    lines = harness.read_text(f"/proc/{pid}/status").splitlines()
    return dict(line.split(":\t", 1) for line in lines)


def hard_limit(kind):
    _, hard = resource.getrlimit(kind)
    return hard if hard != resource.RLIM_INFINITY else sys.maxsize


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
