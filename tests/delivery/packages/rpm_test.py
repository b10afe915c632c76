"""The RPM package and the archive, which CPack makes."""

import os
import pathlib
import re
import tarfile
import tempfile
import unittest

import packages
from packages import needs, paths_below, project_version, run, the_one

CONFIG = {"/etc/perf_event_exporter/perf_event_exporter.yaml", "/etc/sysconfig/perf_event_exporter"}
HOLDS = """
    /usr/bin/perf_event_exporter
    /usr/lib/systemd/system/perf_event_exporter.service
    /usr/lib/systemd/system/perf_event_exporter.socket
    /usr/share/bash-completion/completions/perf_event_exporter
    /usr/share/man/man5/perf_event_exporter.yaml.5
    /usr/share/man/man8/perf_event_exporter.8
    /usr/share/zsh/site-functions/_perf_event_exporter
""".split()


def out():
    return pathlib.Path(packages.arguments[0])


def rpm_file():
    return the_one(out(), "perf-event-exporter-*.rpm")


def ask(*query):
    return run("rpm", "--query", "--package", *query, rpm_file())


@needs("rpm")
class RpmTest(unittest.TestCase):
    def test_it_has_the_name_version_and_licence_of_the_project(self):
        said = ask("--queryformat", "%{NAME} %{VERSION} %{LICENSE}")

        self.assertEqual(said, f"perf-event-exporter {project_version()} Apache-2.0")
        self.assertRegex(rpm_file().name,
                         rf"^perf-event-exporter-{re.escape(project_version())}-1\.\w+\.rpm$")

    def test_it_reports_what_it_is(self):
        self.assertIn("Per-CPU and per-cgroup", ask("--queryformat", "%{SUMMARY}"))
        self.assertIn("instead of a zero", ask("--queryformat", "%{DESCRIPTION}"))

    def test_it_holds_what_a_service_needs(self):
        held = {path.removesuffix(".gz") for path in ask("--list").split()}  # rpmbuild may compress
        self.assertEqual({*HOLDS, *CONFIG} - held, set())

    def test_what_an_operator_edits_survives_an_update(self):
        said = ask("--queryformat", "[%{FILEFLAGS:fflags} %{FILENAMES}\n]")
        kept = {name for flags, name in re.findall(r"^(\S+) (/\S+)$", said, re.MULTILINE)
                if "c" in flags and "n" in flags}

        self.assertEqual(set(ask("--configfiles").split()), CONFIG)
        self.assertEqual(kept, CONFIG)

    def test_directories_of_the_system_are_not_its_own(self):
        said = ask("--queryformat", "[%{FILEMODES:perms} %{FILENAMES}\n]")
        owned = re.findall(r"^d\S+ (/\S+)$", said, re.MULTILINE)

        self.assertEqual([path for path in owned if not re.search("perf[-_]event[-_]exporter", path)],
                         [])

    def test_it_requires_the_libraries_that_the_program_is_linked_to(self):
        said = ask("--requires")

        for library in ("libyaml-cpp", "libre2", "libdeflate", "libcap", "libsystemd", "libssl"):
            self.assertIn(f"{library}.so", said)

    def test_its_scripts_inform_systemd(self):
        said = ask("--scripts")

        self.assertIn("preset perf_event_exporter.service", said)
        self.assertIn("disable --now perf_event_exporter.service", said)

    def test_its_digests_are_right(self):
        self.assertIn("OK", run("rpm", "--checksig", "--nosignature", rpm_file()))

    @unittest.skipIf(os.geteuid() != 0, "rpm installs into a directory as root only")
    def test_it_can_be_installed_verified_and_erased(self):
        root = self.enterContext(tempfile.TemporaryDirectory(prefix="pex-rpm-"))
        of_root = ("rpm", "--root", root)
        run(*of_root, "--initdb")

        run(*of_root, "--install", "--nodeps", "--noscripts", rpm_file())
        program = run(f"{root}/usr/bin/perf_event_exporter", "--version")
        said = run(*of_root, "--verify", "--nodeps", "--noscripts", "perf-event-exporter")
        run(*of_root, "--erase", "--nodeps", "--noscripts", "perf-event-exporter")

        self.assertIn(f"version {project_version()}", program)
        self.assertEqual(said, "")
        self.assertEqual([path for path in paths_below(root)
                          if re.search("perf[-_]event[-_]exporter", path)], [])

    @needs("rpmlint")
    def test_rpmlint_finds_no_error(self):
        said = run("rpmlint", "--config", packages.SOURCE / "packaging/rpm/rpmlint.toml", rpm_file())

        self.assertRegex(said, r"\b0 errors")


@needs("tar")
class ArchiveTest(unittest.TestCase):
    def setUp(self):
        self.archive = the_one(out(), "perf_event_exporter-*.tar.gz")
        self.there = self.enterContext(tempfile.TemporaryDirectory(prefix="pex-tgz-"))
        run("tar", "-C", self.there, "-xf", self.archive)
        (self.top,) = pathlib.Path(self.there).iterdir()

    def test_it_is_called_as_archives_of_exporters_are(self):
        self.assertRegex(self.archive.name, rf"^perf_event_exporter-{re.escape(project_version())}"
                         r"\.linux-[a-z0-9]+\.tar\.gz$")
        self.assertEqual(f"{self.top.name}.tar.gz", self.archive.name)

    def test_its_files_belong_to_root(self):
        with tarfile.open(self.archive) as archive:
            owners = {(each.uid, each.gid) for each in archive}

        self.assertEqual(owners, {(0, 0)})

    def test_the_program_runs_where_it_is_unpacked(self):
        said = run(self.top / "bin/perf_event_exporter", "--version")

        self.assertIn(f"version {project_version()}", said)

    def test_its_unit_is_for_usr_local(self):
        unit = (self.top / "lib/systemd/system/perf_event_exporter.service").read_text()

        self.assertIn("\nExecStart=/usr/local/bin/perf_event_exporter ", unit)
        self.assertIn("=/usr/local/etc/perf_event_exporter/perf_event_exporter.yaml\n", unit)
        self.assertTrue((self.top / "etc/perf_event_exporter/perf_event_exporter.yaml").is_file())


if __name__ == "__main__":
    packages.main("PACKAGES_DIR")
