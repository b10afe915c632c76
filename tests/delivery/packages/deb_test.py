"""The Debian packages: clean, complete, and gone without a trace after a purge."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import packages
from packages import SOURCE, needs, paths_below, project_version, run, the_one

sys.path.append(f"{SOURCE}/tests/delivery/systemd")
import debian  # also finds the harness
import hardening
import harness

CONFFILES = {"/etc/default/perf_event_exporter",
             "/etc/perf_event_exporter/perf_event_exporter.yaml"}
HOLDS = """
    ./etc/default/perf_event_exporter
    ./etc/perf_event_exporter/perf_event_exporter.yaml
    ./usr/bin/perf_event_exporter
    ./usr/lib/sysctl.d/50-perf_event_exporter.conf
    ./usr/share/bash-completion/completions/perf_event_exporter
    ./usr/share/doc/perf-event-exporter/CHANGELOG.md
    ./usr/share/doc/perf-event-exporter/changelog.gz
    ./usr/share/doc/perf-event-exporter/copyright
    ./usr/share/man/man5/perf_event_exporter.yaml.5.gz
    ./usr/share/man/man8/perf_event_exporter.8.gz
    ./usr/share/zsh/vendor-completions/_perf_event_exporter
""".split()
UNITS = "./lib/systemd" if debian.codename() == "bookworm" else "./usr/lib/systemd"
# Where apt and dpkg keep their books.
BOOKS = re.compile(r"var/(lib/dpkg|lib/apt|log|cache)/|etc/ld\.so\.cache$")


def out():
    return pathlib.Path(packages.arguments[0])


def daemon_deb():
    return the_one(out(), "perf-event-exporter_*.deb")


def library_deb():
    return the_one(out(), "libperf-event-exporter-dev_*.deb")


def contents(deb):
    return {line.split()[5] for line in run("dpkg-deb", "--contents", deb).splitlines()}


def control_file(deb, name):
    done = subprocess.run(["dpkg-deb", "--info", deb, name], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else ""


@needs("dpkg-deb")
class ContentsTest(unittest.TestCase):
    def test_the_daemon_s_package_holds_what_a_service_needs(self):
        found = contents(daemon_deb())

        self.assertEqual(set(HOLDS) - found, set())

    def test_units_lie_where_debhelper_looks_for_them(self):
        units = {path for path in contents(daemon_deb()) if "/lib/systemd/" in path and path[-1] != "/"}

        self.assertEqual(units, {f"{UNITS}/system/perf_event_exporter.service",
                                 f"{UNITS}/system/perf_event_exporter.socket"})

    def test_what_an_operator_edits_is_a_conffile(self):
        self.assertEqual(set(control_file(daemon_deb(), "conffiles").split()), CONFFILES)

    def test_the_service_is_enabled_and_started_and_the_socket_is_not(self):
        script = control_file(daemon_deb(), "postinst")

        self.assertIn("deb-systemd-helper enable 'perf_event_exporter.service'", script)
        self.assertIn("deb-systemd-invoke $_dh_action 'perf_event_exporter.service'", script)
        self.assertNotIn("perf_event_exporter.socket", script)

    def test_the_level_of_the_kernel_is_set_before_the_service_starts(self):
        script = control_file(daemon_deb(), "postinst")

        self.assertLess(script.index("\n  lower_paranoid_level"), script.index("deb-systemd-invoke"))

    def test_versions_are_that_of_the_project(self):
        for deb in (daemon_deb(), library_deb()):
            self.assertEqual(run("dpkg-deb", "--field", deb, "Version").strip(), project_version())

    def test_the_list_of_libraries_to_run_with_is_what_the_program_is_linked_to(self):
        listed = set(debian.packages_of("run"))

        linked = packages.packages_in(run("dpkg-deb", "--field", daemon_deb(), "Depends"))

        # libspdlog names its own fmt, libre2 its Abseil.
        linked = {re.sub(r"-(fmt|absl)\d+$", "", each) for each in linked}
        self.assertEqual(linked - {"libc6", "libgcc-s1", "libstdc++6"}, listed)

    def test_the_library_s_package_holds_archives_headers_and_how_to_find_them(self):
        found = "\n".join(contents(library_deb()))

        for pattern in (r"/usr/lib/\S+/libperf_event_exporter_count\.a$",
                        r"/usr/lib/\S+/cmake/perf_event_exporter/perf_event_exporterConfig\.cmake$",
                        r"/usr/lib/\S+/pkgconfig/perf_event_exporter\.pc$",
                        r"/usr/share/doc/libperf-event-exporter-dev/library\.md",
                        r"/usr/share/doc/libperf-event-exporter-dev/example/main\.cc$",
                        r"/usr/include/perf_event_exporter/count/collector\.h$"):
            self.assertRegex(found, re.compile(pattern, re.MULTILINE))

    @needs("lintian")
    def test_lintian_has_nothing_to_say(self):
        changes = the_one(out(), "perf-event-exporter_*.changes")

        said = run("lintian", "--allow-root", "--fail-on", "none", "--tag-display-limit", "0", changes)

        self.assertEqual(said, "")

    @needs(*hardening.PROGRAMS, "dpkg-deb")
    def test_the_program_is_hardened(self):
        with tempfile.TemporaryDirectory(prefix="pex-deb-") as there:
            run("dpkg-deb", "--extract", daemon_deb(), there)

            self.assertEqual(hardening.lacking(f"{there}/usr/bin/perf_event_exporter"), [])


@needs("mmdebstrap", "dpkg-deb", "apt-get", "unshare", "chroot", "tar")
@unittest.skipIf(os.geteuid() != 0, "a root file system to install into takes root")
class LifeOfTheDaemonTest(unittest.TestCase):
    """Installed, run, removed and purged in a fresh Debian, one after the other."""

    def in_root(self, *command):
        """In a mount namespace of its own, so that nothing stays mounted."""
        return run("unshare", "--mount", "--pid", "--fork", "--kill-child", "chroot", self.root,
                   *command, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C",
                                  "DEBIAN_FRONTEND": "noninteractive"})

    def exists(self, path):
        return os.path.lexists(f"{self.root}/{path}")

    def traces(self):
        return {path for path in paths_below(self.root) if not BOOKS.match(path)}

    def test_it_is_enabled_when_installed_and_a_purge_leaves_nothing(self):
        harness.require_mounts()
        deb = daemon_deb()
        depends = packages.packages_in(run("dpkg-deb", "--field", deb, "Depends"))
        archive = debian.root(f"{out()}/root.tar", depends, "--variant=minbase")
        self.root = self.enterContext(tempfile.TemporaryDirectory(prefix="pex-root-", dir=out()))
        run("tar", "-C", self.root, "--numeric-owner", "-xf", archive)
        before = self.traces()
        wanted_by = "etc/systemd/system/multi-user.target.wants/perf_event_exporter.service"

        pathlib.Path(self.root, "tmp/daemon.deb").write_bytes(deb.read_bytes())
        self.in_root("dpkg", "--install", "/tmp/daemon.deb")
        pathlib.Path(self.root, "tmp/daemon.deb").unlink()

        self.assertIn(f"version {project_version()}",
                      self.in_root("perf_event_exporter", "--version"))
        self.assertIn("ExecStart=/usr/bin/perf_event_exporter ", pathlib.Path(
            self.root, "lib/systemd/system/perf_event_exporter.service").read_text())
        self.assertTrue(self.exists(wanted_by))

        self.in_root("dpkg", "--remove", "perf-event-exporter")
        self.assertTrue(all(self.exists(path) for path in CONFFILES))
        self.assertFalse(self.exists("usr/bin/perf_event_exporter"))

        self.in_root("dpkg", "--purge", "perf-event-exporter")
        self.assertEqual(self.traces(), before)


if __name__ == "__main__":
    packages.main("PACKAGES_DIR")
