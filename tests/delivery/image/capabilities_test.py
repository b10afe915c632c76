"""A program that may not be root, with the file capability cap_perfmon=p, as in the image."""

import os
import shutil
import subprocess
import tempfile
import unittest

import containers  # also finds the harness
import harness

EVENTS = ["task-clock", "context-switches"]
NOBODY = 65534
PERFMON = 1 << 38  # capability.h



def capabilities_of(pid, which):
    """"Eff", "Prm", ... of proc_pid_status(5)."""
    return int(containers.status_of(pid)[f"Cap{which}"], 16)


class FileCapabilityTest(unittest.TestCase):
    def setUp(self):
        harness.require_events(*EVENTS)
        harness.require_perfmon_to_matter()
        for program in ("setcap", "setpriv"):
            harness.require(shutil.which(program), f"{program} is not installed")
        folder = tempfile.mkdtemp(prefix="pex_test_")
        self.addCleanup(shutil.rmtree, folder)
        os.chmod(folder, 0o755)
        self.program = shutil.copy(harness.daemon_binary, folder)
        subprocess.run(["setcap", "cap_perfmon=p", self.program], check=True)
        self.as_nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        self.withheld = [*self.as_nobody, "--bounding-set=-perfmon"]

    def daemon(self, wrapper):
        return harness.Daemon(harness.config_of(events=EVENTS, scope="cpu"), command=self.program,
                              wrapper=wrapper)

    def doctor(self, wrapper):
        ended = subprocess.run([*wrapper, self.program, "doctor"], capture_output=True, text=True,
                               check=False)
        return ended.stdout + ended.stderr

    def test_what_is_permitted_is_taken_into_use_and_nothing_else(self):
        with self.daemon(self.as_nobody) as daemon:
            scrape = daemon.scrape_after_polls()
            self.assertEqual([scrape.is_refused(event) for event in EVENTS], [False, False])
            self.assertTrue(scrape.has("process_open_fds"))
            for which in ("Eff", "Prm"):
                self.assertEqual(capabilities_of(daemon.pid, which), PERFMON)
            self.assertEqual(int(containers.status_of(daemon.pid)["Uid"].split()[0]), NOBODY)
            self.assertEqual(daemon.lines("warn"), [])

    def run_as_nobody(self, *args):
        ended = subprocess.run([*self.as_nobody, self.program, *args], capture_output=True, text=True,
                               check=False, stdin=subprocess.DEVNULL)
        return ended.returncode, ended.stdout + ended.stderr

    def folder_of_nobody(self):
        folder = tempfile.mkdtemp(prefix="pex_test_")
        self.addCleanup(shutil.rmtree, folder)
        os.chown(folder, NOBODY, NOBODY)
        return folder

    def test_a_user_names_no_tree_of_the_kernel_that_it_can_change(self):
        for option in ("--path.sysfs", "--path.procfs", "--path.cgroupfs"):
            status, text = self.run_as_nobody(f"{option}={self.folder_of_nobody()}", "list")
            self.assertEqual(status, 2, text)
            self.assertIn("can be changed by others than root", text)
        status, text = self.run_as_nobody("--path.sysfs=/sys/../sys", "list", "software")
        self.assertEqual(status, 0, text)

    def test_a_file_system_that_a_user_mounts_is_none_of_root_whatever_it_says(self):
        for program in ("bindfs", "fusermount", "unshare"):
            harness.require(shutil.which(program), f"{program} is not installed")
        folder = os.path.dirname(self.program)
        for name in ("source", "mount"):
            os.mkdir(f"{folder}/{name}")
            os.chown(f"{folder}/{name}", NOBODY, NOBODY)
        os.mknod(f"{folder}/fuse", 0o20666, os.makedev(10, 229))  # as most machines have it
        os.chmod(f"{folder}/fuse", 0o666)
        script = (f"mount --make-rprivate / && mount --bind {folder}/fuse /dev/fuse || exit 77\n"
                  f"{' '.join(self.as_nobody)} bindfs -f --no-allow-other -u 0 -g 0 -p 0755 "
                  f"{folder}/source {folder}/mount & trap \"kill $!\" EXIT\n"
                  f"for i in $(seq 100); do grep -q {folder}/mount /proc/mounts && break; sleep 0.1; done\n"
                  f"[ $i != 100 ] || exit 77\n"
                  f"{' '.join(self.as_nobody)} {self.program} --path.sysfs={folder}/mount list")
        ended = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True,
                               check=False)
        harness.require(ended.returncode != 77, f"nobody can mount one: {ended.stderr}")
        self.assertIn("can be changed by others than root", ended.stderr)

    def test_a_users_configuration_filters_no_events(self):
        file = f"{self.folder_of_nobody()}/filter.yaml"
        with open(file, "w", encoding="utf-8") as config:
            config.write("groups: [{name: a, scope: cpu, events: ["
                         "{event: 'sched:sched_switch', filter: prev_pid == 1, name: one}]}]\n")
        os.chown(file, NOBODY, NOBODY)
        status, text = self.run_as_nobody(f"--config.file={file}", "--config.check")
        self.assertEqual(status, 1, text)
        self.assertIn("filter events: others than root can change", text)

    def test_a_user_probes_no_place_inside_of_a_function(self):
        harness.require(os.path.isdir("/sys/bus/event_source/devices/uprobe"), "no PMU uprobe")
        subprocess.run(["setcap", "cap_perfmon,cap_sys_admin=p", self.program], check=True)
        shell = os.path.realpath(shutil.which("sh"))
        _, text = self.run_as_nobody("stat", "-e", f"uprobe:{shell}:0x1235", "--", "true")
        self.assertIn("no function begins there, and this program has a capability by its file", text)

    def test_a_user_counts_its_own_processes_only(self):
        def stat(pid):
            return self.run_as_nobody("stat", "-e", "page-faults", "-p", str(pid))

        status, text = stat(os.getpid())
        self.assertEqual(status, 1, text)
        self.assertIn("of another user by the capability of the program's file", text)
        with harness.Process([*self.as_nobody, "sleep", "1"]) as own:
            status, text = stat(own.pid)
        self.assertEqual(status, 0, text)

    def test_the_doctor_distinguishes_both(self):
        self.assertRegex(self.doctor(self.as_nobody), r"ok +capabilities +CAP_PERFMON \(user 65534")
        said = self.doctor(self.withheld)
        self.assertRegex(said, r"note +capabilities +none that is used for counting")
        self.assertRegex(said, r"bad +perf_event_open +refused on .* \(EACCES\)")


if __name__ == "__main__":
    harness.main()
