"""The service under systemd in an emulated machine with a PMU: `vm_test.py DIRECTORY`, by vm.sh.

One run of a machine with Debian's kernel 6.1: guest/systemd.sh says what happens in it, and the tests
judge what was seen. Its root file system is its initramfs, so it has no disk.
"""

import json
import os
import shutil
import subprocess
import sys
import unittest

import program
from program import SOURCE, arguments, harness

import debian

sys.path.insert(0, f"{SOURCE}/tests/kernel/vm")
from machine import Boot

CAP_PERFMON = 1 << 38
ROOT = "/systemd/root"
# A Debian that no maintainer script has ever run in: they would have to be emulated.
UNPACKED = ("--architectures=arm64", "--variant=extract",
            "--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr",
            *(f"--dpkgopt=path-exclude=/usr/share/{what}/*" for what in ("doc", "man", "locale")))
PACKAGES = ("base-files", "base-passwd", "bash", "busybox-static", "coreutils", "dash", "dbus", "findutils",
            "grep", "gzip", "kmod", "libpam-modules", "login", "mount", "procps", "sed", "systemd",
            "systemd-sysv", "util-linux")
# Slow when emulated, and of no use to anybody here.
MASKED = ("systemd-firstboot.service", "systemd-networkd.service", "systemd-networkd.socket",
          "systemd-resolved.service", "systemd-timesyncd.service", "getty@.service",
          "serial-getty@.service", "console-getty.service", "ldconfig.service",
          "systemd-hwdb-update.service", "systemd-journal-catalog-update.service",
          "systemd-pstore.service", "systemd-update-done.service", "dpkg-db-backup.timer",
          "fstrim.timer", "e2scrub_all.timer", "apt-daily.timer", "apt-daily-upgrade.timer")
# What maintainer scripts would have made. With an empty machine-id, systemd would ask who we are.
FILES = {
    "/etc/machine-id": "0123456789abcdef0123456789abcdef\n",
    "/etc/hostname": "vm\n",
    "/etc/fstab": "",
    "/etc/nsswitch.conf": "passwd: files systemd\ngroup: files systemd\n",
    "/etc/perf_event_exporter/perf_event_exporter.yaml":
        "groups:\n"
        "  - {name: core, events: [cycles, instructions], scope: [cpu, cgroup]}\n"
        "  - {name: software, events: [task-clock], scope: [cpu, cgroup]}\n",
}


def put(root, path, text):
    os.makedirs(os.path.dirname(root + path), exist_ok=True)
    with open(root + path, "w", encoding="utf-8") as file:
        file.write(text)


def link(root, path, target):
    os.makedirs(os.path.dirname(root + path), exist_ok=True)
    if os.path.lexists(root + path):
        os.unlink(root + path)
    os.symlink(target, root + path)


def finish(root):
    """What is missing for a boot in an unpacked Debian, and what we want in it."""
    for name in ("passwd", "group"):
        shutil.copy(f"{root}/usr/share/base-passwd/{name}.master", f"{root}/etc/{name}")
    with open(f"{root}/etc/passwd", "a", encoding="utf-8") as file:
        file.write("messagebus:x:100:100::/nonexistent:/usr/sbin/nologin\n")
    with open(f"{root}/etc/group", "a", encoding="utf-8") as file:
        file.write("messagebus:x:100:\n")
    for path, text in FILES.items():
        put(root, path, text)
    for unit in MASKED:
        link(root, f"/etc/systemd/system/{unit}", "/dev/null")
    link(root, "/etc/systemd/system/default.target", "/lib/systemd/system/multi-user.target")
    link(root, "/init", "/lib/systemd/systemd")
    for applet in ("wget", "usleep"):
        link(root, f"/usr/local/bin/{applet}", "/bin/busybox")


def install(root, directory):
    shutil.copy(f"{directory}/daemon/daemon/perf_event_exporter", f"{root}/usr/bin/")
    for unit in ("perf_event_exporter.service", "perf_event_exporter.socket"):
        shutil.copy(f"{SOURCE}/systemd/{unit}", f"{root}/lib/systemd/system/")
    os.makedirs(f"{root}/guest", exist_ok=True)
    for script in ("tests/kernel/vm/guest/lib.sh", "tests/delivery/systemd/guest/systemd.sh"):
        shutil.copy(f"{SOURCE}/{script}", f"{root}/guest/")
    shutil.copy(f"{SOURCE}/tests/delivery/systemd/guest/scenario.service", f"{root}/etc/systemd/system/")
    for unit, where in (("perf_event_exporter.service", "/lib/systemd/system"),
                        ("scenario.service", "/etc/systemd/system")):
        link(root, f"/etc/systemd/system/multi-user.target.wants/{unit}", f"{where}/{unit}")


def pack(root, archive):
    with open(archive, "wb") as file:
        subprocess.run("find . -print0 | cpio --quiet --null -o -H newc", shell=True, cwd=root, stdout=file,
                       check=True)


class VmTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        harness.require_root()
        directory = Boot.directory = arguments[0]
        root = debian.root(directory + ROOT, [*PACKAGES, *debian.packages_of("run")], *UNPACKED)
        finish(root)
        install(root, directory)
        pack(root, f"{directory}/systemd.cpio")
        cls.record = Boot("systemd", "6.1", archives=("systemd",)).start()

    def properties(self, name):
        return dict(line.split("=", 1) for line in self.record.texts["properties", name].splitlines())

    def entries(self, name):
        return [json.loads(line) for line in self.record.texts["journal", name].splitlines()]

    def test_the_kernel_starts_with_the_level_of_debian(self):
        self.assertEqual(self.record.texts["level", "boot"].strip(), "3")

    def test_a_user_with_that_one_capability_counts_cycles_at_level_2(self):
        process = dict(line.split(":\t", 1)
                       for line in self.record.texts["process", "level-2"].splitlines())

        self.assertEqual(int(process["CapEff"], 16), CAP_PERFMON)
        self.assertNotEqual(process["Uid"].split()[0], "0")
        self.assertEqual(self.properties("level-2")["ActiveState"], "active")
        for metric in ("perf_cpu_cycles_total", "perf_cpu_instructions_total"):
            self.assertGreater(self.record.increment(metric, "level-2", "later", cpu="0"), 0)

    def test_so_it_does_in_the_cgroups_of_services(self):
        cgroup = "/system.slice/perf_event_exporter.service"

        cycles = self.record.increment("perf_cgroup_cycles_total", "level-2", "later", cgroup=cgroup)
        self.assertGreater(cycles, 0)

    def test_at_level_3_it_runs_and_reports_what_to_do(self):
        self.assertEqual(self.properties("level-3")["ActiveState"], "active")
        self.assertFalse(self.record.scrapes["level-3"].with_name("perf_cpu_"))
        refused = [entry for entry in self.entries("level-3") if entry.get("ERRNO") == "13"]
        self.assertTrue(refused)
        self.assertEqual(refused[0]["PRIORITY"], "4")
        self.assertIn("kernel.perf_event_paranoid", refused[0]["MESSAGE"])


if __name__ == "__main__":
    program.main("DIRECTORY")
