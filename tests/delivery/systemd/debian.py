"""Debian of this machine's release, as its own apt has it: root file systems, made once and kept
below the build directory, and archives of them.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

from program import SOURCE, harness, read_text, require


def packages_of(name):
    """The packages that packaging/dependencies/NAME.txt lists."""
    return run(f"{SOURCE}/packaging/dependencies/names.sh", name).split()


def codename():
    """bookworm, trixie; 12 and 13 have been tried."""
    return platform.freedesktop_os_release().get("VERSION_CODENAME", "bookworm")


def root(target, packages, *options):
    """The path `target` of a Debian with these packages, made where it is not there yet."""
    holds, wanted = f"{target}.holds", " ".join([*options, *sorted(packages)])
    if os.path.exists(target) and os.path.exists(holds) and read_text(holds) == wanted:
        return target
    for old in (target, holds):
        remove(old)
    bootstrap(target, packages, *options)
    with open(holds, "w", encoding="utf-8") as file:
        file.write(wanted)
    return target


def bootstrap(target, packages, *options, **how):
    """Makes a Debian: an archive where `target` ends with .tar, else a directory. mmdebstrap's
    `options` may choose another architecture. Skips where it cannot be fetched, or not be made."""
    harness.require_mounts()
    require(shutil.which("mmdebstrap"), "mmdebstrap is not installed (packaging/dependencies/systemd.txt)")
    sources = apt_sources()
    require(sources, f"apt of this machine has no source for {codename()}; `apt-get update`?")
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with tempfile.NamedTemporaryFile("w", suffix=".list") as listed:
        listed.write("".join(source + "\n" for source in sources))
        listed.flush()
        command = ["mmdebstrap", "--quiet", "--mode=root", *(f"--include={each}" for each in packages),
                   '--aptopt=APT::Sandbox::User "root"', *apt_options(), *options, codename(), target,
                   listed.name]
        made = subprocess.run(command, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False, **how)
    print(made.stdout, end="", file=sys.stderr)
    require(made.returncode == 0, f"mmdebstrap cannot make a Debian: {end_of(made.stdout)}")


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def end_of(text):
    """The last line of mmdebstrap says no more than that it failed; the one before says in what."""
    return "; ".join(text.strip().splitlines()[-2:])


def apt_sources():
    targets = run("apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN)",
                  "Created-By: Packages")
    rows = {tuple(line.split()) for line in targets.splitlines()}
    return sorted(f"deb {row[0]} {row[1]} {row[2]}" for row in rows
                  if len(row) == 4 and row[1].startswith(codename()) and row[2:] == ("main", "Debian"))


def apt_options():
    """How apt of this machine reaches them, where that is not straight."""
    proxies = re.findall(r"^Acquire::https?::Proxy.*$", run("apt-config", "dump"), re.MULTILINE)
    return [f"--aptopt={line}" for line in proxies]


def run(*command, **options):
    """What a command writes; it must succeed."""
    ended = subprocess.run(command, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, check=False, **options)
    if ended.returncode != 0:
        raise AssertionError(f"{' '.join(command)} ended with {ended.returncode}:\n{ended.stdout}")
    return ended.stdout
