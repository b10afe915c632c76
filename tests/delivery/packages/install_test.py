"""What `cmake --install` leaves, for the prefix of a distribution and for that of a machine's owner."""

import os
import pathlib
import re
import sys
import tempfile
import unittest

import packages
from packages import SOURCE, paths_below, project_version, run

PROGRAM = """
    usr/bin/perf_event_exporter
    etc/perf_event_exporter/perf_event_exporter.yaml
    usr/share/bash-completion/completions/perf_event_exporter
    usr/share/zsh/site-functions/_perf_event_exporter
    usr/share/doc/perf-event-exporter/LICENSE
""".split()
# Whole directories of the source, and where they go.
COPIED = {
    "*.md": "usr/share/doc/perf-event-exporter",
    "docs/*.md": "usr/share/doc/perf-event-exporter/docs",
    "docs/development/*.md": "usr/share/doc/perf-event-exporter/docs/development",
    "docs/*.svg": "usr/share/doc/perf-event-exporter/docs",
    "docs/*.png": "usr/share/doc/perf-event-exporter/docs",
    "config/examples/*": "usr/share/doc/perf-event-exporter/examples/config",
    "systemd/*.service": "usr/lib/systemd/system",
    "systemd/*.socket": "usr/lib/systemd/system",
    "systemd/examples/**/*": "usr/share/doc/perf-event-exporter/examples/systemd",
    "packaging/grafana/*.json": "usr/share/doc/perf-event-exporter/examples/grafana",
    "packaging/prometheus/*.y*ml": "usr/share/doc/perf-event-exporter/examples/prometheus",
    "packaging/collectors/*": "usr/share/doc/perf-event-exporter/examples/collectors",
    "packaging/sysctl.d/*": "usr/share/doc/perf-event-exporter/examples/sysctl.d",
}
ROOMS = ("base host perf abi async elf events estimate cgroup targets count records history exposition "
         "yaml config plan access http").split()
# What others may see of the library's headers; Boost is that of http, access and async.
NOT_IN_HEADERS = re.compile(r"#include [<\"](yaml-cpp|spdlog|fmt|CLI|re2|openssl/|libdeflate)")


def cached(build, name):
    text = pathlib.Path(build, "CMakeCache.txt").read_text(encoding="utf-8")
    return re.search(rf"^{name}:[A-Z]+=(.*)$", text, re.MULTILINE)[1]


def program_files():
    found = set(PROGRAM)
    for pattern, place in COPIED.items():
        top = SOURCE / pattern.split("*")[0]
        top = top if top.is_dir() else top.parent
        found |= {f"{place}/{path.relative_to(top)}" for path in SOURCE.glob(pattern)
                  if path.is_file()}
    return found


def manual_pages():
    return {f"usr/share/man/man{path.stem[-1]}/{path.stem}"
            for path in SOURCE.glob("packaging/man/*.scd")}


LIBRARY_DOCUMENTS = {f"usr/share/doc/libperf-event-exporter-dev/{name}" for name in (
    "library.md", "abi.md", "example/main.cc", "example/CMakeLists.txt")}


def library_files(libdir):
    archives = {f"usr/{libdir}/libperf_event_exporter_{room}.a" for room in ROOMS}
    return archives | {f"usr/{libdir}/pkgconfig/perf_event_exporter.pc"}


class InstallTest(unittest.TestCase):
    def setUp(self):
        self.build = packages.arguments[0]
        self.root = self.enterContext(tempfile.TemporaryDirectory(prefix="pex-install-"))

    def install(self, prefix, *components):
        for component in components or ("program", "development"):
            run("cmake", "--install", self.build, "--prefix", prefix, "--component", component,
                env={**os.environ, "DESTDIR": self.root})

    def read(self, path):
        return pathlib.Path(self.root, path).read_text(encoding="utf-8")

    def test_the_program_brings_what_is_listed_and_nothing_else(self):
        self.install("/usr", "program")

        expected = program_files()
        if not cached(self.build, "SCDOC").endswith("NOTFOUND"):
            expected |= manual_pages()
        self.assertEqual(paths_below(self.root, files_only=True), expected)

    def test_links_of_the_installed_documents_lead_to_what_is_installed(self):
        self.install("/usr", "program")

        run(sys.executable, f"{SOURCE}/tests/house/links_test.py",
            f"{self.root}/usr/share/doc/perf-event-exporter")

    def test_the_library_brings_archives_headers_and_a_package_for_cmake_and_pkg_config(self):
        self.install("/usr", "development")

        found = paths_below(self.root, files_only=True)
        cmake = {path for path in found if "/cmake/perf_event_exporter/" in path}
        self.assertEqual({os.path.basename(path) for path in cmake if "Targets-" not in path},
                         {"perf_event_exporterConfig.cmake", "perf_event_exporterTargets.cmake",
                          "perf_event_exporterConfigVersion.cmake"})
        libdir = os.path.relpath(os.path.commonpath(cmake), "usr").removesuffix(
            "/cmake/perf_event_exporter")
        headers = {path for path in found if path.startswith("usr/include/perf_event_exporter/")}
        self.assertLessEqual({path.split("/")[3] for path in headers}, set(ROOMS))
        self.assertEqual(found - cmake - headers, library_files(libdir) | LIBRARY_DOCUMENTS)

    def test_headers_show_nothing_of_the_libraries_behind_them(self):
        self.install("/usr", "development")

        for path in pathlib.Path(self.root).glob("usr/include/**/*.h"):
            with self.subTest(path.name):
                self.assertNotRegex(path.read_text(encoding="utf-8"), NOT_IN_HEADERS)

    def test_below_usr_the_unit_names_the_program_and_the_configuration_in_etc(self):
        self.install("/usr", "program")

        unit = self.read("usr/lib/systemd/system/perf_event_exporter.service")
        self.assertIn("\nExecStart=/usr/bin/perf_event_exporter ", unit)
        self.assertIn("=/etc/perf_event_exporter/perf_event_exporter.yaml\n", unit)

    def test_below_another_prefix_the_unit_names_what_was_installed_there(self):
        self.install("/usr/local", "program")

        unit = self.read("usr/local/lib/systemd/system/perf_event_exporter.service")
        self.assertIn("\nExecStart=/usr/local/bin/perf_event_exporter ", unit)
        config = re.search(r"CONFIG=(\S+)", unit)[1]
        self.assertTrue(config.startswith("/usr/local/etc/"), config)
        self.assertTrue(pathlib.Path(self.root + config).is_file(), config)

    def test_a_configuration_that_is_there_already_is_kept(self):
        for prefix, path in (("/usr", "etc"), ("/usr/local", "usr/local/etc")):
            with self.subTest(prefix):
                config = pathlib.Path(self.root, path, "perf_event_exporter/perf_event_exporter.yaml")
                self.install(prefix, "program")
                config.write_text("# mine\n", encoding="utf-8")

                self.install(prefix, "program")

                self.assertEqual(config.read_text(encoding="utf-8"), "# mine\n")

    def test_the_installed_program_runs_and_has_the_version_of_the_project(self):
        self.install("/usr", "program")

        said = run(f"{self.root}/usr/bin/perf_event_exporter", "--version")

        self.assertRegex(said, rf"version {re.escape(project_version())}( \(revision: \w+\))?\n")


class DebianSourceTest(unittest.TestCase):
    """packaging/debian says some things that are said elsewhere as well."""

    def paragraph(self, first_line):
        text = (SOURCE / "packaging/debian/control").read_text(encoding="utf-8")
        return next(each for each in text.split("\n\n") if each.startswith(first_line))

    def dependencies(self, first_line, field):
        lines = re.search(rf"^{field}:((?:.*\n [^\n]*)*)", self.paragraph(first_line), re.MULTILINE)
        return packages.packages_in(re.sub(r"\$\{\S+\}", "", lines[1]))

    def test_the_changelog_has_the_version_of_the_project(self):
        text = (SOURCE / "packaging/debian/changelog").read_text(encoding="utf-8")

        self.assertEqual(re.match(r"perf-event-exporter \((.*?)\)", text)[1], project_version())

    def test_what_compiles_the_program_is_a_build_dependency(self):
        text = (SOURCE / "packaging/dependencies/build.txt").read_text(encoding="utf-8")
        compiled_with = set(re.findall(r"^(\S*-dev)\b", text, re.MULTILINE))

        wanted = self.dependencies("Source:", "Build-Depends")

        self.assertLessEqual(compiled_with, wanted)
        self.assertLess(self.dependencies("Package: libperf", "Depends"), wanted)


class PackagedTest(unittest.TestCase):
    @packages.needs("ninja")
    def test_its_target_builds_all_that_is_installed(self):
        """So that packages can be made of a fresh checkout."""
        build = pathlib.Path(packages.arguments[0])
        graph = run("ninja", "-C", build, "-t", "graph", "packaged")
        needed = set(re.findall(r'label="([^"]+)"', graph))
        built = {line.partition(":")[0]
                 for line in run("ninja", "-C", build, "-t", "targets", "all").splitlines()}
        installed = {os.path.relpath(path, build)
                     for script in build.glob("**/cmake_install.cmake")
                     for path in re.findall(r'"(/[^"]+)"', script.read_text(encoding="utf-8"))}
        self.assertIn("lib/libperf_event_exporter_async.a", installed & built)
        self.assertEqual((installed & built) - needed, set())


if __name__ == "__main__":
    packages.main("BUILD_DIR")
