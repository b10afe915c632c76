"""What `kubectl apply -k` would send, as objects: rendered and read without a cluster."""

import fcntl
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
SOURCE = HERE.parents[2]
KUBERNETES = SOURCE / "packaging" / "kubernetes"

# The kustomize in these versions of kubectl is the first that knows components.
COMPONENTS_SINCE = (1, 21)


class Missing(Exception):
    """This machine lacks a tool; says what would make it run."""


class Reader:
    """YAML -> objects, by strict.mjs with its packages, which are fetched once below `work`."""

    def __init__(self, work):
        self.directory = Path(work) / "manifest-check"
        for program in ("node", "npm"):
            if not shutil.which(program):
                raise Missing(f"there is no {program}; apt-get install nodejs npm")
        self.directory.mkdir(parents=True, exist_ok=True)
        with open(self.directory / ".lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # tests may run at the same time
            self._install()
            self._copy("strict.mjs")  # beside the packages, where node looks for them

    def _copy(self, name):
        text = (HERE / name).read_text(encoding="utf-8")
        ours = self.directory / name
        if not ours.exists() or ours.read_text(encoding="utf-8") != text:
            ours.write_text(text, encoding="utf-8")

    def _install(self):
        stamp = self.directory / ".installed"
        wanted = (HERE / "package-lock.json").read_text(encoding="utf-8")
        if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
            return
        self._copy("package.json")
        self._copy("package-lock.json")
        done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund",
                               "--fetch-retries=1", "--fetch-retry-mintimeout=1000"],
                              cwd=self.directory, text=True, capture_output=True)
        if done.returncode != 0:
            code = re.search(r"\bcode (\w+)", done.stderr)
            raise Missing("npm cannot fetch the packages of tests/delivery/kubernetes/package-lock.json"
                          + (f" ({code[1]})" if code else ""))
        stamp.write_text(wanted, encoding="utf-8")

    def _run(self, texts, *options):
        done = subprocess.run(["node", "strict.mjs", *options], cwd=self.directory, check=True,
                              input=json.dumps(texts), text=True, capture_output=True)
        return json.loads(done.stdout)

    def objects(self, text):
        read, = self._run([text])
        if read["mistakes"]:
            raise AssertionError("\n".join(read["mistakes"]))
        return read["objects"]

    def mistakes(self, texts):
        """Of each text, against the types of the Kubernetes API."""
        return [each["mistakes"] for each in self._run(texts, "--types")]


class Kustomize:
    """The kustomize in kubectl. Kustomizations made of our parts are written below `work`."""

    def __init__(self, work):
        if not shutil.which("kubectl"):
            raise Missing("there is no kubectl; install one of 1.21 or later")
        self.work = Path(work) / "kustomizations"
        told = subprocess.run(["kubectl", "version", "--client", "-o", "json"], check=True, text=True,
                              capture_output=True)
        version = json.loads(told.stdout)["clientVersion"]["gitVersion"]
        self.version = tuple(map(int, re.match(r"v(\d+)\.(\d+)", version).groups()))

    def knows_components(self):
        return self.version >= COMPONENTS_SINCE

    def render(self, resource, components=()):
        """YAML of one of our kustomizations, alone or with components in a namespace of its own."""
        if not components:
            return self._build(KUBERNETES / resource)
        return self.render_own({"resources": [resource], "namespace": "monitoring",
                                "components": [f"components/{each}" for each in components]})

    def render_own(self, kustomization):
        """YAML of a kustomization as an operator writes it, of parts named below KUBERNETES."""
        directory = self.work / str(os.getpid())
        directory.mkdir(parents=True, exist_ok=True)
        parts = {key: [os.path.relpath(KUBERNETES / each, directory)
                       for each in kustomization.get(key, [])] for key in ("resources", "components")}
        try:
            (directory / "kustomization.yaml").write_text(json.dumps(
                {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
                 **kustomization, **parts}), encoding="utf-8")
            return self._build(directory)
        finally:
            shutil.rmtree(directory)

    @staticmethod
    def _build(directory):
        done = subprocess.run(["kubectl", "kustomize", str(directory)], text=True, capture_output=True)
        if done.returncode != 0:
            raise AssertionError(f"kubectl kustomize {directory}: {done.stderr}")
        return done.stdout


def of_kind(objects, kind):
    return [each for each in objects if each["kind"] == kind]


def the(objects, kind):
    """The only one of its kind."""
    found = of_kind(objects, kind)
    if len(found) != 1:
        raise AssertionError(f"{len(found)} objects of kind {kind}")
    return found[0]


def containers_of(pod_spec):
    return [*pod_spec.get("initContainers", []), *pod_spec["containers"]]


def configuration_of(objects):
    """Text of the file that --config.file names, as the container sees it."""
    pod = the(objects, "DaemonSet")["spec"]["template"]["spec"]
    container = pod["containers"][0]
    path = option_of(container, "--config.file")
    mount = next(each for each in container["volumeMounts"]
                 if each["mountPath"] == os.path.dirname(path))
    volume = next(each for each in pod["volumes"] if each["name"] == mount["name"])
    config_map = next(each for each in of_kind(objects, "ConfigMap")
                      if each["metadata"]["name"] == volume["configMap"]["name"])
    return config_map["data"][os.path.basename(path)]


def option_of(container, name):
    values = [each.partition("=")[2] for each in container["args"] if each.startswith(name + "=")]
    if len(values) != 1:
        raise AssertionError(f"{name} is given {len(values)} times")
    return values[0]
