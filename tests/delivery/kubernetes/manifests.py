"""What `kubectl apply -k` would send, as objects: rendered and read without a cluster."""

import importlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.append(str(HERE.parents[1] / "kernel"))
import harness  # noqa: E402

SOURCE = HERE.parents[2]
KUBERNETES = SOURCE / "packaging" / "kubernetes"
DEBIAN = "/usr/lib/python3/dist-packages"

# The kustomize in these versions of kubectl is the first that knows components.
COMPONENTS_SINCE = (1, 21)


class Missing(Exception):
    """This machine lacks a tool; says what would make it run."""


def run(subject, prepare, arguments):
    """Runs the tests of the calling program, which takes so many arguments before their names, once
    `prepare` has found all that it needs on this machine."""
    try:
        prepare()
    except Missing as reason:
        print(f"SKIPPED: kubernetes.{subject}: {reason}")
        sys.exit(harness.SKIPPED)
    harness.run_tests(arguments)


class Reader:
    """YAML -> objects. A key that a map has twice is an error."""

    def __init__(self):
        try:
            if importlib.util.find_spec("yaml") is None:
                sys.path.append(DEBIAN)  # it has no need of Debian's own interpreter
            yaml = importlib.import_module("yaml")
        except ImportError:
            raise Missing("there is no PyYAML; apt-get install python3-yaml") from None
        self.load_all = yaml.load_all

        class Loader(yaml.SafeLoader):
            def construct_mapping(self, node, deep=False):
                keys = [self.construct_object(key) for key, _ in node.value]
                if len(set(keys)) != len(keys):
                    raise AssertionError(f"one key twice: {keys}{node.start_mark}")
                return super().construct_mapping(node, deep)

        self.loader = Loader

    def objects(self, text):
        return [each for each in self.load_all(text, self.loader) if each is not None]


class Kustomize:
    """The kustomize in kubectl. Kustomizations made of our parts are written below `work`."""

    def __init__(self, work):
        if not shutil.which("kubectl"):
            raise Missing("there is no kubectl; install one of 1.21 or later")
        self.work = Path(work) / "kustomizations"
        told = subprocess.run(["kubectl", "version", "--client", "-o", "json"], check=True, text=True,
                              capture_output=True)
        version = json.loads(told.stdout)["clientVersion"]["gitVersion"]
        if tuple(map(int, re.match(r"v(\d+)\.(\d+)", version).groups())) < COMPONENTS_SINCE:
            raise Missing(f"kubectl {version} knows no components; install 1.21 or later")

    def render(self, resource, components=()):
        """YAML of one of our kustomizations, alone or with components in a namespace of its own."""
        if not components:
            return self._build(KUBERNETES / resource)
        return self.render_own({"resources": [resource], "namespace": "monitoring",
                                "components": [f"components/{each}" for each in components]})

    def render_own(self, kustomization, files=None):
        """YAML of a kustomization as an operator writes it, of parts named below KUBERNETES, next to
        `files` (name -> text)."""
        directory = self.work / str(os.getpid())
        directory.mkdir(parents=True, exist_ok=True)
        parts = {key: [os.path.relpath(KUBERNETES / each, directory)
                       for each in kustomization.get(key, [])] for key in ("resources", "components")}
        try:
            for name, text in (files or {}).items():
                (directory / name).write_text(text, encoding="utf-8")
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
