#!/usr/bin/env python3
"""Checks docs/abi.md: that it has every part of this machine's <linux/perf_event.h>, and that each header
and test that it names exists.

    abi_test.py SOURCE_DIR [HEADER]
"""

import re
import sys
from pathlib import Path

# Constants that docs/abi.md has to have, by how they begin. Types and configurations of events are names
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
TEST = re.compile(r"`(\w+Test\.\w+)`")
TEST_IN_SOURCE = re.compile(r"(?:TEST(?:_F|_P)?|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\(\s*(\w+),\s*(\w+)")
PYTHON_TEST = re.compile(r"^class (\w+)|^ +def (test_\w+)", re.M)


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
    tests = set()
    for path in (root / "tests").rglob("*.cc"):
        tests |= {".".join(names) for names in TEST_IN_SOURCE.findall(path.read_text(encoding="utf-8"))}
    for path in (root / "tests").rglob("*_test.py"):
        group = None
        for a_class, test in PYTHON_TEST.findall(path.read_text(encoding="utf-8")):
            group = a_class or group
            tests |= {f"{group}.{test}"} if test else set()
    return tests


def words_of(document):
    """Names in code, and constants in the text next to them."""
    names = {word for text in CODE.findall(document) for word in re.findall(r"\w+", text)}
    return names | set(re.findall(r"\bPERF_\w+", document))


def main():
    root = Path(sys.argv[1])
    header = Path(sys.argv[2] if len(sys.argv) > 2 else "/usr/include/linux/perf_event.h")
    document = (root / "docs" / "abi.md").read_text(encoding="utf-8")
    text = COMMENT.sub("", header.read_text(encoding="utf-8"))
    parts = constants_of(text).union(*(fields_of(struct, text) for struct in STRUCTS))

    missing = sorted(parts - words_of(document))
    unknown = sorted(set(TEST.findall(document)) - tests_below(root))
    unknown += sorted(name for name in set(HEADER.findall(document)) if not (root / "lib" / name).exists())
    for name in missing:
        print(f"docs/abi.md: {name} of {header} is missing")
    for name in unknown:
        print(f"docs/abi.md: there is no {name}")
    without = [line for line in document.splitlines() if line.startswith("| `") and line.endswith("| `` |")]
    for line in without:
        print(f"docs/abi.md: has neither a test nor a reason: {line}")
    sys.exit(1 if missing or unknown or without else 0)


if __name__ == "__main__":
    main()
