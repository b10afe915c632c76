#!/usr/bin/env python3
"""Checks docs/development/abi.md: that it has every part of this machine's <linux/perf_event.h> below a
header of the library, that each header and test that it names exists, and that each header has a test.

    abi_test.py SOURCE_DIR [HEADER]
"""

import re
import sys
from pathlib import Path
from typing import Iterator

DOCUMENT = "docs/development/abi.md"
# Constants that it has to have, by how they begin. Types and configurations of events are names
# in docs/events.md.
PARTS = ("PERF_SAMPLE_", "PERF_FORMAT_", "PERF_RECORD_", "PERF_EVENT_IOC_", "PERF_FLAG_", "PERF_ATTR_SIZE_",
         "PERF_CONTEXT_", "PERF_MEM_", "PERF_AUX_FLAG_", "PERF_BR_", "PERF_TXN_", "PERF_BPF_EVENT_")
# Ends of lists, positions of fields, and unions of other constants.
NOT_PARTS = re.compile(r"_MAX$|_SHIFT$|^PERF_MEM_S$|_MASK$|_PLM_ALL$|_WEIGHT_TYPE$")
STRUCTS = ("perf_event_attr", "perf_event_mmap_page")
PADDING = re.compile(r"^__reserved|^cap_+res$|^capabilities$|^size$|^__u(8|16|32|64)$")

COMMENT = re.compile(r"/\*.*?\*/", re.S)
CONSTANT = re.compile(r"^\s*(?:#define\s+)?(PERF_\w+)\b", re.M)
FIELD = re.compile(r"\b(\w+)\s*(?:\[[^\]]*\]|:\s*\d+)?\s*[,;]")
CODE = re.compile(r"`([^`]+)`")
HEADER = re.compile(r"`((?:perf|abi|records)/[\w/]+\.h)`")
# The tables of parts, each below a line that ends with its header, and the table of tests.
TABLE = re.compile(r"^(.*)\n\n\| since \| names \|\n\| [-| ]+\|\n((?:\|.*\n)+)", re.M)
TESTS = re.compile(r"^\| header \| tests \|\n\| [-| ]+\|\n((?:\|.*\n)+)", re.M)
TEST_IN_SOURCE = re.compile(r"(?:TEST(?:_F|_P)?|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\(\s*(\w+),")


def constants_of(header):
    return {name for name in CONSTANT.findall(header)
            if name.startswith(PARTS) and not NOT_PARTS.search(name)}


def body_of(struct, header):
    start = header.index("{", header.index(f"struct {struct} {{"))
    depth = 0
    for end in range(start, len(header)):
        depth += {"{": 1, "}": -1}.get(header[end], 0)
        if depth == 0:
            return header[start:end]
    raise ValueError(f"struct {struct} has no end")


def fields_of(struct, header):
    body = re.sub(r"\b(?:union|struct)\b[^;{]*\{", "", body_of(struct, header))
    return {name for name in FIELD.findall(body) if not PADDING.match(name)}


def tests_below(root):
    return {suite for path in (root / "tests").rglob("*.cc")
            for suite in TEST_IN_SOURCE.findall(path.read_text(encoding="utf-8"))}


def names_in(document):
    """The tables of parts."""
    return {name for _, rows in TABLE.findall(document) for name in CODE.findall(rows)}


def violations_of_headers(root: Path, document: str) -> Iterator[str]:
    tested, table = {}, TESTS.search(document)
    for row in table[1].splitlines() if table else []:
        header, tests = row.strip("|").split("|")
        tested |= {name: CODE.findall(tests) for name in HEADER.findall(header)}
    for line, rows in TABLE.findall(document):
        header = HEADER.findall(line)[-1:] if line.endswith("`:") else []
        if not header:
            yield f"no header is named above: {rows.splitlines()[0]}"
        elif not tested.get(header[0]):
            yield f"{header[0]} has no test"
    there = tests_below(root)
    unknown = {test for tests in tested.values() for test in tests} - there
    unknown |= {name for name in HEADER.findall(document) if not (root / "lib" / name).exists()}
    yield from (f"there is no {name}" for name in sorted(unknown))


def main():
    root = Path(sys.argv[1])
    header = Path(sys.argv[2] if len(sys.argv) > 2 else "/usr/include/linux/perf_event.h")
    document = (root / DOCUMENT).read_text(encoding="utf-8")
    text = COMMENT.sub("", header.read_text(encoding="utf-8"))
    parts = constants_of(text).union(*(fields_of(struct, text) for struct in STRUCTS))

    found = [f"{name} of {header} is missing" for name in sorted(parts - names_in(document))]
    found += violations_of_headers(root, document)
    for violation in found:
        print(f"{DOCUMENT}: {violation}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
