"""Every option of --help is in the manual page and in both completions, which real shells load."""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import tempfile
import termios
import time
import unittest

import packages
from packages import SOURCE, needs, run

COMPLETIONS = SOURCE / "packaging/completions"
PATIENCE = 60.0  # seconds; only a test that fails takes this long
OPTION = re.compile(r"^ +(?:(-\w), ?)?(--[a-z][a-z.-]*)", re.MULTILINE)


def program():
    return packages.arguments[0]


def commands():
    text = run(program(), "--help").split("\nSubcommands:\n")[1].split("\n\n")[0]
    return set(re.findall(r"^  ([a-z]+) ", text, re.MULTILINE))


def options(*command):
    return {name for pair in OPTION.findall(run(program(), *command, "--help"))
            for name in pair if name}


def all_options():
    return options().union(*(options(each) for each in commands()))


class ManualPageTest(unittest.TestCase):
    """Of perf_event_exporter(8), as it is written."""

    def setUp(self):
        self.text = (SOURCE / "packaging/man/perf_event_exporter.8.scd").read_text(encoding="utf-8")

    def terms(self, section):
        """What a section explains: the words in bold that begin a line."""
        text = re.search(rf"^# {section}\n(.*?)^# ", self.text, re.MULTILINE | re.DOTALL)[1]
        lines = [line for line in text.splitlines() if line.startswith("*")]
        return {word for line in lines for word in re.findall(r"\*([^*]+)\*", line)}

    def test_its_options_are_those_of_the_help(self):
        self.assertEqual(self.terms("OPTIONS"), all_options())

    def test_its_commands_are_those_of_the_help(self):
        self.assertEqual(self.terms("COMMANDS"), commands())

    @needs("scdoc", "man")
    def test_it_is_understood_by_scdoc_and_man(self):
        with tempfile.NamedTemporaryFile(suffix=".8") as page:
            page.write(subprocess.run(["scdoc"], input=self.text.encode(), check=True,
                                      capture_output=True).stdout)
            page.flush()
            done = subprocess.run(["man", "--warnings", "--local-file", page.name], text=True,
                                  env={**os.environ, "MANPAGER": "cat", "MANWIDTH": "80"},
                                  check=True, capture_output=True)

        self.assertEqual(done.stderr, "")
        self.assertIn("--web.listen-address", done.stdout)


class Shell:
    """An interactive shell on a terminal of its own, wide enough for every list."""

    def __init__(self, home, *command):
        self.seen = ""
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.execvpe(command[0], command, {"HOME": home, "PATH": os.environ["PATH"],
                                             "TERM": "dumb", "LC_ALL": "C"})
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 500, 200, 0, 0))

    def type(self, text):
        os.write(self.terminal, text.encode())

    def close(self):
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.terminal)

    def await_words(self, words):
        deadline = time.monotonic() + PATIENCE
        while missing := [each for each in words if each not in self.seen]:
            ready, _, _ = select.select([self.terminal], [], [], deadline - time.monotonic())
            if not ready:
                raise AssertionError(f"{missing} did not come; on the terminal: {self.seen!r}")
            self.seen += os.read(self.terminal, 65536).decode(errors="replace")

    def do(self, command):
        """Has a command run, and waits for its end."""
        self.type(f"{command}; echo DO'N'E\n")
        self.await_words(["DONE"])
        self.seen = ""

    def complete(self, typed, expected):
        """Types a line and presses Tab; every expected word must appear. Then forgets the line."""
        self.seen = ""
        self.type(f"{typed}\t")
        self.await_words(expected)
        self.type("\x15")  # Control-U
        self.do("true")


BASH = ("bash", "--norc", "--noprofile", "-i")
BASH_READY = ("bind 'set show-all-if-ambiguous on'; bind 'set completion-query-items 0';"
              " bind 'set page-completions off'; bind 'set enable-bracketed-paste off';"
              f" source '{COMPLETIONS}/perf_event_exporter.bash'")
ZSH = ("zsh", "-f", "-i")
ZSH_READY = (f"LISTMAX=1000000; fpath=('{COMPLETIONS}' $fpath);"
             " autoload -Uz compinit; compinit -u -D; setopt list_ambiguous")


class CompletionTest(unittest.TestCase):
    def start(self, ready, *command):
        home = self.enterContext(tempfile.TemporaryDirectory(prefix="pex-shell-"))
        shell = Shell(home, *command)
        self.addCleanup(shell.close)
        shell.do(ready)
        return shell

    def assert_completes(self, shell):
        web = {each for each in options() if each.startswith("--web.")}
        self.assertTrue(web)
        shell.complete("perf_event_exporter --web.", web)
        shell.complete("perf_event_exporter --", {each for each in options() if each[1] == "-"})
        shell.complete("perf_event_exporter ", commands())
        shell.complete("perf_event_exporter list --outp", {"--output"})
        shell.complete("perf_event_exporter health --re", {"--ready"})
        shell.complete("perf_event_exporter stat --pi", {"--pid"})
        shell.complete("perf_event_exporter --log.level=", {"debug", "info", "warn", "error"})
        shell.complete("perf_event_exporter --log.format ", {"logfmt", "json"})
        for before in ("", "/dev/null "):
            shell.complete(f"perf_event_exporter cgroups {before}/usr/s", {"sbin", "share"})

    @needs("bash")
    def test_bash_completes_every_option_command_and_value(self):
        shell = self.start(BASH_READY, *BASH)

        shell.type("complete -p perf_event_exporter\n")
        shell.await_words(["complete -F _perf_event_exporter perf_event_exporter"])
        self.assert_completes(shell)

    @needs("zsh")
    def test_zsh_completes_every_option_command_and_value(self):
        shell = self.start(ZSH_READY, *ZSH)

        shell.type("echo ${_comps[perf_event_exporter]}\n")
        shell.await_words(["\n_perf_event_exporter"])
        self.assert_completes(shell)

    def words_of(self, name):
        text = (COMPLETIONS / name).read_text(encoding="utf-8")
        text = re.sub(r"^ *#.*", "", text, flags=re.MULTILINE)
        return set(re.findall(r"(?<![\w-])--?[a-z][a-z.-]*", text))

    def test_neither_offers_an_option_that_is_not_there(self):
        for name in ("perf_event_exporter.bash", "_perf_event_exporter"):
            with self.subTest(name):
                offered = {each for each in self.words_of(name) if each.startswith("--")}
                self.assertEqual(offered, {each for each in all_options() if each[1] == "-"})


if __name__ == "__main__":
    packages.main("PROGRAM")
