"""The Dockerfile, built by buildah from a base that is made here; and what the image is like.

    build_test.py BINARY_DIR DAEMON WORKLOAD

The base is Debian of this machine's release as its own apt has it, with how it gets there (proxies
and the like), so that the Dockerfile needs to know nothing of that. The image stays in the storage of BINARY_DIR.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import unittest

import containers  # also finds the others
import harness
import debian
import hardening
import sbom

# The tests that run while the image is built, out of what was compiled for the tests of the program:
# the compiler cache has it. PEX_IMAGE_TESTS=unit_tests compiles and runs those of all rooms, for minutes.
TESTS = os.environ.get("PEX_IMAGE_TESTS", "golden_test")
REVISION = "0123456789abcdef"
CREATED = "2026-01-02T03:04:05Z"
SOURCE = "https://perf-event-exporter.invalid/source"
SBOM = "usr/share/doc/perf-event-exporter/sbom.spdx.json"
MINUTE = 60

storage = None


def make_base():
    """Imports what the Dockerfile begins with."""
    archive = f"{storage.directory}/base.tar"
    settings = f"{storage.directory}/apt.conf"
    containers.write(settings, apt_settings())
    debian.bootstrap(archive, [], "--variant=minbase",
                     f"--customize-hook=copy-in {settings} /etc/apt/apt.conf.d",
                     env=storage.environment, timeout=10 * MINUTE)
    storage.podman("import", "--change", 'CMD ["bash"]', archive, containers.BASE)
    os.unlink(archive)


def apt_settings():
    """How apt of this machine gets at its mirrors."""
    dump = subprocess.run(["apt-config", "dump", "Acquire"], check=True, capture_output=True,
                          text=True).stdout
    return "".join(f"{line}\n" for line in dump.splitlines() if "Detect" not in line)


def share_compile_cache():
    """Lets what the Dockerfile keeps of compiling be that of this machine, where it has any."""
    if not shutil.which("ccache"):
        return
    mine = storage.run("ccache", "--get-config=cache_dir").stdout.strip()
    parent = f"{storage.environment['TMPDIR']}/buildah-cache"
    os.makedirs(parent, exist_ok=True)
    os.makedirs(mine, exist_ok=True)
    if not os.path.lexists(f"{parent}/ccache"):
        os.symlink(mine, f"{parent}/ccache")


def build():
    started = time.monotonic()
    built = storage.buildah(
        "build", "--pull-never", "--network=host", "--isolation=chroot", "--format=docker",
        "--layers", f"--build-arg=TESTS={TESTS}", f"--build-arg=BASE={containers.BASE}",
        "--build-arg=BASE_DIGEST=", f"--build-arg=REVISION={REVISION}",
        f"--build-arg=CREATED={CREATED}", f"--build-arg=SOURCE={SOURCE}", f"--tag={containers.IMAGE}", containers.SOURCE, timeout=45 * MINUTE, check=False)
    print(f"buildah took {time.monotonic() - started:.0f} s", file=sys.stderr)
    containers.write(f"{storage.directory}/build.log", built.stdout + built.stderr)
    if built.returncode != 0:
        raise AssertionError(f"the build failed:\n{(built.stdout + built.stderr)[-6000:]}")
    return built.stdout


def setUpModule():
    containers.require_engine("mmdebstrap")
    unittest.enterModuleContext(storage)
    if not storage.has_image(containers.BASE):
        make_base()
    share_compile_cache()


class ImageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        build()
        cls.image = storage.inspect("image", containers.IMAGE)
        cls.config = cls.image["Config"]
        cls.root = storage.podman("image", "mount", containers.IMAGE).stdout.strip()
        cls.addClassCleanup(storage.podman, "image", "unmount", containers.IMAGE)

    def version(self):
        project = harness.read_text(f"{containers.SOURCE}/CMakeLists.txt")
        return re.search(r"^\s+VERSION (\S+)$", project, re.MULTILINE)[1]

    def test_the_tests_of_the_dockerfile_ran(self):
        log = harness.read_text(f"{storage.directory}/build.log")
        passed = re.search(r"^100% tests passed, 0 tests failed out of \d+$", log, re.MULTILINE)
        passed_before = re.search(r"STEP [^\n]* ctest [^\n]*\n--> Using cache", log)
        self.assertTrue(passed or passed_before, log[-3000:])

    def test_it_runs_the_program_as_a_user_that_is_not_root(self):
        self.assertEqual(self.config["User"], "65534:65534")
        self.assertEqual(self.config["Entrypoint"], ["/usr/bin/perf_event_exporter"])
        self.assertEqual(list(self.config["ExposedPorts"]), ["10173/tcp"])
        self.assertEqual(self.image["Healthcheck"]["Test"],
                         ["CMD", "/usr/bin/perf_event_exporter", "health"])

    def test_its_labels_say_what_it_is(self):
        labels = {name.removeprefix("org.opencontainers.image."): value
                  for name, value in self.config["Labels"].items() if "opencontainers" in name}
        self.assertTrue(labels.pop("description"))
        self.assertEqual(labels, {
            "title": "perf_event_exporter", "licenses": "Apache-2.0", "version": self.version(),
            "authors": "The perf_event_exporter authors", "vendor": "The perf_event_exporter authors",
            "revision": REVISION, "created": CREATED, "url": SOURCE, "source": SOURCE,
            "documentation": SOURCE, "base.name": containers.BASE, "base.digest": ""})

    def test_its_bill_of_materials_lists_what_is_in_it(self):
        document = json.loads(harness.read_text(f"{self.root}/{SBOM}"))
        program = f"{self.root}/usr/bin/perf_event_exporter"
        installed = subprocess.run(
            ["dpkg-query", f"--admindir={self.root}/var/lib/dpkg", "-W", "-f", "${Package}=${Version}\n"],
            check=True, capture_output=True, text=True).stdout.split()
        bill = sbom.Bill(document)

        self.assertEqual(sbom.errors(document), [])
        self.assertEqual(document["creationInfo"]["created"], CREATED)
        self.assertEqual(bill.checksum_of_program(), sbom.checksum(program))
        self.assertEqual(sorted(bill.in_image()), sorted(installed))
        self.assertEqual(bill.missing_of_linked(program, self.root), [])
        self.assertTrue(any(each.startswith("libboost") for each in bill.compiled_with()))

    def test_the_program_is_hardened(self):
        for program in hardening.PROGRAMS:
            harness.require(shutil.which(program), f"{program} is not installed")
        self.assertEqual(hardening.lacking(f"{self.root}/usr/bin/perf_event_exporter"), [])

    def test_the_program_may_be_permitted_to_count(self):
        capability = subprocess.run(["getcap", f"{self.root}/usr/bin/perf_event_exporter"],
                                    check=True, capture_output=True, text=True).stdout
        self.assertRegex(capability, r" cap_perfmon=p\n\Z")

    def test_the_configuration_is_where_it_is_on_a_host(self):
        shipped = harness.read_text(f"{containers.SOURCE}/config/perf_event_exporter.yaml")
        path = "etc/perf_event_exporter/perf_event_exporter.yaml"
        self.assertEqual(harness.read_text(f"{self.root}/{path}"), shipped)

    def test_nothing_of_the_build_is_in_it(self):
        for name in ("usr/bin/g++", "usr/bin/cmake", "usr/include/boost", "source", "image", "sbom",
                     "built", "tmp/packages", "usr/sbin/setcap"):
            self.assertFalse(os.path.exists(f"{self.root}/{name}"), name)
        base = storage.inspect("image", containers.BASE)["Size"]
        self.assertLess(self.image["Size"] - base, 40e6)


if __name__ == "__main__":
    storage = containers.storage_in(sys.argv.pop(1))
    harness.main()
