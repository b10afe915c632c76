#!/usr/bin/env python3
"""What can be seen of the image without building it: the Dockerfile, and the bill of materials that its
script makes of this machine.

    sources_test.py DAEMON WORKLOAD
"""

import errno
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [HERE, os.path.join(HERE, "../../kernel")]
import harness  # noqa: E402
import sbom  # noqa: E402

SOURCE = os.path.realpath(f"{HERE}/../../..")
SCRIPT = f"{SOURCE}/packaging/container/sbom.sh"
ARCHITECTURES = re.compile(r"x86|i386|amd64|arm64|aarch64|--platform", re.IGNORECASE)
# https://github.com/opencontainers/image-spec/blob/main/annotations.md, but for ref.name, which names
# an image in a layout.
LABELS = {"created", "authors", "url", "documentation", "source", "version", "revision", "vendor",
          "licenses", "title", "description", "base.digest", "base.name"}


class DockerfileTest(unittest.TestCase):
    def setUp(self):
        text = harness.read_text(f"{SOURCE}/Dockerfile")
        self.text = "\n".join(line for line in text.splitlines() if not line.startswith("#"))

    def test_it_copies_all_that_the_program_is_made_of(self):
        before = self.text.replace("\\\n", " ").partition("cmake --preset")[0]
        with tempfile.TemporaryDirectory() as context:
            for line in re.findall(r"^COPY (.*)$", before, re.MULTILINE):
                *sources, target = line.split()
                for source in sources:
                    harness.require(not source.startswith("-"), f"COPY {line} has options")
                    place = os.path.join(context, target, "" if os.path.isdir(f"{SOURCE}/{source}")
                                         else os.path.basename(source))
                    os.makedirs(os.path.dirname(place), exist_ok=True)
                    subprocess.run(["cp", "-rT", f"{SOURCE}/{source}", place], check=True)
            done = subprocess.run(["cmake", "--preset", "release", "-DPEX_TESTS=OFF"], cwd=context,
                                  text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_base_is_one_image_of_one_day_named_in_one_place(self):
        bases = set(re.findall(r"^FROM (\S+)", self.text, re.MULTILINE))
        stages = set(re.findall(r"^FROM \S+ AS (\S+)", self.text, re.MULTILINE))

        self.assertEqual(bases - stages, {"${BASE}${BASE_DIGEST:+@$BASE_DIGEST}"})
        self.assertRegex(self.text, r"(?m)^ARG BASE=\S+/debian:[a-z]+-20\d{6}-slim$")
        self.assertRegex(self.text, r"(?m)^ARG BASE_DIGEST=sha256:[0-9a-f]{64}$")
        self.assertEqual(len(re.findall("sha256:", self.text)), 1)

    def test_it_names_no_frontend_which_an_engine_would_have_to_fetch(self):
        first = harness.read_text(f"{SOURCE}/Dockerfile").splitlines()[0]

        self.assertNotRegex(first, r"(?i)^#\s*syntax\s*=")

    def test_it_has_every_label_of_oci(self):
        labels = re.findall(r"org\.opencontainers\.image\.([a-z.]+)=", self.text)

        self.assertEqual(sorted(labels), sorted(LABELS))

    def test_no_step_depends_on_the_architecture(self):
        self.assertEqual(ARCHITECTURES.findall(self.text), [])

    def test_the_version_is_that_of_the_project(self):
        project = harness.read_text(f"{SOURCE}/CMakeLists.txt")
        version = re.search(r"^\s+VERSION (\S+)$", project, re.MULTILINE)[1]

        self.assertIn(f"\nARG VERSION={version}\n", self.text)


class SeccompTest(unittest.TestCase):
    def test_threads_start_where_an_engine_ignores_the_default_answer(self):
        profile = json.loads(harness.read_text(f"{SOURCE}/packaging/container/seccomp.json"))
        rule, = (each for each in profile["syscalls"] if "clone3" in each["names"])

        self.assertEqual((rule["action"], rule["errnoRet"]), ("SCMP_ACT_ERRNO", errno.ENOSYS))


class SbomTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        harness.require(shutil.which("dpkg-query"), "this machine has no dpkg")
        cls.scratch = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="pex_test_"))
        cls.linked, cls.built = f"{cls.scratch}/linked", f"{cls.scratch}/built"
        with open(cls.linked, "w", encoding="utf-8") as file:
            file.write("libc6\nlibstdc++6\n")
        with open(cls.built, "w", encoding="utf-8") as file:
            file.write(cls.run_script("list", "libc6", "dpkg"))
        cls.text = cls.document()

    @classmethod
    def run_script(cls, *args, **environment):
        return subprocess.run([SCRIPT, *args], check=True, capture_output=True, text=True,
                              env={**os.environ, **environment}).stdout

    @classmethod
    def document(cls, **environment):
        return cls.run_script("document", "1.2", harness.daemon_binary, cls.linked, cls.built,
                              **{"CREATED": "2026-01-02T03:04:05Z", **environment})

    def test_it_is_spdx(self):
        self.assertEqual(sbom.errors(json.loads(self.text)), [])

    def test_it_has_each_package_that_is_installed(self):
        installed = subprocess.run(
            ["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package}=${Version}\n"], check=True,
            capture_output=True, text=True).stdout
        bill = sbom.Bill(json.loads(self.text))

        self.assertEqual(sorted(bill.in_image()), sorted(re.findall(r"^installed (.*)", installed, re.M)))
        self.assertEqual(sorted(bill.linked()), ["libc6", "libstdc++6"])
        self.assertEqual(sorted(bill.compiled_with()), ["dpkg", "libc6"])
        self.assertEqual(bill.checksum_of_program(), sbom.checksum(harness.daemon_binary))

    def test_its_namespace_is_that_of_its_contents(self):
        with open(self.built, "a", encoding="utf-8") as file:
            file.write("more\t1\tall\tmore\t1\tA \"B\" \\C <a@b>\n")
        self.addCleanup(self.setUpClass)

        other = json.loads(self.document())

        self.assertNotEqual(other["documentNamespace"], json.loads(self.text)["documentNamespace"])
        self.assertEqual(sbom.errors(other), [])
        self.assertIn('Organization: A "B" \\C <a@b>',
                      [each.get("supplier") for each in other["packages"]])

    def test_without_a_time_it_is_of_now(self):
        made = json.loads(self.document(CREATED=""))["creationInfo"]["created"]

        self.assertRegex(made, sbom.TIME)


if __name__ == "__main__":
    harness.main()
