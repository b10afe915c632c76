#!/usr/bin/env python3
"""Checks that the rooms of the source tree keep to their arrows (ARCHITECTURE.md, "Rooms").

    arrows_test.py SOURCE_DIR

Prints each violation as file:line: reason, and exits 1 when there is one.
"""

import re
import sys
from pathlib import Path
from typing import Iterator, NamedTuple

# Which rooms a room may include. Only plan and the daemon join configuration and machine.
ROOMS = {
    "base": set(),
    "host": {"base"},
    "perf": {"base", "host"},
    "abi": {"base", "host", "perf"},
    "async": {"base", "perf"},
    "elf": {"base"},
    "events": {"base", "host", "perf", "elf"},
    "estimate": {"base"},
    "cgroup": {"base", "host", "yaml"},
    "targets": {"base", "host", "perf", "events", "cgroup"},
    "count": {"base", "host", "perf", "events", "cgroup", "estimate", "targets"},
    "records": {"base", "host", "perf", "abi", "events", "cgroup", "targets", "count"},
    "history": {"base", "targets", "count"},
    "exposition": {"base", "host", "events", "targets", "count"},
    "yaml": {"base"},
    "config": {"base", "yaml"},
    "plan": {"base", "host", "perf", "events", "cgroup", "targets", "count", "records", "exposition", "yaml",
             "config"},
    "access": {"base", "yaml"},
    "http": {"base", "access"},
}
DAEMON = "daemon"
ALLOWED = ROOMS | {DAEMON: set(ROOMS)}

# Which wings of the daemon a wing may include. main.cc may include all.
WINGS = {
    "cli": set(),
    "log": {"cli"},
    "status": {"cli", "log"},
    "web": {"cli", "log", "status"},
    "service": {"cli", "log", "status"},
    "run": {"cli", "log", "status", "web", "service"},
    "doctor": {"cli", "log"},
    "commands": {"cli", "log", "status", "web", "service", "run", "doctor"},
}
# More in one folder are more than one subject.
MAX_SOURCES = 40

# Where an outside library may be included, by how its headers begin.
OUTSIDE = {
    "yaml-cpp/": {"yaml"},
    "prometheus/": {"exposition"},
    "boost/": {"async", "access", "http", DAEMON},
    "boost/asio/ssl": {"access"},
    "openssl/": {"access", "config"},
    "crypt.h": {"access"},
    "libdeflate.h": {"http"},
    "sys/capability.h": {DAEMON},
    "systemd/": {DAEMON},
    "spdlog/": {DAEMON},
    "CLI/": {DAEMON},
    "linux/perf_event.h": {"perf", "abi", "events", "records"},
    "perfmon/": {"events"},
    "libelf.h": {"elf"},
    "gelf.h": {"elf"},
    "re2/": {"cgroup"},
    "fmt/": {"yaml", "config", "access"},
}

# The room that knows where the kernel's trees are mounted, and the file that talks to perf_event_open.
HOST = "host"
KERNEL_DOOR = Path("lib/perf/linux_perf_kernel.cc")
KERNEL_WORDS = re.compile(r"\b(?:SYS_perf_event_open|__NR_perf_event_open|PERF_EVENT_IOC_\w+)\b")

# A name without a subject collects everything.
SUBJECTLESS = {"util", "utils", "common", "misc", "helper", "helpers"}
NOT_SOURCES = {"build", "__pycache__"}

CPP_FILE = re.compile(r"\.(?:h|cc)(?:\.in)?$")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.MULTILINE)
KERNEL_TREE = re.compile(r"/(?:sys|proc)(?![A-Za-z0-9_])")  # not /system.slice
ADD_ROOM = re.compile(r"^[ \t]*add_room\(\s*([^)]*)\)", re.MULTILINE)
PUBLIC_HEADERS = re.compile(r"^set\(public_headers\s([^)]*)\)", re.MULTILINE)
# What C++ text is made of, where it matters: comments and literals. A ' inside a number is neither.
TOKEN = re.compile(
    r"""
      (?P<comment> //(?:\\\n|[^\n])* | /\*.*?\*/ )
    | (?P<raw> R"(?P<mark>[^\s()\\"]{0,16})\(.*?\)(?P=mark)" )
    | (?P<string> "(?:\\.|[^"\\\n])*" )
    | (?P<char> (?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+' )
    """,
    re.VERBOSE | re.DOTALL,
)


class Violation(NamedTuple):
    path: Path
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.reason}"


class Source:
    """One C++ file, as the checks need it: code and literals told apart, lines kept."""

    def __init__(self, root: Path, path: Path):
        self.path = path.relative_to(root)
        self.room = self.path.parts[1] if self.path.parts[0] == "lib" else self.path.parts[0]
        self.text = path.read_text(encoding="utf-8", errors="replace")
        self.without_comments = TOKEN.sub(self._blank_comment, self.text)
        self.code = TOKEN.sub(lambda m: _blank(m.group()), self.text)

    @staticmethod
    def _blank_comment(match: re.Match) -> str:
        return _blank(match.group()) if match["comment"] else match.group()

    def literals(self) -> Iterator[tuple[int, str]]:
        include_lines = {_line(self.text, m.start(2)) for m in INCLUDE.finditer(self.text)}
        for match in TOKEN.finditer(self.text):
            line = _line(self.text, match.start())
            if (match["raw"] or match["string"]) and line not in include_lines:
                yield line, match.group()

    def violation(self, line: int, reason: str) -> Violation:
        return Violation(self.path, line, reason)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def sources(root: Path) -> list[Source]:
    paths = [p for top in ("lib", DAEMON) for p in (root / top).rglob("*") if CPP_FILE.search(p.name)]
    return [Source(root, p) for p in sorted(paths) if len(p.relative_to(root).parts) > 1]


def check_includes(source: Source) -> Iterator[Violation]:
    for match in INCLUDE.finditer(source.without_comments):
        quote, target = match.groups()
        line = _line(source.without_comments, match.start(2))
        room = target.split("/")[0] if "/" in target else None
        if room in ALLOWED:
            if room != source.room and room not in ALLOWED.get(source.room, set()):
                yield source.violation(line, f"{source.room} may not include {room} ({target})")
        elif quote == '"' and source.room != DAEMON:
            yield source.violation(line, f'write the room of our own headers: "{source.room}/..."')
        for prefix, homes in OUTSIDE.items():
            if target.startswith(prefix) and source.room not in homes:
                homes_text = " and ".join(sorted(homes))
                yield source.violation(line, f"{target} belongs in {homes_text}, not in {source.room}")


def check_wings(source: Source) -> Iterator[Violation]:
    if source.room != DAEMON or len(source.path.parts) < 3:
        return
    wing = source.path.parts[1]
    for match in INCLUDE.finditer(source.without_comments):
        line = _line(source.without_comments, match.start(2))
        parts = match[2].split("/")
        if parts[0] != DAEMON or wing not in WINGS:
            continue
        if parts[1] != wing and parts[1] not in WINGS[wing]:
            yield source.violation(line, f"{DAEMON}/{wing} may not include {match[2]}")


def check_kernel_paths(source: Source) -> Iterator[Violation]:
    if source.room == HOST:
        return
    for line, literal in source.literals():
        if KERNEL_TREE.search(literal):
            yield source.violation(line, f"only lib/host spells paths of the kernel's trees: {literal}")


def check_kernel_door(source: Source) -> Iterator[Violation]:
    if source.path == KERNEL_DOOR:
        return
    for match in KERNEL_WORDS.finditer(source.code):
        line = _line(source.code, match.start())
        yield source.violation(line, f"{match.group()} belongs in {KERNEL_DOOR} alone")


def check_folders(root: Path) -> Iterator[Violation]:
    """No two folders of a room include each other: one subject with a line drawn through it."""
    arrows: dict[tuple[Path, Path], tuple[Source, int]] = {}
    for source in sources(root):
        for match in INCLUDE.finditer(source.without_comments):
            folder = Path("lib", match[2]).parent if source.room != DAEMON else Path(match[2]).parent
            if folder.parts[:2] == source.path.parts[:2] and folder != source.path.parent:
                arrows.setdefault((source.path.parent, folder),
                                  (source, _line(source.without_comments, match.start(2))))
    for (folder, other), (source, line) in sorted(arrows.items(), key=lambda arrow: arrow[0]):
        if folder < other and (other, folder) in arrows:
            yield source.violation(line, f"{folder} and {other} include each other")


def check_rooms_exist_in_table(root: Path) -> Iterator[Violation]:
    for folder in sorted(p for p in (root / "lib").iterdir() if p.is_dir()):
        if folder.name not in ROOMS:
            yield Violation(folder.relative_to(root), 1, "a room that ROOMS in arrows_test.py lacks")


def check_wings_exist_in_table(root: Path) -> Iterator[Violation]:
    for path in sorted((root / DAEMON).iterdir()):
        if path.is_dir() and path.name not in WINGS:
            yield Violation(path.relative_to(root), 1, "a wing that WINGS in arrows_test.py lacks")
        elif CPP_FILE.search(path.name) and path.name != "main.cc":
            yield Violation(path.relative_to(root), 1, "belongs in a wing")


def check_sizes(root: Path) -> Iterator[Violation]:
    count: dict[Path, int] = {}
    for source in sources(root):
        count[source.path.parent] = count.get(source.path.parent, 0) + 1
    for folder, files in sorted(count.items()):
        if files > MAX_SOURCES:
            yield Violation(folder, 1, f"{files} source files; at most {MAX_SOURCES}")


def check_cmake(root: Path) -> Iterator[Violation]:
    path = Path("lib/CMakeLists.txt")
    text = re.sub(r"#[^\n]*", lambda m: _blank(m.group()), (root / path).read_text(encoding="utf-8"))
    declared = set()
    for match in ADD_ROOM.finditer(text):
        name, *words = match[1].split()
        needs, in_needs = set(), False
        for word in words:
            if word.isupper():  # NEEDS, LIBRARIES, PRIVATE_LIBRARIES
                in_needs = word == "NEEDS"
            elif in_needs:
                needs.add(word)
        declared.add(name)
        if needs != ROOMS.get(name):
            expected = " ".join(sorted(ROOMS[name])) if name in ROOMS else "no such room"
            line = _line(text, match.start(1))
            yield Violation(path, line, f"{name} NEEDS differ from arrows_test.py: {expected or 'none'}")
    for name in sorted(set(ROOMS) - declared):
        yield Violation(path, 1, f"no add_room({name} ...)")


def check_public_headers(root: Path) -> Iterator[Violation]:
    """A program that uses the installed library finds all that its headers include."""
    public = PUBLIC_HEADERS.search((root / "lib/CMakeLists.txt").read_text(encoding="utf-8"))[1].split()
    for source in (Source(root, root / "lib" / header) for header in public):
        for match in INCLUDE.finditer(source.without_comments):
            if match[1] == '"' and match[2] not in public:
                line = _line(source.without_comments, match.start(2))
                yield source.violation(line, f"add {match[2]} to public_headers of lib/CMakeLists.txt")


def check_names(root: Path) -> Iterator[Violation]:
    pending = [root]
    while pending:
        for path in sorted(pending.pop().iterdir()):
            if path.name.startswith(".") or path.name in NOT_SOURCES:
                continue
            if path.name.split(".")[0].lower() in SUBJECTLESS:
                yield Violation(path.relative_to(root), 1, "says no subject; name what it is about")
            if path.is_dir() and not path.is_symlink():
                pending.append(path)


def violations(root: Path) -> list[Violation]:
    found = [*check_rooms_exist_in_table(root), *check_wings_exist_in_table(root),
             *check_folders(root), *check_sizes(root), *check_cmake(root),
             *check_public_headers(root), *check_names(root)]
    for source in sources(root):
        for check in (check_includes, check_wings, check_kernel_paths, check_kernel_door):
            found += check(source)
    return sorted(found)


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or not Path(arguments[0], "lib").is_dir():
        print("usage: arrows_test.py SOURCE_DIR", file=sys.stderr)
        return 2
    found = violations(Path(arguments[0]).resolve())
    for violation in found:
        print(violation)
    print(f"{len(found)} violations")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
